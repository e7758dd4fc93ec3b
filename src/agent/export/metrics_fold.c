/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics_fold.c: sums a window's CPU time by library (and process or cgroup) and by function.
 *
 * The window is first summed by numbers of the profile; then each sum goes to its series, the largest first, so that
 * those get the series that are left. A library is known by its build id, or by its name without one; its series keeps
 * the first name.
 */
#include "agent/export/metrics_priv.h"
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "profile/filter.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "profile/window.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 1200, UNSEEN = 0, NO_MATCH = 1, MATCH = 2 };

struct sum {
	uint32_t library, group; /* numbers within this window */
	uint32_t name;           /* function: string of the profile */
	uint32_t seen_in;        /* row + 1 that was added last */
	uint32_t owner;          /* uid of the first row's process */
	struct sp_series_time time;
};
struct sums {
	struct sp_intern *keys;
	struct sum *all; /* by number of the key */
	size_t capacity;
};
struct fold {
	struct sp_metrics *m;
	const struct sp_profile *p;
	uint32_t row;
	uint64_t value_ns;
	uint32_t uid; /* the row's */
	struct sp_series_span span;
	struct sp_metrics_refused refused;
	struct sp_intern *libraries; /* by key, as in the series */
	uint32_t *file_of;           /* by library: its first file */
	size_t file_of_capacity;
	uint32_t *library_of; /* by file: its library + 1 */
	struct sp_intern *groups;
	uint32_t *group_of; /* by process: its group + 1 */
	struct sums by_library, by_function;
};
struct key {
	char bytes[KEY_MAX];
	size_t n;
};

/* --- libraries and groups --- */
static const char *file_label(const struct fold *f, uint32_t file)
{
	const char *name = sp_profile_string(f->p, sp_profile_file(f->p, file)->name);

	return file && *name ? name : "[unknown]";
}

static void append_key(struct key *k, const void *bytes, size_t n)
{
	n = SP_MIN(n, sizeof(k->bytes) - k->n);
	memcpy(k->bytes + k->n, bytes, n);
	k->n += n;
}

static int make_library_key(const struct fold *f, uint32_t file, struct key *k)
{
	const struct sp_file *x = sp_profile_file(f->p, file);
	SP_FREE char *name = NULL;

	k->n = 0;
	append_key(k, x->build_id_len ? "B" : "N", 1);
	if (x->build_id_len) {
		append_key(k, x->build_id, x->build_id_len);
		return 0;
	}
	name = sp_label_value(file_label(f, file));
	if (!name)
		return -ENOMEM;
	append_key(k, name, strlen(name));
	return 0;
}

static int add_library_key(struct fold *f, uint32_t file)
{
	struct key k;
	bool is_new;
	int r = make_library_key(f, file, &k);
	int64_t number = r < 0 ? r
			       : sp_intern_add_to(f->libraries, k.bytes, k.n, &f->file_of, &f->file_of_capacity,
						  sizeof(*f->file_of), &is_new);

	if (number < 0)
		return (int)number;
	if (is_new)
		f->file_of[number] = file;
	f->library_of[file] = (uint32_t)number + 1;
	return 0;
}

static int64_t get_library(struct fold *f, uint32_t file)
{
	int r = f->library_of[file] ? 0 : add_library_key(f, file);

	return r < 0 ? r : (int64_t)f->library_of[file] - 1;
}

/* A program is named by its file, because a process can change its own name. */
static const char *group_name(const struct fold *f, const struct sp_process *process, const struct sp_row *row)
{
	const char *cgroup = sp_profile_string(f->p, process->cgroup_path);

	if (f->m->by == SP_METRICS_BY_LIBRARY)
		return "";
	if (f->m->by == SP_METRICS_BY_CGROUP)
		return *cgroup ? cgroup : "[unknown]";
	if (!process->exe && sp_profile_stack(f->p, row->user).reason == SP_STOP_NONE)
		return "[kernel]";
	return file_label(f, process->exe);
}

