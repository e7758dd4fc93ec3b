/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chart.c: sp_store_chart(): sums by library and slice, from the charts stored with hours, or without one (the current
 * hour, files of older versions) from the sums of minutes and, at the ends, windows of 10 s.
 */
#include "store/totals.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "base/time.h"
#include "store/format/chart.h"
#include "store/query/planned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLICES = 100000, MAX_LIBRARIES = 1 << 20 };
#define MINUTE_NS (60 * SP_NS_PER_S)
#define NS_PER_MS UINT64_C(1000000)

struct cell {
	int64_t self, total;
};
/* A library and its slices. */
struct row {
	struct sp_store_chart_library library;
	struct cell *cells;
};
struct chart_maker {
	struct sp_store_chart chart;
	const char *wanted;      /* value */
	struct sp_intern *names; /* build id, else name */
	struct row *rows;
	size_t capacity;
	struct sp_plan plan;
	uint8_t *charted; /* by window of the plan: 1 = in the chart of its hour */
};

static int new_row(struct chart_maker *m, uint32_t n, const struct sp_store_chart_library *l)
{
	struct sp_store_chart *c = &m->chart;
	int r = n >= MAX_LIBRARIES ? -E2BIG : sp_grow(&m->rows, &m->capacity, (size_t)n + 1, sizeof(*m->rows));

	if (r < 0)
		return r;
	struct row *row = &m->rows[n];
	*row = (struct row){.cells = calloc(c->n_slices, sizeof(*row->cells))};
	c->n_libraries = n + 1;
	char *name = strdup(l->name);
	row->library.name = name;
	uint8_t *id = malloc((size_t)l->build_id_len + 1);
	row->library.build_id = id;
	if (!row->cells || !name || !id)
		return -ENOMEM;
	memcpy(id, l->build_id, l->build_id_len);
	row->library.build_id_len = l->build_id_len;
	return 0;
}

static int find_row(struct chart_maker *m, const struct sp_store_chart_library *l, struct row **ret_row)
{
	int64_t n = l->build_id_len > 0 ? sp_intern_add(m->names, l->build_id, l->build_id_len)
					: sp_intern_add(m->names, l->name, strlen(l->name));
	int r = n < 0 ? (int)n : n == m->chart.n_libraries ? new_row(m, (uint32_t)n, l) : 0;

	if (r == 0)
		*ret_row = &m->rows[n];
	return r;
}

/* Whether the chart is of this value (NULL: of the first one). If so, sets its name and unit. */
static bool match_value(struct chart_maker *m, const char *name, const char *unit)
{
	if (m->wanted && strcmp(m->wanted, name) != 0)
		return false;
	(void)snprintf(m->chart.value, sizeof(m->chart.value), "%s", name);
	(void)snprintf(m->chart.unit, sizeof(m->chart.unit), "%s", unit);
	return true;
}

static uint32_t slice_of(const struct sp_store_chart *c, uint64_t wall_ns)
{
	uint64_t slice = (wall_ns - SP_MIN(wall_ns, c->from_ns)) / c->slice_ns;

	return (uint32_t)SP_MIN(slice, c->n_slices - UINT64_C(1));
}

static void add_to_row(struct row *row, uint32_t slice, int64_t self, int64_t total)
{
	sp_saturating_add(&row->cells[slice].self, self);
	sp_saturating_add(&row->cells[slice].total, total);
	sp_saturating_add(&row->library.self, self);
	sp_saturating_add(&row->library.total, total);
}

/* --- sums --- */
static int add_sums(struct chart_maker *m, const struct sp_dict *d, const struct sp_sums *sums, size_t from, size_t n,
		    uint32_t value, uint32_t slice)
{
	int r = 0;

	for (size_t i = from; i < from + n && r == 0; i++) {
		const struct sp_file *f = &d->files[sums->accounts[i].file];
		const int64_t *values = sp_sums_at(sums, i) + 2 * (size_t)value;
		struct sp_store_chart_library l = {sp_dict_string(d, f->name), f->build_id, f->build_id_len, 0, 0};
		struct row *row = NULL;
		if (sums->accounts[i].func != 0)
			continue;
		r = find_row(m, &l, &row);
		if (r == 0)
			add_to_row(row, slice, values[0], values[1]);
	}
	return r;
}

/* The index of the chart's value; n_values: none. */
static uint32_t find_value(struct chart_maker *m, const struct sp_scan_window *w)
{
	uint32_t value = 0;

	while (value < w->n_values && !match_value(m, w->types[value].name, w->types[value].unit))
		value++;
	return value;
}

