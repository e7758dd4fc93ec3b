/* SPDX-License-Identifier: GPL-2.0-or-later */
/* narrow.c: reduces dictionaries, which may have millions of nodes, to what the gathered rows need. */
#include "store/query/gather.h"

#include "store/format/dict_pick.h"
#include "store/priv.h"

#include <errno.h>
#include <stdlib.h>

void sp_narrowed_free(struct sp_narrowed *n, size_t n_dicts)
{
	for (size_t i = 0; i < n_dicts && n; i++)
		free(n[i].ends);
	free(n);
}

static void select_rows(const struct sp_gathered *g, uint32_t dict, struct sp_subtree *subtree)
{
	for (size_t i = g->first; i < g->n_windows; i++) {
		const struct sp_gathered_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++)
			sp_subtree_select(subtree, w->nodes[row]);
	}
}

/* Keeps the nodes that define which frames follow a frame. */
static void select_new_successors(const struct sp_dict_arrays *arrays, struct sp_subtree *subtree)
{
	const uint32_t *frames = arrays->frame_of.data;

	for (uint32_t i = 1; i < arrays->dict.n_nodes; i++)
		if (sp_frame_is_new(frames[i]))
			sp_subtree_select(subtree, i);
}

/* Replaces invalid nodes by 0. */
static void check_rows(struct sp_gathered *g, uint32_t dict)
{
	uint32_t n_nodes = g->dicts[dict]->n_nodes;

	for (size_t i = g->first; i < g->n_windows; i++) {
		struct sp_gathered_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++)
			w->nodes[row] = w->nodes[row] < n_nodes ? w->nodes[row] : 0;
	}
}

static void renumber_rows(struct sp_gathered *g, uint32_t dict, const struct sp_subtree *ends)
{
	for (size_t i = g->first; i < g->n_windows; i++) {
		struct sp_gathered_window *w = &g->windows[i];
		for (uint32_t row = 0; row < w->n_rows && w->dict == dict; row++)
			w->nodes[row] = sp_subtree_find(ends, w->nodes[row]);
	}
}

static int set_ends(const struct sp_subtree *ends, const struct sp_subtree *subtree, struct sp_narrowed *n)
{
	n->ends = malloc(ends->n * sizeof(*n->ends));
	if (!n->ends)
		return -ENOMEM;
	for (uint32_t w = 0; w < ends->n_words; w++)
		for (uint64_t bits = ends->selected[w]; bits != 0; bits &= bits - 1)
			n->ends[n->n_ends++] = sp_subtree_find(subtree, w * 64 + (uint32_t)__builtin_ctzll(bits));
	return 0;
}

static int narrow_to(struct sp_gathered *g, uint32_t dict, struct sp_subtree *subtree, struct sp_subtree *ends,
		     struct sp_narrowed *n)
{
	struct sp_dict_arrays *arrays = (struct sp_dict_arrays *)g->dicts[dict]; /* its first member */

	select_rows(g, dict, ends);
	int r = sp_subtree_copy(ends, subtree);
	if (r < 0)
		return r;
	if (arrays->lazy)
		select_new_successors(arrays, subtree);
	sp_subtree_number_with_ancestors(subtree, arrays->dict.parent, 1);
	sp_subtree_number_selected(ends);
	r = set_ends(ends, subtree, n);
	if (r < 0)
		return r;
	renumber_rows(g, dict, ends);
	return sp_dict_narrow(arrays, subtree);
}

static int narrow_dict(struct sp_gathered *g, uint32_t dict, struct sp_narrowed *n)
{
	struct sp_subtree subtree = {0}, ends;
	int r = sp_subtree_init(&ends, g->dicts[dict]->n_nodes);

	if (r < 0)
		return r;
	check_rows(g, dict);
	r = narrow_to(g, dict, &subtree, &ends, n);
	sp_subtree_done(&subtree);
	sp_subtree_done(&ends);
	return r;
}

/* --- the rest of a dictionary of which only nodes were read --- */
static void select_keys(const struct sp_gathered *g, uint32_t dict, struct sp_dict_pick *p)
{
	for (size_t i = g->first; i < g->n_windows; i++)
		for (uint32_t run = 0; run < g->windows[i].n_runs && g->windows[i].dict == dict; run++)
			sp_dict_pick_key(p, g->windows[i].runs[run].who);
}

static void renumber_keys(struct sp_gathered *g, uint32_t dict, const struct sp_dict_pick *p)
{
	for (size_t i = g->first; i < g->n_windows; i++) {
		struct sp_gathered_window *w = &g->windows[i];
		for (uint32_t run = 0; run < w->n_runs && w->dict == dict; run++)
			w->runs[run].who = sp_dict_pick_number(p, SP_KEYS, w->runs[run].who);
	}
}

static int pick_items(struct sp_gathered *g, struct sp_store *s, uint32_t dict)
{
	struct sp_dict_pick p;
	int r = sp_dict_pick_begin(&p, (struct sp_dict_arrays *)g->dicts[dict]);

	if (r == 0) {
		select_keys(g, dict, &p);
		r = sp_dict_pick_load(s, &p);
	}
	if (r == 0)
		renumber_keys(g, dict, &p);
	sp_dict_pick_done(&p);
	return r;
}

int sp_gathered_narrow(struct sp_gathered *g, struct sp_store *s)
{
	int r = 0;

	g->narrowed = calloc(g->n_dicts + 1, sizeof(*g->narrowed));
	if (!g->narrowed)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_dicts && r == 0; i++) {
		if (g->dicts[i]->is_tree)
			continue;
		r = narrow_dict(g, (uint32_t)i, &g->narrowed[i]);
		if (r == 0 && ((const struct sp_dict_arrays *)g->dicts[i])->nodes_first)
			r = pick_items(g, s, (uint32_t)i);
	}
	return r;
}

static int gather_once(struct sp_gathered *g, struct sp_store *s, const struct sp_store_query *q,
		       const struct sp_plan *plan, size_t *at)
{
	int r = sp_gather(g, s, q, plan, at);

	return r == 0 ? sp_gathered_narrow(g, s) : r;
}

/* Keys must be there at once to choose by them, and to find their groups and threads. */
int sp_gather_narrowed(struct sp_gathered *g, struct sp_store *s, const struct sp_store_query *q,
		       const struct sp_plan *plan, size_t *at)
{
	uint64_t n_rows = g->n_rows, n_damaged = g->n_damaged, n_incomplete = g->n_incomplete;
	size_t first = *at;

	g->nodes_first =
	    plan->coarsest == SP_RES_10S && g->who == SP_WHO_WHOLE && q->all_users && !q->process && !q->cgroup;
	int r = gather_once(g, s, q, plan, at);
	if (r != -ESTALE)
		return r;
	sp_gathered_release(g);
	g->n_rows = n_rows;
	g->n_damaged = n_damaged;
	g->n_incomplete = n_incomplete;
	g->nodes_first = false;
	*at = first;
	return gather_once(g, s, q, plan, at);
}
