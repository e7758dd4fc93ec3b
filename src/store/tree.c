/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/part.h"

enum { MAX_KEPT = 1 << 15 };

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* The nodes that rows end at, and those above them, in the order of their numbers: slot 0 is the root. */
struct slots {
	const struct sp_node *nodes;
	struct sp_part part;
	uint32_t n;
	uint32_t *parent;
	double *under; /* of the first value */
	uint32_t *at;  /* the kept node that the slot became, or went into */
};
/* What one group has at each kept node, all values of one after the other. */
struct group {
	uint32_t n_kept, n_values;
	double least;
	int64_t *self, *cut;
	double *under;
	uint64_t *touched;
	uint32_t *cut_node; /* 0: there is none yet */
};

void sp_bush_done(struct sp_bush *b)
{
	free(b->nodes);
	sp_window_rows_done(&b->rows);
	*b = (struct sp_bush){0};
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */
static uint32_t slot_of(const struct slots *s, uint32_t node)
{
	return sp_part_of(&s->part, node);
}

static int number_slots(struct slots *s, uint32_t n_nodes, const struct sp_window_rows *rows)
{
	int r = sp_part_begin(&s->part, n_nodes);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < rows->n; i++)
		sp_part_touch(&s->part, rows->node[i]);
	sp_part_number(&s->part, &s->nodes->parent, sizeof(*s->nodes) / sizeof(uint32_t));
	s->n = s->part.n;
	s->parent = calloc(s->n, sizeof(*s->parent));
	s->under = calloc(s->n, sizeof(*s->under));
	s->at = calloc(s->n, sizeof(*s->at));
	return s->parent == NULL || s->under == NULL || s->at == NULL ? -ENOMEM : 0;
}

static void slots_done(struct slots *s)
{
	sp_part_done(&s->part);
	free(s->parent);
	free(s->under);
	free(s->at);
}

/* Calls each() with all slots but the root's, in their order. */
static int for_slots(struct slots *s, int (*each)(struct slots *s, uint32_t slot, uint32_t node, void *arg), void *arg)
{
	uint32_t slot = 0;
	int r = 0;

	for (uint32_t w = 0; w < s->part.n_words; w++)
		for (uint64_t bits = s->part.touched[w]; bits != 0 && r == 0; bits &= bits - 1, slot++)
			if (slot > 0)
				r = each(s, slot, w * 64 + (uint32_t)__builtin_ctzll(bits), arg);
	return r;
}

static int set_parent(struct slots *s, uint32_t slot, uint32_t node, void *arg)
{
	(void)arg;
	s->parent[slot] = slot_of(s, s->nodes[node].parent);
	return 0;
}

static void sum_up(struct slots *s, const struct sp_window_rows *rows)
{
	for (uint32_t i = 0; i < rows->n; i++)
		s->under[slot_of(s, rows->node[i])] += (double)rows->values[0][i];
	for (uint32_t slot = s->n - 1; slot > 0; slot--)
		s->under[s->parent[slot]] += s->under[slot];
}

/* What has as much, and what stands at the root: how whole the user's stack was is never lost. */
static bool is_kept(const struct slots *s, uint32_t slot, double least)
{
	return s->under[slot] >= least || s->parent[slot] == 0;
}

static double find_least(const struct slots *s)
{
	double least = s->under[0] / SP_TREE_SHARE;
	uint32_t n;

	least = SP_MAX(least, 1);
	do {
		n = 0;
		for (uint32_t slot = 1; slot < s->n; slot++)
			n += s->under[slot] >= least;
		least = n > MAX_KEPT ? 2 * least : least;
	} while (n > MAX_KEPT);
	return least;
}

struct keeping {
	struct sp_bush *b;
	double least;
};

static int add_bush_node(struct sp_bush *b, uint32_t parent, uint32_t frame)
{
	int r = sp_grow(&b->nodes, &b->capacity, (size_t)b->n_nodes + 1, sizeof(*b->nodes));

	if (r == 0)
		b->nodes[b->n_nodes++] = (struct sp_node){parent, frame};
	return r;
}

static int keep_slot(struct slots *s, uint32_t slot, uint32_t node, void *arg)
{
	const struct keeping *k = arg;
	uint32_t up = s->at[s->parent[slot]];

	s->at[slot] = up;
	if (!is_kept(s, slot, k->least))
		return 0;
	s->at[slot] = k->b->n_nodes;
	return add_bush_node(k->b, up, s->nodes[node].frame);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */
static int group_make(struct group *g, uint32_t n_kept, uint32_t n_values, double least)
{
	*g = (struct group){.n_kept = n_kept, .n_values = n_values, .least = least};
	g->self = calloc((size_t)n_kept * n_values + 1, sizeof(*g->self));
	g->cut = calloc((size_t)n_kept * n_values + 1, sizeof(*g->cut));
	g->under = calloc(n_kept, sizeof(*g->under));
	g->touched = calloc(n_kept / 64 + 1, sizeof(*g->touched));
	g->cut_node = calloc(n_kept, sizeof(*g->cut_node));
	return g->self == NULL || g->cut == NULL || g->under == NULL || g->touched == NULL || g->cut_node == NULL
		   ? -ENOMEM
		   : 0;
}

static void group_done(struct group *g)
{
	free(g->self);
	free(g->cut);
	free(g->under);
	free(g->touched);
	free(g->cut_node);
}

static void group_rows(struct group *g, const struct slots *s, const struct sp_bush *b,
		       const struct sp_window_rows *rows, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t slot = slot_of(s, rows->node[i]), at = s->at[slot];
		bool whole = slot == 0 || s->at[s->parent[slot]] != at;
		int64_t *into = (whole ? g->self : g->cut) + (size_t)at * g->n_values;
		for (uint32_t v = 0; v < g->n_values; v++)
			add(&into[v], rows->values[v][i]);
		g->under[at] += (double)rows->values[0][i];
		for (; (g->touched[at / 64] >> at % 64 & 1) == 0; at = b->nodes[at].parent)
			g->touched[at / 64] |= UINT64_C(1) << at % 64;
	}
}

