/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subtree.h: a subtree is the part of a call tree that some rows are about: the nodes of the rows and all their
 * ancestors.
 *
 * Its nodes get numbers of their own, in the order of the tree's, with the root as 0. So arrays over a subtree are
 * small, however many nodes a day has. Use: sp_subtree_init(), sp_subtree_select() for the node of each row, then
 * sp_subtree_number_with_ancestors(), which goes over the tree's parents once, from the last to the first.
 * Owns its memory. Error: -ENOMEM. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_SUBTREE_H
#define SP_STORE_FORMAT_SUBTREE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_subtree {
	uint64_t *selected; /* a bit for each node of the tree */
	uint32_t *n_before; /* by word of `selected`: bits set in the words before it */
	uint32_t n, n_words;
};
int sp_subtree_init(struct sp_subtree *p, uint32_t n_nodes);
void sp_subtree_done(struct sp_subtree *p);

static inline void sp_subtree_select(struct sp_subtree *p, uint32_t node)
{
	p->selected[node / 64] |= UINT64_C(1) << node % 64;
}
/* Selects the ancestors of nodes in the words from `from` up to `to`; pass the last words first. parents: stride words
 * for each node, its parent first. */
void sp_subtree_select_ancestors(struct sp_subtree *p, const uint32_t *parents, size_t stride, uint32_t from,
				 uint32_t to);
/* Selects all ancestors, and numbers the nodes. */
void sp_subtree_number_with_ancestors(struct sp_subtree *p, const uint32_t *parents, size_t stride);
/* Numbers the selected nodes, without their ancestors. */
void sp_subtree_number_selected(struct sp_subtree *p);
/* Copies the selection, not the numbers. */
int sp_subtree_copy(const struct sp_subtree *p, struct sp_subtree *ret_copy);

/* Counts set bits: baseline x86-64 has no instruction for it. */
static inline uint32_t sp_popcount(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(v * UINT64_C(0x0101010101010101) >> 56);
}
/* The word w of the selection, with only the bits of nodes from `from` up to `to`. */
static inline uint64_t sp_subtree_bits(const struct sp_subtree *p, uint32_t w, uint32_t from, uint32_t to)
{
	uint64_t bits = p->selected[w];

	if (from / 64 == w)
		bits &= UINT64_MAX << from % 64;
	if (to / 64 == w)
		bits &= (UINT64_C(1) << to % 64) - 1;
	return bits;
}
/* Whether one of them is selected. */
static inline bool sp_subtree_has(const struct sp_subtree *p, uint32_t from, uint32_t to)
{
	for (uint32_t w = from / 64; w <= to / 64 && w < p->n_words && from < to; w++)
		if (sp_subtree_bits(p, w, from, to) != 0)
			return true;
	return false;
}
/* The number of a selected node. */
static inline uint32_t sp_subtree_find(const struct sp_subtree *p, uint32_t node)
{
	return p->n_before[node / 64] + sp_popcount(p->selected[node / 64] & ((UINT64_C(1) << node % 64) - 1));
}

#endif
