/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/totals.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/frames.h"
#include "profile/identity.h"

#include <errno.h>
#include <stdlib.h>

/* The identity of a group. Interned, so without padding. */
struct group {
	uint32_t id, file, none;
};

struct totals_builder {
	const struct sp_profile *p;
	enum sp_total_by by;
	uint32_t value;
	struct sp_identity same;
	struct sp_intern *groups;
	struct sp_total *rows; /* by group number */
	uint32_t *seen_in;     /* by group number: row + 1 of the profile that was counted last */
	size_t capacity, seen_capacity;
	uint32_t *of_item; /* frame or key to group number; CALLER: not used */
	bool *has_rows;    /* by frame */
	int64_t all, all_samples;
};

/* Finds or adds a group. */
static int64_t totals_group_number(struct totals_builder *f, struct group g)
{
	bool is_new;
	int64_t number = sp_intern_add_to(f->groups, &g, sizeof(g), &f->rows, &f->capacity, sizeof(*f->rows), &is_new);

	if (!is_new)
		return number;
	if (sp_grow(&f->seen_in, &f->seen_capacity, (size_t)number + 1, sizeof(*f->seen_in)) < 0)
		return -ENOMEM;
	f->rows[number] = (struct sp_total){.id = g.id, .file = g.file, .none = g.none};
	return number;
}

/* --- groups of frames and keys --- */
static struct group totals_group_of_frame(const struct totals_builder *f, uint32_t number)
{
	uint32_t library = f->same.library_of[number], func = f->same.function_of[number];
	uint32_t package = sp_profile_file(f->p, library)->package;

	if (f->by == SP_TOTAL_BY_PACKAGE)
		return (struct group){.id = package, .none = package == 0};
	if (f->by == SP_TOTAL_BY_LIBRARY)
		return (struct group){.id = library, .none = library == 0};
	uint32_t file = sp_identity_function_file(f->p, &f->same, number);
	return (struct group){.id = func, .file = file, .none = func == 0 && file == 0};
}

/* The text of a key's label; "" where it has none. */
static uint32_t totals_word_of(const struct sp_profile *p, const struct sp_key *key, enum sp_total_by by)
{
	static const char *const names[SP_N_TOTAL_BY] = {
	    [SP_TOTAL_BY_STATE] = "state", [SP_TOTAL_BY_LOCK] = "lock",   [SP_TOTAL_BY_MEMORY] = "memory",
	    [SP_TOTAL_BY_FAULT] = "fault", [SP_TOTAL_BY_WAKER] = "waker", [SP_TOTAL_BY_HOST] = "host"};
	size_t n;
	const struct sp_label *labels = sp_profile_labels(p, key->labels, &n);

	for (size_t i = 0; i < n && names[by]; i++)
		if (strcmp(sp_profile_string(p, labels[i].name), names[by]) == 0)
			return labels[i].word;
	return 0;
}

static struct group totals_group_of_key(const struct totals_builder *f, uint32_t number)
{
	const struct sp_key *key = sp_profile_key(f->p, number);
	const struct sp_process *process = sp_profile_process(f->p, key->process);
	uint32_t id = f->by == SP_TOTAL_BY_PROCESS     ? key->process
		      : f->by == SP_TOTAL_BY_COMM      ? key->comm
		      : f->by == SP_TOTAL_BY_CGROUP    ? process->cgroup_path
		      : f->by == SP_TOTAL_BY_CONTAINER ? process->container
		      : f->by == SP_TOTAL_BY_USER      ? process->uid
						       : totals_word_of(f->p, key, f->by);
	bool none = f->by == SP_TOTAL_BY_USER ? key->process == 0 : id == 0;

	return (struct group){.id = id, .none = none};
}

