/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chart.c: sums by library of slices of time, out of the exact totals that are kept beside windows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/priv.h"

enum { MAX_SLICES = 100000, MAX_LIBRARIES = 1 << 20 };
#define MINUTE_NS (60 * SP_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)

struct cell {
	int64_t self, total;
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
	uint64_t last_ns; /* the window that was met last */
};

static void add(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = v > 0 ? INT64_MAX : INT64_MIN;
}

static int new_row(struct making *m, uint32_t n, const struct sp_store_total *t)
{
	struct sp_store_chart *c = &m->chart;
	int r = n >= MAX_LIBRARIES ? -E2BIG : sp_grow(&m->rows, &m->capacity, (size_t)n + 1, sizeof(*m->rows));

	if (r < 0)
		return r;
	struct row *row = &m->rows[n];
	*row = (struct row){.cells = calloc(c->n_slices, sizeof(*row->cells))};
	c->n_libraries = n + 1;
	char *name = strdup(t->file);
	row->library.name = name;
	uint8_t *id = malloc((size_t)t->build_id_len + 1);
	row->library.build_id = id;
	if (row->cells == NULL || name == NULL || id == NULL)
		return -ENOMEM;
	memcpy(id, t->build_id, t->build_id_len);
	row->library.build_id_len = t->build_id_len;
	return 0;
}

static int row_of(struct making *m, const struct sp_store_total *t, struct row **ret_row)
{
	int64_t n = t->build_id_len > 0 ? sp_intern_add(m->names, t->build_id, t->build_id_len)
					: sp_intern_add(m->names, t->file, strlen(t->file));
	int r = n < 0 ? (int)n : n == m->chart.n_libraries ? new_row(m, (uint32_t)n, t) : 0;

	if (r == 0)
		*ret_row = &m->rows[n];
	return r;
}

/* Which of the window's values is charted; -ENOENT: it has none such. */
static int value_of(struct making *m, const struct sp_store_total *t)
{
	for (uint32_t v = 0; v < t->n_values; v++) {
		if (m->wanted != NULL && strcmp(m->wanted, t->value_names[v]) != 0)
			continue;
		(void)snprintf(m->chart.value, sizeof(m->chart.value), "%s", t->value_names[v]);
		(void)snprintf(m->chart.unit, sizeof(m->chart.unit), "%s", t->value_units[v]);
		return (int)v;
	}
	return -ENOENT;
}

static uint32_t slice_of(const struct sp_store_chart *c, uint64_t wall_ns)
{
	uint64_t slice = (wall_ns - SP_MIN(wall_ns, c->from_ns)) / c->slice_ns;

	return (uint32_t)SP_MIN(slice, c->n_slices - UINT64_C(1));
}

static int take(void *arg, const struct sp_store_total *t)
{
	struct making *m = arg;
	uint32_t slice = slice_of(&m->chart, t->wall_ns);
	struct row *row = NULL;
	int value = *t->function == '\0' ? value_of(m, t) : -ENOENT, r;

	if (t->wall_ns != m->last_ns)
		m->chart.covered_ns[slice] += t->duration_ns;
	m->last_ns = t->wall_ns;
	if (value < 0)
		return 0;
	r = row_of(m, t, &row);
	if (r < 0)
		return r;
	add(&row->cells[slice].self, t->self[value]);
	add(&row->cells[slice].total, t->total[value]);
	add(&row->library.self, t->self[value]);
	add(&row->library.total, t->total[value]);
	return 0;
}

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
	sp_intern_free(m->names);
}

int sp_store_chart(struct sp_store *s, const char *source, const char *value, uint64_t from_ns, uint64_t to_ns,
		   uint64_t slice_ns, struct sp_store_chart **ret_chart)
{
	struct making m = {.wanted = value};
	struct sp_store_chart *c = calloc(1, sizeof(*c));
	int r = c == NULL ? -ENOMEM : begin(&m, from_ns, to_ns, slice_ns);

	if (r == 0)
		r = sp_store_totals(s, source, from_ns, to_ns, slice_ns % HOUR_NS == 0 ? SP_RES_1H : SP_RES_1M, take,
				    &m);
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
