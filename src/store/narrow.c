/* SPDX-License-Identifier: GPL-2.0-or-later */
/* narrow.c: dictionaries made small before an answer is made: a day has millions of nodes, a question some of them. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/dict.h"
#include "store/gather.h"
#include "store/part.h"

void sp_narrowed_free(struct sp_narrowed *n, size_t n_dicts)
{
	for (size_t i = 0; i < n_dicts && n != NULL; i++) {
		free(n[i].parent);
		free(n[i].frame);
	}
	free(n);
}

static void touch_rows(const struct sp_gathered *g, uint32_t dict, struct sp_part *part)
{
	for (size_t i = g->first; i < g->n_windows; i++) {
		const struct sp_kept_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++)
			sp_part_touch(part, w->nodes[row]);
	}
}

/* What a window's dictionary does not know is no node of it. */
static void check_rows(struct sp_gathered *g, uint32_t dict)
{
	uint32_t n_nodes = g->dicts[dict]->n_nodes;

	for (size_t i = g->first; i < g->n_windows; i++) {
		struct sp_kept_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++)
			w->nodes[row] = w->nodes[row] < n_nodes ? w->nodes[row] : 0;
	}
}

static void renumber_rows(struct sp_gathered *g, uint32_t dict, const struct sp_part *part)
{
	for (size_t i = g->first; i < g->n_windows; i++) {
		struct sp_kept_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++)
			w->nodes[row] = sp_part_of(part, w->nodes[row]);
	}
}

/* The nodes that are in it, by their numbers in it. */
static int take_nodes(struct sp_dict_room *room, const struct sp_part *part, struct sp_narrowed *n)
{
	uint32_t number = 0;

	n->parent = malloc(part->n * sizeof(*n->parent));
	n->frame = malloc(part->n * sizeof(*n->frame));
	if (n->parent == NULL || n->frame == NULL)
		return -ENOMEM;
	for (uint32_t w = 0; w < part->n_words; w++)
		for (uint64_t bits = part->touched[w]; bits != 0; bits &= bits - 1, number++) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits);
			n->parent[number] = sp_part_of(part, room->d.parent[node]);
			n->frame[number] =
			    number == 0 ? 0 : sp_dict_frame_after(room, node, n->frame[n->parent[number]]);
		}
	n->d = room->d;
	n->d.n_nodes = part->n;
	n->d.parent = n->parent;
	n->d.frame = n->frame;
	return 0;
}

static int narrow(struct sp_gathered *g, uint32_t dict, struct sp_narrowed *n)
{
	struct sp_dict_room *room = (struct sp_dict_room *)g->dicts[dict]; /* which it is the beginning of */
	struct sp_part part;
	int r = sp_part_begin(&part, room->d.n_nodes);

	if (r < 0)
		return r;
	check_rows(g, dict);
	touch_rows(g, dict, &part);
	sp_part_number(&part, room->d.parent, 1);
	r = take_nodes(room, &part, n);
	if (r == 0) {
		renumber_rows(g, dict, &part);
		g->dicts[dict] = &n->d;
	}
	sp_part_done(&part);
	return r;
}

int sp_gathered_narrow(struct sp_gathered *g)
{
	int r = 0;

	g->narrowed = calloc(g->n_dicts + 1, sizeof(*g->narrowed));
	if (g->narrowed == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_dicts && r == 0; i++)
		if (!g->dicts[i]->is_tree)
			r = narrow(g, (uint32_t)i, &g->narrowed[i]);
	return r;
}
