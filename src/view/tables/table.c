/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c: see table.h. */
#include "view/tables/table.h"

#include "base/encode.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "view/priv.h"
#include "view/tables/costs.h"
#include "view/tables/matrix.h"
#include "view/units.h"
#include "view/value.h"

#include <inttypes.h>
#include <string.h>

enum { PERCENT_COLUMNS = 7, MIN_VALUE_COLUMNS = 8, PID_COLUMNS = 7, SHORT_BUILD_ID = 6, MAX_COUNT_COLUMNS = 20 };

struct table {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	enum sp_total_by by;
	struct sp_totals totals;
	size_t n_shown;
	struct sp_unit unit;
	bool values, samples; /* columns */
	int value_columns, sample_columns, build_id_columns;
	FILE *out;
};

/* --- words for groups without a name --- */
static const char *const none_words[] = {
    [SP_TOTAL_BY_LIBRARY] = "[no library]",     [SP_TOTAL_BY_FUNCTION] = "[no function]",
    [SP_TOTAL_BY_PROCESS] = "[no process]",     [SP_TOTAL_BY_CALLER] = "[no caller]",
    [SP_TOTAL_BY_PACKAGE] = "[no package]",     [SP_TOTAL_BY_COMM] = "[no name]",
    [SP_TOTAL_BY_CGROUP] = "[no cgroup]",       [SP_TOTAL_BY_USER] = "[no user]",
    [SP_TOTAL_BY_CONTAINER] = "[no container]", [SP_TOTAL_BY_STATE] = "[no state]",
    [SP_TOTAL_BY_LOCK] = "[no lock]",           [SP_TOTAL_BY_MEMORY] = "[no memory]",
    [SP_TOTAL_BY_FAULT] = "[no fault]",         [SP_TOTAL_BY_WAKER] = "[no waker]",
    [SP_TOTAL_BY_HOST] = "[no host]",
};

static const char *const headings[] = {
    [SP_TOTAL_BY_LIBRARY] = "library",     [SP_TOTAL_BY_FUNCTION] = "function [library]",
    [SP_TOTAL_BY_PROCESS] = "process",     [SP_TOTAL_BY_CALLER] = "caller -> library",
    [SP_TOTAL_BY_PACKAGE] = "package",     [SP_TOTAL_BY_COMM] = "comm",
    [SP_TOTAL_BY_CGROUP] = "cgroup",       [SP_TOTAL_BY_USER] = "uid",
    [SP_TOTAL_BY_CONTAINER] = "container", [SP_TOTAL_BY_STATE] = "state",
    [SP_TOTAL_BY_LOCK] = "lock",           [SP_TOTAL_BY_MEMORY] = "memory",
    [SP_TOTAL_BY_FAULT] = "fault",         [SP_TOTAL_BY_WAKER] = "waker",
    [SP_TOTAL_BY_HOST] = "host",
};

/* --- columns --- */
static int columns_of(struct sp_unit unit, int64_t value)
{
	char text[64];

	if (unit.scale > 1)
		return snprintf(text, sizeof(text), "%.*f", unit.decimals, (double)value / unit.scale);
	return snprintf(text, sizeof(text), "%" PRId64, value);
}

static int build_id_bytes(const struct table *t, const struct sp_file *f)
{
	return t->o->verbose ? f->build_id_len : SP_MIN(f->build_id_len, SHORT_BUILD_ID);
}

static int build_id_columns(const struct table *t)
{
	int most = 0;

	for (size_t i = 0; i < t->n_shown && t->by == SP_TOTAL_BY_LIBRARY; i++)
		if (!t->totals.rows[i].none)
			most = SP_MAX(most, 2 * build_id_bytes(t, sp_profile_file(t->p, t->totals.rows[i].id)));
	return most ? SP_MAX(most, (int)strlen("build id")) : 0;
}

static void table_set_columns(struct table *t, unsigned int flags)
{
	const char *unit = sp_profile_string(t->p, sp_profile_value_type(t->p, t->o->value)->unit);
	struct sp_unit count = sp_unit_for("", 0);
	int64_t largest = 0, most = 0;

	for (size_t i = 0; i < t->totals.n_rows; i++) {
		largest = SP_MAX(largest, t->totals.rows[i].total);
		most = SP_MAX(most, t->totals.rows[i].n_samples);
	}
	t->n_shown = t->o->limit ? SP_MIN(t->o->limit, t->totals.n_rows) : t->totals.n_rows;
	t->unit = sp_unit_for(unit, (uint64_t)largest / 10); /* 868.7 ms rather than 0.87 s, since rows are compared */
	t->values = !(flags & SP_TABLE_SHARES_ONLY);
	/* only if they are not the values themselves */
	t->samples = t->values && (strcmp(unit, "count") != 0 || sp_value_has_samples(t->p, t->o->value));
	t->value_columns = SP_MAX(MIN_VALUE_COLUMNS, columns_of(t->unit, largest));
	t->sample_columns = SP_MAX((int)strlen("samples"), columns_of(count, most));
	t->build_id_columns = build_id_columns(t);
}

