/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/query/answer_stacks.h"

#include "base/mem.h"
#include "profile/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- filters --- */
enum { HAS_LIBRARY = 1, HAS_FUNCTION = 2 };

static void match_files(const struct sp_dict *d, const char *glob, uint8_t *files)
{
	for (uint32_t i = 1; i < d->n_files && glob; i++)
		files[i] = sp_glob_matches_file(glob, sp_dict_string(d, d->files[i].name),
						sp_dict_string(d, d->files[i].path));
}

static void match_funcs(const struct sp_dict *d, const char *glob, const uint8_t *files, uint8_t *funcs)
{
	for (uint32_t i = 1; i < d->n_funcs; i++) {
		const struct sp_func *f = &d->funcs[i];
		if (f->file < d->n_files && files[f->file])
			funcs[i] |= HAS_LIBRARY;
		if (glob && (sp_glob_matches(glob, sp_dict_string(d, f->name)) ||
			     sp_glob_matches(glob, sp_dict_string(d, f->linkage_name))))
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

int sp_match_nodes(const struct sp_dict *d, const struct sp_store_query *q, struct sp_wanted *ret_wanted)
{
	uint8_t all = (q->library ? HAS_LIBRARY : 0) | (q->function ? HAS_FUNCTION : 0);
	SP_FREE uint8_t *files = NULL, *funcs = NULL, *frames = NULL, *nodes = NULL;

	*ret_wanted = (struct sp_wanted){0};
	if (all == 0)
		return 0;
	files = calloc((size_t)d->n_files + 1, 1);
	funcs = calloc((size_t)d->n_funcs + 1, 1);
	frames = calloc((size_t)d->n_frames + 1, 1);
	nodes = calloc((size_t)d->n_nodes + 1, 1);
	if (!files || !funcs || !frames || !nodes)
		return -ENOMEM;
	match_files(d, q->library, files);
	match_funcs(d, q->function, files, funcs);
	match_frames(d, files, funcs, frames);
	for (uint32_t i = 1; i < d->n_nodes; i++)
		nodes[i] = nodes[d->parent[i]] | frames[d->frame[i]];
	for (uint32_t i = 0; i < d->n_nodes; i++)
		nodes[i] = (nodes[i] & all) == all;
	for (uint32_t i = 0; i < d->n_frames; i++)
		frames[i] = (frames[i] & (q->function ? HAS_FUNCTION : HAS_LIBRARY)) != 0;
	*ret_wanted = (struct sp_wanted){sp_take_ptr(nodes), sp_take_ptr(frames)};
	return 0;
}

void sp_wanted_done(struct sp_wanted *w)
{
	free(w->nodes);
	free(w->frames);
	*w = (struct sp_wanted){0};
}

/* --- sums --- */
/* One loop and no callback: there are tens of millions of rows. */
static void sum_rows(const struct sp_gathered *g, uint32_t dict, const uint8_t *wanted, float *sums, uint32_t *of_end)
{
	uint32_t n_ends = sp_gathered_n_ends(g, dict);

	for (size_t i = g->first; i < g->n_windows; i++) {
		const struct sp_gathered_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++) {
			uint32_t end = sp_gathered_row_end(w, row, n_ends);
			if (wanted && !wanted[end])
				continue;
			of_end[end] = 0;
			if (sums)
				sums[end] += (float)sp_gathered_first_value(w, row);
		}
	}
}

/* Translates `wanted` from nodes to ends; NULL: everything is wanted. */
static int wanted_ends(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, uint8_t **ret_ends)
{
	uint32_t n = sp_gathered_n_ends(g, dict);
	uint8_t *ends = wanted->nodes ? malloc((size_t)n + 1) : NULL;

	for (uint32_t i = 0; i < n && ends; i++)
		ends[i] = wanted->nodes[sp_gathered_end_node(g, dict, i)];
	*ret_ends = ends;
	return wanted->nodes && !ends ? -ENOMEM : 0;
}

static void count_ends(const struct sp_gathered *g, uint32_t dict, const uint8_t *wanted, size_t enough,
		       uint8_t *counted, double *ret_sum, size_t *ret_n)
{
	uint32_t n_ends = sp_gathered_n_ends(g, dict);
	double sum = 0;
	size_t n = 0;

	for (size_t i = g->first; i < g->n_windows; i++) {
		const struct sp_gathered_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++) {
			uint32_t end = sp_gathered_row_end(w, row, n_ends);
			if (wanted && !wanted[end])
				continue;
			n += n < enough && !counted[end];
			counted[end] = 1;
			sum += (double)sp_gathered_first_value(w, row);
		}
	}
	*ret_sum = sum;
	*ret_n = n;
}

