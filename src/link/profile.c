/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.c: counted calls as a profile. */
#include "link/profile.h"

#include "base/mem.h"
#include "base/path.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	const struct sp_calls_snapshot *s;
	const struct sp_calls_namer *namer;
	struct sp_profile *p;
	uint32_t *files;   /* of libraries */
	uint32_t *wholes;  /* of libraries: the frame "[LIBRARY]", 0 = not made yet */
	uint32_t *callees; /* of callees: frames */
	uint32_t *keys;    /* of processes */
	uint32_t unknown;  /* the file of memory without a file, 0 = not made yet */
};

static int file_add(struct job *j, size_t i)
{
	const struct sp_calls_library *l = &j->s->libraries[i];
	struct sp_file file = {
	    .kind = SP_FILE_ELF, .tag = i + 1, .build_id_len = (uint8_t)SP_MIN(l->build_id_len, SP_BUILD_ID_MAX)};
	int64_t name = sp_profile_add_string(j->p, *l->soname ? l->soname : sp_path_last(l->path)), number,
		path = sp_profile_add_string(j->p, l->path_cut ? "" : l->path);

	memcpy(file.build_id, l->build_id, file.build_id_len);
	if (name < 0 || path < 0)
		return -ENOMEM;
	file.name = (uint32_t)name;
	file.path = (uint32_t)path;
	number = sp_profile_add_file(j->p, &file);
	j->files[i] = number < 0 ? 0 : (uint32_t)number;
	return number < 0 ? (int)number : 0;
}

/* What stands for more than a function: "[LIBRARY]". */
static int64_t whole_func(struct job *j, uint32_t file, const char *name)
{
	int64_t n = sp_profile_add_string(j->p, name);
	struct sp_func func = {.name = (uint32_t)n, .file = file, .is_range = true};

	return n < 0 ? n : sp_profile_add_func(j->p, &func);
}

static int64_t frame_add(struct job *j, uint32_t file, uint64_t offset, int64_t func, uint32_t flags)
{
	struct sp_frame frame = {.file = file, .offset = offset, .func = (uint32_t)func, .flags = flags};

	return func < 0 ? func : sp_profile_add_frame_variant(j->p, &frame, true);
}

static int64_t callee_func(struct job *j, const struct sp_calls_callee *c, uint64_t vaddr, uint64_t size)
{
	SP_FREE char *text = j->namer->demangle(c->name);
	int64_t name = text ? sp_profile_add_string(j->p, text) : -ENOMEM,
		linkage = sp_profile_add_string(j->p, c->name);
	struct sp_func func = {.name = (uint32_t)name,
			       .linkage_name = (uint32_t)linkage,
			       .file = j->files[c->library],
			       .start = c->offset,
			       .size = size,
			       .vaddr = vaddr};

	return name < 0 ? name : linkage < 0 ? linkage : sp_profile_add_func(j->p, &func);
}

/* Two functions at one place (memcpy, memmove) are two frames. */
static int callee_add(struct job *j, size_t i, uint64_t vaddr, uint64_t size)
{
	const struct sp_calls_callee *c = &j->s->callees[i];
	int64_t frame =
	    frame_add(j, j->files[c->library], c->offset, callee_func(j, c, vaddr, size),
		      (c->address_taken ? SP_FRAMEF_ADDRESS_TAKEN : 0) | (c->untimed ? SP_FRAMEF_UNTIMED : 0));

	j->callees[i] = frame < 0 ? 0 : (uint32_t)frame;
	return frame < 0 ? (int)frame : 0;
}

static int by_place(const void *a, const void *b, void *arg)
{
	const struct sp_calls_callee *all = arg, *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	if (x->library != y->library)
		return x->library < y->library ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The callees of one library, in the order of their places. */
static int library_callees_add(struct job *j, const uint32_t *callees, size_t n)
{
	SP_FREE uint64_t *numbers = calloc(n, 3 * sizeof(*numbers));
	uint64_t *offsets = numbers, *vaddrs, *sizes;
	int r = numbers ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	vaddrs = numbers + n;
	sizes = vaddrs + n;
	for (size_t i = 0; i < n; i++)
		offsets[i] = j->s->callees[callees[i]].offset;
	r = j->namer->place(j->namer->arg, j->p, j->files[j->s->callees[callees[0]].library], offsets, n, vaddrs,
			    sizes);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = callee_add(j, callees[i], vaddrs[i], sizes[i]);
	return r;
}

static int callees_add(struct job *j)
{
	const struct sp_calls_callee *all = j->s->callees;
	size_t n = j->s->n_callees, first = 0, end;
	SP_FREE uint32_t *order = calloc(n + 1, sizeof(*order));
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && order; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, n, sizeof(*order), by_place, j->s->callees);
	for (; first < n && r >= 0; first = end) {
		for (end = first; end < n && all[order[end]].library == all[order[first]].library;)
			end++;
		r = library_callees_add(j, order + first, end - first);
	}
	return r;
}

