/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_show.c: rows of counted events as a table, as histograms, as CSV and as JSON. */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/trace/trace.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BAR = 40, MAX_TABLE = SP_TRACE_COLUMNS + SP_TRACE_SUMS + 2, TITLE = 64 };

/* A histogram: the rows of one key, by bucket. */
struct group {
	const struct sp_trace_row *rows;
	size_t n;
	uint64_t n_events;
};

static const struct sp_trace_spec *spec_of(const struct sp_trace_run *run, const struct sp_trace_row *row)
{
	return &run->specs[sp_trace_key_point(row->key)];
}

static size_t n_limited(const struct sp_trace_run *run, size_t n)
{
	return run->args->top && run->args->top < n ? run->args->top : n;
}

/* --- a table --- */
static size_t columns_make(const struct sp_trace_run *run, struct sp_grid_column *columns)
{
	const struct sp_trace_spec *s = &run->specs[0];
	size_t n = 0;

	if (run->n_specs > 1)
		columns[n++] = (struct sp_grid_column){.title = "event", .min = 8};
	for (size_t i = 0; i < s->n_columns; i++)
		columns[n++] = (struct sp_grid_column){.title = s->columns[i].name,
						       .right = !sp_trace_is_text(&s->columns[i]),
						       .min = sp_trace_is_text(&s->columns[i]) ? 8 : 0};
	for (size_t i = 0; i < s->config.n_sums; i++)
		columns[n++] = (struct sp_grid_column){.title = s->sums[i].name, .right = true};
	columns[n++] = (struct sp_grid_column){.title = "count", .right = true};
	return n;
}

static void sum_write(const struct sp_trace_column *sum, uint64_t value, char *text, size_t size)
{
	if ((int64_t)value < 0)
		snprintf(text, size, "%" PRId64, (int64_t)value);
	else
		sp_unit_write(sum->unit, value, text, size);
}

static void row_put(const struct sp_trace_run *run, const struct sp_trace_row *row, struct sp_grid *g)
{
	const struct sp_trace_spec *s = spec_of(run, row);
	char text[SP_TRACE_CELL];

	if (run->n_specs > 1)
		sp_grid_put(g, SP_GRID_PLAIN, "%s", s->event);
	for (size_t i = 0; i < s->n_columns; i++) {
		sp_trace_cell(&s->columns[i], row->key, text);
		sp_grid_put(g, SP_GRID_PLAIN, "%s", text);
	}
	for (size_t i = 0; i < s->config.n_sums; i++) {
		sum_write(&s->sums[i], row->value.sum[i], text, sizeof(text));
		sp_grid_put(g, SP_GRID_PLAIN, "%s", text);
	}
	sp_grid_put(g, SP_GRID_PLAIN, "%" PRIu64, row->value.n);
}

static int table_print(const struct sp_trace_run *run)
{
	const struct sp_trace_rows *rows = run->rows;
	size_t n = n_limited(run, rows->n_shown);
	struct sp_grid_column columns[MAX_TABLE];
	struct sp_grid *g = sp_grid_new(columns, columns_make(run, columns));
	int r;

	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		row_put(run, &rows->shown[i], g);
	r = sp_grid_print(g, sp_terminal_width(run->out, NULL), false, "", run->out);
	sp_grid_free(g);
	if (n < rows->n_shown)
		fprintf(run->out, "... and %zu more\n", rows->n_shown - n);
	return r;
}

/* --- histograms --- */
static int by_events(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return SP_FALLING(x->n_events, y->n_events) ?: SP_RISING(x->rows, y->rows);
}

static bool is_same_group(const struct sp_trace_row *a, const struct sp_trace_row *b)
{
	return sp_trace_key_point(a->key) == sp_trace_key_point(b->key) &&
	       !memcmp(a->key + 1, b->key + 1, sizeof(a->key) - sizeof(*a->key));
}

/* NULL: out of memory. */
static struct group *groups_make(const struct sp_trace_rows *rows, size_t *ret_n)
{
	struct group *groups = calloc(rows->n_shown + 1, sizeof(*groups));
	size_t n = 0;

	for (size_t i = 0; groups && i < rows->n_shown; i++) {
		const struct sp_trace_row *row = &rows->shown[i];

		if (!i || !is_same_group(row, row - 1))
			groups[n++] = (struct group){.rows = row};
		groups[n - 1].n++;
		groups[n - 1].n_events += row->value.n;
	}
	if (groups)
		qsort(groups, n, sizeof(*groups), by_events);
	*ret_n = n;
	return groups;
}

/* A bucket's first and last number, both inclusive. */
static void bucket_bounds(uint32_t bucket, uint64_t *ret_low, uint64_t *ret_high)
{
	unsigned power = bucket - SP_TRACE_FROM_0;

	*ret_low = power ? UINT64_C(1) << power : 0;
	*ret_high = power == 63 ? UINT64_MAX : (UINT64_C(2) << power) - 1;
}