int sp_count_wanted_nodes(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, size_t enough,
			  double *ret_sum, size_t *ret_n)
{
	SP_FREE uint8_t *counted = calloc((size_t)sp_gathered_n_ends(g, dict) + 1, 1), *ends = NULL;
	int r = !counted ? -ENOMEM : wanted_ends(g, dict, wanted, &ends);

	if (r == 0)
		count_ends(g, dict, ends, enough, counted, ret_sum, ret_n);
	return r;
}

/* --- rare stacks --- */
/* A future slot: rows with the same leaf and ancestor. */
struct pair {
	struct sp_answer_stack slot;
	uint32_t to; /* the pair that it was merged into, or itself */
	double sum;
};
struct fold {
	const struct sp_dict *d;
	double least;
	const uint32_t *ends; /* node by end */
	uint32_t n_ends;
	const float *self;     /* by end */
	float *under;          /* by node */
	uint32_t *ancestor;    /* by node: itself or the nearest ancestor with ANCESTOR_FACTOR times `least` below it */
	const uint8_t *wanted; /* by frame: the filter asks for it; NULL = no filter */
	uint32_t *wanted_frame; /* by node: nearest wanted frame at or above it, 0 = none */
	uint32_t *mark;         /* by node: kernel mark at or above it; NULL = the dictionary has none */
	struct pair *pairs;
	size_t n_pairs, capacity;
	uint64_t *table; /* by hash; 0 = free */
	size_t table_size;
};
enum { FIRST_TABLE = 1 << 16, ANCESTOR_FACTOR = 16, AT_ONCE = 32 };

#define HASH_HALF UINT64_C(0xffffffff00000000)

static uint64_t hash_slot(const struct sp_answer_stack *s)
{
	uint64_t x = ((uint64_t)s->node << 32 | s->leaf) * UINT64_C(0x9e3779b97f4a7c15) +
		     (2 * ((uint64_t)s->mark << 20 ^ s->wanted_frame) + s->shortened) * UINT64_C(0xff51afd7ed558ccd);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* An entry is 1 + the pair's index, and the upper half of its hash, which excludes most others. */
static int grow_table(struct fold *f, size_t n_pairs)
{
	size_t size = FIRST_TABLE;

	while (size < 2 * n_pairs)
		size *= 2;
	uint64_t *table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_pairs; i++) {
		if (f->pairs[i].slot.leaf == 0)
			continue;
		uint64_t hash = hash_slot(&f->pairs[i].slot);
		size_t at = hash & (size - 1);
		while (table[at] != 0)
			at = (at + 1) & (size - 1);
		table[at] = (hash & HASH_HALF) | (uint64_t)(i + 1);
	}
	free(f->table);
	f->table = table;
	f->table_size = size;
	return 0;
}

static bool is_same_slot(const struct sp_answer_stack *a, const struct sp_answer_stack *b)
{
	return a->node == b->node && a->leaf == b->leaf && a->mark == b->mark && a->wanted_frame == b->wanted_frame &&
	       a->mark_last == b->mark_last && a->shortened == b->shortened;
}

static int64_t add_pair(struct fold *f, const struct sp_answer_stack *slot)
{
	if (f->n_pairs >= SP_ANSWER_STACK_NONE ||
	    sp_grow(&f->pairs, &f->capacity, f->n_pairs + 1, sizeof(*f->pairs)) < 0)
		return -ENOMEM;
	f->pairs[f->n_pairs] = (struct pair){.slot = *slot, .to = (uint32_t)f->n_pairs};
	return (int64_t)f->n_pairs++;
}