/* A library as a caller of its own. */
static int64_t whole_of(struct job *j, uint32_t library)
{
	const struct sp_calls_library *l = &j->s->libraries[library];
	char name[SP_CALLS_PAGE];
	int64_t frame;

	if (j->wholes[library])
		return j->wholes[library];
	snprintf(name, sizeof(name), "[%s]", *l->soname ? l->soname : sp_path_last(l->path));
	frame = frame_add(j, j->files[library], 0, whole_func(j, j->files[library], name), 0);
	if (frame > 0)
		j->wholes[library] = (uint32_t)frame;
	return frame;
}

/* Code that a program has made for itself: where it lies tells nothing. */
static int64_t unknown_of(struct job *j)
{
	struct sp_file file = {.kind = SP_FILE_OTHER, .tag = UINT64_MAX};
	int64_t name;

	if (!j->unknown) {
		name = sp_profile_add_string(j->p, "[no file]");
		file.name = (uint32_t)name;
		name = name < 0 ? name : sp_profile_add_file(j->p, &file);
		if (name < 0)
			return name;
		j->unknown = (uint32_t)name;
	}
	return frame_add(j, j->unknown, 0, whole_func(j, j->unknown, "[no file]"), 0);
}

static int64_t site_of(struct job *j, const struct sp_calls_arc *a)
{
	struct sp_frame frame = {.offset = a->site_offset - 1};

	if (a->site_library == SP_CALLS_NONE)
		return unknown_of(j);
	frame.file = j->files[a->site_library];
	return sp_profile_add_frame(j->p, &frame);
}

/* Who called, from the callee on. By object there are no places; a row without both is of calls by an address. */
static int callers_of(struct job *j, const struct sp_calls_arc *a, uint32_t *frames, uint32_t *n)
{
	bool by_site = j->s->depth == SP_CALLS_BY_SITE && (a->site_offset || a->site_library != SP_CALLS_NONE);
	bool is_tail = by_site && a->caller != SP_CALLS_NONE && a->site_library != a->caller;
	int64_t frame;

	if (a->caller != SP_CALLS_NONE && (!by_site || is_tail)) {
		frame = whole_of(j, a->caller);
		if (frame < 0)
			return (int)frame;
		frames[(*n)++] = (uint32_t)frame;
	}
	if (by_site) {
		frame = site_of(j, a);
		if (frame < 0)
			return (int)frame;
		frames[(*n)++] = (uint32_t)frame;
	}
	return 0;
}

static int key_add(struct job *j, size_t i)
{
	const struct sp_calls_who *w = &j->s->whos[i];
	struct sp_process process = {.pid = w->pid,
				     .ns_pid = w->pid,
				     .uid = w->uid,
				     .exe = w->program != SP_CALLS_NONE ? j->files[w->program] : 0,
				     .exec_id = w->tid ? w->program : w->number,
				     .start_ns = w->file_ns}; /* numbers are those of a file */
	struct sp_key key;
	char thread[32];
	int64_t name = sp_profile_add_string(j->p, w->name), number, comm = name;

	if (w->tid) {
		snprintf(thread, sizeof(thread), "%s/%" PRIu32, w->name, w->tid);
		comm = sp_profile_add_string(j->p, thread);
	}
	if (name < 0 || comm < 0)
		return -ENOMEM;
	process.comm = (uint32_t)name;
	number = sp_profile_add_process(j->p, &process);
	if (number < 0)
		return (int)number;
	key = (struct sp_key){.process = (uint32_t)number, .comm = (uint32_t)comm};
	number = sp_profile_add_key(j->p, &key);
	j->keys[i] = number < 0 ? 0 : (uint32_t)number;
	return number < 0 ? (int)number : 0;
}

