/* SPDX-License-Identifier: GPL-2.0-or-later */
/* visit.c: gives gathered rows to a reader as they are (stored.h), in place of making a profile of them. */
#include "base/sum.h"
#include "store/query/gather.h"
#include "store/stored.h"

#include <string.h>

static int rows_visit(const struct sp_gathered *g, const struct sp_gathered_window *w, uint32_t run, uint32_t n_ends,
		      const struct sp_stored_reader *reader)
{
	uint32_t end = run + 1 < w->n_runs ? w->runs[run + 1].first : w->n_rows;
	struct sp_stored_row row = {.who = w->runs[run].who};
	int r = 0;

	for (uint32_t i = w->runs[run].first; i < end && r == 0; i++) {
		row.end = w->nodes[i] < n_ends ? w->nodes[i] : 0;
		row.node = sp_gathered_end_node(g, w->dict, row.end);
		memset(row.values, 0, g->n_types * sizeof(*row.values));
		for (uint32_t k = 0; k < w->n_values; k++)
			sp_saturating_add(&row.values[w->type[k]], sp_gathered_value(w, k, i));
		r = reader->row(reader->arg, &row);
	}
	return r;
}

int sp_gathered_visit(const struct sp_gathered *g, uint64_t n_dicts_before, const struct sp_stored_reader *reader)
{
	int r = reader->types(reader->arg, g->types, g->n_types);

	for (size_t i = g->first; i < g->n_windows && r == 0; i++) {
		const struct sp_gathered_window *w = &g->windows[i];
		struct sp_stored_window window = {.dict = g->dicts[w->dict],
						  .dict_number = n_dicts_before + w->dict + 1,
						  .interval = w->slice ? w->slice - 1 : 0,
						  .n_ends = sp_gathered_n_ends(g, w->dict),
						  .by_group = g->by_group};
		r = reader->window(reader->arg, &window);
		for (uint32_t run = 0; run < w->n_runs && r == 0; run++)
			r = rows_visit(g, w, run, window.n_ends, reader);
	}
	return r;
}
