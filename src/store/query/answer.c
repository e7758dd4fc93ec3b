/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/query/answer.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stacks { /* numbers of the profile */
	uint32_t user, kernel;
};
struct run { /* a run of rows: index of its window, and in it */
	uint32_t window, run;
};
struct sp_answer_writer {
	struct sp_gathered *g;
	struct sp_profile *p;
	uint32_t source, samples;         /* string; index of the value type "samples" */
	struct sp_intern *files, *groups; /* identities, in numbers of the profile */
	struct sp_intern *stacks;         /* struct stacks; translated rows have an index here instead of a node */
	/* of the current dictionary */
	const struct sp_dict *d;
	const struct sp_answer_stacks *slots;
	uint32_t *file_of, *func_of, *frame_of; /* by number of the dictionary; 0 = not translated yet */
	uint32_t *stacks_of;                    /* by slot: index in `stacks`, UINT32_MAX = none yet */
	uint32_t *key_of;                       /* by who, for one slice; UINT32_MAX = none yet */
	uint32_t *path;
	size_t path_capacity;
	uint32_t n_path;
};

/* --- names --- */
static int64_t add_string(struct sp_answer_writer *a, uint32_t string)
{
	return sp_profile_add_string(a->p, sp_dict_string(a->d, string));
}

/* Files of the same kind, build id, name and path become one: the tag is the index of the identity. */
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
	memset(&same, 0, sizeof(same)); /* padding is hashed, too */
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
	int64_t n = sp_profile_add_frame_variant(a->p, &f, f.offset != 0 || func == 0);
	if (n > 0)
		a->frame_of[number] = (uint32_t)n;
	return n;
}

/* --- stacks --- */
static int push_profile_frame(struct sp_answer_writer *a, uint32_t frame)
{
	int r = sp_grow(&a->path, &a->path_capacity, (size_t)a->n_path + 1, sizeof(*a->path));

	if (r == 0)
		a->path[a->n_path++] = frame;
	return r;
}

/* Class and reason of a stack, from its mark; a stack without a mark has lost its root. */
static struct sp_stack stack_of_mark(const struct sp_dict_frame *mark)
{
	if (!mark)
		return (struct sp_stack){.stack_class = SP_CLASS_CUT};
	return (struct sp_stack){.stack_class = mark->stack_class, .reason = mark->reason};
}

/* The frame [shortened] below a node; 0: the node is the root. */
static int64_t add_shortened_frame(struct sp_answer_writer *a, uint32_t node)
{
	const struct sp_dict_frame *before = &a->d->frames[a->d->frame[node]];
	int64_t name = sp_profile_add_string(a->p, SP_SHORTENED), file = add_file(a, before->file);

	if (before->mark != SP_MARK_NONE || a->d->frame[node] == 0)
		return 0;
	if (name < 0 || file < 0)
		return -ENOMEM;
	struct sp_func func = {.name = (uint32_t)name, .file = (uint32_t)file};
	if (before->func != 0 && before->func < a->d->n_funcs)
		file = add_file(a, a->d->funcs[before->func].file); /* a kernel module's */
	func.file = (uint32_t)file;
	int64_t number = sp_profile_add_func(a->p, &func);
	struct sp_frame f = {.func = (uint32_t)number,
			     .file = (uint32_t)add_file(a, before->file),
			     .flags = before->flags & SP_FRAMEF_KERNEL};
	return number < 0 ? number : sp_profile_add_frame_variant(a->p, &f, false);
}

/* Where the kernel's frames end in a path, and the marks. */
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
	int r = n <= 0 ? (int)n : push_profile_frame(a, (uint32_t)n);
	if (r == 0 && n > 0 && f->flags & SP_FRAMEF_KERNEL && !m->kernel)
		m->n_kernel = a->n_path;
	return r;
}

static int push_slot(struct sp_answer_writer *a, const struct sp_answer_stack *slot, struct path_marks *m)
{
	int r = 0;

	bool wanted_in_kernel = slot->wanted_frame != 0 && a->d->frames[slot->wanted_frame].flags & SP_FRAMEF_KERNEL;
	const uint32_t order[] = {slot->mark_last ? slot->mark : 0, slot->leaf,
				  wanted_in_kernel ? slot->wanted_frame : 0, slot->mark_last ? 0 : slot->mark,
				  wanted_in_kernel ? 0 : slot->wanted_frame};

	a->n_path = 0;
	for (size_t i = 0; i < SP_COUNT(order) && r == 0; i++)
		r = order[i] != 0 ? push_frame(a, order[i], m) : 0;
	if (r == 0 && slot->shortened) {
		int64_t shortened = add_shortened_frame(a, slot->node);
		r = shortened <= 0 ? (int)shortened : push_profile_frame(a, (uint32_t)shortened);
		if (shortened > 0 && !m->kernel && a->d->frames[a->d->frame[slot->node]].flags & SP_FRAMEF_KERNEL)
			m->n_kernel = a->n_path;
	}
	for (uint32_t node = slot->node; node != 0 && r == 0; node = a->d->parent[node])
		r = push_frame(a, a->d->frame[node], m);
	return r;
}

