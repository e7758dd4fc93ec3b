/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/pruned_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "store/format/multiples.h"

enum { MAX_KEPT = 1 << 15 };

/* What one group has at each kept node, all values of one after the other. */
struct group {
	uint32_t n_kept, n_values;
	double least;
	int64_t *self, *cut;
	double *under;
	uint64_t *touched;
	uint32_t *cut_node; /* 0: there is none yet */
};

void sp_pruned_tree_done(struct sp_pruned_tree *b)
{
	free(b->nodes);
	sp_window_rows_done(&b->rows);
	*b = (struct sp_pruned_tree){0};
}

/* --- nodes --------------------------------------------------------------------------------------------------------
 * A node's room is the kept node that it became, or went into. */
static int add_pruned_node(struct sp_pruned_tree *b, uint32_t parent, uint32_t frame)
{
	int r = sp_grow(&b->nodes, &b->capacity, (size_t)b->n_nodes + 1, sizeof(*b->nodes));

	if (r == 0)
		b->nodes[b->n_nodes++] = (struct sp_node){parent, frame};
	return r;
}

/* What has as much is kept, and what stands at the root: how whole the user's stack was is never lost. -E2BIG: too many
 * have as much. */
static int keep_large(struct sp_subtree_sums *s, double least, struct sp_pruned_tree *b)
{
	uint32_t n = 0;
	int r = 0;

	b->n_nodes = 1;
	s->nodes[0].room = 0;
	for (uint32_t node = 1; node < s->n && r == 0; node++) {
		uint32_t up = s->nodes[s->parent[node]].room;
		__builtin_prefetch(&s->nodes[s->parent[SP_MIN(node + SP_SUBTREE_AHEAD, s->n - 1)]]);
		bool large = (double)s->nodes[node].under >= least;
		s->nodes[node].room = up;
		if (!large && s->parent[node] != 0)
			continue;
		s->nodes[node].room = b->n_nodes;
		n += large;
		r = n > MAX_KEPT ? -E2BIG : add_pruned_node(b, up, s->nodes[node].frame);
	}
	return r;
}

static int keep_some(struct sp_subtree_sums *s, struct sp_pruned_tree *b, double *ret_least)
{
	double least = (double)s->nodes[0].under / SP_TREE_SHARE;
	int r;

	least = SP_MAX(least, 1);
	while ((r = keep_large(s, least, b)) == -E2BIG)
		least *= 2;
	*ret_least = least;
	return r;
}

/* --- groups --- */
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

static void group_row(struct group *g, const struct sp_subtree_sums *s, const struct sp_pruned_tree *b,
		      const struct sp_window_rows *rows, uint32_t row, uint32_t node)
{
	uint32_t at = s->nodes[node].room;
	bool whole = node == 0 || s->nodes[s->parent[node]].room != at;
	int64_t *into = (whole ? g->self : g->cut) + (size_t)at * g->n_values;

	for (uint32_t v = 0; v < g->n_values; v++)
		sp_saturating_add(&into[v], rows->values[v][row]);
	g->under[at] += (double)rows->values[0][row];
	for (; (g->touched[at / 64] >> at % 64 & 1) == 0; at = b->nodes[at].parent)
		g->touched[at / 64] |= UINT64_C(1) << at % 64;
}

static void group_rows(struct group *g, const struct sp_subtree_sums *s, const struct sp_pruned_tree *b,
		       const struct sp_window_rows *rows, uint32_t from, uint32_t to)
{
	uint32_t nodes[SP_SUBTREE_AHEAD], n;

	for (uint32_t i = from; i < to; i += n) {
		n = sp_subtree_sums_of_rows(s, rows, i, to, nodes);
		for (uint32_t k = 0; k < n; k++)
			group_row(g, s, b, rows, i + k, nodes[k]);
	}
}

/* What this group has too little at goes up; nodes come before those below them. */
static void group_fold(struct group *g, const struct sp_pruned_tree *b)
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
				sp_saturating_add(&g->cut[(size_t)up * g->n_values + v], self[v]);
				sp_saturating_add(&g->cut[(size_t)up * g->n_values + v], cut[v]);
				self[v] = cut[v] = 0;
			}
		}
}

static int put_row(struct sp_pruned_tree *b, uint32_t who, uint32_t node, const int64_t *values)
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

static int put_cut(struct group *g, struct sp_pruned_tree *b, uint32_t who, uint32_t k)
{
	const int64_t *values = g->cut + (size_t)k * g->n_values;
	bool any = false;
	int r = 0;

	for (uint32_t v = 0; v < g->n_values; v++)
		any |= values[v] != 0;
	if (any && g->cut_node[k] == 0) {
		g->cut_node[k] = b->n_nodes;
		r = add_pruned_node(b, k, SP_PRUNED_TREE_CUT);
	}
	return r < 0 || !any ? r : put_row(b, who, g->cut_node[k], values);
}

/* Its rows; and it is empty for the next group. */
static int group_put(struct group *g, struct sp_pruned_tree *b, uint32_t who)
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

static int put_groups(const struct sp_subtree_sums *s, const struct sp_window_rows *rows, double least,
		      struct sp_pruned_tree *b)
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

static int make(struct sp_subtree_sums *s, const struct sp_window_rows *rows, struct sp_pruned_tree *b)
{
	struct sp_multiples m = sp_multiples_of(rows);
	struct sp_window_rows own = sp_multiples_own(&m, rows);
	int r = add_pruned_node(b, 0, 0);

	if (r < 0 || rows->n == 0)
		return r;
	double least = 0;
	r = keep_some(s, b, &least);
	r = r < 0 ? r : put_groups(s, &own, least, b);
	return r < 0 ? r : sp_multiples_expand(&m, &b->rows);
}

int sp_pruned_tree_cut(struct sp_subtree_sums *s, const struct sp_window_rows *rows, struct sp_pruned_tree *ret_tree)
{
	struct sp_pruned_tree b = {0};
	int r = make(s, rows, &b);

	if (r < 0)
		sp_pruned_tree_done(&b);
	else
		*ret_tree = b;
	return r;
}

static int sum_subtree(struct sp_subtree_sums *s, const struct sp_node *nodes, const struct sp_window_rows *rows)
{
	sp_subtree_sums_touch(s, rows, 0, rows->n);
	sp_subtree_sums_reach(s, nodes, 0, s->part.n_words);
	int r = sp_subtree_sums_make(s);
	if (r < 0)
		return r;
	sp_subtree_sums_fill(s, nodes, 0, s->part.n_words);
	for (uint32_t i = 0; i < rows->n; i++)
		sp_saturating_add(&s->nodes[sp_subtree_sums_of(s, rows->node[i])].under, rows->values[0][i]);
	sp_subtree_sums_add_up(s, 0, s->n);
	return 0;
}

int sp_pruned_tree_make(const struct sp_node *nodes, uint32_t n_nodes, const struct sp_window_rows *rows,
			struct sp_pruned_tree *ret_tree)
{
	struct sp_subtree_sums s;
	int r = sp_subtree_sums_begin(&s, n_nodes);

	r = r < 0 ? r : sum_subtree(&s, nodes, rows);
	r = r < 0 ? r : sp_pruned_tree_cut(&s, rows, ret_tree);
	sp_subtree_sums_done(&s);
	return r;
}
