/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/part.h"

#include <stdlib.h>

int sp_part_begin(struct sp_part *p, uint32_t n_nodes)
{
	*p = (struct sp_part){.n_words = n_nodes / 64 + 1};
	p->touched = calloc(p->n_words, sizeof(*p->touched));
	p->before = malloc(p->n_words * sizeof(*p->before));
	if (p->touched == NULL || p->before == NULL) {
		sp_part_done(p);
		return -ENOMEM;
	}
	p->touched[0] = 1;
	return 0;
}

void sp_part_done(struct sp_part *p)
{
	free(p->touched);
	free(p->before);
	*p = (struct sp_part){0};
}

void sp_part_number(struct sp_part *p, const uint32_t *parents, size_t stride)
{
	for (uint32_t w = p->n_words; w-- > 0;) {
		uint64_t left = p->touched[w];
		while (left != 0) { /* parents are lower: in this word, perhaps, but below */
			uint32_t bit = 63U - (uint32_t)__builtin_clzll(left), node = w * 64 + bit;
			if (node == 0)
				break;
			sp_part_touch(p, parents[node * stride]);
			left = p->touched[w] & ((UINT64_C(1) << bit) - 1);
		}
	}
	for (uint32_t w = 0; w < p->n_words; w++) {
		p->before[w] = p->n;
		p->n += sp_bits(p->touched[w]);
	}
}
