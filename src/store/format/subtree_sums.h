/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subtree_sums.h: sums for each node of a subtree (subtree.h): the base of totals and pruned trees.
 *
 * Nodes are in the order of the tree's nodes, with the root as 0, so parents come before children. All functions with
 * from and to work on a range of rows, nodes or words (64 nodes of the tree), so that the work can be done in steps;
 * the tree may grow and move in between. Ranges must cover 0 up to the number of units, in order. Order of calls:
 * select_rows, select_ancestors, alloc, fill; then for each value clear, add the rows at their nodes, sum_up.
 * Owns its memory. Error: -ENOMEM. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_SUBTREE_SUMS_H
#define SP_STORE_FORMAT_SUBTREE_SUMS_H

#include "store/format/rows.h"
#include "store/format/subtree.h"

struct sp_subtree_sum {
	int64_t under;              /* of one value: the sum of the rows at this node and below it */
	uint32_t frame;             /* of the dictionary */
	union {                     /* one after the other */
		uint32_t size;      /* number of nodes below this one, itself included: sp_subtree_sums_sum_up() */
		uint32_t walk_next; /* sums.c: place of the next child in the walk; at last the end of this subtree */
		uint32_t kept;      /* pruned_tree.c: the pruned tree's node that this one became or was folded into */
	};
};
struct sp_subtree_sums {
	struct sp_subtree subtree;
	struct sp_subtree_sum *nodes;
	uint32_t *parent, n; /* by node */
};
int sp_subtree_sums_init(struct sp_subtree_sums *s, uint32_t n_nodes);
void sp_subtree_sums_done(struct sp_subtree_sums *s);
/* Over rows. */
void sp_subtree_sums_select_rows(struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from,
				 uint32_t to);
/* Over words, counted from the last one. */
void sp_subtree_sums_select_ancestors(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from,
				      uint32_t to);
/* Allocates the nodes, once all are selected. */
int sp_subtree_sums_alloc(struct sp_subtree_sums *s);
/* Over words: sets parents and frames. */
void sp_subtree_sums_fill(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from, uint32_t to);
/* Zeroes the sums. */
void sp_subtree_sums_clear(struct sp_subtree_sums *s);
/* Over nodes, counted from the last one: adds each node to its parent. */
void sp_subtree_sums_sum_up(struct sp_subtree_sums *s, uint32_t from, uint32_t to);

/* Finds the nodes of rows from `from` on, at most SP_PREFETCH_NODES, and prefetches them. Returns their number. */
enum { SP_PREFETCH_NODES = 32 };
uint32_t sp_subtree_sums_find_rows(const struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from,
				   uint32_t to, uint32_t ret_nodes[SP_PREFETCH_NODES]);
static inline uint32_t sp_subtree_sums_find(const struct sp_subtree_sums *s, uint32_t node)
{
	return sp_subtree_find(&s->subtree, node);
}

#endif
