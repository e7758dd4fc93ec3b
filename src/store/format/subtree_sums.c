/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/subtree_sums.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"

int sp_subtree_sums_begin(struct sp_subtree_sums *s, uint32_t n_nodes)
{
	*s = (struct sp_subtree_sums){0};
	return sp_subtree_begin(&s->part, n_nodes);
}

void sp_subtree_sums_done(struct sp_subtree_sums *s)
{
	sp_subtree_done(&s->part);
	free(s->nodes);
	free(s->parent);
	*s = (struct sp_subtree_sums){0};
}

void sp_subtree_sums_touch(struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		sp_subtree_touch(&s->part, rows->node[i]);
}

void sp_subtree_sums_reach(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from, uint32_t to)
{
	uint32_t n = s->part.n_words;

	sp_subtree_reach(&s->part, &nodes->parent, sizeof(*nodes) / sizeof(uint32_t), n - to, n - from);
}

int sp_subtree_sums_make(struct sp_subtree_sums *s)
{
	sp_subtree_number_touched(&s->part);
	s->n = s->part.n;
	s->nodes = malloc(s->n * sizeof(*s->nodes));
	s->parent = malloc(s->n * sizeof(*s->parent));
	return s->nodes == NULL || s->parent == NULL ? -ENOMEM : 0;
}

void sp_subtree_sums_fill(struct sp_subtree_sums *s, const struct sp_node *nodes, uint32_t from, uint32_t to)
{
	uint32_t at = from < s->part.n_words ? s->part.before[from] : s->n, last = UINT32_MAX;

	for (uint32_t w = from; w < to; w++)
		for (uint64_t bits = s->part.touched[w]; bits != 0; bits &= bits - 1, at++) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits), parent = nodes[node].parent;
			/* most stand behind their parents */
			s->parent[at] = node == 0 ? 0 : parent == last ? at - 1 : sp_subtree_sums_of(s, parent);
			s->nodes[at] = (struct sp_subtree_sum){.frame = node == 0 ? 0 : nodes[node].frame};
			last = node;
		}
}

void sp_subtree_sums_clear(struct sp_subtree_sums *s)
{
	for (uint32_t node = 0; node < s->n; node++)
		s->nodes[node].under = s->nodes[node].room = 0;
}

void sp_subtree_sums_add_up(struct sp_subtree_sums *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t node = s->n - 1 - i;
		uint32_t n = ++s->nodes[node].room;
		if (node == 0)
			return;
		struct sp_subtree_sum *up = &s->nodes[s->parent[node]];
		__builtin_prefetch(&s->nodes[s->parent[node - SP_MIN(node, SP_SUBTREE_AHEAD)]]);
		up->room += n;
		sp_saturating_add(&up->under, s->nodes[node].under);
	}
}

uint32_t sp_subtree_sums_of_rows(const struct sp_subtree_sums *s, const struct sp_window_rows *rows, uint32_t from,
				 uint32_t to, uint32_t ret_sums[SP_SUBTREE_AHEAD])
{
	uint32_t n = SP_MIN(to - from, SP_SUBTREE_AHEAD);

	for (uint32_t i = 0; i < n; i++) {
		ret_sums[i] = sp_subtree_sums_of(s, rows->node[from + i]);
		__builtin_prefetch(&s->nodes[ret_sums[i]]);
	}
	return n;
}
