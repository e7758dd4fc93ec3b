/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"

#define SHORTENED "[shortened]"

struct stacks { /* numbers in the profile; user UINT32_MAX: not made yet */
	uint32_t user, kernel;
};
struct run {
	uint64_t order; /* slice, who */
	uint32_t window, run;
};
struct sp_answer_writer {
	const struct sp_gathered *g;
	struct sp_profile *p;
	uint32_t source, samples;         /* string; which type counts them */
	struct sp_intern *files, *groups; /* what they are, in the profile's numbers */
	/* of the dictionary at hand */
	const struct sp_dict *d;
	const struct sp_slots *slots;
	uint32_t *file_of, *func_of, *frame_of; /* by number, of the profile's; 0 = not asked yet */
	struct stacks *stacks;                  /* by slot */
	int64_t *sums;                          /* by slot, a row of values each */
	uint8_t *has_rows;                      /* by slot */
	uint32_t *touched, n_touched;
	uint32_t *path;
	size_t path_capacity;
	uint32_t n_path;
};

/* --- names -------------------------------------------------------------------------------------------------------- */
static int64_t add_string(struct sp_answer_writer *a, uint32_t string)
{
	return sp_profile_add_string(a->p, sp_dict_string(a->d, string));
}

/* Files of one kind, build id, name and path are one: their tag is which of the different ones they are. */
static int64_t add_file(struct sp_answer_writer *a, uint32_t number)
{
	if (number == 0 || number >= a->d->n_files || a->file_of[number] != 0)
		return number >= a->d->n_files ? 0 : a->file_of[number];
	struct sp_file f = a->d->files[number];
	uint32_t *const strings[] = {&f.name, &f.path, &f.package, &f.package_version, &f.build_id_text, &f.note};
	for (size_t i = 0; i < SP_COUNT(strings); i++) {
		int64_t s = add_string(a, *strings[i]);
		if (s < 0)
			return s;
		*strings[i] = (uint32_t)s;
	}
	struct sp_file same;
	memset(&same, 0, sizeof(same)); /* padding counts */
	same.kind = f.kind;
	same.build_id_len = SP_MIN(f.build_id_len, (uint8_t)SP_BUILD_ID_MAX);
	memcpy(same.build_id, f.build_id, same.build_id_len);
	same.build_id_text = f.build_id_text;
	same.name = f.name;
	same.path = f.path;
	int64_t tag = sp_intern_add(a->files, &same, sizeof(same));
	f.tag = (uint64_t)tag;
	f.process = 0;
	int64_t n = tag < 0 ? tag : sp_profile_add_file(a->p, &f);
	if (n > 0)
		a->file_of[number] = (uint32_t)n;
	return n;
}

static int64_t add_func(struct sp_answer_writer *a, uint32_t number)
{
	if (number == 0 || number >= a->d->n_funcs || a->func_of[number] != 0)
		return number >= a->d->n_funcs ? 0 : a->func_of[number];
	struct sp_func f = a->d->funcs[number];
	int64_t name = add_string(a, f.name), linkage = add_string(a, f.linkage_name);
	int64_t source = add_string(a, f.source), file = add_file(a, f.file);
	if (name < 0 || linkage < 0 || source < 0 || file < 0)
		return -ENOMEM;
	f.name = (uint32_t)name;
	f.linkage_name = (uint32_t)linkage;
	f.source = (uint32_t)source;
	f.file = (uint32_t)file;
	int64_t n = sp_profile_add_func(a->p, &f);
	if (n > 0)
		a->func_of[number] = (uint32_t)n;
	return n;
}

static int64_t add_frame(struct sp_answer_writer *a, uint32_t number)
{
	if (a->frame_of[number] != 0)
		return a->frame_of[number];
	const struct sp_dict_frame *from = &a->d->frames[number];
	int64_t file = add_file(a, from->file), func = add_func(a, from->func);
	if (file < 0 || func < 0)
		return file < 0 ? file : func;
	struct sp_frame f = {.offset = from->func != 0 ? sp_profile_func(a->p, (uint32_t)func)->start : from->offset,
			     .file = (uint32_t)file,
			     .func = (uint32_t)func,
			     .flags = from->flags & ((1U << SP_FRAME_VARIANT_SHIFT) - 1)};
	int64_t n = sp_profile_add_frame_apart(a->p, &f, f.offset != 0 || func == 0);
	if (n > 0)
		a->frame_of[number] = (uint32_t)n;
	return n;
}