/* Finds the group of each frame or key once, before the stacks are walked. Group 0 is "none". */
static int totals_map_items(struct totals_builder *f)
{
	bool frames = sp_total_is_by_frames(f->by);
	uint32_t n_frames = sp_profile_n_frames(f->p), n = frames ? n_frames : sp_profile_n_keys(f->p);

	f->of_item = calloc(n, sizeof(*f->of_item));
	f->has_rows = calloc(n_frames, sizeof(*f->has_rows));
	if (!f->of_item || !f->has_rows || sp_intern_new(&f->groups) < 0)
		return -ENOMEM;
	int64_t number = totals_group_number(f, (struct group){.none = true});
	for (uint32_t i = 0; i < n && number >= 0; i++) {
		number = totals_group_number(f, frames ? totals_group_of_frame(f, i) : totals_group_of_key(f, i));
		f->of_item[i] = (uint32_t)number;
	}
	return number < 0 ? (int)number : 0;
}

/* --- rows --- */
struct weight {
	int64_t value, samples;
	uint32_t stamp; /* the row's number + 1 */
};

static void count_self(struct totals_builder *f, uint32_t group, const struct weight *w)
{
	sp_saturating_add(&f->rows[group].self, w->value);
}

static void count_total(struct totals_builder *f, uint32_t group, const struct weight *w)
{
	if (f->seen_in[group] == w->stamp)
		return;
	f->seen_in[group] = w->stamp;
	sp_saturating_add(&f->rows[group].total, w->value);
	sp_saturating_add(&f->rows[group].n_samples, w->samples);
}

static void totals_add_half(struct totals_builder *f, const uint32_t *frames, size_t n, const struct weight *w)
{
	for (size_t i = 0; i < n; i++) {
		f->has_rows[frames[i]] = true;
		count_total(f, f->of_item[frames[i]], w);
	}
}

static void totals_add_frames(struct totals_builder *f, const struct sp_row *row, const struct weight *w)
{
	const struct sp_frames frames = sp_profile_frames(f->p, row);

	count_self(f, frames.n ? f->of_item[sp_frames_at(&frames, 0)] : 0, w);
	totals_add_half(f, frames.kernel, frames.n_kernel, w);
	totals_add_half(f, frames.user, frames.n - frames.n_kernel, w);
	if (!frames.n)
		count_total(f, 0, w);
}

/* Adds to a pair of libraries, one directly below the other on the stack. */
static int totals_add_pair(struct totals_builder *f, uint32_t caller, uint32_t called, bool is_leaf,
			   const struct weight *w)
{
	bool none = caller == 0;
	int64_t group = totals_group_number(f, (struct group){.id = caller, .file = called, .none = none});

	if (group < 0)
		return (int)group;
	if (is_leaf)
		count_self(f, (uint32_t)group, w);
	count_total(f, (uint32_t)group, w);
	return 0;
}

static int totals_add_callers(struct totals_builder *f, const struct sp_row *row, const struct weight *w)
{
	const struct sp_frames frames = sp_profile_frames(f->p, row);
	uint32_t here = 0;
	bool have_pair = false;
	int r = 0;

	for (size_t i = 0; i < frames.n && r == 0; i++) {
		uint32_t library = f->same.library_of[sp_frames_at(&frames, i)];

		/* frames of no known file are not a library: the caller is looked for below them */
		if (i > 0 && library != 0 && library != here) {
			r = totals_add_pair(f, library, here, !have_pair, w);
			have_pair = true;
		}
		here = library != 0 ? library : here;
	}
	return r == 0 && !have_pair ? totals_add_pair(f, 0, here, true, w) : r;
}

/* Rows with a value of 0 are another event's. */
static int totals_add_row(struct totals_builder *f, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(f->p, number);
	struct weight w = {.value = row->values[f->value],
			   .samples = sp_identity_samples_with(&f->same, row, f->value),
			   .stamp = number + 1};

	sp_saturating_add(&f->all, w.value);
	sp_saturating_add(&f->all_samples, w.samples);
	if (w.value == 0)
		return 0;
	if (f->by == SP_TOTAL_BY_CALLER)
		return totals_add_callers(f, row, &w);
	if (sp_total_is_by_frames(f->by)) {
		totals_add_frames(f, row, &w);
	} else {
		count_self(f, f->of_item[row->key], &w);
		count_total(f, f->of_item[row->key], &w);
	}
	return 0;
}

