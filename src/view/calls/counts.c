/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts.c: counted calls by function, each with its callers; with times where the profile has samples.
 *
 * A * marks a function whose address was taken: calls through it were not counted.
 */
#include "view/calls/counts.h"

#include "base/encode.h"
#include "base/mem.h"
#include "profile/calls.h"
#include "view/priv.h"
#include "view/units.h"

#include <inttypes.h>

enum {
	MAX_CALLERS = 8,
	FEW_CALLERS = 2,
	TIME_COLUMNS = 10,
	EACH_COLUMNS = 22,
	MIN_COUNT_COLUMNS = 12,
	LATENCY_COLUMNS = 10
};

struct lines {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_calls_table t;
	struct sp_unit unit; /* of self and total */
	int count_columns;
	bool marked, excepted; /* whether to explain `*` and "untimed" */
	FILE *out;
};

static void put_count(const struct lines *l, int64_t n)
{
	fprintf(l->out, "%*" PRId64, l->count_columns, n);
}

/* Time of a call from outside: "11.2 (9.8-12.7)". */
static void put_each(const struct lines *l, const struct sp_callee *c)
{
	double ns, low, high;
	char text[64] = "-";

	if (sp_callee_time(c, &ns, &low, &high)) {
		int decimals = ns < 100 ? 1 : 0;

		snprintf(text, sizeof(text), "%.*f (%.*f-%.*f)", decimals, ns, decimals, low, decimals, high);
	}
	fprintf(l->out, "  %*s", EACH_COLUMNS, text);
}

/* "12.3 us", or "-" if not known. */
static void put_latency(const struct lines *l, double ns)
{
	char text[64] = "-";

	if (ns >= 0)
		sp_unit_write("nanoseconds", (uint64_t)(ns + 0.5), text, sizeof(text));
	fprintf(l->out, "  %*s", LATENCY_COLUMNS, text);
}

static void put_latencies(struct lines *l, const struct sp_callee *c)
{
	fputs("  ", l->out);
	if (c->untimed && !c->n_timed)
		fprintf(l->out, "%*s", l->count_columns, "untimed");
	else
		put_count(l, c->n_timed);
	put_latency(l, c->n_timed ? (double)c->timed_ns / (double)c->n_timed : -1);
	put_latency(l, sp_callee_quantile(c, 0.5));
	put_latency(l, sp_callee_quantile(c, 0.99));
	put_latency(l, sp_callee_quantile(c, 1));
	l->excepted |= c->untimed && !c->n_timed;
}

static void counts_put_name(const struct lines *l, uint32_t func, uint32_t file)
{
	const char *name = func ? sp_profile_string(l->p, sp_profile_func(l->p, func)->name) : "[unknown]";

	sp_encode(l->out, SP_ENCODE_TERMINAL, *name ? name : "[no name]");
	if (file && *name != '[')
		sp_view_put_in_library(l->p, file, 0, l->out);
}

static void counts_put_head(const struct lines *l)
{
	char self[32], total[32];

	fputs(l->o->colour ? "\033[1m" : "", l->out);
	fprintf(l->out, "%*s", l->count_columns, "calls");
	if (l->t.has_times) {
		snprintf(self, sizeof(self), "self %s", l->unit.name);
		snprintf(total, sizeof(total), "total %s", l->unit.name);
		fprintf(l->out, "  %*s  %*s  %*s", EACH_COLUMNS, "ns a call (95 %)", TIME_COLUMNS, self, TIME_COLUMNS,
			total);
	}
	if (l->t.has_latency)
		fprintf(l->out, "  %*s  %*s  %*s  %*s  %*s", l->count_columns, "timed", LATENCY_COLUMNS, "mean",
			LATENCY_COLUMNS, "p50", LATENCY_COLUMNS, "p99", LATENCY_COLUMNS, "max");
	fprintf(l->out, "  function, and its callers%s\n", l->o->colour ? "\033[0m" : "");
}

static void counts_put_function(struct lines *l, const struct sp_callee *c)
{
	fputs(l->o->colour ? "\033[1m" : "", l->out);
	put_count(l, c->n_calls);
	if (l->t.has_times) {
		put_each(l, c);
		fputs("  ", l->out);
		sp_unit_put(l->unit, c->self_ns, TIME_COLUMNS, l->out);
		fputs("  ", l->out);
		sp_unit_put(l->unit, c->total_ns, TIME_COLUMNS, l->out);
	}
	if (l->t.has_latency)
		put_latencies(l, c);
	fputs("  ", l->out);
	counts_put_name(l, c->func, c->file);
	fputs(c->address_taken ? " *" : "", l->out);
	l->marked |= c->address_taken;
	fprintf(l->out, "%s\n", l->o->colour ? "\033[0m" : "");
}

