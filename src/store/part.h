/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * part.h: the part of a call tree that some rows are about: the nodes that they end at, and those above them.
 *
 * Nodes of a part have numbers of their own, in the order of the tree's, with the root as 0: so arrays by them are as
 * small as the part, however many nodes a day has. Which nodes: sp_part_begin(), sp_part_touch() for each row, then
 * sp_part_number(), which goes over the tree's parents once, from the last to the first, as memory likes it.
 * Owns its memory. -ENOMEM. Not thread-safe.
 */
#ifndef SP_STORE_PART_H
#define SP_STORE_PART_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

struct sp_part {
	uint64_t *touched; /* a bit for each node of the tree */
	uint32_t *before;  /* numbers of the words before */
	uint32_t n, n_words;
};
int sp_part_begin(struct sp_part *p, uint32_t n_nodes);
void sp_part_done(struct sp_part *p);

static inline void sp_part_touch(struct sp_part *p, uint32_t node)
{
	p->touched[node / 64] |= UINT64_C(1) << node % 64;
}
/* Touches the nodes above those of some words: the last words come first. parents: every stride-th word is a node's. */
void sp_part_reach(struct sp_part *p, const uint32_t *parents, size_t stride, uint32_t from, uint32_t to);
/* All of that, and their numbers. */
void sp_part_number(struct sp_part *p, const uint32_t *parents, size_t stride);
/* Numbers for the nodes that were touched alone, without those above them. */
void sp_part_number_touched(struct sp_part *p);
/* The same nodes, to go on with in another way. */
int sp_part_copy(const struct sp_part *p, struct sp_part *ret_copy);

/* Bits that are set; the baseline has no instruction for it. */
static inline uint32_t sp_bits(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(v * UINT64_C(0x0101010101010101) >> 56);
}
/* The number of a node that is in the part. */
static inline uint32_t sp_part_of(const struct sp_part *p, uint32_t node)
{
	return p->before[node / 64] + sp_bits(p->touched[node / 64] & ((UINT64_C(1) << node % 64) - 1));
}

#endif