/* The index of a slot's user and kernel stack. */
static int64_t add_stacks(struct sp_answer_writer *a, uint32_t slot)
{
	struct path_marks m = {0};
	int r = push_slot(a, &a->slots->slots[slot], &m);

	if (r < 0)
		return r;
	struct sp_stack user = stack_of_mark(m.root), kernel = {0};
	if (m.kernel)
		kernel = stack_of_mark(m.kernel);
	kernel.n_frames = m.n_kernel;
	kernel.frames = a->path;
	user.n_frames = a->n_path - m.n_kernel;
	user.frames = a->path + m.n_kernel;
	int64_t k = sp_profile_add_stack(a->p, &kernel), u = sp_profile_add_stack(a->p, &user);
	if (k < 0 || u < 0)
		return -ENOMEM;
	struct stacks both = {(uint32_t)u, (uint32_t)k};
	int64_t n = sp_intern_add(a->stacks, &both, sizeof(both));
	return n < SP_ANSWER_STACK_NONE ? n : -E2BIG;
}

/* --- keys --- */
/* Equal groups of several dictionaries are one process. */
static int64_t intern_group(struct sp_answer_writer *a, const struct sp_process *process)
{
	const uint32_t words[] = {process->exe,         process->uid,       process->comm,
				  process->cgroup_path, process->container, process->root};

	return sp_intern_add(a->groups, words, sizeof(words));
}

static int64_t add_thread(struct sp_answer_writer *a, uint32_t name, uint32_t slice)
{
	int64_t comm = add_string(a, name);
	struct sp_key key = {.comm = (uint32_t)comm, .recipe = a->source, .slice = slice};

	return comm < 0 ? comm : sp_profile_add_key(a->p, &key);
}

static int64_t add_key(struct sp_answer_writer *a, uint32_t who, uint32_t slice)
{
	const struct sp_dict *d = a->d;
	const struct sp_dict_key *k = a->g->by_group || who >= d->n_keys ? NULL : &d->keys[who];
	uint32_t number = k ? k->group : a->g->by_group && who < d->n_groups ? who : 0;
	const struct sp_dict_group *g = &d->groups[number < d->n_groups ? number : 0];
	int64_t exe = add_file(a, g->exe), comm = add_string(a, g->comm), path = add_string(a, g->cgroup_path);
	int64_t container = add_string(a, g->container), root = add_string(a, g->root);
	int64_t thread = k ? add_string(a, k->thread) : comm;

	if (exe < 0 || comm < 0 || path < 0 || container < 0 || root < 0 || thread < 0)
		return -ENOMEM;
	struct sp_process process = {.exe = (uint32_t)exe,
				     .uid = g->uid,
				     .comm = (uint32_t)comm,
				     .cgroup_path = (uint32_t)path,
				     .container = (uint32_t)container,
				     .root = (uint32_t)root};
	if (k) {
		process.pid = k->pid;
		process.ns_pid = k->ns_pid;
		process.exec_id = k->exec_id;
		process.start_ns = k->start_ns;
		process.cgroup = k->cgroup;
	} else {
		int64_t n = intern_group(a, &process);
		if (n < 0)
			return n;
		process.exec_id = (uint32_t)n + 1;
	}
	int64_t p = number == 0 ? 0 : sp_profile_add_process(a->p, &process);
	struct sp_key key = {.process = (uint32_t)p, .comm = (uint32_t)thread, .recipe = a->source, .slice = slice};
	return p < 0 ? p : sp_profile_add_key(a->p, &key);
}

/* --- rows: from nodes to stacks, from who to keys --- */
static int64_t find_stacks(struct sp_answer_writer *a, uint32_t end)
{
	uint32_t entry = a->slots->of_end[end], slot = entry & SP_ANSWER_STACK_MASK;

	if (entry == SP_ANSWER_STACK_NONE)
		return entry;
	if (a->stacks_of[slot] == UINT32_MAX) {
		int64_t n = add_stacks(a, slot);
		if (n < 0)
			return n;
		a->stacks_of[slot] = (uint32_t)n;
	}
	return a->stacks_of[slot] | (entry & SP_ANSWER_STACK_SHORTENED);
}