/* What this group has too little at goes up; nodes come before those below them. */
static void group_fold(struct group *g, const struct sp_bush *b)
{
	for (uint32_t w = g->n_kept / 64 + 1; w-- > 0;)
		for (uint64_t bits = g->touched[w]; bits != 0;) {
			uint32_t bit = 63U - (uint32_t)__builtin_clzll(bits), k = w * 64 + bit, up = b->nodes[k].parent;
			bits &= ~(UINT64_C(1) << bit);
			if (k == 0)
				continue;
			g->under[up] += g->under[k];
			int64_t *self = g->self + (size_t)k * g->n_values, *cut = g->cut + (size_t)k * g->n_values;
			for (uint32_t v = 0; v < g->n_values && g->under[k] < g->least && up != 0; v++) {
				add(&g->cut[(size_t)up * g->n_values + v], self[v]);
				add(&g->cut[(size_t)up * g->n_values + v], cut[v]);
				self[v] = cut[v] = 0;
			}
		}
}

static int put_row(struct sp_bush *b, uint32_t who, uint32_t node, const int64_t *values)
{
	bool any = false;

	for (uint32_t v = 0; v < b->rows.n_values; v++)
		any |= values[v] != 0;
	int r = any ? sp_window_rows_room(&b->rows, (size_t)b->rows.n + 1) : 0;
	if (r < 0 || !any)
		return r;
	b->rows.who[b->rows.n] = who;
	b->rows.node[b->rows.n] = node;
	for (uint32_t v = 0; v < b->rows.n_values; v++)
		b->rows.values[v][b->rows.n] = values[v];
	b->rows.n++;
	return 0;
}

static int put_cut(struct group *g, struct sp_bush *b, uint32_t who, uint32_t k)
{
	const int64_t *values = g->cut + (size_t)k * g->n_values;
	bool any = false;
	int r = 0;

	for (uint32_t v = 0; v < g->n_values; v++)
		any |= values[v] != 0;
	if (any && g->cut_node[k] == 0) {
		g->cut_node[k] = b->n_nodes;
		r = add_bush_node(b, k, SP_BUSH_CUT);
	}
	return r < 0 || !any ? r : put_row(b, who, g->cut_node[k], values);
}

/* Its rows; and it is empty for the next group. */
static int group_put(struct group *g, struct sp_bush *b, uint32_t who)
{
	int r = 0;

	for (uint32_t w = 0; w < g->n_kept / 64 + 1; w++) {
		for (uint64_t bits = g->touched[w]; bits != 0 && r == 0; bits &= bits - 1) {
			uint32_t k = w * 64 + (uint32_t)__builtin_ctzll(bits);
			r = put_row(b, who, k, g->self + (size_t)k * g->n_values);
			r = r < 0 ? r : put_cut(g, b, who, k);
			memset(g->self + (size_t)k * g->n_values, 0, g->n_values * sizeof(*g->self));
			memset(g->cut + (size_t)k * g->n_values, 0, g->n_values * sizeof(*g->cut));
			g->under[k] = 0;
		}
		g->touched[w] = 0;
	}
	return r;
}

static int put_groups(const struct slots *s, const struct sp_window_rows *rows, double least, struct sp_bush *b)
{
	struct group g;
	int r = group_make(&g, b->n_nodes, rows->n_values, least);

	b->rows.n_values = rows->n_values;
	for (uint32_t i = 0, end; i < rows->n && r == 0; i = end) {
		for (end = i + 1; end < rows->n && rows->who[end] == rows->who[i];)
			end++;
		group_rows(&g, s, b, rows, i, end);
		group_fold(&g, b);
		r = group_put(&g, b, rows->who[i]);
	}
	group_done(&g);
	return r < 0 ? r : sp_window_rows_sort(&b->rows);
}

static int make(struct slots *s, uint32_t n_nodes, const struct sp_window_rows *rows, struct sp_bush *b)
{
	int r = number_slots(s, n_nodes, rows);

	r = r < 0 ? r : for_slots(s, set_parent, NULL);
	r = r < 0 ? r : add_bush_node(b, 0, 0);
	if (r < 0 || rows->n == 0)
		return r;
	sum_up(s, rows);
	struct keeping k = {.b = b, .least = find_least(s)};
	r = for_slots(s, keep_slot, &k);
	return r < 0 ? r : put_groups(s, rows, k.least, b);
}

int sp_bush_make(const struct sp_node *nodes, uint32_t n_nodes, const struct sp_window_rows *rows,
		 struct sp_bush *ret_bush)
{
	struct slots s = {.nodes = nodes};
	struct sp_bush b = {0};
	int r = make(&s, n_nodes, rows, &b);

	slots_done(&s);
	if (r < 0)
		sp_bush_done(&b);
	else
		*ret_bush = b;
	return r;
}
