/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/pruned_tree.h"

#include "base/mem.h"
#include "base/sum.h"
#include "store/format/multiples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 1 << 15 };

/* The sums of one group by kept node, all values of a node together. */
struct group_sums {
	uint32_t n_kept, n_values;
	double least;
	int64_t *self, *shortened;
	double *under;
	uint64_t *has_rows;
	uint32_t *shortened_node; /* 0: none yet */
};

void sp_pruned_tree_done(struct sp_pruned_tree *tree)
{
	free(tree->nodes);
	sp_window_rows_done(&tree->rows);
	*tree = (struct sp_pruned_tree){0};
}

/* --- nodes --- */
static int add_pruned_node(struct sp_pruned_tree *tree, uint32_t parent, uint32_t frame)
{
	int r = sp_grow(&tree->nodes, &tree->capacity, (size_t)tree->n_nodes + 1, sizeof(*tree->nodes));

	if (r == 0)
		tree->nodes[tree->n_nodes++] = (struct sp_node){parent, frame};
	return r;
}

/*
 * Keeps the nodes with at least this sum, and those just below the root, whose marks tell how complete stacks are.
 * -E2BIG: too many.
 */
static int keep_large_nodes(struct sp_subtree_sums *s, double least, struct sp_pruned_tree *tree)
{
	uint32_t n = 0;
	int r = 0;

	tree->n_nodes = 1;
	s->nodes[0].kept = 0;
	for (uint32_t node = 1; node < s->n && r == 0; node++) {
		uint32_t up = s->nodes[s->parent[node]].kept;
		__builtin_prefetch(&s->nodes[s->parent[SP_MIN(node + SP_PREFETCH_NODES, s->n - 1)]]);
		bool large = (double)s->nodes[node].under >= least;
		s->nodes[node].kept = up;
		if (!large && s->parent[node] != 0)
			continue;
		s->nodes[node].kept = tree->n_nodes;
		n += large;
		r = n > MAX_KEPT ? -E2BIG : add_pruned_node(tree, up, s->nodes[node].frame);
	}
	return r;
}

static int keep_largest_nodes(struct sp_subtree_sums *s, struct sp_pruned_tree *tree, double *ret_least)
{
	double least = (double)s->nodes[0].under / SP_TREE_SHARE;
	int r;

	least = SP_MAX(least, 1);
	while ((r = keep_large_nodes(s, least, tree)) == -E2BIG)
		least *= 2;
	*ret_least = least;
	return r;
}

/* --- groups --- */
static int group_sums_init(struct group_sums *g, uint32_t n_kept, uint32_t n_values, double least)
{
	*g = (struct group_sums){.n_kept = n_kept, .n_values = n_values, .least = least};
	g->self = calloc((size_t)n_kept * n_values + 1, sizeof(*g->self));
	g->shortened = calloc((size_t)n_kept * n_values + 1, sizeof(*g->shortened));
	g->under = calloc(n_kept, sizeof(*g->under));
	g->has_rows = calloc(n_kept / 64 + 1, sizeof(*g->has_rows));
	g->shortened_node = calloc(n_kept, sizeof(*g->shortened_node));
	return !g->self || !g->shortened || !g->under || !g->has_rows || !g->shortened_node ? -ENOMEM : 0;
}

static void group_sums_done(struct group_sums *g)
{
	free(g->self);
	free(g->shortened);
	free(g->under);
	free(g->has_rows);
	free(g->shortened_node);
}

static void add_group_row(struct group_sums *g, const struct sp_subtree_sums *s, const struct sp_pruned_tree *tree,
			  const struct sp_window_rows *rows, uint32_t row, uint32_t node)
{
	uint32_t at = s->nodes[node].kept;
	bool is_kept = node == 0 || s->nodes[s->parent[node]].kept != at;
	int64_t *into = (is_kept ? g->self : g->shortened) + (size_t)at * g->n_values;

	for (uint32_t v = 0; v < g->n_values; v++)
		sp_saturating_add(&into[v], rows->values[v][row]);
	g->under[at] += (double)rows->values[0][row];
	for (; (g->has_rows[at / 64] >> at % 64 & 1) == 0; at = tree->nodes[at].parent)
		g->has_rows[at / 64] |= UINT64_C(1) << at % 64;
}

static void add_group_rows(struct group_sums *g, const struct sp_subtree_sums *s, const struct sp_pruned_tree *tree,
			   const struct sp_window_rows *rows, uint32_t from, uint32_t to)
{
	uint32_t nodes[SP_PREFETCH_NODES], n;

	for (uint32_t i = from; i < to; i += n) {
		n = sp_subtree_sums_find_rows(s, rows, i, to, nodes);
		for (uint32_t k = 0; k < n; k++)
			add_group_row(g, s, tree, rows, i + k, nodes[k]);
	}
}

/* Folds nodes below the limit into their parents, from the last to the first. */
static void fold_small_nodes(struct group_sums *g, const struct sp_pruned_tree *tree)
{
	for (uint32_t w = g->n_kept / 64 + 1; w-- > 0;)
		for (uint64_t bits = g->has_rows[w]; bits != 0;) {
			uint32_t bit = 63U - (uint32_t)__builtin_clzll(bits), k = w * 64 + bit,
				 up = tree->nodes[k].parent;
			bits &= ~(UINT64_C(1) << bit);
			if (k == 0)
				continue;
			g->under[up] += g->under[k];
			int64_t *self = g->self + (size_t)k * g->n_values,
				*shortened = g->shortened + (size_t)k * g->n_values;
			for (uint32_t v = 0; v < g->n_values && g->under[k] < g->least && up != 0; v++) {
				sp_saturating_add(&g->shortened[(size_t)up * g->n_values + v], self[v]);
				sp_saturating_add(&g->shortened[(size_t)up * g->n_values + v], shortened[v]);
				self[v] = shortened[v] = 0;
			}
		}
}

