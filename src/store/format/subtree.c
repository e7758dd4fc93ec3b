/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/subtree.h"

#include <stdlib.h>
#include <string.h>

int sp_subtree_init(struct sp_subtree *p, uint32_t n_nodes)
{
	*p = (struct sp_subtree){.n_words = n_nodes / 64 + 1};
	p->selected = calloc(p->n_words, sizeof(*p->selected));
	p->n_before = malloc(p->n_words * sizeof(*p->n_before));
	if (!p->selected || !p->n_before) {
		sp_subtree_done(p);
		return -ENOMEM;
	}
	p->selected[0] = 1;
	return 0;
}

void sp_subtree_done(struct sp_subtree *p)
{
	free(p->selected);
	free(p->n_before);
	*p = (struct sp_subtree){0};
}

enum { AHEAD = 8, LINE = 16 }; /* distance in words; numbers in a cache line */

/* The parents of the 64 nodes of a word. */
static void prefetch_parents(const uint32_t *parents, size_t stride)
{
	for (size_t i = 0; i < 64 * stride; i += LINE)
		__builtin_prefetch(parents + i);
}

void sp_subtree_select_ancestors(struct sp_subtree *p, const uint32_t *parents, size_t stride, uint32_t from,
				 uint32_t to)
{
	for (uint32_t w = to; w-- > from;) {
		uint64_t all = p->selected[w], left = all;
		if (w >= AHEAD && p->selected[w - AHEAD] != 0)
			prefetch_parents(parents + (size_t)(w - AHEAD) * 64 * stride, stride);
		while (left != 0) { /* a parent's number is lower: it is in another word, or a lower bit of this one */
			uint32_t bit = 63U - (uint32_t)__builtin_clzll(left), node = w * 64 + bit;
			left ^= UINT64_C(1) << bit;
			if (node == 0)
				break;
			uint32_t up = parents[node * stride];
			uint64_t mark = UINT64_C(1) << up % 64, here = up / 64 == w ? mark : 0;
			p->selected[up / 64] |=
			    mark; /* even if in this word, which is overwritten below: an unpredictable branch less */
			all |= here;
			left |= here & ((UINT64_C(1) << bit) - 1);
		}
		p->selected[w] = all;
	}
}

void sp_subtree_number_with_ancestors(struct sp_subtree *p, const uint32_t *parents, size_t stride)
{
	sp_subtree_select_ancestors(p, parents, stride, 0, p->n_words);
	sp_subtree_number_selected(p);
}

void sp_subtree_number_selected(struct sp_subtree *p)
{
	for (uint32_t w = 0; w < p->n_words; w++) {
		p->n_before[w] = p->n;
		p->n += sp_popcount(p->selected[w]);
	}
}

int sp_subtree_copy(const struct sp_subtree *p, struct sp_subtree *ret_copy)
{
	int r = sp_subtree_init(ret_copy, (p->n_words - 1) * 64);

	if (r == 0)
		memcpy(ret_copy->selected, p->selected, p->n_words * sizeof(*p->selected));
	return r;
}
