/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/subtree_sums.h"

#include "base/mem.h"
#include "base/sum.h"

#include <stdlib.h>

int sp_subtree_sums_init(struct sp_subtree_sums *s, uint32_t n_nodes)
{
	*s = (struct sp_subtree_sums){0};
	return sp_subtree_init(&s->subtree, n_nodes);
}

void sp_subtree_sums_done(struct sp_subtree_sums *s)
{
	sp_subtree_done(&s->subtree);
	free(s->nodes);
	free(s->parent);
	*s = (struct sp_subtree_sums){0};
}

void sp_subtree_sums_select_rows(struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from,
				 uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		sp_subtree_select(&s->subtree, rows->node[i]);
}

void sp_subtree_sums_select_ancestors(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from,
				      uint32_t to)
{
	uint32_t n = s->subtree.n_words;

	sp_subtree_select_ancestors(&s->subtree, &nodes->parent, sizeof(*nodes) / sizeof(uint32_t), n - to, n - from);
}

int sp_subtree_sums_alloc(struct sp_subtree_sums *s)
{
	sp_subtree_number_selected(&s->subtree);
	s->n = s->subtree.n;
	s->nodes = malloc(s->n * sizeof(*s->nodes));
	s->parent = malloc(s->n * sizeof(*s->parent));
	return !s->nodes || !s->parent ? -ENOMEM : 0;
}

void sp_subtree_sums_fill(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from, uint32_t to)
{
	uint32_t at = from < s->subtree.n_words ? s->subtree.n_before[from] : s->n, last = UINT32_MAX;

	for (uint32_t w = from; w < to; w++)
		for (uint64_t bits = s->subtree.selected[w]; bits != 0; bits &= bits - 1, at++) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits), parent = nodes[node].parent;
			/* most nodes directly follow their parent */
			s->parent[at] = node == 0 ? 0 : parent == last ? at - 1 : sp_subtree_sums_find(s, parent);
			s->nodes[at] = (struct sp_subtree_sum){.frame = node == 0 ? 0 : nodes[node].frame};
			last = node;
		}
}

void sp_subtree_sums_clear(struct sp_subtree_sums *s)
{
	for (uint32_t node = 0; node < s->n; node++)
		s->nodes[node].under = s->nodes[node].size = 0;
}

void sp_subtree_sums_sum_up(struct sp_subtree_sums *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t node = s->n - 1 - i;
		uint32_t n = ++s->nodes[node].size;
		if (node == 0)
			return;
		struct sp_subtree_sum *up = &s->nodes[s->parent[node]];
		__builtin_prefetch(&s->nodes[s->parent[node - SP_MIN(node, SP_PREFETCH_NODES)]]);
		up->size += n;
		sp_saturating_add(&up->under, s->nodes[node].under);
	}
}

uint32_t sp_subtree_sums_find_rows(const struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from,
				   uint32_t to, uint32_t ret_nodes[SP_PREFETCH_NODES])
{
	uint32_t n = SP_MIN(to - from, SP_PREFETCH_NODES);

	for (uint32_t i = 0; i < n; i++) {
		ret_nodes[i] = sp_subtree_sums_find(s, rows->node[from + i]);
		__builtin_prefetch(&s->nodes[ret_nodes[i]]);
	}
	return n;
}