/* --- stacks ------------------------------------------------------------------------------------------------------- */
static int push(struct sp_answer_writer *a, uint32_t frame)
{
	int r = sp_grow(&a->path, &a->path_capacity, (size_t)a->n_path + 1, sizeof(*a->path));

	if (r == 0)
		a->path[a->n_path++] = frame;
	return r;
}

/* A stack's head, from its mark; without one its root was lost. */
static struct sp_stack head_of(const struct sp_dict_frame *mark)
{
	if (mark == NULL)
		return (struct sp_stack){.stack_class = SP_STACK_CUT};
	return (struct sp_stack){.stack_class = mark->stack_class, .reason = mark->reason};
}

/* What stands where the frames between a slot's node and its leaf were: 0 if that is at the very root. */
static int64_t add_gap(struct sp_answer_writer *a, uint32_t node)
{
	const struct sp_dict_frame *before = &a->d->frames[a->d->frame[node]];
	int64_t name = sp_profile_add_string(a->p, SHORTENED), file = add_file(a, before->file);

	if (before->mark != SP_MARK_NONE || a->d->frame[node] == 0)
		return 0;
	if (name < 0 || file < 0)
		return -ENOMEM;
	struct sp_func func = {.name = (uint32_t)name, .file = (uint32_t)file};
	if (before->func != 0 && before->func < a->d->n_funcs)
		file = add_file(a, a->d->funcs[before->func].file); /* of a kernel's module */
	func.file = (uint32_t)file;
	int64_t number = sp_profile_add_func(a->p, &func);
	struct sp_frame f = {.func = (uint32_t)number,
			     .file = (uint32_t)add_file(a, before->file),
			     .flags = before->flags & SP_FRAMEF_KERNEL};
	return number < 0 ? number : sp_profile_add_frame_apart(a->p, &f, false);
}

/* The path of a slot, leaf first, in the profile's frames; and where in it the kernel's end, and the marks. */
struct path_marks {
	const struct sp_dict_frame *root, *kernel;
	uint32_t n_kernel;
};

static int push_frame(struct sp_answer_writer *a, uint32_t frame, struct path_marks *m)
{
	const struct sp_dict_frame *f = &a->d->frames[frame];

	if (f->mark == SP_MARK_KERNEL) {
		m->kernel = f;
		m->n_kernel = a->n_path;
		return 0;
	}
	if (f->mark != SP_MARK_NONE) {
		m->root = f;
		return 0;
	}
	int64_t n = frame == 0 ? 0 : add_frame(a, frame);
	int r = n <= 0 ? (int)n : push(a, (uint32_t)n);
	if (r == 0 && n > 0 && f->flags & SP_FRAMEF_KERNEL && m->kernel == NULL)
		m->n_kernel = a->n_path;
	return r;
}

static int push_slot(struct sp_answer_writer *a, const struct sp_slot *slot, struct path_marks *m)
{
	int r = 0;

	uint32_t first = slot->mark_last ? slot->mark : slot->leaf, second = slot->mark_last ? slot->leaf : slot->mark;

	a->n_path = 0;
	if (first != 0)
		r = push_frame(a, first, m);
	if (r == 0 && second != 0)
		r = push_frame(a, second, m);
	if (r == 0 && slot->shortened) {
		int64_t gap = add_gap(a, slot->node);
		r = gap <= 0 ? (int)gap : push(a, (uint32_t)gap);
		if (gap > 0 && m->kernel == NULL && a->d->frames[a->d->frame[slot->node]].flags & SP_FRAMEF_KERNEL)
			m->n_kernel = a->n_path;
	}
	for (uint32_t node = slot->node; node != 0 && r == 0; node = a->d->parent[node])
		r = push_frame(a, a->d->frame[node], m);
	return r;
}