/* Finds or adds a pair. A whole stack has no leaf, and always gets a pair of its own. */
static int64_t find_pair(struct fold *f, const struct sp_answer_stack *slot, uint64_t hash)
{
	if (slot->leaf == 0)
		return add_pair(f, slot);
	if (2 * (f->n_pairs + 1) > f->table_size && grow_table(f, f->table_size) < 0)
		return -ENOMEM;
	size_t at = hash & (f->table_size - 1);
	for (; f->table[at] != 0; at = (at + 1) & (f->table_size - 1)) {
		uint32_t n = (uint32_t)f->table[at] - 1;
		if ((f->table[at] & HASH_HALF) == (hash & HASH_HALF) && is_same_slot(&f->pairs[n].slot, slot))
			return n;
	}
	int64_t n = add_pair(f, slot);
	if (n >= 0)
		f->table[at] = (hash & HASH_HALF) | (uint64_t)(n + 1);
	return n;
}

/* Whether it is directly below the root: a mark, or the first node of a path that lost its beginning. */
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
	float ancestor_limit = (float)(ANCESTOR_FACTOR * f->least);

	memset(f->under, 0, d->n_nodes * sizeof(*f->under));
	for (uint32_t i = 0; i < f->n_ends; i++)
		f->under[f->ends[i]] = f->self[i];
	for (uint32_t i = d->n_nodes; i-- > 1;)
		f->under[d->parent[i]] += f->under[i];
	for (uint32_t i = 1; i < d->n_nodes; i++) {
		bool is_mark = f->mark && is_kernel_mark(d, d->frame[i]);
		f->ancestor[i] =
		    (f->under[i] >= ancestor_limit && !is_mark) || is_root(d, i) ? i : f->ancestor[d->parent[i]];
		if (f->wanted_frame)
			f->wanted_frame[i] = f->wanted[d->frame[i]] ? d->frame[i] : f->wanted_frame[d->parent[i]];
		if (f->mark)
			f->mark[i] = is_mark ? d->frame[i] : f->mark[d->parent[i]];
	}
}

/* Whether frames (not only marks) were removed between a node and its ancestor. */
static bool is_shortened(const struct fold *f, uint32_t ancestor, uint32_t node)
{
	node = f->d->parent[node];
	if (f->mark && is_kernel_mark(f->d, f->d->frame[node]))
		node = f->d->parent[node];
	return node != ancestor;
}

/* The wanted frame that must be kept below the slot's node; 0 = none. */
static uint32_t wanted_frame_between(const struct fold *f, struct sp_answer_stack slot, uint32_t node)
{
	if (!f->wanted_frame || f->wanted_frame[slot.node] != 0 || f->wanted[slot.leaf])
		return 0;
	return f->wanted_frame[node];
}

/* The slot of a node: of its path, its nearest large ancestor and its leaf remain. */
static struct sp_answer_stack slot_of(const struct fold *f, uint32_t node)
{
	const struct sp_dict *d = f->d;
	struct sp_answer_stack slot = {.node = f->ancestor[node]};
	uint32_t up = d->parent[node];

	if (slot.node == node || f->under[node] >= f->least)
		return (struct sp_answer_stack){.node = node};
	slot.leaf = d->frame[node];
	if (f->mark && is_kernel_mark(d, slot.leaf) && slot.node != up) {
		slot.mark = slot.leaf;
		slot.leaf = d->frame[up];
		slot.mark_last = true;
	} else if (f->mark && f->mark[slot.node] == 0 && !is_kernel_mark(d, slot.leaf)) {
		slot.mark = f->mark[node];
	}
	slot.shortened = is_shortened(f, slot.node, slot.mark_last ? up : node);
	if (slot.shortened)
		slot.wanted_frame = wanted_frame_between(f, slot, node);
	return slot;
}