static int64_t get_group(struct fold *f, const struct sp_row *row)
{
	uint32_t process = sp_profile_key(f->p, row->key)->process;
	SP_FREE char *name = NULL;
	int64_t number;

	if (f->group_of[process])
		return f->group_of[process] - 1;
	name = sp_label_value(group_name(f, sp_profile_process(f->p, process), row));
	number = name ? sp_intern_add(f->groups, name, strlen(name)) : -ENOMEM;
	if (number >= 0)
		f->group_of[process] = (uint32_t)number + 1;
	return number;
}

/* --- sums of the window --- */
static int add_sum(struct fold *f, struct sums *s, const struct sum *what, bool is_leaf)
{
	const uint32_t key[3] = {what->library, what->group, what->name};
	bool is_new;
	int64_t number = sp_intern_add_to(s->keys, key, sizeof(key), &s->all, &s->capacity, sizeof(*s->all), &is_new);
	struct sum *sum;

	if (number < 0)
		return (int)number;
	sum = &s->all[number];
	if (is_new) {
		*sum = *what;
		sum->owner = f->uid;
	}
	if (is_leaf)
		sum->time.self_ns += f->value_ns;
	if (sum->seen_in != f->row + 1)
		sum->time.total_ns += f->value_ns;
	sum->seen_in = f->row + 1;
	return 0;
}

static bool matches_function(struct fold *f, uint32_t number)
{
	const struct sp_func *func = sp_profile_func(f->p, number);
	const char *name = sp_profile_string(f->p, func->name), *linkage = sp_profile_string(f->p, func->linkage_name);
	struct sp_metrics *m = f->m;

	if (m->matches[number] != UNSEEN)
		return m->matches[number] == MATCH;
	m->matches[number] = NO_MATCH;
	for (size_t i = 0; number && *name && i < m->n_functions; i++)
		if (sp_glob_matches(m->functions[i], name) || (*linkage && sp_glob_matches(m->functions[i], linkage)))
			m->matches[number] = MATCH;
	return m->matches[number] == MATCH;
}

static int add_function(struct fold *f, const struct sp_frame *frame, uint32_t file, bool is_leaf)
{
	const struct sp_func *func = sp_profile_func(f->p, frame->func);
	int64_t library;

	if (!f->m->n_functions || !matches_function(f, frame->func))
		return 0;
	/* frames in the kernel's file may be of a module's function */
	library = get_library(f, func->file ? func->file : file);
	if (library < 0)
		return (int)library;
	return add_sum(f, &f->by_function, &(struct sum){.library = (uint32_t)library, .name = func->name}, is_leaf);
}

static int add_library(struct fold *f, uint32_t file, uint32_t group, bool is_leaf)
{
	int64_t library = get_library(f, file);

	if (library < 0)
		return (int)library;
	return add_sum(f, &f->by_library, &(struct sum){.library = (uint32_t)library, .group = group}, is_leaf);
}

static int add_frames(struct fold *f, const struct sp_frames *frames, uint32_t group)
{
	uint32_t last = UINT32_MAX;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < frames->n; i++) {
		const struct sp_frame *frame = sp_profile_frame(f->p, sp_frames_at(frames, i));
		uint32_t file = frame->file ? frame->file : sp_profile_func(f->p, frame->func)->file;

		if (file != last)
			r = add_library(f, file, group, i == 0);
		if (r >= 0)
			r = add_function(f, frame, file, i == 0);
		last = file;
	}
	return r;
}

static int add_row(struct fold *f, const struct sp_row *row)
{
	const struct sp_frames frames = sp_profile_frames(f->p, row);
	int64_t group = get_group(f, row);

	if (group < 0)
		return (int)group;
	return frames.n ? add_frames(f, &frames, (uint32_t)group) : add_library(f, 0, (uint32_t)group, true);
}