static int arc_add(struct job *j, const struct sp_calls_arc *a)
{
	uint32_t frames[3] = {j->callees[a->callee]};
	struct sp_stack stack = {.stack_class = SP_CLASS_COMPLETE, .n_frames = 1, .frames = frames};
	int64_t number, values[SP_MAX_VALUES] = {(int64_t)SP_MIN(a->n_calls, (uint64_t)INT64_MAX)};
	int r = callers_of(j, a, frames, &stack.n_frames);

	if (r < 0)
		return r;
	number = sp_profile_add_stack(j->p, &stack);
	return number < 0
		   ? (int)number
		   : sp_profile_add(j->p, a->who != SP_CALLS_NONE ? j->keys[a->who] : 0, (uint32_t)number, 0, values);
}

/* Who: nobody, but how long it took. */
static int64_t range_key(struct job *j, const struct sp_calls_time *t)
{
	int64_t from = sp_profile_add_string(j->p, SP_CALLS_FROM), below = sp_profile_add_string(j->p, SP_CALLS_BELOW),
		unit = sp_profile_add_string(j->p, "nanoseconds"), set;
	struct sp_label labels[] = {
	    {.name = (uint32_t)from, .number = (int64_t)t->low_ns, .unit = (uint32_t)unit},
	    {.name = (uint32_t)below, .number = (int64_t)t->high_ns, .unit = (uint32_t)unit},
	};

	if (from < 0 || below < 0 || unit < 0)
		return -ENOMEM;
	set = sp_profile_add_labels(j->p, labels, SP_COUNT(labels));
	return set < 0 ? set : sp_profile_add_key(j->p, &(struct sp_key){.labels = (uint32_t)set});
}

static int time_add(struct job *j, const struct sp_calls_time *t)
{
	const struct sp_stack stack = {
	    .stack_class = SP_CLASS_COMPLETE, .n_frames = 1, .frames = &j->callees[t->callee]};
	int64_t n = (int64_t)SP_MIN(t->n, (uint64_t)INT64_MAX), number = sp_profile_add_stack(j->p, &stack),
		key = t->high_ns ? range_key(j, t) : 0, values[SP_MAX_VALUES] = {0};

	if (number < 0 || key < 0)
		return (int)(number < 0 ? number : key);
	values[t->high_ns ? 1 : 2] = n;
	return sp_profile_add(j->p, (uint32_t)key, (uint32_t)number, 0, values);
}

static int calls_profile_add_all(struct job *j)
{
	int r = sp_profile_add_value_type(j->p, SP_CALLS_VALUE, "count");
	size_t i;

	if (r >= 0 && j->s->n_times)
		r = sp_profile_add_value_type(j->p, SP_CALLS_TIMED, "count");
	if (r >= 0 && j->s->n_times)
		r = sp_profile_add_value_type(j->p, SP_CALLS_LATENCY, "nanoseconds");

	for (i = 0; i < j->s->n_libraries && r >= 0; i++)
		r = file_add(j, i);
	if (r >= 0)
		r = callees_add(j);
	for (i = 0; i < j->s->n_whos && r >= 0; i++)
		r = key_add(j, i);
	for (i = 0; i < j->s->n_arcs && r >= 0; i++)
		r = arc_add(j, &j->s->arcs[i]);
	for (i = 0; i < j->s->n_times && r >= 0; i++)
		r = time_add(j, &j->s->times[i]);
	sp_profile_info(j->p)->time_ns = j->s->created_ns;
	if (r >= 0)
		sp_profile_info(j->p)->default_type = sp_profile_value_type(j->p, 0)->name;
	return r < 0 ? r : 0;
}

int sp_calls_profile(const struct sp_calls_snapshot *s, const struct sp_calls_namer *namer,
		     struct sp_profile **ret_profile)
{
	SP_FREE uint32_t *files = calloc(s->n_libraries + 1, sizeof(*files));
	SP_FREE uint32_t *wholes = calloc(s->n_libraries + 1, sizeof(*wholes));
	SP_FREE uint32_t *callees = calloc(s->n_callees + 1, sizeof(*callees));
	SP_FREE uint32_t *keys = calloc(s->n_whos + 1, sizeof(*keys));
	struct job j = {.s = s, .namer = namer, .files = files, .wholes = wholes, .callees = callees, .keys = keys};
	int r = files && wholes && callees && keys ? sp_profile_new(&j.p) : -ENOMEM;

	if (r >= 0)
		r = calls_profile_add_all(&j);
	if (r < 0) {
		sp_profile_free(j.p);
		return r;
	}
	*ret_profile = j.p;
	return 0;
}
