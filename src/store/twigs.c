/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/twigs.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"

int sp_twigs_begin(struct sp_twigs *s, uint32_t n_nodes)
{
	*s = (struct sp_twigs){0};
	return sp_part_begin(&s->part, n_nodes);
}

void sp_twigs_done(struct sp_twigs *s)
{
	sp_part_done(&s->part);
	free(s->twigs);
	free(s->parent);
	*s = (struct sp_twigs){0};
}

void sp_twigs_touch(struct sp_twigs *s, const struct sp_window_rows *rows, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		sp_part_touch(&s->part, rows->node[i]);
}

void sp_twigs_reach(struct sp_twigs *s, const struct sp_node *nodes, uint32_t from, uint32_t to)
{
	uint32_t n = s->part.n_words;

	sp_part_reach(&s->part, &nodes->parent, sizeof(*nodes) / sizeof(uint32_t), n - to, n - from);
}

int sp_twigs_make(struct sp_twigs *s)
{
	sp_part_number_touched(&s->part);
	s->n = s->part.n;
	s->twigs = malloc(s->n * sizeof(*s->twigs));
	s->parent = malloc(s->n * sizeof(*s->parent));
	return s->twigs == NULL || s->parent == NULL ? -ENOMEM : 0;
}

void sp_twigs_fill(struct sp_twigs *s, const struct sp_node *nodes, uint32_t from, uint32_t to)
{
	uint32_t twig = from < s->part.n_words ? s->part.before[from] : s->n, last = UINT32_MAX;

	for (uint32_t w = from; w < to; w++)
		for (uint64_t bits = s->part.touched[w]; bits != 0; bits &= bits - 1, twig++) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits), parent = nodes[node].parent;
			/* most stand behind their parents */
			s->parent[twig] = node == 0 ? 0 : parent == last ? twig - 1 : sp_twig_of(s, parent);
			s->twigs[twig] = (struct sp_twig){.frame = node == 0 ? 0 : nodes[node].frame};
			last = node;
		}
}

void sp_twigs_clear(struct sp_twigs *s)
{
	for (uint32_t twig = 0; twig < s->n; twig++)
		s->twigs[twig].under = s->twigs[twig].room = 0;
}

void sp_twigs_sum_up(struct sp_twigs *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t twig = s->n - 1 - i;
		uint32_t n = ++s->twigs[twig].room;
		if (twig == 0)
			return;
		struct sp_twig *up = &s->twigs[s->parent[twig]];
		__builtin_prefetch(&s->twigs[s->parent[twig - SP_MIN(twig, SP_TWIGS_AHEAD)]]);
		up->room += n;
		sp_saturating_add(&up->under, s->twigs[twig].under);
	}
}

uint32_t sp_twigs_of_rows(const struct sp_twigs *s, const struct sp_window_rows *rows, uint32_t from, uint32_t to,
			  uint32_t ret_twigs[SP_TWIGS_AHEAD])
{
	uint32_t n = SP_MIN(to - from, SP_TWIGS_AHEAD);

	for (uint32_t i = 0; i < n; i++) {
		ret_twigs[i] = sp_twig_of(s, rows->node[from + i]);
		__builtin_prefetch(&s->twigs[ret_twigs[i]]);
	}
	return n;
}