static int append_row(struct sp_pruned_tree *tree, uint32_t who, uint32_t node, const int64_t *values)
{
	bool any = false;

	for (uint32_t v = 0; v < tree->rows.n_values; v++)
		any |= values[v] != 0;
	int r = any ? sp_window_rows_reserve(&tree->rows, (size_t)tree->rows.n + 1) : 0;
	if (r < 0 || !any)
		return r;
	tree->rows.who[tree->rows.n] = who;
	tree->rows.node[tree->rows.n] = node;
	for (uint32_t v = 0; v < tree->rows.n_values; v++)
		tree->rows.values[v][tree->rows.n] = values[v];
	tree->rows.n++;
	return 0;
}

static int append_shortened_row(struct group_sums *g, struct sp_pruned_tree *tree, uint32_t who, uint32_t k)
{
	const int64_t *values = g->shortened + (size_t)k * g->n_values;
	bool any = false;
	int r = 0;

	for (uint32_t v = 0; v < g->n_values; v++)
		any |= values[v] != 0;
	if (any && g->shortened_node[k] == 0) {
		g->shortened_node[k] = tree->n_nodes;
		r = add_pruned_node(tree, k, SP_PRUNED_TREE_SHORTENED);
	}
	return r < 0 || !any ? r : append_row(tree, who, g->shortened_node[k], values);
}

/* Writes the group's rows, and clears the sums for the next group. */
static int write_group(struct group_sums *g, struct sp_pruned_tree *tree, uint32_t who)
{
	int r = 0;

	for (uint32_t w = 0; w < g->n_kept / 64 + 1; w++) {
		for (uint64_t bits = g->has_rows[w]; bits != 0 && r == 0; bits &= bits - 1) {
			uint32_t k = w * 64 + (uint32_t)__builtin_ctzll(bits);
			r = append_row(tree, who, k, g->self + (size_t)k * g->n_values);
			r = r < 0 ? r : append_shortened_row(g, tree, who, k);
			memset(g->self + (size_t)k * g->n_values, 0, g->n_values * sizeof(*g->self));
			memset(g->shortened + (size_t)k * g->n_values, 0, g->n_values * sizeof(*g->shortened));
			g->under[k] = 0;
		}
		g->has_rows[w] = 0;
	}
	return r;
}

static int write_groups(const struct sp_subtree_sums *s, const struct sp_window_rows *rows, double least,
			struct sp_pruned_tree *tree)
{
	struct group_sums g;
	int r = group_sums_init(&g, tree->n_nodes, rows->n_values, least);

	tree->rows.n_values = rows->n_values;
	for (uint32_t i = 0, end; i < rows->n && r == 0; i = end) {
		for (end = i + 1; end < rows->n && rows->who[end] == rows->who[i];)
			end++;
		add_group_rows(&g, s, tree, rows, i, end);
		fold_small_nodes(&g, tree);
		r = write_group(&g, tree, rows->who[i]);
	}
	group_sums_done(&g);
	return r < 0 ? r : sp_window_rows_sort(&tree->rows);
}

static int make_tree(struct sp_subtree_sums *s, const struct sp_window_rows *rows, struct sp_pruned_tree *tree)
{
	struct sp_multiples m = sp_multiples_of(rows);
	struct sp_window_rows base_rows = sp_multiples_base_rows(&m, rows);
	int r = add_pruned_node(tree, 0, 0);

	if (r < 0 || rows->n == 0)
		return r;
	double least = 0;
	r = keep_largest_nodes(s, tree, &least);
	r = r < 0 ? r : write_groups(s, &base_rows, least, tree);
	return r < 0 ? r : sp_multiples_expand(&m, &tree->rows);
}

int sp_pruned_tree_make_from_sums(struct sp_subtree_sums *s, const struct sp_window_rows *rows,
				  struct sp_pruned_tree *ret_tree)
{
	struct sp_pruned_tree tree = {0};
	int r = make_tree(s, rows, &tree);

	if (r < 0)
		sp_pruned_tree_done(&tree);
	else
		*ret_tree = tree;
	return r;
}

static int sum_subtree_nodes(struct sp_subtree_sums *s, const struct sp_node *nodes, const struct sp_window_rows *rows)
{
	sp_subtree_sums_select_rows(s, rows, 0, rows->n);
	sp_subtree_sums_select_ancestors(s, nodes, 0, s->subtree.n_words);
	int r = sp_subtree_sums_alloc(s);
	if (r < 0)
		return r;
	sp_subtree_sums_fill(s, nodes, 0, s->subtree.n_words);
	for (uint32_t i = 0; i < rows->n; i++)
		sp_saturating_add(&s->nodes[sp_subtree_sums_find(s, rows->node[i])].under, rows->values[0][i]);
	sp_subtree_sums_sum_up(s, 0, s->n);
	return 0;
}

int sp_pruned_tree_make(const struct sp_node *nodes, uint32_t n_nodes, const struct sp_window_rows *rows,
			struct sp_pruned_tree *ret_tree)
{
	struct sp_subtree_sums s;
	int r = sp_subtree_sums_init(&s, n_nodes);

	r = r < 0 ? r : sum_subtree_nodes(&s, nodes, rows);
	r = r < 0 ? r : sp_pruned_tree_make_from_sums(&s, rows, ret_tree);
	sp_subtree_sums_done(&s);
	return r;
}