static void put_gap(const struct lines *l)
{
	int times = l->t.has_times ? EACH_COLUMNS + 2 * TIME_COLUMNS + 4 : 0,
	    latency = l->t.has_latency ? 2 + l->count_columns + 4 * (2 + LATENCY_COLUMNS) : 0;

	fprintf(l->out, "%*s", 6 + times + latency, "");
}

static size_t callers_shown(const struct lines *l, const struct sp_callee *c)
{
	size_t most = l->o->lines ? FEW_CALLERS : l->o->limit ? MAX_CALLERS : c->n_callers;

	return SP_MIN(c->n_callers, most);
}

/* The function's, its callers', and that of the callers that are not shown. */
static size_t lines_of(const struct lines *l, const struct sp_callee *c)
{
	size_t n = callers_shown(l, c);

	return 1 + n + (n < c->n_callers);
}

/* How many functions are shown: at least one. */
static size_t functions_shown(const struct lines *l)
{
	size_t lines = 0, n = 0;

	if (!l->o->lines)
		return l->o->limit ? SP_MIN(l->o->limit, l->t.n_rows) : l->t.n_rows;
	while (n < l->t.n_rows && (!n || lines + lines_of(l, &l->t.rows[n]) <= l->o->lines))
		lines += lines_of(l, &l->t.rows[n++]);
	return n;
}

static void put_callers(const struct lines *l, const struct sp_callee *c)
{
	size_t n = callers_shown(l, c), i;
	int64_t rest = 0;

	for (i = 0; i < n; i++) {
		put_count(l, c->callers[i].n_calls);
		put_gap(l);
		if (c->callers[i].func || c->callers[i].file)
			counts_put_name(l, c->callers[i].func, c->callers[i].file);
		else
			fputs("[external]", l->out); /* unknown callers, as in gprof's layout */
		fputc('\n', l->out);
	}
	for (; i < c->n_callers; i++)
		rest += c->callers[i].n_calls;
	if (n == c->n_callers)
		return;
	put_count(l, rest);
	put_gap(l);
	fprintf(l->out, "%zu more caller%s\n", c->n_callers - n, c->n_callers - n == 1 ? "" : "s");
}

static void counts_put_rest(const struct lines *l, size_t n_shown)
{
	size_t n = l->t.n_rows - n_shown;
	int64_t calls = 0;

	for (size_t i = n_shown; i < l->t.n_rows; i++)
		calls += l->t.rows[i].n_calls;
	if (n) {
		put_count(l, calls);
		fprintf(l->out, "  %zu more function%s\n", n, n == 1 ? "" : "s");
	}
	if (l->marked)
		fputs("* at least so many: its address is known to others, and calls by that are not counted\n",
		      l->out);
	if (l->excepted)
		fputs("untimed: not to be timed, since it returns twice or never, or looks to where it returns\n",
		      l->out);
}

static void counts_set_widths(struct lines *l)
{
	int64_t longest = 0;
	char text[32];

	for (size_t i = 0; i < l->t.n_rows; i++)
		longest = SP_MAX(longest, l->t.rows[i].total_ns);
	l->unit = sp_unit_for("nanoseconds", (uint64_t)longest / 10);
	l->count_columns = SP_MAX(MIN_COUNT_COLUMNS, snprintf(text, sizeof(text), "%" PRId64, l->t.n_calls));
}

static int counts_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct lines l = {.p = p, .o = o, .out = out};
	int r = sp_calls_table_new(p, &l.t);
	size_t n;

	if (r < 0)
		return r;
	counts_set_widths(&l);
	n = functions_shown(&l);
	counts_put_head(&l);
	for (size_t i = 0; i < n; i++) {
		counts_put_function(&l, &l.t.rows[i]);
		put_callers(&l, &l.t.rows[i]);
	}
	counts_put_rest(&l, n);
	sp_calls_table_done(&l.t);
	return 0;
}

extern const struct sp_view sp_view_counts;
const struct sp_view sp_view_counts = {
    .name = "counts",
    .suffix = ".counts",
    .mime = "text/plain; charset=utf-8",
    .summary = "counted calls by function, with callers and times",
    .calls = true,
    .write = counts_write,
};
