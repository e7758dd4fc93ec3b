/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subtree_sums.h: the part of a call tree that some rows are about, as small arrays: what sums and pruned trees are
 * made of.
 *
 * A node is a node that rows end at, or one above them; nodes are in the order of the tree's nodes, with the root as 0,
 * so that parents come before children. All that is done with them goes over rows, or nodes, or words of the part's
 * bits (64 nodes of the tree) from the first to the last, and may be done in ranges, one after the other, between which
 * the tree may grow and move: from 0 to how many there are. Order: sp_subtree_sums_touch(), sp_subtree_sums_reach(),
 * sp_subtree_sums_make(), sp_subtree_sums_fill(); then for each value sp_subtree_sums_clear(), rows added at their
 * nodes, sp_subtree_sums_add_up(). Owns its memory. -ENOMEM. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_SUBTREE_SUMS_H
#define SP_STORE_FORMAT_SUBTREE_SUMS_H

#include "store/format/rows.h"
#include "store/format/subtree.h"

struct sp_subtree_sum {
	int64_t under;  /* of one value: what rows have at it and below it */
	uint32_t frame; /* of the dictionary */
	uint32_t room;  /* how many nodes there are under it, with itself; then whoever asked may use it */
};
struct sp_subtree_sums {
	struct sp_subtree part;
	struct sp_subtree_sum *nodes;
	uint32_t *parent, n; /* by node */
};
int sp_subtree_sums_begin(struct sp_subtree_sums *s, uint32_t n_nodes);
void sp_subtree_sums_done(struct sp_subtree_sums *s);
/* Of rows: */
void sp_subtree_sums_touch(struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from, uint32_t to);
/* Of words, counted from the last one. */
void sp_subtree_sums_reach(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from, uint32_t to);
/* Now it is known how many nodes there are. */
int sp_subtree_sums_make(struct sp_subtree_sums *s);
/* Of words: */
void sp_subtree_sums_fill(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from, uint32_t to);
/* Of nodes: */
void sp_subtree_sums_clear(struct sp_subtree_sums *s);
/* Of nodes, counted from the last one. */
void sp_subtree_sums_add_up(struct sp_subtree_sums *s, uint32_t from, uint32_t to);

/* The nodes of some rows from one on, as many as are fetched at once: memory is what all this waits for. */
enum { SP_SUBTREE_AHEAD = 32 };
uint32_t sp_subtree_sums_of_rows(const struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from,
				 uint32_t to, uint32_t ret_sums[SP_SUBTREE_AHEAD]);
static inline uint32_t sp_subtree_sums_of(const struct sp_subtree_sums *s, uint32_t node)
{
	return sp_subtree_of(&s->part, node);
}

#endif