/* --- into the series --- */
static int compare_sums(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return SP_FALLING(x->time.self_ns, y->time.self_ns) ?: SP_FALLING(x->time.total_ns, y->time.total_ns);
}

static void format_build_id(const struct sp_file *file, char ret_text[2 * SP_BUILD_ID_MAX + 1])
{
	ret_text[0] = 0;
	sp_hex(file->build_id, file->build_id_len, ret_text);
}

static int make_labels(const struct fold *f, const struct sum *s, const char *function, struct sp_labels *l)
{
	uint32_t file = f->file_of[s->library];
	const char *group = function ? "" : sp_intern_get(f->groups, s->group, NULL);
	char id[2 * SP_BUILD_ID_MAX + 1];
	int r;

	format_build_id(sp_profile_file(f->p, file), id);
	l->n = 0;
	r = sp_label_add(l, "build_id", id);
	if (r >= 0 && !function && f->m->by == SP_METRICS_BY_CGROUP)
		r = sp_label_add(l, "cgroup", group);
	if (r >= 0 && function)
		r = sp_label_add(l, "function", function);
	if (r >= 0)
		r = sp_label_add(l, "library", file_label(f, file));
	if (r >= 0 && !function && f->m->by == SP_METRICS_BY_PROCESS)
		r = sp_label_add(l, "process", group);
	return r;
}

static void make_series_key(const struct fold *f, const struct sum *s, const char *more, struct key *k)
{
	size_t n;
	const char *library = sp_intern_get(f->libraries, s->library, &n);

	k->n = 0;
	append_key(k, library, n);
	append_key(k, "", 1);
	append_key(k, more, strlen(more));
}

/* Each library has one info line, which stays empty until its package is known. */
static int make_info(const struct fold *f, const struct sum *s)
{
	struct sp_series_table *infos = &f->m->infos;
	size_t n;
	const char *library = sp_intern_get(f->libraries, s->library, &n);
	int64_t number = sp_series_find(infos, library, n);

	if (number == -ENOENT)
		number = sp_series_make(infos, library, n, "", s->owner, 1);
	return number < 0 ? (int)number : 0;
}

static int fill_info(const struct fold *f, const struct sum *s)
{
	const struct sp_file *file = sp_profile_file(f->p, f->file_of[s->library]);
	size_t n;
	const char *library = sp_intern_get(f->libraries, s->library, &n);
	int64_t number = sp_series_find(&f->m->infos, library, n);
	char id[2 * SP_BUILD_ID_MAX + 1];
	struct sp_labels l = {.n = 0};
	int r;

	if (number >= 0)
		f->m->infos.series[number].span = f->span; /* idle no longer */
	if (number < 0 || *f->m->infos.series[number].labels || (!file->package && !file->owner_known))
		return 0;
	format_build_id(file, id);
	r = sp_label_add(&l, "build_id", id);
	if (r >= 0)
		r = sp_label_add(&l, "library", file_label(f, f->file_of[s->library]));
	if (r >= 0)
		r = sp_label_add(&l, "package", sp_profile_string(f->p, file->package));
	if (r >= 0)
		r = sp_label_add(&l, "version", sp_profile_string(f->p, file->package_version));
	return r < 0 ? r : sp_series_label(&f->m->infos.series[number], l.text);
}

/* -EDQUOT: no series left. */
static int64_t make_series(const struct fold *f, struct sp_series_table *t, const struct sum *s, const char *function,
			   const struct key *k)
{
	struct sp_labels l;
	int r = make_labels(f, s, function, &l);

	if (r < 0)
		return r;
	if (!sp_metrics_may_have_series(f->m, s->owner))
		return -EDQUOT;
	if (!function && t->budget->n + 3 > t->budget->max) /* with its info line */
		return -EDQUOT;
	if (!function)
		r = make_info(f, s);
	return r < 0 ? r : sp_series_make(t, k->bytes, k->n, l.text, s->owner, 2);
}