static uint32_t n_who(const struct sp_answer_writer *a)
{
	return a->g->who == SP_WHO_THREAD ? a->d->n_strings : a->g->by_group ? a->d->n_groups : a->d->n_keys;
}

static int64_t find_key(struct sp_answer_writer *a, uint32_t who, uint32_t slice)
{
	uint32_t n = n_who(a), at = who < n ? who : 0;

	if (a->key_of[at] == UINT32_MAX) {
		int64_t key = a->g->who == SP_WHO_THREAD ? add_thread(a, at, slice) : add_key(a, at, slice);
		if (key < 0)
			return key;
		a->key_of[at] = (uint32_t)key;
	}
	return a->key_of[at];
}

static void clear_keys(struct sp_answer_writer *a)
{
	memset(a->key_of, 0xff, ((size_t)n_who(a) + 1) * sizeof(*a->key_of));
}

static int translate_window(struct sp_answer_writer *a, struct sp_gathered_window *w)
{
	uint32_t n_ends = sp_gathered_n_ends(a->g, w->dict);

	for (uint32_t i = 0; i < w->n_runs; i++) {
		int64_t key = find_key(a, w->runs[i].who, w->slice);
		if (key < 0)
			return (int)key;
		w->runs[i].who = (uint32_t)key;
	}
	for (uint32_t i = 0; i < w->n_rows; i++) {
		int64_t stacks = find_stacks(a, sp_gathered_row_end(w, i, n_ends));
		if (stacks < 0)
			return (int)stacks;
		w->nodes[i] = (uint32_t)stacks;
	}
	return 0;
}

static void dict_done(struct sp_answer_writer *a)
{
	free(a->file_of);
	free(a->func_of);
	free(a->frame_of);
	free(a->stacks_of);
	free(a->key_of);
	a->file_of = a->func_of = a->frame_of = a->stacks_of = a->key_of = NULL;
}

static int dict_begin(struct sp_answer_writer *a, uint32_t dict, const struct sp_answer_stacks *slots)
{
	const struct sp_dict *d = a->g->dicts[dict];

	a->d = d;
	a->slots = slots;
	a->file_of = calloc((size_t)d->n_files + 1, sizeof(*a->file_of));
	a->func_of = calloc((size_t)d->n_funcs + 1, sizeof(*a->func_of));
	a->frame_of = calloc((size_t)d->n_frames + 1, sizeof(*a->frame_of));
	a->stacks_of = malloc(((size_t)slots->n_slots + 1) * sizeof(*a->stacks_of));
	a->key_of = malloc(((size_t)n_who(a) + 1) * sizeof(*a->key_of));
	if (!a->file_of || !a->func_of || !a->frame_of || !a->stacks_of || !a->key_of)
		return -ENOMEM;
	memset(a->stacks_of, 0xff, ((size_t)slots->n_slots + 1) * sizeof(*a->stacks_of));
	return 0;
}

int sp_answer_add(struct sp_answer_writer *a, uint32_t dict, const struct sp_answer_stacks *slots)
{
	int r = dict_begin(a, dict, slots);
	uint32_t slice = UINT32_MAX;

	for (size_t i = a->g->first; i < a->g->n_windows && r == 0; i++) {
		struct sp_gathered_window *w = &a->g->windows[i];
		if (w->dict != dict)
			continue;
		if (w->slice != slice)
			clear_keys(a);
		slice = w->slice;
		r = translate_window(a, w);
	}
	dict_done(a);
	return r;
}

/* --- rows summed by key and stacks --- */
struct sums {
	int64_t *values;   /* by stacks: all values of one together */
	uint8_t *has_rows; /* by stacks */
	uint32_t *used, n_used;
	uint64_t n_shortened;
};

static void sum_run(const struct sp_answer_writer *a, const struct sp_gathered_window *w, uint32_t run, struct sums *s)
{
	uint32_t end = run + 1 < w->n_runs ? w->runs[run + 1].first : w->n_rows;

	for (uint32_t row = w->runs[run].first; row < end; row++) {
		uint32_t entry = w->nodes[row], at = entry & SP_ANSWER_STACK_MASK;
		if (entry == SP_ANSWER_STACK_NONE)
			continue;
		if (!s->has_rows[at]) {
			s->has_rows[at] = 1;
			s->used[s->n_used++] = at;
		}
		for (uint32_t k = 0; k < w->n_values; k++) {
			int64_t v = sp_gathered_value(w, k, row);
			sp_saturating_add(&s->values[(size_t)at * a->g->n_types + w->type[k]], v);
			if ((entry & SP_ANSWER_STACK_SHORTENED) != 0 && w->type[k] == a->samples && v > 0)
				s->n_shortened += (uint64_t)v;
		}
	}
}