/* --- lines --- */
static void put_heading(const struct table *t)
{
	const char *name = sp_profile_string(t->p, sp_profile_value_type(t->p, t->o->value)->name);
	char self[32], total[32];

	if (t->values) {
		sp_value_put(t->p, t->o->value, t->totals.value, t->totals.n_samples, t->out);
		fputc('\n', t->out);
	}
	snprintf(self, sizeof(self), "self%s%s", *t->unit.name ? " " : "", t->unit.name);
	snprintf(total, sizeof(total), "total%s%s", *t->unit.name ? " " : "", t->unit.name);
	fputs(t->o->colour ? "\033[1m" : "", t->out);
	fprintf(t->out, "%*s", PERCENT_COLUMNS, "self %");
	if (t->values)
		fprintf(t->out, "  %*s", t->value_columns, self);
	fprintf(t->out, "  %*s", PERCENT_COLUMNS, "total %");
	if (t->values)
		fprintf(t->out, "  %*s", t->value_columns, total);
	if (t->samples)
		fprintf(t->out, "  %*s", t->sample_columns, "samples");
	if (t->build_id_columns)
		fprintf(t->out, "  %-*s", t->build_id_columns, "build id");
	if (t->by == SP_TOTAL_BY_PROCESS)
		fprintf(t->out, "  %*s", PID_COLUMNS, "pid");
	fprintf(t->out, "  %s", headings[t->by]);
	if (!t->values) {
		fputs(" (% of ", t->out);
		sp_encode(t->out, SP_ENCODE_TERMINAL, name);
		fputc(')', t->out);
	}
	fprintf(t->out, "%s\n", t->o->colour ? "\033[0m" : "");
}

static void put_share(const struct table *t, int64_t value, const char *gap)
{
	fputs(gap, t->out);
	sp_percent_put(sp_percent(value, t->totals.value), PERCENT_COLUMNS, t->o->colour, t->out);
}

static void put_build_id(const struct table *t, const struct sp_total *row)
{
	const struct sp_file *f = sp_profile_file(t->p, row->none ? 0 : row->id);
	int n = row->none ? 0 : build_id_bytes(t, f);

	fputs("  ", t->out);
	for (int i = 0; i < n; i++)
		fprintf(t->out, "%02x", f->build_id[i]);
	fprintf(t->out, "%*s", t->build_id_columns - 2 * n, "");
}

static void put_pid(const struct table *t, const struct sp_total *row)
{
	if (row->none)
		fprintf(t->out, "  %*s", PID_COLUMNS, "");
	else
		fprintf(t->out, "  %*" PRIu32, PID_COLUMNS, sp_profile_process(t->p, row->id)->pid);
}

const char *sp_table_heading(enum sp_total_by by)
{
	return headings[by];
}

void sp_table_put_name(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row, FILE *out)
{
	const char *name = sp_total_name(p, by, row);

	if (row->none)
		fputs(none_words[by], out);
	else if (by == SP_TOTAL_BY_LIBRARY || by == SP_TOTAL_BY_CALLER)
		sp_view_put_library(p, row->id, out);
	else if (by == SP_TOTAL_BY_USER)
		fprintf(out, "%" PRIu32, row->id);
	else
		sp_encode(out, SP_ENCODE_TERMINAL, *name ? name : "[no name]");
	if (by == SP_TOTAL_BY_CALLER) {
		fputs(" -> ", out);
		if (row->file)
			sp_view_put_library(p, row->file, out);
		else
			fputs(none_words[SP_TOTAL_BY_LIBRARY], out);
	} else if (row->file) {
		sp_view_put_in_library(p, row->file, 0, out);
	}
}

static void table_put_row(const struct table *t, const struct sp_total *row)
{
	put_share(t, row->self, "");
	if (t->values) {
		fputs("  ", t->out);
		sp_unit_put(t->unit, row->self, t->value_columns, t->out);
	}
	put_share(t, row->total, "  ");
	if (t->values) {
		fputs("  ", t->out);
		sp_unit_put(t->unit, row->total, t->value_columns, t->out);
	}
	if (t->samples)
		fprintf(t->out, "  %*" PRId64, t->sample_columns, row->n_samples);
	if (t->build_id_columns)
		put_build_id(t, row);
	if (t->by == SP_TOTAL_BY_PROCESS)
		put_pid(t, row);
	fputs("  ", t->out);
	sp_table_put_name(t->p, t->by, row, t->out);
	fputc('\n', t->out);
}

/* The number of rows left out, and their share of self: their totals overlap, so they have no sum. */
static void table_put_rest(const struct table *t)
{
	size_t n = t->totals.n_rows - t->n_shown;
	int64_t self = 0;

	if (!n)
		return;
	for (size_t i = t->n_shown; i < t->totals.n_rows; i++)
		self += t->totals.rows[i].self;
	put_share(t, self, "");
	fprintf(t->out, "  in %zu more row%s\n", n, n == 1 ? "" : "s");
}

int sp_table_put(const struct sp_profile *p, const struct sp_view_options *o, unsigned int flags, FILE *out)
{
	struct table t = {.p = p, .o = o, .by = o->by, .out = out};
	int r = sp_view_totals(p, o, &t.totals);

	if (r < 0)
		return r;
	table_set_columns(&t, flags);
	put_heading(&t);
	for (size_t i = 0; i < t.n_shown; i++)
		table_put_row(&t, &t.totals.rows[i]);
	table_put_rest(&t);
	sp_totals_done(&t.totals);
	return 0;
}

static int table_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	if (o->by == SP_TOTAL_BY_MATRIX)
		return sp_matrix_put_table(p, o, out);
	return o->all_values ? sp_costs_put(p, o, out) : sp_table_put(p, o, 0, out);
}

const struct sp_view sp_view_table = {
    .name = "table",
    .suffix = ".table",
    .mime = "text/plain; charset=utf-8",
    .summary = "self and total by library, function, process ...",
    .grouped = true,
    .write = table_write,
};
