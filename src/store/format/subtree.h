/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subtree.h: the part of a call tree that some rows are about: the nodes that they end at, and those above them.
 *
 * Nodes of a part have numbers of their own, in the order of the tree's, with the root as 0: so arrays by them are as
 * small as the part, however many nodes a day has. Which nodes: sp_subtree_begin(), sp_subtree_touch() for each row,
 * then sp_subtree_number(), which goes over the tree's parents once, from the last to the first, as memory likes it.
 * Owns its memory. -ENOMEM. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_SUBTREE_H
#define SP_STORE_FORMAT_SUBTREE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

struct sp_subtree {
	uint64_t *touched; /* a bit for each node of the tree */
	uint32_t *before;  /* numbers of the words before */
	uint32_t n, n_words;
};
int sp_subtree_begin(struct sp_subtree *p, uint32_t n_nodes);
void sp_subtree_done(struct sp_subtree *p);

static inline void sp_subtree_touch(struct sp_subtree *p, uint32_t node)
{
	p->touched[node / 64] |= UINT64_C(1) << node % 64;
}
/* Touches the nodes above those of some words: the last words come first. parents: every stride-th word is a node's. */
void sp_subtree_reach(struct sp_subtree *p, const uint32_t *parents, size_t stride, uint32_t from, uint32_t to);
/* All of that, and their numbers. */
void sp_subtree_number(struct sp_subtree *p, const uint32_t *parents, size_t stride);
/* Numbers for the nodes that were touched alone, without those above them. */
void sp_subtree_number_touched(struct sp_subtree *p);
/* The same nodes, to go on with in another way. */
int sp_subtree_copy(const struct sp_subtree *p, struct sp_subtree *ret_copy);

/* Bits that are set; the baseline has no instruction for it. */
static inline uint32_t sp_bits(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(v * UINT64_C(0x0101010101010101) >> 56);
}
/* The number of a node that is in the part. */
static inline uint32_t sp_subtree_of(const struct sp_subtree *p, uint32_t node)
{
	return p->before[node / 64] + sp_bits(p->touched[node / 64] & ((UINT64_C(1) << node % 64) - 1));
}

#endif
