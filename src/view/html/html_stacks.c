/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html/html_stacks.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/frames.h"
#include "view/stop.h"
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_NUMBER = UINT32_MAX, MAX_SLICES = 1024 }; /* soprof's own recordings have some 64 slices */

/* While filling: each frame is looked up once. */
struct filler {
	struct sp_html_stacks *s;
	const struct sp_profile *p;
	const struct sp_view_options *o;
	size_t n_words, words_capacity;
};

/* --- frames --- */

static int64_t new_entity(struct filler *f, uint32_t number, bool is_beside)
{
	const struct sp_frame *frame = sp_profile_frame(f->p, number);
	const struct sp_identity *same = &f->s->t.same;
	uint32_t func = same->function_of[number], file = same->library_of[number];
	bool is_kernel = frame->flags & SP_FRAMEF_KERNEL || (file && file == same->kernel);
	return sp_html_add_entity(&f->s->t, func ? sp_profile_drawn_name(f->p, func) : "[unknown]", file, func,
				  is_beside                          ? SP_HTML_BESIDE
				  : is_kernel                        ? SP_HTML_KERNEL
				  : frame->flags & SP_FRAMEF_GUESSED ? SP_HTML_GUESSED
								     : SP_HTML_USER);
}

static int64_t entity_of(struct filler *f, uint32_t frame)
{
	if (f->s->entity_of[frame] != NO_NUMBER)
		return f->s->entity_of[frame];
	int64_t entity = new_entity(f, frame, false);
	if (entity >= 0)
		f->s->entity_of[frame] = (uint32_t)entity;
	return entity;
}

/* --- rows --- */

static int html_stacks_put_word(struct filler *f, int64_t entity, struct sp_html_path *path)
{
	if (entity < 0)
		return (int)entity;
	int r = sp_grow(&f->s->words, &f->words_capacity, f->n_words + 1, sizeof(*f->s->words));
	if (r < 0)
		return r;
	f->s->words[f->n_words++] = (uint32_t)entity;
	path->n++;
	return 0;
}

/* A note at the root of a stack that is not whole, lest its first known frame be taken for the thread's start. */
static int put_note(struct filler *f, const struct sp_stack *stack, struct sp_html_path *path)
{
	char note[128];
	if (stack->stack_class == SP_CLASS_CUT)
		snprintf(note, sizeof(note), "[truncated: %s]", sp_stop_words(stack->reason));
	else if (stack->stack_class == SP_CLASS_ABSENT && !stack->n_frames)
		snprintf(note, sizeof(note), "[no user stack]");
	else
		return 0;
	return html_stacks_put_word(f, sp_html_add_entity(&f->s->t, note, 0, 0, SP_HTML_NOTE), path);
}

static int html_stacks_put_stack(struct filler *f, uint32_t number, struct sp_html_path *path)
{
	struct sp_stack stack = sp_profile_stack(f->p, number);
	uint32_t n_beside = sp_profile_n_beside(f->p, &stack);
	int r = number ? put_note(f, &stack, path) : 0;
	for (uint32_t i = stack.n_frames; i-- && r >= 0;)
		r = html_stacks_put_word(
		    f, i < n_beside ? new_entity(f, stack.frames[i], true) : entity_of(f, stack.frames[i]), path);
	return r;
}

static int html_stacks_put_row(struct filler *f, const struct sp_row *row, struct sp_html_path *path)
{
	const struct sp_key *key = sp_profile_key(f->p, row->key);
	const struct sp_process *process = sp_profile_process(f->p, key->process);
	const char *comm = sp_profile_string(f->p, key->comm ? key->comm : process->comm);
	uint32_t n_values = sp_profile_n_value_types(f->p);
	path->first = f->n_words;
	path->slice = f->s->n_slices ? key->slice : 0;
	memcpy(path->values, row->values, n_values * sizeof(*row->values));
	path->values[n_values] = 1;
	/* foreign profiles may have no thread names */
	int r = comm[0] ? html_stacks_put_word(f, sp_html_add_entity(&f->s->t, comm, 0, 0, SP_HTML_THREAD), path) : 0;
	if (r >= 0 && !f->o->kernel_only)
		r = html_stacks_put_stack(f, row->user, path);
	if (r >= 0 && !f->o->user_only)
		r = html_stacks_put_stack(f, row->kernel, path);
	return r;
}

static int put_rows(struct filler *f)
{
	f->s->n_paths = sp_profile_n_rows(f->p);
	f->s->n_values = sp_profile_n_value_types(f->p) + 1;
	f->s->paths = calloc(f->s->n_paths + 1, sizeof(*f->s->paths));
	f->s->values = calloc(f->s->n_paths + 1, f->s->n_values * sizeof(*f->s->values));
	int r = f->s->paths && f->s->values ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < f->s->n_paths && r >= 0; i++) {
		f->s->paths[i].values = f->s->values + (size_t)i * f->s->n_values;
		r = html_stacks_put_row(f, sp_profile_row(f->p, i), &f->s->paths[i]);
	}
	return r;
}

