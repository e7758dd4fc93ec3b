/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_finish.c: finishes a tree whose paths have been added: totals, thresholds, the order of children. */
#include "base/mem.h"
#include "profile/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * At first, a node's total is the value of what was pruned above it. Children have higher numbers than their parents,
 * so from the last node to the first each total is complete before it is added to the parent's.
 */
static void tree_sum_totals(struct sp_tree *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		sp_saturating_add(&t->nodes[i].total, t->nodes[i].self);
		sp_saturating_add(&t->nodes[i].second_total, t->nodes[i].second_self);
	}
	for (uint32_t i = t->n_nodes; i-- > 1;) {
		const struct sp_tree_node *node = &t->nodes[i];
		struct sp_tree_node *parent = &t->nodes[node->parent];
		sp_saturating_add(&parent->total, node->total);
		sp_saturating_add(&parent->second_total, node->second_total);
		sp_saturating_add(&parent->n_samples, node->n_samples);
	}
}

/*
 * Removes nodes too narrow to be drawn; their values stay in their ancestors' totals. No child is wider than its
 * parent, since no value is negative.
 */
static int tree_prune(struct sp_tree *t, const struct sp_tree_options *o)
{
	double least = o->min_drawn * (double)t->value, second_least = o->min_drawn * (double)t->second;
	SP_FREE uint32_t *moved = calloc(t->n_nodes, sizeof(*moved)); /* 0 = gone */
	uint32_t n = 1;

	if (!moved)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		const struct sp_tree_node *node = &t->nodes[i];
		bool is_wide =
		    (double)node->total >= least || (o->has_second && (double)node->second_total >= second_least);
		if (!is_wide || (node->parent != 0 && moved[node->parent] == 0)) {
			t->n_left_out += node->total > 0;
			continue;
		}
		t->nodes[n] = *node;
		t->nodes[n].parent = moved[node->parent];
		moved[i] = n++;
	}
	t->n_nodes = n;
	return 0;
}

/* --- thresholds --- */
static bool share_is_below(int64_t value, int64_t whole, double share)
{
	double v = (double)value, w = (double)whole;

	return (v < 0 ? -v : v) < share * (w < 0 ? -w : w) || (value == 0 && whole == 0);
}

static bool node_is_cut(const struct sp_tree *t, const struct sp_tree_options *o, const struct sp_tree_node *node)
{
	const struct sp_tree_node *all = &t->nodes[0];

	if (o->max_depth != 0 && node->depth > o->max_depth)
		return true;
	return o->min_share > 0 && share_is_below(node->total, all->total, o->min_share) &&
	       (!o->has_second || share_is_below(node->second_total, all->second_total, o->min_share));
}

/* Adds a cut node to its parent's "other". CALLERS: only nodes of depth 1 have `leaf`. */
static void other_add_node(struct sp_tree_node *other, const struct sp_tree_node *node, bool callers)
{
	other->depth = node->depth;
	other->n_cut++;
	sp_saturating_add(&other->self, node->total);
	sp_saturating_add(&other->second_self, node->second_total);
	sp_saturating_add(&other->n_samples, node->n_samples);
	sp_saturating_add(&other->leaf, callers ? node->leaf : node->total);
	other->total = other->self;
	other->second_total = other->second_self;
}

/*
 * Numbers the nodes that stay anew, in their order; the "other" nodes come behind them. moved: by old number, the new
 * one + 1, 0 = removed.
 */
static uint32_t tree_cut_nodes(struct sp_tree *t, const struct sp_tree_options *o, uint32_t *moved)
{
	uint32_t n = 1;

	moved[0] = 1;
	for (uint32_t i = 1; i < t->n_nodes; i++)
		moved[i] = moved[t->nodes[i].parent] != 0 && !node_is_cut(t, o, &t->nodes[i]) ? ++n : 0;
	return n;
}

static int tree_gather_others(const struct sp_tree *t, bool callers, const uint32_t *moved,
			      struct sp_tree_node **others, size_t *ret_n)
{
	SP_FREE uint32_t *of = calloc(t->n_nodes, sizeof(*of)); /* by parent: its "other" + 1 */
	size_t capacity = 0, n = 0;

	if (!of)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		uint32_t parent = t->nodes[i].parent;
		if (moved[i] != 0 || moved[parent] == 0)
			continue;
		if (of[parent] == 0) {
			if (sp_grow(others, &capacity, n + 1, sizeof(**others)) < 0)
				return -ENOMEM;
			(*others)[n] = (struct sp_tree_node){.parent = moved[parent] - 1, .label = t->n_labels};
			of[parent] = (uint32_t)++n;
		}
		other_add_node(&(*others)[of[parent] - 1], &t->nodes[i], callers);
	}
	*ret_n = n;
	return 0;
}