static uint64_t bucket_count(const struct group *g, uint32_t bucket)
{
	for (size_t i = 0; i < g->n; i++)
		if (sp_trace_key_bucket(g->rows[i].key) == bucket)
			return g->rows[i].value.n;
	return 0;
}

/* "comm=bash, pid=7": what the histogram is of. */
static void group_title(const struct sp_trace_run *run, const struct group *g)
{
	const struct sp_trace_spec *s = spec_of(run, g->rows);
	const char *between = "";
	char text[SP_TRACE_CELL];

	if (run->n_specs > 1) {
		sp_encode(run->out, SP_ENCODE_TERMINAL, s->event);
		between = ", ";
	}
	for (size_t i = 0; i < s->n_columns; i++, between = ", ") {
		sp_trace_cell(&s->columns[i], g->rows->key, text);
		fputs(between, run->out);
		sp_encode(run->out, SP_ENCODE_TERMINAL, s->columns[i].name);
		fputs("=", run->out);
		sp_encode(run->out, SP_ENCODE_TERMINAL, text);
	}
	if (run->n_specs > 1 || s->n_columns)
		fputc('\n', run->out);
}

/* As wide as bcc's, so that a line fits a terminal: columns of a bound, and of the bar. */
struct widths {
	int bound, bar;
};

static void bucket_print(const struct sp_trace_run *run, const struct group *g, uint32_t bucket, uint64_t most,
			 const struct widths *w)
{
	uint64_t n = bucket_count(g, bucket), low, high;
	int stars = (int)(most ? (double)n * w->bar / (double)most : 0);

	if (bucket == SP_TRACE_BELOW_0) {
		fprintf(run->out, "%*s%-*s", w->bound + 4, "", w->bound, "below 0");
	} else {
		bucket_bounds(bucket, &low, &high);
		fprintf(run->out, "%*" PRIu64 " -> %-*" PRIu64, w->bound, low, w->bound, high);
	}
	fprintf(run->out, " : %-8" PRIu64 " |%-*.*s|\n", n, w->bar, stars, "****************************************");
}

static void group_print(const struct sp_trace_run *run, const struct group *g)
{
	uint32_t last = sp_trace_key_bucket(g->rows[g->n - 1].key), first = sp_trace_key_bucket(g->rows[0].key);
	const struct widths w =
	    last < SP_TRACE_FROM_0 + 32 ? (struct widths){10, MAX_BAR} : (struct widths){20, MAX_BAR / 2};
	SP_FREE char *name = sp_encoded(SP_ENCODE_TERMINAL, spec_of(run, g->rows)->hist.name);
	uint64_t most = 0;

	for (size_t i = 0; i < g->n; i++)
		most = SP_MAX(most, g->rows[i].value.n);
	group_title(run, g);
	fprintf(run->out, "%*s : count     distribution\n", 2 * w.bound + 4, name ? name : "");
	for (uint32_t i = SP_MIN(first, (uint32_t)SP_TRACE_FROM_0); i <= last; i++)
		bucket_print(run, g, i, most, &w);
}

static int histograms_print(const struct sp_trace_run *run)
{
	size_t n = 0, shown;
	SP_FREE struct group *groups = groups_make(run->rows, &n);

	if (!groups)
		return -ENOMEM;
	shown = n_limited(run, n);
	for (size_t i = 0; i < shown; i++) {
		if (i)
			fputc('\n', run->out);
		group_print(run, &groups[i]);
	}
	if (shown < n)
		fprintf(run->out, "\n... and %zu more\n", n - shown);
	return 0;
}

/* --- for programs --- */
static void csv_put(FILE *out, bool *is_first, const char *text)
{
	if (!*is_first)
		fputc(',', out);
	sp_encode(out, SP_ENCODE_CSV, text);
	*is_first = false;
}

static void csv_number(FILE *out, bool *is_first, bool has_sign, uint64_t number)
{
	fprintf(out, has_sign ? "%s%" PRId64 : "%s%" PRIu64, *is_first ? "" : ",", number);
	*is_first = false;
}

static void csv_head(struct sp_trace_run *run)
{
	const struct sp_trace_spec *s = &run->specs[0];
	bool is_first = true;

	if (run->has_head)
		return;
	run->has_head = true;
	csv_put(run->out, &is_first, "time");
	csv_put(run->out, &is_first, "event");
	for (size_t i = 0; i < s->n_columns; i++)
		csv_put(run->out, &is_first, s->columns[i].name);
	if (run->args->hist) {
		csv_put(run->out, &is_first, "from");
		csv_put(run->out, &is_first, "to");
	}
	for (size_t i = 0; i < s->config.n_sums; i++)
		csv_put(run->out, &is_first, s->sums[i].name);
	csv_put(run->out, &is_first, "count");
	fputc('\n', run->out);
}

