/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "profile/filter.h"

/* --- filters ------------------------------------------------------------------------------------------------------ */
enum { HAS_LIBRARY = 1, HAS_FUNCTION = 2 };

static void match_files(const struct sp_dict *d, const char *glob, uint8_t *files)
{
	for (uint32_t i = 1; i < d->n_files && glob != NULL; i++)
		files[i] =
		    sp_glob_means_file(glob, sp_dict_string(d, d->files[i].name), sp_dict_string(d, d->files[i].path));
}

static void match_funcs(const struct sp_dict *d, const char *glob, const uint8_t *files, uint8_t *funcs)
{
	for (uint32_t i = 1; i < d->n_funcs; i++) {
		const struct sp_func *f = &d->funcs[i];
		if (f->file < d->n_files && files[f->file])
			funcs[i] |= HAS_LIBRARY;
		if (glob != NULL && (sp_glob_means(glob, sp_dict_string(d, f->name)) ||
				     sp_glob_means(glob, sp_dict_string(d, f->linkage_name))))
			funcs[i] |= HAS_FUNCTION;
	}
}

static void match_frames(const struct sp_dict *d, const uint8_t *files, const uint8_t *funcs, uint8_t *frames)
{
	for (uint32_t i = 1; i < d->n_frames; i++) {
		const struct sp_dict_frame *f = &d->frames[i];
		if (f->mark != SP_MARK_NONE)
			continue;
		frames[i] = f->func < d->n_funcs ? funcs[f->func] : 0;
		if (f->file < d->n_files && files[f->file])
			frames[i] |= HAS_LIBRARY;
	}
}

int sp_nodes_wanted(const struct sp_dict *d, const struct sp_store_query *q, struct sp_wanted *ret_wanted)
{
	uint8_t all = (q->library != NULL ? HAS_LIBRARY : 0) | (q->function != NULL ? HAS_FUNCTION : 0);
	SP_FREE uint8_t *files = NULL, *funcs = NULL, *frames = NULL, *nodes = NULL;

	*ret_wanted = (struct sp_wanted){0};
	if (all == 0)
		return 0;
	files = calloc((size_t)d->n_files + 1, 1);
	funcs = calloc((size_t)d->n_funcs + 1, 1);
	frames = calloc((size_t)d->n_frames + 1, 1);
	nodes = calloc((size_t)d->n_nodes + 1, 1);
	if (files == NULL || funcs == NULL || frames == NULL || nodes == NULL)
		return -ENOMEM;
	match_files(d, q->library, files);
	match_funcs(d, q->function, files, funcs);
	match_frames(d, files, funcs, frames);
	for (uint32_t i = 1; i < d->n_nodes; i++)
		nodes[i] = nodes[d->parent[i]] | frames[d->frame[i]];
	for (uint32_t i = 0; i < d->n_nodes; i++)
		nodes[i] = (nodes[i] & all) == all;
	for (uint32_t i = 0; i < d->n_frames; i++)
		frames[i] = (frames[i] & (q->function != NULL ? HAS_FUNCTION : HAS_LIBRARY)) != 0;
	*ret_wanted = (struct sp_wanted){sp_take_ptr(nodes), sp_take_ptr(frames)};
	return 0;
}

void sp_wanted_done(struct sp_wanted *w)
{
	free(w->nodes);
	free(w->frames);
	*w = (struct sp_wanted){0};
}

/* --- sums --------------------------------------------------------------------------------------------------------- */
/* Calls are too slow for this: tens of millions of rows. */
static void sum_rows(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, float *sums,
		     uint32_t *of_node)
{
	const struct sp_dict *d = g->dicts[dict];

	for (size_t i = g->first; i < g->n_windows; i++) {
		const struct sp_kept_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++) {
			uint32_t node = sp_kept_node(d, w, row);
			if (wanted->nodes != NULL && !wanted->nodes[node])
				continue;
			of_node[node] = 0;
			if (sums != NULL)
				sums[node] += (float)sp_kept_first(w, row);
		}
	}
}

int sp_nodes_count(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, size_t enough,
		   double *ret_sum, size_t *ret_n)
{
	const struct sp_dict *d = g->dicts[dict];
	SP_FREE uint8_t *seen = calloc((size_t)d->n_nodes + 1, 1);
	double sum = 0;
	size_t n = 0;

	if (seen == NULL)
		return -ENOMEM;
	for (size_t i = g->first; i < g->n_windows; i++) {
		const struct sp_kept_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++) {
			uint32_t node = wanted->nodes != NULL || n < enough ? sp_kept_node(d, w, row) : 0;
			if (wanted->nodes != NULL && !wanted->nodes[node])
				continue;
			if (n < enough) {
				n += !seen[node];
				seen[node] = 1;
			}
			sum += (double)sp_kept_first(w, row);
		}
	}
	*ret_sum = sum;
	*ret_n = n;
	return 0;
}