/* --- order --- */

static int compare_entities(const void *a, const void *b, void *arg)
{
	const struct sp_html_tables *t = arg;
	const struct sp_html_entity *x = sp_html_entity_at(t, *(const uint32_t *)a);
	const struct sp_html_entity *y = sp_html_entity_at(t, *(const uint32_t *)b);
	int c = strcmp(sp_intern_get(t->names, x->name, NULL), sp_intern_get(t->names, y->name, NULL));
	if (!c)
		c = (x->library > y->library) - (x->library < y->library);
	if (!c)
		c = (x->kind > y->kind) - (x->kind < y->kind);
	return c ?: (x->module > y->module) - (x->module < y->module);
}

/* Renumbers the entities by name. */
static int sort_entities(struct filler *f)
{
	struct sp_html_stacks *s = f->s;
	s->n_entities = sp_intern_count(s->t.entities);
	s->order = calloc(s->n_entities + 1U, sizeof(*s->order));
	SP_FREE uint32_t *rank = calloc(s->n_entities + 1U, sizeof(*rank));
	if (!s->order || !rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_entities; i++)
		s->order[i] = i;
	qsort_r(s->order, s->n_entities, sizeof(*s->order), compare_entities, &s->t);
	for (uint32_t i = 0; i < s->n_entities; i++)
		rank[s->order[i]] = i;
	for (size_t i = 0; i < f->n_words; i++)
		s->words[i] = rank[s->words[i]];
	for (uint32_t i = 0; i < sp_profile_n_frames(f->p); i++)
		if (s->entity_of[i] != NO_NUMBER)
			s->entity_of[i] = rank[s->entity_of[i]];
	return 0;
}

static int compare_paths(const void *a, const void *b, void *arg)
{
	const struct sp_html_path *x = a, *y = b;
	const uint32_t *words = arg;
	for (uint32_t i = 0; i < x->n && i < y->n; i++)
		if (words[x->first + i] != words[y->first + i])
			return words[x->first + i] < words[y->first + i] ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return (x->slice > y->slice) - (x->slice < y->slice);
}

static void add_values(struct sp_html_path *into, const struct sp_html_path *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sp_saturating_add(&into->values[i], from->values[i]);
}

static void sort_paths(struct sp_html_stacks *s)
{
	size_t n = 0;
	qsort_r(s->paths, s->n_paths, sizeof(*s->paths), compare_paths, s->words);
	for (size_t i = 0; i < s->n_paths; i++)
		if (n && !compare_paths(&s->paths[n - 1], &s->paths[i], s->words))
			add_values(&s->paths[n - 1], &s->paths[i], s->n_values);
		else
			s->paths[n++] = s->paths[i];
	s->n_paths = n;
}

/* --- the whole --- */

/* Of two recordings, which are compared, there is no one time. */
static uint32_t count_slices(const struct filler *f)
{
	const struct sp_profile_info *info = sp_profile_info(f->p);
	uint64_t n;
	if (!info->slice_ns || f->o->diff || f->o->has_second)
		return 0;
	n = info->duration_ns / info->slice_ns + (info->duration_ns % info->slice_ns != 0);
	for (uint32_t i = 0; i < sp_profile_n_rows(f->p); i++)
		n = SP_MAX(n, (uint64_t)sp_profile_key(f->p, sp_profile_row(f->p, i)->key)->slice);
	return n <= MAX_SLICES ? (uint32_t)n : 0;
}

static int html_stacks_make(struct filler *f)
{
	const struct sp_totals *libraries = f->o->by == SP_TOTAL_BY_LIBRARY ? f->o->totals : NULL;
	int r = sp_html_tables_init(f->p, f->o->value, libraries, &f->s->t);
	f->s->t.by_process = true;
	f->s->entity_of = calloc(sp_profile_n_frames(f->p) + 1U, sizeof(*f->s->entity_of));
	if (r < 0 || !f->s->entity_of)
		return -ENOMEM;
	f->s->n_slices = count_slices(f);
	memset(f->s->entity_of, 0xff, sp_profile_n_frames(f->p) * sizeof(*f->s->entity_of));
	r = put_rows(f);
	if (r >= 0)
		r = sort_entities(f);
	if (r >= 0 && f->n_words) /* else all paths are empty */
		sort_paths(f->s);
	return r;
}

int sp_html_stacks_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_html_stacks **ret_stacks)
{
	struct sp_html_stacks *s = calloc(1, sizeof(*s));
	struct filler f = {.s = s, .p = p, .o = o};
	int r = s ? html_stacks_make(&f) : -ENOMEM;
	if (r < 0) {
		sp_html_stacks_free(s);
		return sp_fail(r, "merge the stacks");
	}
	*ret_stacks = s;
	return 0;
}

void sp_html_stacks_free(struct sp_html_stacks *s)
{
	if (!s)
		return;
	sp_html_tables_done(&s->t);
	free(s->order);
	free(s->entity_of);
	free(s->words);
	free(s->paths);
	free(s->values);
	free(s);
}
