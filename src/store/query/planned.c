/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/query/planned.h"

#include "base/mem.h"
#include "store/format/sums.h"
#include "store/query/gather.h"
#include "store/rollup/decoded_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- stored sums --- */
struct reporting {
	struct sp_planned *p;
	uint8_t *done; /* by window of the plan: reported */
};

static bool is_planned(const void *plan, const struct sp_scan_window *w)
{
	return sp_plan_find(plan, 0, ((const struct sp_plan *)plan)->n_windows, w) != SIZE_MAX;
}

static bool is_whole_day(const void *plan, const struct sp_scan_window *w)
{
	return sp_plan_has_day(plan, w);
}

static void mark_day(const struct reporting *t, const struct sp_scan_window *day)
{
	const struct sp_plan *plan = t->p->plan;

	for (size_t i = 0; i < plan->n_windows; i++) {
		const struct sp_plan_window *w = &plan->windows[i];
		t->done[i] |= w->day_s == day->day_s && w->source == day->source && w->resolution == SP_RES_1H;
	}
}

static int report_stored(void *arg, const struct sp_scan_totals *totals)
{
	const struct reporting *t = arg;
	const struct sp_scan_window *w = &totals->window;

	if (w->resolution == SP_N_RESOLUTIONS)
		mark_day(t, w);
	else
		t->done[sp_plan_find(t->p->plan, 0, t->p->plan->n_windows, w)] = 1;
	return t->p->each(t->p->arg, totals);
}

static bool has_resolution(const struct sp_plan *p, int resolution)
{
	for (size_t i = 0; i < p->n_windows; i++)
		if (p->windows[i].resolution == resolution)
			return true;
	return false;
}

static int report_stored_sums(struct sp_planned *p, int resolution)
{
	SP_FREE uint8_t *done = calloc(p->plan->n_windows + 1, 1);
	struct reporting t = {p, done};
	bool days = resolution == SP_N_RESOLUTIONS;
	struct sp_scan_options o = {.from_ns = p->plan->from_ns,
				    .to_ns = p->plan->to_ns,
				    .source = p->source,
				    .resolution = resolution,
				    .is_wanted = days ? is_whole_day : is_planned,
				    .arg = p->plan};

	if (!done)
		return -ENOMEM;
	int r = has_resolution(p->plan, SP_MIN(resolution, SP_RES_1H)) ? sp_scan_totals(p->store, &o, report_stored, &t)
								       : 0;
	sp_plan_remove(p->plan, done);
	return r;
}

int sp_planned_report_days(struct sp_planned *p)
{
	return report_stored_sums(p, SP_N_RESOLUTIONS);
}

/* --- rows --- */
static int add_rows(const struct sp_gathered *g, const struct sp_gathered_window *w, struct sp_window_rows *rows)
{
	uint32_t n_ends = sp_gathered_n_ends(g, w->dict), at = rows->n;
	int r = sp_window_rows_reserve(rows, (size_t)at + w->n_rows);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < w->n_rows; i++) {
		rows->who[at + i] = 0;
		rows->node[at + i] = sp_gathered_end_node(g, w->dict, w->nodes[i] < n_ends ? w->nodes[i] : 0);
	}
	for (uint32_t v = 0; v < rows->n_values; v++)
		memset(rows->values[v] + at, 0, w->n_rows * sizeof(*rows->values[v]));
	for (uint32_t k = 0; k < w->n_values; k++)
		for (uint32_t i = 0; i < w->n_rows; i++)
			rows->values[w->type[k]][at + i] = sp_gathered_value(w, k, i);
	rows->n += w->n_rows;
	return 0;
}

static int report_sums(const struct sp_planned *p, const struct sp_gathered *g, uint64_t wall_ns,
		       const struct sp_dict *d, const struct sp_sums *sums)
{
	struct sp_scan_totals t = {.window = {.w = {.wall_ns = wall_ns, .source = p->source}, .n_values = g->n_types},
				   .dict = d,
				   .sums = sums};

	for (uint32_t v = 0; v < g->n_types; v++)
		t.window.types[v] = (struct sp_scan_value){g->types[v].name, g->types[v].unit};
	return p->each(p->arg, &t);
}

/* Reports the windows of this dictionary, from *at on, that begin in one slice. */
static int report_slice(const struct sp_planned *p, const struct sp_gathered *g, uint32_t dict,
			const struct sp_decoded_dict *decoded, size_t *at)
{
	int what = SP_SUMS_LIBRARIES | (p->by_function ? SP_SUMS_FUNCTIONS : 0), r = 0;
	struct sp_window_rows rows = {.n_values = g->n_types};
	uint32_t slice = g->windows[*at].slice;
	struct sp_sums sums = {0};

	for (; *at < g->n_windows && r == 0; (*at)++) {
		const struct sp_gathered_window *w = &g->windows[*at];
		if (w->dict == dict && w->slice != slice)
			break;
		r = w->dict == dict ? add_rows(g, w, &rows) : 0;
	}
	r = r < 0 ? r : sp_sums_of_rows(&rows, &decoded->view, what, &sums);
	if (r == 0)
		r = report_sums(p, g, g->first_ns + (slice > 0 ? slice - 1 : 0) * g->slice_ns, g->dicts[dict], &sums);
	sp_window_rows_done(&rows);
	sp_sums_done(&sums);
	return r;
}

static int report_dict(const struct sp_planned *p, const struct sp_gathered *g, uint32_t dict)
{
	struct sp_decoded_dict decoded = {0};
	int r = sp_decoded_dict_init(g->dicts[dict], &decoded);

	for (size_t at = g->first; at < g->n_windows && r == 0;)
		if (g->windows[at].dict == dict)
			r = report_slice(p, g, dict, &decoded, &at);
		else
			at++;
	sp_decoded_dict_done(&decoded);
	return r;
}

static int report_rows(struct sp_planned *p)
{
	struct sp_store_query q = {.source = p->source, .all_users = true, .resolution = -1, .who = SP_WHO_NOTHING};
	struct sp_gathered g = {0};
	int r = 0;

	sp_gather_begin(&g, &q, p->plan);
	g.first_ns = p->slice_ns > 0 ? p->first_ns : p->plan->windows[0].from_ns;
	g.slice_ns = p->slice_ns;
	for (size_t at = 0; at < p->plan->n_windows && r == 0;) {
		r = sp_gather(&g, p->store, &q, p->plan, &at);
		if (r == 0)
			r = sp_gathered_narrow(&g, p->store);
		for (uint32_t i = 0; i < g.n_dicts && r == 0; i++)
			r = report_dict(p, &g, i);
		sp_gathered_release(&g);
	}
	p->n_damaged += g.n_damaged;
	p->n_incomplete += g.n_incomplete;
	p->n_salvaged += g.n_salvaged;
	sp_gathered_done(&g);
	return r;
}

int sp_planned_report(struct sp_planned *p)
{
	int r = report_stored_sums(p, SP_RES_1H);

	if (r == 0 && !p->by_function)
		r = report_stored_sums(p, SP_RES_1M);
	if (r == 0 && p->plan->n_windows > 0)
		r = report_rows(p);
	p->plan->n_windows = 0;
	return r;
}