static int stacks_make(struct sp_answer_writer *a, uint32_t number)
{
	struct path_marks m = {0};
	int r = push_slot(a, &a->slots->slots[number], &m);

	if (r < 0)
		return r;
	struct sp_stack user = head_of(m.root), kernel = {0};
	if (m.kernel != NULL)
		kernel = head_of(m.kernel);
	kernel.n_frames = m.n_kernel;
	kernel.frames = a->path;
	user.n_frames = a->n_path - m.n_kernel;
	user.frames = a->path + m.n_kernel;
	int64_t k = sp_profile_add_stack(a->p, &kernel), u = sp_profile_add_stack(a->p, &user);
	if (k < 0 || u < 0)
		return -ENOMEM;
	a->stacks[number] = (struct stacks){(uint32_t)u, (uint32_t)k};
	return 0;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */
/* A process for each group of the profile's words; a file's number is the same for all that are the same. */
static int64_t group_number(struct sp_answer_writer *a, const struct sp_process *process)
{
	const uint32_t words[] = {process->exe, process->uid, process->comm, process->cgroup_path, process->container};

	return sp_intern_add(a->groups, words, sizeof(words));
}

static int64_t add_key(struct sp_answer_writer *a, uint32_t who, uint32_t slice)
{
	const struct sp_dict *d = a->d;
	const struct sp_dict_key *k = a->g->by_group || who >= d->n_keys ? NULL : &d->keys[who];
	uint32_t number = k != NULL ? k->group : a->g->by_group && who < d->n_groups ? who : 0;
	const struct sp_dict_group *g = &d->groups[number < d->n_groups ? number : 0];
	int64_t exe = add_file(a, g->exe), comm = add_string(a, g->comm), path = add_string(a, g->cgroup_path);
	int64_t container = add_string(a, g->container), thread = k != NULL ? add_string(a, k->thread) : comm;

	if (exe < 0 || comm < 0 || path < 0 || container < 0 || thread < 0)
		return -ENOMEM;
	struct sp_process process = {.exe = (uint32_t)exe,
				     .uid = g->uid,
				     .comm = (uint32_t)comm,
				     .cgroup_path = (uint32_t)path,
				     .container = (uint32_t)container};
	if (k != NULL) {
		process.pid = k->pid;
		process.ns_pid = k->ns_pid;
		process.exec_id = k->exec_id;
		process.start_ns = k->start_ns;
		process.cgroup = k->cgroup;
	} else {
		int64_t n = group_number(a, &process);
		if (n < 0)
			return n;
		process.exec_id = (uint32_t)n + 1;
	}
	int64_t p = number == 0 ? 0 : sp_profile_add_process(a->p, &process);
	struct sp_key key = {.process = (uint32_t)p, .comm = (uint32_t)thread, .recipe = a->source, .slice = slice};
	return p < 0 ? p : sp_profile_add_key(a->p, &key);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */
static void add_saturated(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = v > 0 ? INT64_MAX : INT64_MIN;
}

static void sum_run(struct sp_answer_writer *a, const struct sp_kept_window *w, uint32_t first, uint32_t end,
		    uint64_t *n_shortened)
{
	for (uint32_t row = first; row < end; row++) {
		uint32_t of = a->slots->of_node[sp_kept_node(a->d, w, row)], slot = of & SP_SLOT_MASK;
		if (of == SP_SLOT_NONE)
			continue;
		if (!a->has_rows[slot]) {
			a->has_rows[slot] = 1;
			a->touched[a->n_touched++] = slot;
		}
		for (uint32_t k = 0; k < w->n_values; k++) {
			int64_t v = sp_kept_value(w, k, row);
			add_saturated(&a->sums[(size_t)slot * a->g->n_types + w->type[k]], v);
			if ((of & SP_SLOT_SHORTENED) != 0 && w->type[k] == a->samples && v > 0)
				*n_shortened += (uint64_t)v;
		}
	}
}

/* What was summed is of this key. */
static int emit(struct sp_answer_writer *a, uint64_t order)
{
	int64_t key = a->n_touched == 0 ? 0 : add_key(a, (uint32_t)order, (uint32_t)(order >> 32));
	int r = key < 0 ? (int)key : 0;

	for (uint32_t i = 0; i < a->n_touched && r == 0; i++) {
		uint32_t slot = a->touched[i];
		int64_t *values = &a->sums[(size_t)slot * a->g->n_types];
		if (a->stacks[slot].user == UINT32_MAX)
			r = stacks_make(a, slot);
		if (r == 0)
			r = sp_profile_add(a->p, (uint32_t)key, a->stacks[slot].user, a->stacks[slot].kernel, values);
		memset(values, 0, a->g->n_types * sizeof(*values));
		a->has_rows[slot] = 0;
	}
	a->n_touched = 0;
	return r;
}

static int by_order(const void *x, const void *y)
{
	const struct run *a = x, *b = y;

	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	if (a->window != b->window)
		return a->window < b->window ? -1 : 1;
	return a->run < b->run ? -1 : a->run > b->run;
}

static int find_runs(const struct sp_answer_writer *a, uint32_t dict, struct run **ret_runs, size_t *ret_n)
{
	size_t capacity = 0, n = 0;

	for (uint32_t i = 0; i < a->g->n_windows; i++) {
		const struct sp_kept_window *w = &a->g->windows[i];
		if (w->dict != dict)
			continue;
		if (sp_grow(ret_runs, &capacity, n + w->n_runs, sizeof(**ret_runs)) < 0)
			return -ENOMEM;
		for (uint32_t k = 0; k < w->n_runs; k++)
			(*ret_runs)[n++] = (struct run){(uint64_t)w->slice << 32 | w->runs[k].who, i, k};
	}
	if (n > 1)
		qsort(*ret_runs, n, sizeof(**ret_runs), by_order);
	*ret_n = n;
	return 0;
}

static int add_rows(struct sp_answer_writer *a, uint32_t dict, uint64_t *n_shortened)
{
	SP_FREE struct run *runs = NULL;
	size_t n = 0;
	int r = find_runs(a, dict, &runs, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct sp_kept_window *w = &a->g->windows[runs[i].window];
		uint32_t k = runs[i].run, end = k + 1 < w->n_runs ? w->runs[k + 1].first : w->n_rows;
		sum_run(a, w, w->runs[k].first, end, n_shortened);
		if (i + 1 == n || runs[i + 1].order != runs[i].order)
			r = emit(a, runs[i].order);
	}
	return r;
}

static void dict_done(struct sp_answer_writer *a)
{
	free(a->file_of);
	free(a->func_of);
	free(a->frame_of);
	free(a->stacks);
	free(a->sums);
	free(a->has_rows);
	free(a->touched);
	a->file_of = a->func_of = a->frame_of = a->touched = NULL;
	a->stacks = NULL;
	a->sums = NULL;
	a->has_rows = NULL;
	a->n_touched = 0;
}

static int dict_begin(struct sp_answer_writer *a, uint32_t dict, const struct sp_slots *slots)
{
	const struct sp_dict *d = a->g->dicts[dict];
	size_t n = (size_t)slots->n_slots + 1;

	a->d = d;
	a->slots = slots;
	a->file_of = calloc((size_t)d->n_files + 1, sizeof(*a->file_of));
	a->func_of = calloc((size_t)d->n_funcs + 1, sizeof(*a->func_of));
	a->frame_of = calloc((size_t)d->n_frames + 1, sizeof(*a->frame_of));
	a->stacks = malloc(n * sizeof(*a->stacks));
	a->sums = calloc(n * SP_MAX(a->g->n_types, 1U), sizeof(*a->sums));
	a->has_rows = calloc(n, 1);
	a->touched = calloc(n, sizeof(*a->touched));
	if (a->file_of == NULL || a->func_of == NULL || a->frame_of == NULL || a->stacks == NULL || a->sums == NULL ||
	    a->has_rows == NULL || a->touched == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		a->stacks[i].user = UINT32_MAX;
	return 0;
}

int sp_answer_add(struct sp_answer_writer *a, uint32_t dict, const struct sp_slots *slots, uint64_t *n_shortened)
{
	int r = dict_begin(a, dict, slots);

	if (r == 0)
		r = add_rows(a, dict, n_shortened);
	dict_done(a);
	return r;
}

/* --- the beginning and the end ------------------------------------------------------------------------------------ */
static int begin(struct sp_answer_writer *a, const char *source)
{
	int64_t recipe = sp_profile_add_string(a->p, source);
	int r = recipe < 0 ? (int)recipe : sp_intern_new(&a->files);

	a->source = (uint32_t)recipe;
	if (r == 0)
		r = sp_intern_new(&a->groups);
	for (uint32_t i = 0; i < a->g->n_types && r == 0; i++) {
		r = sp_profile_add_value_type(a->p, a->g->types[i].name, a->g->types[i].unit);
		if (strcmp(a->g->types[i].name, "samples") == 0)
			a->samples = i;
	}
	return r;
}

int sp_answer_new(const struct sp_gathered *g, const char *source, struct sp_profile *into,
		  struct sp_answer_writer **ret_writer)
{
	struct sp_answer_writer *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return -ENOMEM;
	a->g = g;
	a->p = into;
	int r = begin(a, source);
	if (r < 0)
		sp_answer_free(a);
	else
		*ret_writer = a;
	return r;
}

void sp_answer_free(struct sp_answer_writer *a)
{
	if (a == NULL)
		return;
	dict_done(a);
	sp_intern_free(a->files);
	sp_intern_free(a->groups);
	free(a->path);
	free(a);
}