static void tree_move_nodes(struct sp_tree *t, const uint32_t *moved, const struct sp_tree_node *others,
			    size_t n_others)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		if (moved[i] == 0)
			continue;
		t->nodes[n] = t->nodes[i];
		t->nodes[n++].parent = moved[t->nodes[i].parent] - 1;
	}
	if (n_others > 0)
		memcpy(&t->nodes[n], others, n_others * sizeof(*others));
	t->n_nodes = n + (uint32_t)n_others;
}

static int tree_other_label_add(struct sp_tree *t)
{
	struct sp_tree_label *labels = reallocarray(t->labels, (size_t)t->n_labels + 1, sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	labels[t->n_labels++] = (struct sp_tree_label){.kind = SP_TREE_OTHER};
	t->labels = labels;
	return 0;
}

/* There is room for the "other" nodes: each replaces at least one removed node. */
static int tree_cut(struct sp_tree *t, const struct sp_tree_options *o)
{
	SP_FREE uint32_t *moved = calloc(t->n_nodes, sizeof(*moved));
	SP_FREE struct sp_tree_node *others = NULL;
	size_t n_others = 0;

	if (!moved)
		return -ENOMEM;
	if (tree_cut_nodes(t, o, moved) == t->n_nodes)
		return 0;
	int r = tree_gather_others(t, o->direction == SP_TREE_CALLERS, moved, &others, &n_others);
	if (r < 0)
		return r;
	tree_move_nodes(t, moved, others, n_others);
	return tree_other_label_add(t);
}

/* --- order --- */
struct order {
	const struct sp_profile *p;
	const struct sp_tree *t;
	bool by_name;
};

static int compare_names(const struct order *o, uint32_t a, uint32_t b)
{
	const struct sp_tree_label *x = &o->t->labels[o->t->nodes[a].label], *y = &o->t->labels[o->t->nodes[b].label];
	int c = strcmp(sp_tree_name(o->p, o->t, a), sp_tree_name(o->p, o->t, b));

	if (c == 0 && x->kind != y->kind)
		c = x->kind < y->kind ? -1 : 1;
	if (c == 0 && x->library != y->library)
		c = x->library < y->library ? -1 : 1;
	return c != 0 ? c : (a > b) - (a < b);
}

/* In reverse, as each is then inserted before its siblings. */
static int compare_siblings(const void *left, const void *right, void *arg)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct order *o = arg;
	const struct sp_tree_node *x = &o->t->nodes[a], *y = &o->t->nodes[b];
	bool other_x = o->t->labels[x->label].kind == SP_TREE_OTHER,
	     other_y = o->t->labels[y->label].kind == SP_TREE_OTHER;

	if (other_x != other_y)
		return other_x ? -1 : 1;
	if (!o->by_name && x->total != y->total)
		return x->total < y->total ? -1 : 1;
	if (!o->by_name && x->second_total != y->second_total)
		return x->second_total < y->second_total ? -1 : 1;
	return compare_names(o, b, a);
}

/* Sorts the nodes by parent. end: by parent, the end of its children, where those of the next parent begin. */
static void sort_by_parent(const struct sp_tree *t, uint32_t *numbers, uint32_t *end)
{
	for (uint32_t i = 1; i < t->n_nodes; i++)
		if (t->nodes[i].parent + 1 < t->n_nodes)
			end[t->nodes[i].parent + 1]++;
	for (uint32_t i = 1; i < t->n_nodes; i++)
		end[i] += end[i - 1];
	for (uint32_t i = 1; i < t->n_nodes; i++)
		numbers[end[t->nodes[i].parent]++] = i;
}

/* Sorts the siblings of each parent apart: they are few, so this is much faster than sorting all nodes. */
static int tree_sort(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *t)
{
	SP_FREE uint32_t *numbers = calloc(t->n_nodes, sizeof(*numbers));
	SP_FREE uint32_t *end = calloc(t->n_nodes, sizeof(*end));
	struct order order = {.p = p, .t = t, .by_name = o->by_name};

	if (!numbers || !end)
		return -ENOMEM;
	sort_by_parent(t, numbers, end);
	for (uint32_t parent = 0, first = 0; parent < t->n_nodes; first = end[parent++]) {
		if (end[parent] - first > 1)
			qsort_r(numbers + first, end[parent] - first, sizeof(*numbers), compare_siblings, &order);
		for (uint32_t i = first; i < end[parent]; i++) {
			t->nodes[numbers[i]].next = t->nodes[parent].first;
			t->nodes[parent].first = numbers[i];
		}
	}
	return 0;
}

int sp_tree_finish(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *t)
{
	tree_sum_totals(t);
	int r = o->min_drawn > 0 && o->drawn && !o->focus ? tree_prune(t, o) : 0;
	if (r == 0 && (o->min_share > 0 || o->max_depth != 0))
		r = tree_cut(t, o);
	return r < 0 ? r : tree_sort(p, o, t);
}