static int put_sum(struct fold *f, struct sp_series_table *t, const struct sum *s, const char *function)
{
	const char *more = function ? function : sp_intern_get(f->groups, s->group, NULL);
	struct key k;
	int64_t number;

	make_series_key(f, s, more, &k);
	number = sp_series_find(t, k.bytes, k.n);
	if (number == -ENOENT)
		number = make_series(f, t, s, function, &k);
	if (number >= 0) {
		sp_series_grow(&t->series[number], &s->time, &f->span);
		return function ? 0 : fill_info(f, s);
	}
	/* refused, or no memory: its time goes to `other` */
	sp_series_refuse(t, k.bytes, k.n);
	sp_series_grow(&t->other, &s->time, &f->span);
	sp_metrics_note_refused(&f->refused, s->owner);
	return number == -EDQUOT ? 0 : (int)number;
}

static int put_sums(struct fold *f)
{
	struct sums *l = &f->by_library, *u = &f->by_function;
	uint32_t n = sp_intern_count(l->keys), n_functions = sp_intern_count(u->keys), i;
	int r = 0, failure;

	if (n)
		qsort(l->all, n, sizeof(*l->all), compare_sums);
	if (n_functions)
		qsort(u->all, n_functions, sizeof(*u->all), compare_sums);
	for (i = 0; i < n; i++) {
		failure = put_sum(f, &f->m->libraries, &l->all[i], NULL);
		r = r < 0 ? r : failure;
	}
	for (i = 0; i < n_functions; i++) {
		SP_FREE char *name = sp_label_value(sp_profile_string(f->p, u->all[i].name));

		failure = name ? put_sum(f, &f->m->functions_table, &u->all[i], name) : -ENOMEM;
		r = r < 0 ? r : failure;
	}
	return r;
}

/* --- the whole --- */
static int prepare_matches(struct sp_metrics *m, const struct sp_profile *p)
{
	if (m->matches_of != sp_profile_names_serial(p)) {
		free(sp_take_ptr(m->matches));
		m->n_matches = 0;
		m->matches_of = sp_profile_names_serial(p);
	}
	return sp_grow(&m->matches, &m->n_matches, sp_profile_n_funcs(p), 1);
}

static int prepare_fold(struct fold *f)
{
	f->library_of = calloc(sp_profile_n_files(f->p), sizeof(*f->library_of));
	f->group_of = calloc(sp_profile_n_processes(f->p), sizeof(*f->group_of));
	if (!f->library_of || !f->group_of || sp_intern_new(&f->libraries) < 0 || sp_intern_new(&f->groups) < 0 ||
	    sp_intern_new(&f->by_library.keys) < 0 || sp_intern_new(&f->by_function.keys) < 0)
		return -ENOMEM;
	return prepare_matches(f->m, f->p);
}

static void free_fold(struct fold *f)
{
	free(f->library_of);
	free(f->group_of);
	free(f->file_of);
	free(f->by_library.all);
	free(f->by_function.all);
	sp_intern_free(f->libraries);
	sp_intern_free(f->groups);
	sp_intern_free(f->by_library.keys);
	sp_intern_free(f->by_function.keys);
}

int sp_metrics_fold(struct sp_metrics *m, const struct sp_profile *p, const struct sp_store_window *w, uint32_t value)
{
	struct fold f = {.m = m, .p = p, .span = {w->wall_ns, w->wall_ns + w->duration_ns}};
	int r = prepare_fold(&f);

	for (; r >= 0 && f.row < sp_profile_n_rows(p); f.row++) {
		const struct sp_row *row = sp_profile_row(p, f.row);

		f.value_ns = (uint64_t)SP_MAX(row->values[value], 0);
		f.uid = sp_profile_process(p, sp_profile_key(p, row->key)->process)->uid;
		if (f.value_ns)
			r = add_row(&f, row);
	}
	if (r >= 0)
		r = put_sums(&f);
	if (r >= 0)
		r = sp_metrics_make_room(m, &f.refused, &f.span);
	free_fold(&f);
	return r;
}