static int add_key_rows(struct sp_answer_writer *a, uint32_t key, struct sums *s)
{
	int r = 0;

	for (uint32_t i = 0; i < s->n_used && r == 0; i++) {
		const struct stacks *stacks = sp_intern_get(a->stacks, s->used[i], NULL);
		int64_t *values = &s->values[(size_t)s->used[i] * a->g->n_types];
		r = sp_profile_add(a->p, key, stacks->user, stacks->kernel, values);
		memset(values, 0, a->g->n_types * sizeof(*values));
		s->has_rows[s->used[i]] = 0;
	}
	s->n_used = 0;
	return r;
}

/* Sorts all runs by key. first_of: by key, index of its first run; one more for the end. */
static int sort_runs(const struct sp_answer_writer *a, struct run **ret_runs, size_t **ret_first_of)
{
	uint32_t n_keys = sp_profile_n_keys(a->p);
	size_t n = 0, *first_of = calloc((size_t)n_keys + 2, sizeof(*first_of));

	*ret_first_of = first_of;
	for (size_t i = 0; i < a->g->n_windows; i++)
		n += a->g->windows[i].n_runs;
	*ret_runs = calloc(n + 1, sizeof(**ret_runs));
	if (!first_of || !*ret_runs)
		return -ENOMEM;
	for (size_t i = 0; i < a->g->n_windows; i++)
		for (uint32_t k = 0; k < a->g->windows[i].n_runs; k++)
			first_of[a->g->windows[i].runs[k].who + 2]++;
	for (uint32_t i = 2; i < n_keys + 2; i++)
		first_of[i] += first_of[i - 1];
	for (size_t i = 0; i < a->g->n_windows; i++)
		for (uint32_t k = 0; k < a->g->windows[i].n_runs; k++)
			(*ret_runs)[first_of[a->g->windows[i].runs[k].who + 1]++] = (struct run){(uint32_t)i, k};
	return 0;
}

static int add_rows(struct sp_answer_writer *a, struct sums *s)
{
	SP_FREE struct run *runs = NULL;
	SP_FREE size_t *first_of = NULL;
	int r = sort_runs(a, &runs, &first_of);

	for (uint32_t key = 0, n = sp_profile_n_keys(a->p); key < n && r == 0; key++) {
		for (size_t i = first_of[key]; i < first_of[key + 1]; i++)
			sum_run(a, &a->g->windows[runs[i].window], runs[i].run, s);
		r = add_key_rows(a, key, s);
	}
	return r;
}

static int add_types(struct sp_answer_writer *a)
{
	int r = 0;

	for (uint32_t i = 0; i < a->g->n_types && r == 0; i++) {
		r = sp_profile_add_value_type(a->p, a->g->types[i].name, a->g->types[i].unit);
		if (strcmp(a->g->types[i].name, "samples") == 0)
			a->samples = i;
	}
	return r;
}

int sp_answer_finish(struct sp_answer_writer *a, uint64_t *ret_n_shortened)
{
	size_t n = (size_t)sp_intern_count(a->stacks) + 1;
	struct sums s = {.values = calloc(n * SP_MAX(a->g->n_types, 1U), sizeof(*s.values)),
			 .has_rows = calloc(n, 1),
			 .used = calloc(n, sizeof(*s.used))};
	int r = !s.values || !s.has_rows || !s.used ? -ENOMEM : add_types(a);

	if (r == 0)
		r = add_rows(a, &s);

	free(s.values);
	free(s.has_rows);
	free(s.used);
	if (r == 0)
		*ret_n_shortened = s.n_shortened;
	return r;
}

/* --- init, free --- */
static int init_interns(struct sp_answer_writer *a, const char *source)
{
	int64_t recipe = sp_profile_add_string(a->p, source);
	int r = recipe < 0 ? (int)recipe : sp_intern_new(&a->files);

	a->source = (uint32_t)recipe;
	if (r == 0)
		r = sp_intern_new(&a->groups);
	if (r == 0)
		r = sp_intern_new(&a->stacks);
	return r;
}

int sp_answer_new(struct sp_gathered *g, const char *source, struct sp_profile *into,
		  struct sp_answer_writer **ret_writer)
{
	struct sp_answer_writer *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->g = g;
	a->p = into;
	int r = init_interns(a, source);
	if (r < 0)
		sp_answer_free(a);
	else
		*ret_writer = a;
	return r;
}

void sp_answer_free(struct sp_answer_writer *a)
{
	if (!a)
		return;
	dict_done(a);
	sp_intern_free(a->files);
	sp_intern_free(a->groups);
	sp_intern_free(a->stacks);
	free(a->path);
	free(a);
}