/* --- the result --- */
static int compare_totals(const void *left, const void *right)
{
	const struct sp_total *a = left, *b = right;

	return SP_FALLING(a->self, b->self)
	       ?: SP_FALLING(a->total, b->total)
	       ?: SP_RISING(a->id, b->id)
	       ?: SP_RISING(a->file, b->file)
	       ?: SP_RISING(a->none, b->none);
}

/* A function belongs to one library and one package: it is counted in the group of its first frame. */
static int count_functions(struct totals_builder *f)
{
	SP_FREE bool *counted = calloc(sp_profile_n_funcs(f->p), sizeof(*counted));

	if (!counted)
		return -ENOMEM;
	for (uint32_t i = 0; i < sp_profile_n_frames(f->p); i++) {
		uint32_t func = f->same.function_of[i];
		if (!f->has_rows[i] || func == 0 || counted[func])
			continue;
		counted[func] = true;
		f->rows[f->of_item[i]].n_functions++;
	}
	return 0;
}

/* Leaves out groups without rows: the profile may have frames and keys of rows that were never added. */
static void totals_finish(struct totals_builder *f, struct sp_totals *ret_totals)
{
	size_t n = 0;

	for (uint32_t i = 0; i < sp_intern_count(f->groups); i++)
		if (f->seen_in[i] != 0)
			f->rows[n++] = f->rows[i];
	qsort(f->rows, n, sizeof(*f->rows), compare_totals);
	*ret_totals =
	    (struct sp_totals){.rows = sp_take_ptr(f->rows), .n_rows = n, .value = f->all, .n_samples = f->all_samples};
}

int sp_totals_by(const struct sp_profile *p, enum sp_total_by by, uint32_t value, struct sp_totals *ret_totals)
{
	struct totals_builder f = {.p = p, .by = by, .value = value};
	int r = value < sp_profile_n_value_types(p) && by != SP_TOTAL_BY_MATRIX ? sp_identity_new(p, &f.same) : -EINVAL;

	if (r == 0)
		r = totals_map_items(&f);
	for (uint32_t i = 0; i < sp_profile_n_rows(p) && r == 0; i++)
		r = totals_add_row(&f, i);
	if (r == 0 && (by == SP_TOTAL_BY_LIBRARY || by == SP_TOTAL_BY_PACKAGE))
		r = count_functions(&f);
	if (r == 0)
		totals_finish(&f, ret_totals);
	sp_intern_free(f.groups);
	sp_identity_done(&f.same);
	free(f.rows);
	free(f.seen_in);
	free(f.of_item);
	free(f.has_rows);
	return r;
}

void sp_totals_done(struct sp_totals *t)
{
	free(t->rows);
	*t = (struct sp_totals){0};
}

static const char *file_name(const struct sp_profile *p, uint32_t file)
{
	return sp_profile_string(p, sp_profile_file(p, file)->name);
}

const char *sp_total_name(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row)
{
	if (row->none || by == SP_TOTAL_BY_USER)
		return "";
	if (by == SP_TOTAL_BY_LIBRARY || by == SP_TOTAL_BY_CALLER)
		return file_name(p, row->id);
	if (by == SP_TOTAL_BY_FUNCTION)
		return sp_profile_string(p, sp_profile_func(p, row->id)->name);
	if (by == SP_TOTAL_BY_PROCESS)
		return sp_profile_string(p, sp_profile_process(p, row->id)->comm);
	return sp_profile_string(p, row->id);
}

const char *sp_total_library(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row)
{
	return by == SP_TOTAL_BY_FUNCTION || by == SP_TOTAL_BY_CALLER ? file_name(p, row->file) : "";
}