static int add_totals(void *arg, const struct sp_scan_totals *t)
{
	struct chart_maker *m = arg;
	uint32_t value = find_value(m, &t->window);

	if (value == t->window.n_values)
		return 0;
	return add_sums(m, t->dict, t->sums, 0, t->sums->n, value, slice_of(&m->chart, t->window.w.wall_ns));
}

/* --- charts of hours --- */
/*
 * The sampled time of the plan's windows in this hour, whatever their resolution. mark: set for these windows; NULL:
 * none.
 */
static uint64_t planned_ns(const struct sp_plan *p, const struct sp_scan_window *hour, uint8_t *mark)
{
	const struct sp_plan_window key = {
	    .day_s = hour->day_s, .source = hour->source, .generation = hour->generation, .t_ms = hour->t_ms};
	uint64_t length_ms = sp_plan_period_ns(SP_RES_1H) / NS_PER_MS, begin_ms = key.t_ms / length_ms * length_ms,
		 ns = 0;

	for (size_t i = sp_plan_find_from(p, begin_ms); i < p->n_windows && p->windows[i].t_ms < begin_ms + length_ms;
	     i++) {
		if (sp_plan_compare_period(&p->windows[i], &key, SP_RES_1H) != 0)
			continue;
		ns += p->windows[i].covered_ns;
		if (mark)
			mark[i] = 1;
	}
	return ns;
}

/* Whether the whole hour is in the plan. */
static bool is_wanted(const void *plan, const struct sp_scan_window *hour)
{
	return planned_ns(plan, hour, NULL) == hour->w.duration_ns;
}

static uint64_t charted_ns(const struct sp_chart_read *c)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < c->n_slices; i++)
		ns += c->slices[i].duration_ns;
	return ns;
}

/* Skips a chart that lacks a minute, which could not be read when it was made. */
static int add_chart(void *arg, const struct sp_scan_window *w, const struct sp_chart_read *c)
{
	struct chart_maker *m = arg;
	uint32_t value = find_value(m, w);
	int r = 0;

	if (charted_ns(c) != w->w.duration_ns)
		return 0;
	(void)planned_ns(&m->plan, w, m->charted);
	for (size_t i = 0, at = 0; i < c->n_slices && r == 0; at += c->slices[i++].n_sums) {
		uint32_t slice = slice_of(&m->chart, c->slices[i].begin_ms * NS_PER_MS);
		m->chart.covered_ns[slice] += c->slices[i].duration_ns;
		if (value < w->n_values)
			r = add_sums(m, &c->dict->dict, &c->sums, at, c->slices[i].n_sums, value, slice);
	}
	return r;
}

/* --- the whole --- */
static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return SP_FALLING(x->library.self, y->library.self)
	       ?: SP_FALLING(x->library.total, y->library.total)
	       ?: strcmp(x->library.name, y->library.name);
}

/* Turns rows by library into arrays by slice. */
static int make_columns(struct chart_maker *m)
{
	struct sp_store_chart *c = &m->chart;
	size_t n = (size_t)c->n_slices * c->n_libraries;

	c->libraries = calloc((size_t)c->n_libraries + 1, sizeof(*c->libraries));
	c->self = calloc(n + 1, sizeof(*c->self));
	c->total = calloc(n + 1, sizeof(*c->total));
	if (!c->libraries || !c->self || !c->total)
		return -ENOMEM;
	if (c->n_libraries > 1)
		qsort(m->rows, c->n_libraries, sizeof(*m->rows), by_self);
	for (uint32_t i = 0; i < c->n_libraries; i++) {
		c->libraries[i] = m->rows[i].library;
		m->rows[i].library = (struct sp_store_chart_library){0}; /* the chart owns its strings now */
		for (uint32_t slice = 0; slice < c->n_slices; slice++) {
			c->self[(size_t)slice * c->n_libraries + i] = m->rows[i].cells[slice].self;
			c->total[(size_t)slice * c->n_libraries + i] = m->rows[i].cells[slice].total;
		}
	}
	return 0;
}