/* The same slot, with a higher ancestor. */
static struct sp_answer_stack slot_lifted(const struct fold *f, struct sp_answer_stack slot, uint32_t to)
{
	if (f->mark && is_kernel_mark(f->d, slot.leaf)) {
		slot.mark = slot.leaf;
		slot.leaf = f->d->frame[slot.node];
		slot.mark_last = true;
	} else if (f->mark && slot.mark == 0 && f->mark[to] == 0) {
		slot.mark = f->mark[slot.node];
	}
	slot.shortened = true;
	uint32_t from = slot.node;
	slot.node = to;
	if (slot.wanted_frame == 0)
		slot.wanted_frame = wanted_frame_between(f, slot, from);
	return slot;
}

/* Prefetches the table entries of a batch of ends, then adds their pairs. */
static int make_some_pairs(struct fold *f, uint32_t first, uint32_t end, uint32_t *of_end)
{
	struct sp_answer_stack slots[AT_ONCE];
	uint64_t hashes[AT_ONCE];

	for (uint32_t i = first; i < end; i++) {
		if (of_end[i] == SP_ANSWER_STACK_NONE)
			continue;
		slots[i - first] = slot_of(f, f->ends[i]);
		hashes[i - first] = hash_slot(&slots[i - first]);
		__builtin_prefetch(&f->table[hashes[i - first] & (f->table_size - 1)]);
	}
	for (uint32_t i = first; i < end; i++) {
		if (of_end[i] == SP_ANSWER_STACK_NONE)
			continue;
		int64_t pair = find_pair(f, &slots[i - first], hashes[i - first]);
		if (pair < 0)
			return (int)pair;
		f->pairs[pair].sum += f->self[i];
		of_end[i] = (uint32_t)pair;
	}
	return 0;
}

static int make_pairs(struct fold *f, uint32_t *of_end)
{
	size_t n_used = 0;

	for (uint32_t i = 0; i < f->n_ends; i++)
		n_used += of_end[i] != SP_ANSWER_STACK_NONE;
	f->capacity = n_used + n_used / 8 + 1; /* one for each; lifted pairs may need more */
	f->pairs = malloc(f->capacity * sizeof(*f->pairs));
	int r = !f->pairs ? -ENOMEM : grow_table(f, n_used + n_used / 8);
	for (uint32_t i = 0; i < f->n_ends && r == 0; i += AT_ONCE)
		r = make_some_pairs(f, i, SP_MIN(i + AT_ONCE, f->n_ends), of_end);
	return r;
}

/* Moves pairs that are still rare to the mark at the root. */
static int lift_pairs(struct fold *f)
{
	size_t n = f->n_pairs;

	for (size_t i = 0; i < n; i++) {
		struct sp_answer_stack slot = f->pairs[i].slot;
		uint32_t up = slot.node;
		if (f->pairs[i].sum >= f->least || slot.leaf == 0 || is_root(f->d, up))
			continue;
		while (!is_root(f->d, up))
			up = f->ancestor[f->d->parent[up]];
		slot = slot_lifted(f, slot, up);
		int64_t to = find_pair(f, &slot, hash_slot(&slot));
		if (to < 0)
			return (int)to;
		f->pairs[to].sum += f->pairs[i].sum;
		f->pairs[i].to = (uint32_t)to;
	}
	return 0;
}