/* --- rare stacks -------------------------------------------------------------------------------------------------- */
/* Rows that end in one leaf behind one ancestor. */
struct pair {
	struct sp_slot slot;
	double sum;
	uint32_t to; /* the pair that it became a part of, or itself */
};
struct fold {
	const struct sp_dict *d;
	double least;
	float *self, *under;   /* by node */
	uint32_t *ancestor;    /* by node: itself or the nearest above that has LOTS times `least` under it */
	const uint8_t *wanted; /* by frame: what the filter asks for; NULL = there is none */
	uint32_t *kept;        /* by node: the nearest frame that is wanted, 0 = none */
	uint32_t *mark;        /* by node: the kernel's mark at or above it, NULL = there is none in the dictionary */
	struct pair *pairs;
	size_t n_pairs, capacity;
	uint64_t *table; /* by hash; 0 = free */
	size_t table_size;
};
enum { FIRST_TABLE = 1 << 16, LOTS = 16 };

static uint64_t hash_slot(const struct sp_slot *s)
{
	uint64_t x = ((uint64_t)s->node << 32 | s->leaf) * UINT64_C(0x9e3779b97f4a7c15) +
		     (2 * ((uint64_t)s->mark << 20 ^ s->kept) + s->shortened) * UINT64_C(0xff51afd7ed558ccd);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* Room for so many pairs, half full. An entry is a pair's number + 1 and half of its hash: most others differ in it. */
static int table_make(struct fold *f, size_t n_pairs)
{
	f->table_size = FIRST_TABLE;
	while (f->table_size < 2 * n_pairs)
		f->table_size *= 2;
	f->table = calloc(f->table_size, sizeof(*f->table));
	return f->table == NULL ? -ENOMEM : 0;
}

static bool is_same(const struct sp_slot *a, const struct sp_slot *b)
{
	return a->node == b->node && a->leaf == b->leaf && a->mark == b->mark && a->kept == b->kept &&
	       a->mark_last == b->mark_last && a->shortened == b->shortened;
}

static int64_t add_pair(struct fold *f, const struct sp_slot *slot)
{
	if (f->n_pairs >= SP_SLOT_NONE || sp_grow(&f->pairs, &f->capacity, f->n_pairs + 1, sizeof(*f->pairs)) < 0)
		return -ENOMEM;
	f->pairs[f->n_pairs] = (struct pair){.slot = *slot, .to = (uint32_t)f->n_pairs};
	return (int64_t)f->n_pairs++;
}

/* The number of the pair of this ancestor and leaf; a stack that stays whole has no leaf, and its node for itself. */
static int64_t pair_of(struct fold *f, const struct sp_slot *slot)
{
	if (slot->leaf == 0)
		return add_pair(f, slot);
	uint64_t hash = hash_slot(slot), half = hash & 0xffffffff00000000;
	size_t at = hash & (f->table_size - 1);
	for (; f->table[at] != 0; at = (at + 1) & (f->table_size - 1)) {
		uint32_t n = (uint32_t)f->table[at] - 1;
		if ((f->table[at] & 0xffffffff00000000) == half && is_same(&f->pairs[n].slot, slot))
			return n;
	}
	int64_t n = add_pair(f, slot);
	if (n >= 0)
		f->table[at] = half | (uint64_t)(n + 1);
	return n;
}

/* A mark at the root, or where the dictionary lost the root's end of a path. */
static bool is_root(const struct sp_dict *d, uint32_t node)
{
	return d->parent[node] == 0;
}

static bool is_kernel_mark(const struct sp_dict *d, uint32_t frame)
{
	return d->frames[frame].mark == SP_MARK_KERNEL;
}

static void find_ancestors(struct fold *f)
{
	const struct sp_dict *d = f->d;
	float lots = (float)(LOTS * f->least);

	memcpy(f->under, f->self, d->n_nodes * sizeof(*f->under));
	for (uint32_t i = d->n_nodes; i-- > 1;)
		f->under[d->parent[i]] += f->under[i];
	for (uint32_t i = 1; i < d->n_nodes; i++) {
		bool is_mark = f->mark != NULL && is_kernel_mark(d, d->frame[i]);
		f->ancestor[i] = (f->under[i] >= lots && !is_mark) || is_root(d, i) ? i : f->ancestor[d->parent[i]];
		if (f->kept != NULL)
			f->kept[i] = f->wanted[d->frame[i]] ? d->frame[i] : f->kept[d->parent[i]];
		if (f->mark != NULL)
			f->mark[i] = is_mark ? d->frame[i] : f->mark[d->parent[i]];
	}
}

/* Whether frames (marks are none) were lost between a node and its ancestor. */
static bool is_shortened(const struct fold *f, uint32_t ancestor, uint32_t node)
{
	node = f->d->parent[node];
	if (f->mark != NULL && is_kernel_mark(f->d, f->d->frame[node]))
		node = f->d->parent[node];
	return node != ancestor;
}

/* What a filter asked for must not be lost below the slot's node. */
static uint32_t kept_between(const struct fold *f, struct sp_slot slot, uint32_t node)
{
	if (f->kept == NULL || f->kept[slot.node] != 0 || f->wanted[slot.leaf])
		return 0;
	return f->kept[node];
}

/* What stays of the path to a node: its nearest ancestor with enough under it, and its leaf. */
static struct sp_slot slot_of(const struct fold *f, uint32_t node)
{
	const struct sp_dict *d = f->d;
	struct sp_slot slot = {.node = f->ancestor[node]};
	uint32_t up = d->parent[node];

	if (slot.node == node || f->under[node] >= f->least)
		return (struct sp_slot){.node = node};
	slot.leaf = d->frame[node];
	if (f->mark != NULL && is_kernel_mark(d, slot.leaf) && slot.node != up) {
		slot.mark = slot.leaf;
		slot.leaf = d->frame[up];
		slot.mark_last = true;
	} else if (f->mark != NULL && f->mark[slot.node] == 0 && !is_kernel_mark(d, slot.leaf)) {
		slot.mark = f->mark[node];
	}
	slot.shortened = is_shortened(f, slot.node, slot.mark_last ? up : node);
	if (slot.shortened)
		slot.kept = kept_between(f, slot, node);
	return slot;
}

/* The same from a higher ancestor. */
static struct sp_slot slot_lifted(const struct fold *f, struct sp_slot slot, uint32_t to)
{
	if (f->mark != NULL && is_kernel_mark(f->d, slot.leaf)) {
		slot.mark = slot.leaf;
		slot.leaf = f->d->frame[slot.node];
		slot.mark_last = true;
	} else if (f->mark != NULL && slot.mark == 0 && f->mark[to] == 0) {
		slot.mark = f->mark[slot.node];
	}
	slot.shortened = true;
	uint32_t from = slot.node;
	slot.node = to;
	if (slot.kept == 0)
		slot.kept = kept_between(f, slot, from);
	return slot;
}

static int make_pairs(struct fold *f, uint32_t *of_node)
{
	size_t n_used = 0;

	for (uint32_t i = 0; i < f->d->n_nodes; i++)
		n_used += of_node[i] != SP_SLOT_NONE;
	if (table_make(f, 2 * n_used) < 0) /* each is one, and may be lifted into another */
		return -ENOMEM;
	for (uint32_t i = 0; i < f->d->n_nodes; i++) {
		if (of_node[i] == SP_SLOT_NONE)
			continue;
		struct sp_slot slot = slot_of(f, i);
		int64_t pair = pair_of(f, &slot);
		if (pair < 0)
			return (int)pair;
		f->pairs[pair].sum += f->self[i];
		of_node[i] = (uint32_t)pair;
	}
	return 0;
}

/* Pairs that are still rare go to the mark at the root. */
static int lift_pairs(struct fold *f)
{
	size_t n = f->n_pairs;

	for (size_t i = 0; i < n; i++) {
		struct sp_slot slot = f->pairs[i].slot;
		uint32_t up = slot.node;
		if (f->pairs[i].sum >= f->least || slot.leaf == 0 || is_root(f->d, up))
			continue;
		while (!is_root(f->d, up))
			up = f->ancestor[f->d->parent[up]];
		slot = slot_lifted(f, slot, up);
		int64_t to = pair_of(f, &slot);
		if (to < 0)
			return (int)to;
		f->pairs[to].sum += f->pairs[i].sum;
		f->pairs[i].to = (uint32_t)to;
	}
	return 0;
}

/* Only those pairs that became no part of others are slots. */
static int number_slots(struct fold *f, struct sp_slots *s)
{
	SP_FREE uint32_t *number = calloc(f->n_pairs + 1, sizeof(*number));

	s->slots = calloc(f->n_pairs + 1, sizeof(*s->slots));
	if (number == NULL || s->slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_pairs; i++) {
		number[i] = s->n_slots;
		if (f->pairs[i].to == i)
			s->slots[s->n_slots++] = f->pairs[i].slot;
	}
	for (uint32_t i = 0; i < f->d->n_nodes; i++) {
		if (s->of_node[i] == SP_SLOT_NONE)
			continue;
		s->of_node[i] = number[f->pairs[s->of_node[i]].to];
		if (s->slots[s->of_node[i]].shortened)
			s->of_node[i] |= SP_SLOT_SHORTENED;
	}
	return 0;
}

static bool has_kernel_marks(const struct sp_dict *d)
{
	for (uint32_t i = 0; i < d->n_frames; i++)
		if (d->frames[i].mark == SP_MARK_KERNEL)
			return true;
	return false;
}

static int fold_rare(struct fold *f, struct sp_slots *s)
{
	find_ancestors(f);
	int r = make_pairs(f, s->of_node);
	if (r == 0)
		r = lift_pairs(f);
	return r < 0 ? r : number_slots(f, s);
}

static int shorten(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, double least,
		   struct sp_slots *s)
{
	const struct sp_dict *d = g->dicts[dict];
	size_t n = (size_t)d->n_nodes + 1;
	bool marks = has_kernel_marks(d);
	SP_FREE uint32_t *mark = marks ? calloc(n, sizeof(*mark)) : NULL;
	SP_FREE uint32_t *kept = wanted->frames != NULL ? calloc(n, sizeof(*kept)) : NULL;
	struct fold f = {.d = d, .least = least};

	if (sp_grow(&s->self, &s->self_capacity, n, sizeof(*s->self)) < 0 ||
	    sp_grow(&s->under, &s->under_capacity, n, sizeof(*s->under)) < 0 ||
	    sp_grow(&s->ancestor, &s->ancestor_capacity, n, sizeof(*s->ancestor)) < 0 || (marks && mark == NULL) ||
	    (wanted->frames != NULL && kept == NULL))
		return -ENOMEM;
	memset(s->self, 0, n * sizeof(*s->self));
	s->ancestor[0] = 0;
	f.self = s->self;
	f.under = s->under;
	f.ancestor = s->ancestor;
	f.mark = mark;
	f.wanted = wanted->frames;
	f.kept = kept;
	sum_rows(g, dict, wanted, s->self, s->of_node);
	int r = fold_rare(&f, s);
	free(f.pairs);
	free(f.table);
	return r;
}

/* Each node that has rows is a slot. */
static int keep_whole(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, struct sp_slots *s)
{
	const struct sp_dict *d = g->dicts[dict];
	uint32_t n_nodes = d->n_nodes, n = 0;

	sum_rows(g, dict, wanted, NULL, s->of_node);
	for (uint32_t i = 0; i < n_nodes; i++)
		n += s->of_node[i] != SP_SLOT_NONE;
	s->slots = calloc((size_t)n + 1, sizeof(*s->slots));
	if (s->slots == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_nodes; i++) {
		if (s->of_node[i] == SP_SLOT_NONE)
			continue;
		bool shortened = d->is_tree && (d->frames[d->frame[i]].flags & SP_DICT_SHORTENED) != 0;
		s->of_node[i] = s->n_slots | (shortened ? SP_SLOT_SHORTENED : 0);
		s->slots[s->n_slots++].node = i;
	}
	return 0;
}

int sp_slots_make(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, double least,
		  struct sp_slots *s)
{
	uint32_t n_nodes = g->dicts[dict]->n_nodes;
	int r = sp_grow(&s->of_node, &s->of_node_capacity, (size_t)n_nodes + 1, sizeof(*s->of_node));

	free(s->slots);
	s->slots = NULL;
	s->n_slots = 0;
	for (uint32_t i = 0; i < n_nodes && r == 0; i++)
		s->of_node[i] = SP_SLOT_NONE;
	if (r < 0)
		return r;
	return least > 0 && !g->dicts[dict]->is_tree ? shorten(g, dict, wanted, least, s)
						     : keep_whole(g, dict, wanted, s);
}

void sp_slots_done(struct sp_slots *s)
{
	free(s->of_node);
	free(s->slots);
	free(s->self);
	free(s->under);
	free(s->ancestor);
	*s = (struct sp_slots){0};
}