/* Slices cover the plan, also if the ends of the range were moved. */
static int begin_chart(struct chart_maker *m, const struct sp_store_query *q, uint64_t slice_ns)
{
	uint64_t from = SP_MIN(q->from_ns, m->plan.from_ns), to = SP_MAX(q->to_ns, m->plan.to_ns);
	struct sp_store_chart *c = &m->chart;

	c->slice_ns = slice_ns;
	c->from_ns = from / slice_ns * slice_ns;
	uint64_t n = (to - c->from_ns - 1) / slice_ns + 1;
	if (n > MAX_SLICES)
		return sp_fail_said(-E2BIG, "a chart of more than %d slices", MAX_SLICES);
	c->n_slices = (uint32_t)n;
	c->covered_ns = calloc(n, sizeof(*c->covered_ns));
	return !c->covered_ns ? -ENOMEM : sp_intern_new(&m->names);
}

static void library_done(struct sp_store_chart_library *l)
{
	free((void *)l->name);
	free((void *)l->build_id);
}

static void chart_done(struct sp_store_chart *c)
{
	for (uint32_t i = 0; i < c->n_libraries && c->libraries; i++)
		library_done(&c->libraries[i]);
	free(c->covered_ns);
	free(c->libraries);
	free(c->self);
	free(c->total);
}

static void chart_maker_done(struct chart_maker *m)
{
	for (size_t i = 0; i < m->chart.n_libraries && m->rows; i++) {
		free(m->rows[i].cells);
		library_done(&m->rows[i].library);
	}
	free(m->rows);
	sp_plan_done(&m->plan);
	free(m->charted);
	sp_intern_free(m->names);
}

/* Stored charts have slices of five minutes: usable if the slices asked for are a multiple. */
static int add_charts(struct chart_maker *m, struct sp_store *s, const char *source)
{
	struct sp_scan_options o = {.from_ns = m->plan.from_ns,
				    .to_ns = m->plan.to_ns,
				    .source = source,
				    .is_wanted = is_wanted,
				    .arg = &m->plan};

	return m->chart.slice_ns % (SP_CHART_SLICE_S * SP_NS_PER_S) == 0 ? sp_scan_charts(s, &o, add_chart, m) : 0;
}

static int chart_all(struct chart_maker *m, struct sp_store *s, const char *source, struct sp_store_answer *answer)
{
	struct sp_planned rest = {.store = s,
				  .source = source,
				  .plan = &m->plan,
				  .first_ns = m->chart.from_ns,
				  .slice_ns = m->chart.slice_ns,
				  .each = add_totals,
				  .arg = m};
	m->charted = calloc(m->plan.n_windows + 1, 1);
	int r = !m->charted ? -ENOMEM : add_charts(m, s, source);

	if (r == 0)
		sp_plan_remove(&m->plan, m->charted);
	for (size_t i = 0; i < m->plan.n_windows && r == 0; i++) {
		const struct sp_plan_window *w = &m->plan.windows[i];
		m->chart.covered_ns[slice_of(&m->chart, w->from_ns)] += w->covered_ns;
	}
	r = r < 0 ? r : sp_planned_report(&rest);
	answer->n_damaged = rest.n_damaged;
	answer->n_incomplete = rest.n_incomplete;
	answer->n_salvaged = rest.n_salvaged;
	return r;
}

static int chart_make(struct chart_maker *m, struct sp_store *s, const struct sp_store_query *q, uint64_t slice_ns,
		      struct sp_store_answer *answer)
{
	if (slice_ns == 0 || slice_ns % MINUTE_NS != 0)
		return sp_fail_said(-EINVAL, "slices of a chart are whole minutes");
	int r = sp_plan_make(s, q, SP_RES_1M, &m->plan, answer);

	r = r < 0 ? r : begin_chart(m, q, slice_ns);
	r = r < 0 ? r : chart_all(m, s, !q->source ? "cpu" : q->source, answer);
	return r < 0 ? r : make_columns(m);
}

int sp_store_chart(struct sp_store *s, const struct sp_store_query *q, const char *value, uint64_t slice_ns,
		   struct sp_store_chart **ret_chart, struct sp_store_answer *ret_answer)
{
	struct chart_maker m = {.wanted = value};
	struct sp_store_chart *c = calloc(1, sizeof(*c));
	struct sp_store_answer answer = {0};
	int r = !c ? -ENOMEM : chart_make(&m, s, q, slice_ns, &answer);

	chart_maker_done(&m);
	if (r < 0) {
		chart_done(&m.chart);
		free(c);
		return r;
	}
	*c = m.chart;
	*ret_chart = c;
	*ret_answer = answer;
	return 0;
}

void sp_store_chart_free(struct sp_store_chart *c)
{
	if (!c)
		return;
	chart_done(c);
	free(c);
}