/* Pairs that were not merged into others become slots. */
static int number_slots(struct fold *f, struct sp_answer_stacks *s)
{
	SP_FREE uint32_t *number = calloc(f->n_pairs + 1, sizeof(*number));

	s->slots = calloc(f->n_pairs + 1, sizeof(*s->slots));
	if (!number || !s->slots)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_pairs; i++) {
		number[i] = s->n_slots;
		if (f->pairs[i].to == i)
			s->slots[s->n_slots++] = f->pairs[i].slot;
	}
	for (uint32_t i = 0; i < f->n_ends; i++) {
		if (s->of_end[i] == SP_ANSWER_STACK_NONE)
			continue;
		s->of_end[i] = number[f->pairs[s->of_end[i]].to];
		if (s->slots[s->of_end[i]].shortened)
			s->of_end[i] |= SP_ANSWER_STACK_SHORTENED;
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

static int fold_rare(struct fold *f, struct sp_answer_stacks *s)
{
	find_ancestors(f);
	int r = make_pairs(f, s->of_end);
	if (r == 0)
		r = lift_pairs(f);
	return r < 0 ? r : number_slots(f, s);
}

/* Reallocates without copying. */
static void *reserve_array(void *array, size_t *capacity, size_t n, size_t each)
{
	if (n <= *capacity)
		return array;
	free(array);
	*capacity = n;
	return malloc(n * each);
}

static int shorten_stacks(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted,
			  const uint8_t *ends, double least, struct sp_answer_stacks *s)
{
	const struct sp_dict *d = g->dicts[dict];
	size_t n = (size_t)d->n_nodes + 1, n_ends = sp_gathered_n_ends(g, dict);
	bool marks = has_kernel_marks(d);
	SP_FREE uint32_t *mark = marks ? calloc(n, sizeof(*mark)) : NULL;
	SP_FREE uint32_t *wanted_frame = wanted->frames ? calloc(n, sizeof(*wanted_frame)) : NULL;
	struct fold f = {.d = d, .least = least, .ends = g->narrowed[dict].ends, .n_ends = (uint32_t)n_ends};

	s->self = reserve_array(s->self, &s->self_capacity, n_ends, sizeof(*s->self));
	s->under = reserve_array(s->under, &s->under_capacity, n, sizeof(*s->under));
	s->ancestor = reserve_array(s->ancestor, &s->ancestor_capacity, n, sizeof(*s->ancestor));
	if (!s->self || !s->under || !s->ancestor || (marks && !mark) || (wanted->frames && !wanted_frame))
		return -ENOMEM;
	memset(s->self, 0, n_ends * sizeof(*s->self));
	s->ancestor[0] = 0;
	f.self = s->self;
	f.under = s->under;
	f.ancestor = s->ancestor;
	f.mark = mark;
	f.wanted = wanted->frames;
	f.wanted_frame = wanted_frame;
	sum_rows(g, dict, ends, s->self, s->of_end);
	int r = fold_rare(&f, s);
	free(f.pairs);
	free(f.table);
	return r;
}

/* One slot for each end with rows. */
static int use_whole_stacks(const struct sp_gathered *g, uint32_t dict, const uint8_t *ends, struct sp_answer_stacks *s)
{
	const struct sp_dict *d = g->dicts[dict];
	uint32_t n_ends = sp_gathered_n_ends(g, dict), n = 0;

	sum_rows(g, dict, ends, NULL, s->of_end);
	for (uint32_t i = 0; i < n_ends; i++)
		n += s->of_end[i] != SP_ANSWER_STACK_NONE;
	s->slots = calloc((size_t)n + 1, sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_ends; i++) {
		if (s->of_end[i] == SP_ANSWER_STACK_NONE)
			continue;
		uint32_t node = sp_gathered_end_node(g, dict, i);
		bool shortened = d->is_tree && (d->frames[d->frame[node]].flags & SP_DICT_SHORTENED) != 0;
		s->of_end[i] = s->n_slots | (shortened ? SP_ANSWER_STACK_SHORTENED : 0);
		s->slots[s->n_slots++].node = node;
	}
	return 0;
}

int sp_answer_stacks_make(const struct sp_gathered *g, uint32_t dict, const struct sp_wanted *wanted, double least,
			  struct sp_answer_stacks *s)
{
	uint32_t n_ends = sp_gathered_n_ends(g, dict);
	SP_FREE uint8_t *ends = NULL;
	int r = wanted_ends(g, dict, wanted, &ends);

	free(s->slots);
	s->slots = NULL;
	s->n_slots = 0;
	s->of_end = reserve_array(s->of_end, &s->of_end_capacity, n_ends, sizeof(*s->of_end));
	if (r < 0 || !s->of_end)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_ends; i++)
		s->of_end[i] = SP_ANSWER_STACK_NONE;
	return least > 0 && !g->dicts[dict]->is_tree ? shorten_stacks(g, dict, wanted, ends, least, s)
						     : use_whole_stacks(g, dict, ends, s);
}

void sp_answer_stacks_done(struct sp_answer_stacks *s)
{
	free(s->of_end);
	free(s->slots);
	free(s->self);
	free(s->under);
	free(s->ancestor);
	*s = (struct sp_answer_stacks){0};
}
