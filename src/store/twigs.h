/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * twigs.h: the part of a call tree that some rows are about, as small arrays: what sums and pruned trees are made of.
 *
 * A twig is a node that rows end at, or one above them; twigs are in the order of the tree's nodes, with the root as 0,
 * so that parents come before children. All that is done with them goes over rows, or twigs, or words of the part's
 * bits (64 nodes of the tree) from the first to the last, and may be done in ranges, one after the other, between which
 * the tree may grow and move: from 0 to how many there are. Order: sp_twigs_touch(), sp_twigs_reach(), sp_twigs_make(),
 * sp_twigs_fill(); then for each value sp_twigs_clear(), rows added at their twigs, sp_twigs_sum_up().
 * Owns its memory. -ENOMEM. Not thread-safe.
 */
#ifndef SP_STORE_TWIGS_H
#define SP_STORE_TWIGS_H

#include "store/number.h"
#include "store/part.h"

struct sp_twig {
	int64_t under;  /* of one value: what rows have at it and below it */
	uint32_t frame; /* of the dictionary */
	uint32_t room;  /* how many twigs there are under it, with itself; then whoever asked may use it */
};
struct sp_twigs {
	struct sp_part part;
	struct sp_twig *twigs;
	uint32_t *parent, n; /* by twig */
};
int sp_twigs_begin(struct sp_twigs *s, uint32_t n_nodes);
void sp_twigs_done(struct sp_twigs *s);
/* Of rows: */
void sp_twigs_touch(struct sp_twigs *s, const struct sp_window_rows *rows, uint32_t from, uint32_t to);
/* Of words, counted from the last one. */
void sp_twigs_reach(struct sp_twigs *s, const struct sp_node *nodes, uint32_t from, uint32_t to);
/* Now it is known how many twigs there are. */
int sp_twigs_make(struct sp_twigs *s);
/* Of words: */
void sp_twigs_fill(struct sp_twigs *s, const struct sp_node *nodes, uint32_t from, uint32_t to);
/* Of twigs: */
void sp_twigs_clear(struct sp_twigs *s);
/* Of twigs, counted from the last one. */
void sp_twigs_sum_up(struct sp_twigs *s, uint32_t from, uint32_t to);

/* The twigs of some rows from one on, as many as are fetched at once: memory is what all this waits for. */
enum { SP_TWIGS_AHEAD = 32 };
uint32_t sp_twigs_of_rows(const struct sp_twigs *s, const struct sp_window_rows *rows, uint32_t from, uint32_t to,
			  uint32_t ret_twigs[SP_TWIGS_AHEAD]);
static inline uint32_t sp_twig_of(const struct sp_twigs *s, uint32_t node)
{
	return sp_part_of(&s->part, node);
}

#endif