static void csv_bounds(FILE *out, bool *is_first, uint32_t bucket)
{
	uint64_t low = 0, high = 0;

	if (bucket == SP_TRACE_BELOW_0) {
		fputs(",,-1", out);
		return;
	}
	bucket_bounds(bucket, &low, &high);
	csv_number(out, is_first, false, low);
	csv_number(out, is_first, false, high);
}

static int csv_print(struct sp_trace_run *run, const char *clock)
{
	char text[SP_TRACE_CELL];

	csv_head(run);
	for (size_t i = 0; i < n_limited(run, run->rows->n_shown); i++) {
		const struct sp_trace_row *row = &run->rows->shown[i];
		const struct sp_trace_spec *s = spec_of(run, row);
		bool is_first = true;

		csv_put(run->out, &is_first, clock);
		csv_put(run->out, &is_first, s->event);
		for (size_t k = 0; k < s->n_columns; k++) {
			sp_trace_cell(&s->columns[k], row->key, text);
			if (sp_trace_is_number(&s->columns[k]))
				fprintf(run->out, ",%s", text);
			else
				csv_put(run->out, &is_first, text);
		}
		if (run->args->hist)
			csv_bounds(run->out, &is_first, sp_trace_key_bucket(row->key));
		for (size_t k = 0; k < s->config.n_sums; k++)
			csv_number(run->out, &is_first, true, row->value.sum[k]);
		csv_number(run->out, &is_first, false, row->value.n);
		fputc('\n', run->out);
	}
	return 0;
}

static void json_key(struct sp_json *j, const struct sp_trace_run *run, const struct sp_trace_row *row)
{
	const struct sp_trace_spec *s = spec_of(run, row);

	sp_json_string(j, "event", s->event);
	sp_json_object(j, "key");
	for (size_t i = 0; i < s->n_columns; i++)
		sp_trace_cell_json(j, &s->columns[i], row->key);
	sp_json_end(j);
}

static void json_row(struct sp_json *j, const struct sp_trace_run *run, const struct sp_trace_row *row)
{
	const struct sp_trace_spec *s = spec_of(run, row);

	sp_json_object(j, NULL);
	json_key(j, run, row);
	sp_json_uint(j, "count", row->value.n);
	sp_json_object(j, "sum");
	for (size_t i = 0; i < s->config.n_sums; i++) {
		SP_FREE char *name = sp_encoded(SP_ENCODE_JSON, s->sums[i].name);

		sp_json_int(j, name ? name : "", (int64_t)row->value.sum[i]);
	}
	sp_json_end(j);
	sp_json_end(j);
}

static void json_group(struct sp_json *j, const struct sp_trace_run *run, const struct group *g)
{
	sp_json_object(j, NULL);
	json_key(j, run, g->rows);
	sp_json_uint(j, "count", g->n_events);
	sp_json_array(j, "histogram");
	for (size_t i = 0; i < g->n; i++) {
		uint32_t bucket = sp_trace_key_bucket(g->rows[i].key);
		uint64_t low, high;

		sp_json_object(j, NULL);
		if (bucket == SP_TRACE_BELOW_0) {
			sp_json_int(j, "to", -1);
		} else {
			bucket_bounds(bucket, &low, &high);
			sp_json_uint(j, "from", low);
			sp_json_uint(j, "to", high);
		}
		sp_json_uint(j, "count", g->rows[i].value.n);
		sp_json_end(j);
	}
	sp_json_end(j);
	sp_json_end(j);
}

static int json_print(const struct sp_trace_run *run, const char *clock)
{
	struct sp_json j = {.out = run->out};
	SP_FREE struct group *groups = NULL;
	size_t n = run->rows->n_shown;

	if (run->args->hist) {
		groups = groups_make(run->rows, &n);
		if (!groups)
			return -ENOMEM;
	}
	sp_json_object(&j, NULL);
	sp_json_string(&j, "time", clock);
	sp_json_array(&j, "rows");
	for (size_t i = 0; i < n_limited(run, n); i++)
		if (groups)
			json_group(&j, run, &groups[i]);
		else
			json_row(&j, run, &run->rows->shown[i]);
	sp_json_done(&j);
	return 0;
}

void sp_trace_clock(uint64_t ns, char ret_text[16])
{
	time_t seconds = (time_t)(ns / SP_NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(ret_text, 16, "%H:%M:%S", &tm))
		*ret_text = 0;
}

int sp_trace_rows_show(struct sp_trace_run *run)
{
	char clock[16];

	sp_trace_clock(sp_time_ns(CLOCK_REALTIME), clock);
	if (run->args->csv)
		return csv_print(run, clock);
	if (run->args->json)
		return json_print(run, clock);
	if (run->args->interval_s)
		fprintf(run->out, "%s%s\n", run->has_head ? "\n" : "", clock);
	run->has_head = true;
	return run->args->hist ? histograms_print(run) : table_print(run);
}
