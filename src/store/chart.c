/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chart.c: sums by library of slices of time: from the charts beside hours, and where there are none (the hour that is
 * not over, files of older versions) from the exact totals beside minutes, and else beside hours.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/time.h"
#include "store/chart.h"
#include "store/priv.h"

enum { MAX_SLICES = 100000, MAX_LIBRARIES = 1 << 20 };
#define MINUTE_NS (60 * SP_NS_PER_S)
#define SLACK_NS (2 * SP_NS_PER_S)

struct cell {
	int64_t self, total;
};
struct span {
	uint64_t from_ns, to_ns;
};
/* A library, under way: its slices one after the other. */
struct row {
	struct sp_store_chart_library library;
	struct cell *cells;
};
struct making {
	struct sp_store_chart chart;
	const char *wanted;      /* value */
	struct sp_intern *names; /* build id, or name */
	struct row *rows;
	size_t capacity;
	uint64_t from_ns, to_ns;
	struct span *spans;                      /* what of the range was charted */
	size_t n_spans, span_capacity, n_before; /* before: those of windows of other kinds */
	uint64_t last_ns;                        /* the window that was met last ... */
	bool is_wanted;                          /* ... and whether it is charted */
};

static int new_row(struct making *m, uint32_t n, const struct sp_store_chart_library *l)
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
	if (row->cells == NULL || name == NULL || id == NULL)
		return -ENOMEM;
	memcpy(id, l->build_id, l->build_id_len);
	row->library.build_id_len = l->build_id_len;
	return 0;
}

static int row_of(struct making *m, const struct sp_store_chart_library *l, struct row **ret_row)
{
	int64_t n = l->build_id_len > 0 ? sp_intern_add(m->names, l->build_id, l->build_id_len)
					: sp_intern_add(m->names, l->name, strlen(l->name));
	int r = n < 0 ? (int)n : n == m->chart.n_libraries ? new_row(m, (uint32_t)n, l) : 0;

	if (r == 0)
		*ret_row = &m->rows[n];
	return r;
}

