/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/subtree.h"

#include <stdlib.h>
#include <string.h>

int sp_subtree_begin(struct sp_subtree *p, uint32_t n_nodes)
{
	*p = (struct sp_subtree){.n_words = n_nodes / 64 + 1};
	p->touched = calloc(p->n_words, sizeof(*p->touched));
	p->before = malloc(p->n_words * sizeof(*p->before));
	if (p->touched == NULL || p->before == NULL) {
		sp_subtree_done(p);
		return -ENOMEM;
	}
	p->touched[0] = 1;
	return 0;
}

void sp_subtree_done(struct sp_subtree *p)
{
	free(p->touched);
	free(p->before);
	*p = (struct sp_subtree){0};
}

enum { AHEAD = 8, LINE = 16 }; /* words of bits; numbers in a line of memory */

/* What stands for the nodes of a word, before it is needed. */
static void fetch(const uint32_t *parents, size_t stride)
{
	for (size_t i = 0; i < 64 * stride; i += LINE)
		__builtin_prefetch(parents + i);
}

void sp_subtree_reach(struct sp_subtree *p, const uint32_t *parents, size_t stride, uint32_t from, uint32_t to)
{
	for (uint32_t w = to; w-- > from;) {
		uint64_t all = p->touched[w], left = all;
		if (w >= AHEAD && p->touched[w - AHEAD] != 0)
			fetch(parents + (size_t)(w - AHEAD) * 64 * stride, stride);
		while (left != 0) { /* parents are lower: in this word, perhaps, but below */
			uint32_t bit = 63U - (uint32_t)__builtin_clzll(left), node = w * 64 + bit;
			left ^= UINT64_C(1) << bit;
			if (node == 0)
				break;
			uint32_t up = parents[node * stride];
			uint64_t mark = UINT64_C(1) << up % 64, here = up / 64 == w ? mark : 0;
			p->touched[up / 64] |= mark; /* also here, where it is replaced: no branch to be guessed */
			all |= here;
			left |= here & ((UINT64_C(1) << bit) - 1);
		}
		p->touched[w] = all;
	}
}

void sp_subtree_number(struct sp_subtree *p, const uint32_t *parents, size_t stride)
{
	sp_subtree_reach(p, parents, stride, 0, p->n_words);
	sp_subtree_number_touched(p);
}

void sp_subtree_number_touched(struct sp_subtree *p)
{
	for (uint32_t w = 0; w < p->n_words; w++) {
		p->before[w] = p->n;
		p->n += sp_bits(p->touched[w]);
	}
}

int sp_subtree_copy(const struct sp_subtree *p, struct sp_subtree *ret_copy)
{
	int r = sp_subtree_begin(ret_copy, (p->n_words - 1) * 64);

	if (r == 0)
		memcpy(ret_copy->touched, p->touched, p->n_words * sizeof(*p->touched));
	return r;
}