/* Whether this value of a window is the one that is charted. */
static bool is_value(struct making *m, const char *name, const char *unit)
{
	if (m->wanted != NULL && strcmp(m->wanted, name) != 0)
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

static void add_to(struct row *row, uint32_t slice, int64_t self, int64_t total)
{
	sp_saturating_add(&row->cells[slice].self, self);
	sp_saturating_add(&row->cells[slice].total, total);
	sp_saturating_add(&row->library.self, self);
	sp_saturating_add(&row->library.total, total);
}

/* --- time, each part of it from windows of one kind --------------------------------------------------------------- */
/* Is it in the range, and is nothing of windows of other kinds charted in its place? */
static bool is_wanted(const struct making *m, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t most = SP_MIN(SLACK_NS, (to_ns - from_ns) / 2);

	for (size_t i = 0; i < m->n_before; i++) {
		uint64_t from = SP_MAX(m->spans[i].from_ns, from_ns), to = SP_MIN(m->spans[i].to_ns, to_ns);
		if (from < to && to - from > most)
			return false;
	}
	return from_ns < m->to_ns && to_ns > m->from_ns;
}

static int add_span(struct making *m, uint64_t from_ns, uint64_t to_ns)
{
	int r = sp_grow(&m->spans, &m->span_capacity, m->n_spans + 1, sizeof(*m->spans));

	if (r == 0)
		m->spans[m->n_spans++] = (struct span){from_ns, to_ns};
	return r;
}

/* --- totals ------------------------------------------------------------------------------------------------------- */
static int take_window(struct making *m, const struct sp_store_total *t)
{
	uint64_t end_ns = t->wall_ns + t->duration_ns;

	m->last_ns = t->wall_ns;
	m->is_wanted = is_wanted(m, t->wall_ns, end_ns);
	if (!m->is_wanted)
		return 0;
	m->chart.covered_ns[slice_of(&m->chart, t->wall_ns)] += t->duration_ns;
	return add_span(m, t->wall_ns, end_ns);
}

static int take_total(void *arg, const struct sp_store_total *t)
{
	struct sp_store_chart_library l = {.name = t->file, .build_id = t->build_id, .build_id_len = t->build_id_len};
	struct making *m = arg;
	struct row *row = NULL;
	int r = t->wall_ns == m->last_ns ? 0 : take_window(m, t);

	for (uint32_t v = 0; v < t->n_values && r == 0 && m->is_wanted && *t->function == '\0'; v++) {
		if (!is_value(m, t->value_names[v], t->value_units[v]))
			continue;
		r = row_of(m, &l, &row);
		if (r == 0)
			add_to(row, slice_of(&m->chart, t->wall_ns), t->self[v], t->total[v]);
		break;
	}
	return r;
}

/* --- charts of hours ---------------------------------------------------------------------------------------------- */
static int take_sums(struct making *m, const struct sp_chart_read *c, size_t from, size_t n, uint32_t value,
		     uint32_t slice)
{
	const struct sp_dict *d = &c->dict->d;
	int r = 0;

	for (size_t i = from; i < from + n && r == 0; i++) {
		const struct sp_file *f = &d->files[c->sums.accounts[i].file];
		const int64_t *sums = sp_sums_at(&c->sums, i) + 2 * (size_t)value;
		struct sp_store_chart_library l = {sp_dict_string(d, f->name), f->build_id, f->build_id_len, 0, 0};
		struct row *row = NULL;
		r = row_of(m, &l, &row);
		if (r == 0)
			add_to(row, slice, sums[0], sums[1]);
	}
	return r;
}

/* The file's slices that begin in the range, as minutes do that stick out of it. */
static int take_chart(void *arg, const struct sp_scan_window *w, const struct sp_chart_read *c)
{
	struct making *m = arg;
	uint32_t value = 0;
	int r = add_span(m, w->w.wall_ns, w->end_ns);

	while (value < w->n_values && !is_value(m, w->types[value].name, w->types[value].unit))
		value++;
	for (size_t i = 0, at = 0; i < c->n_slices && r == 0; at += c->slices[i++].n_sums) {
		uint64_t begin_ns = c->slices[i].begin_ms * 1000000;
		if (begin_ns >= m->to_ns || begin_ns + c->slices[i].duration_ns <= m->from_ns)
			continue;
		uint32_t slice = slice_of(&m->chart, begin_ns);
		m->chart.covered_ns[slice] += c->slices[i].duration_ns;
		if (value < w->n_values)
			r = take_sums(m, c, at, c->slices[i].n_sums, value, slice);
	}
	return r;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */
static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->library.self != y->library.self)
		return x->library.self < y->library.self ? 1 : -1;
	if (x->library.total != y->library.total)
		return x->library.total < y->library.total ? 1 : -1;
	return strcmp(x->library.name, y->library.name);
}

/* From rows by library to columns by slice. */
static int finish(struct making *m)
{
	struct sp_store_chart *c = &m->chart;
	size_t n = (size_t)c->n_slices * c->n_libraries;

	c->libraries = calloc((size_t)c->n_libraries + 1, sizeof(*c->libraries));
	c->self = calloc(n + 1, sizeof(*c->self));
	c->total = calloc(n + 1, sizeof(*c->total));
	if (c->libraries == NULL || c->self == NULL || c->total == NULL)
		return -ENOMEM;
	if (c->n_libraries > 1)
		qsort(m->rows, c->n_libraries, sizeof(*m->rows), by_self);
	for (uint32_t i = 0; i < c->n_libraries; i++) {
		c->libraries[i] = m->rows[i].library;
		m->rows[i].library = (struct sp_store_chart_library){0}; /* its strings are the chart's now */
		for (uint32_t slice = 0; slice < c->n_slices; slice++) {
			c->self[(size_t)slice * c->n_libraries + i] = m->rows[i].cells[slice].self;
			c->total[(size_t)slice * c->n_libraries + i] = m->rows[i].cells[slice].total;
		}
	}
	return 0;
}

static int begin(struct making *m, uint64_t from_ns, uint64_t to_ns, uint64_t slice_ns)
{
	struct sp_store_chart *c = &m->chart;

	if (from_ns >= to_ns)
		return sp_fail_said(-EINVAL, "the range is empty: it ends before it begins");
	if (slice_ns == 0 || slice_ns % MINUTE_NS != 0)
		return sp_fail_said(-EINVAL, "slices of a chart are whole minutes");
	m->from_ns = from_ns;
	m->to_ns = to_ns;
	c->slice_ns = slice_ns;
	c->from_ns = from_ns / slice_ns * slice_ns;
	uint64_t n = (to_ns - c->from_ns - 1) / slice_ns + 1;
	if (n > MAX_SLICES)
		return sp_fail_said(-E2BIG, "a chart of more than %d slices", MAX_SLICES);
	c->n_slices = (uint32_t)n;
	c->covered_ns = calloc(n, sizeof(*c->covered_ns));
	return c->covered_ns == NULL ? -ENOMEM : sp_intern_new(&m->names);
}

static void library_done(struct sp_store_chart_library *l)
{
	free((void *)l->name);
	free((void *)l->build_id);
}

static void chart_done(struct sp_store_chart *c)
{
	for (uint32_t i = 0; i < c->n_libraries && c->libraries != NULL; i++)
		library_done(&c->libraries[i]);
	free(c->covered_ns);
	free(c->libraries);
	free(c->self);
	free(c->total);
}

static void making_done(struct making *m)
{
	for (size_t i = 0; i < m->chart.n_libraries && m->rows != NULL; i++) {
		free(m->rows[i].cells);
		library_done(&m->rows[i].library);
	}
	free(m->rows);
	free(m->spans);
	sp_intern_free(m->names);
}

/* From the first to the last moment that nothing was charted of; false: there is none. */
static bool find_rest(struct making *m, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	uint64_t from = m->from_ns, to = m->to_ns;

	for (bool moved = true; moved;) { /* spans are not in order */
		moved = false;
		for (size_t i = 0; i < m->n_spans; i++) {
			const struct span *s = &m->spans[i];
			bool first = s->from_ns <= from + SLACK_NS && s->to_ns > from;
			bool last = s->to_ns + SLACK_NS >= to && s->from_ns < to;
			moved |= first || last;
			from = first ? s->to_ns : from;
			to = last ? s->from_ns : to;
		}
	}
	*ret_from_ns = from;
	*ret_to_ns = to;
	return from < to && to - from > SLACK_NS;
}

/* Charts of hours have slices of their own: where those asked for are no multiple, minutes come first. */
static int chart_all(struct making *m, struct sp_store *s, const char *source)
{
	bool charts = m->chart.slice_ns % (SP_CHART_SLICE_S * SP_NS_PER_S) == 0;
	struct sp_scan_options o = {.from_ns = m->from_ns, .to_ns = m->to_ns, .source = source};
	int r = charts ? sp_scan_charts(s, &o, take_chart, m) : 0;

	for (int step = SP_RES_1M; step <= SP_RES_1H && r == 0; step++) {
		m->n_before = m->n_spans;
		m->last_ns = 0;
		if (find_rest(m, &o.from_ns, &o.to_ns))
			r = sp_store_totals(s, source, o.from_ns, o.to_ns, step, take_total, m);
	}
	return r;
}

int sp_store_chart(struct sp_store *s, const char *source, const char *value, uint64_t from_ns, uint64_t to_ns,
		   uint64_t slice_ns, struct sp_store_chart **ret_chart)
{
	struct making m = {.wanted = value};
	struct sp_store_chart *c = calloc(1, sizeof(*c));
	int r = c == NULL ? -ENOMEM : begin(&m, from_ns, to_ns, slice_ns);

	if (r == 0)
		r = chart_all(&m, s, source == NULL ? "cpu" : source);
	r = r < 0 ? r : finish(&m);
	making_done(&m);
	if (r < 0) {
		chart_done(&m.chart);
		free(c);
		return r;
	}
	*c = m.chart;
	*ret_chart = c;
	return 0;
}

void sp_store_chart_free(struct sp_store_chart *c)
{
	if (c == NULL)
		return;
	chart_done(c);
	free(c);
}
