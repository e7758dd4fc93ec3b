/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts.c: counted calls by function, each with its callers; with times where the profile has samples.
 *
 * A * marks a function whose address was taken: calls through it were not counted. On a terminal columns are as narrow
 * as what is in them, since the names want the room, and are cut to it.
 */
#include "view/calls/counts.h"

#include "base/encode.h"
#include "base/mem.h"
#include "profile/calls.h"
#include "view/priv.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_CALLERS = 8,
	FEW_CALLERS = 2,
	INDENT = 4 /* of callers, below their function */
};

static const struct widths {
	int count, each, time, latency;
} usual = {12, 22, 10, 10}, least = {7, 16, 8, 8}; /* at least, on a terminal: headings, "untimed" */

struct lines {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_calls_table t;
	struct sp_unit unit; /* of self and total */
	struct widths columns;
	size_t before;         /* columns before a function's name */
	bool failed;           /* out of memory */
	bool marked, excepted; /* whether to explain `*` and "untimed" */
	FILE *out;
};

static void put_count(const struct lines *l, int64_t n)
{
	fprintf(l->out, "%*" PRId64, l->columns.count, n);
}

/* Time of a call from outside: "11.2 (9.8-12.7)". */
static int each_text(const struct sp_callee *c, char ret_text[64])
{
	double ns, low, high;
	int decimals;

	if (!sp_callee_time(c, &ns, &low, &high))
		return snprintf(ret_text, 64, "-");
	decimals = ns < 100 ? 1 : 0;
	return snprintf(ret_text, 64, "%.*f (%.*f-%.*f)", decimals, ns, decimals, low, decimals, high);
}

static void put_each(const struct lines *l, const struct sp_callee *c)
{
	char text[64];

	each_text(c, text);
	fprintf(l->out, "  %*s", l->columns.each, text);
}

/* "12.3 us", or "-" if not known. */
static void put_latency(const struct lines *l, double ns)
{
	char text[64] = "-";

	if (ns >= 0)
		sp_unit_write("nanoseconds", (uint64_t)(ns + 0.5), text, sizeof(text));
	fprintf(l->out, "  %*s", l->columns.latency, text);
}

static void put_latencies(struct lines *l, const struct sp_callee *c)
{
	fputs("  ", l->out);
	if (c->untimed && !c->n_timed)
		fprintf(l->out, "%*s", l->columns.count, "untimed");
	else
		put_count(l, c->n_timed);
	put_latency(l, c->n_timed ? (double)c->timed_ns / (double)c->n_timed : -1);
	put_latency(l, sp_callee_quantile(c, 0.5));
	put_latency(l, sp_callee_quantile(c, 0.99));
	put_latency(l, sp_callee_quantile(c, 1));
	l->excepted |= c->untimed && !c->n_timed;
}

/* mark: what stands behind the name, and is never cut. */
static void counts_put_name(struct lines *l, uint32_t func, uint32_t file, size_t indent, const char *mark)
{
	const char *name = func ? sp_profile_string(l->p, sp_profile_func(l->p, func)->name) : "[unknown]";
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f) {
		l->failed = true;
		return;
	}
	sp_encode(f, SP_ENCODE_TERMINAL, *name ? name : "[no name]");
	if (file && *name != '[')
		sp_view_put_in_library(l->p, file, 0, f);
	fclose(f);
	sp_view_put_cut(text, sp_view_room(l->o->width, l->before + indent + strlen(mark)), false, l->out);
	fputs(mark, l->out);
	free(text);
}

static void counts_put_head(const struct lines *l)
{
	char self[32], total[32];

	fputs(l->o->colour ? "\033[1m" : "", l->out);
	fprintf(l->out, "%*s", l->columns.count, "calls");
	if (l->t.has_times) {
		snprintf(self, sizeof(self), "self %s", l->unit.name);
		snprintf(total, sizeof(total), "total %s", l->unit.name);
		fprintf(l->out, "  %*s  %*s  %*s", l->columns.each, "ns a call (95 %)", l->columns.time, self,
			l->columns.time, total);
	}
	if (l->t.has_latency)
		fprintf(l->out, "  %*s  %*s  %*s  %*s  %*s", l->columns.count, "timed", l->columns.latency, "mean",
			l->columns.latency, "p50", l->columns.latency, "p99", l->columns.latency, "max");
	fprintf(l->out, "  function, its callers%s\n", l->o->colour ? "\033[0m" : "");
}

static void counts_put_function(struct lines *l, const struct sp_callee *c)
{
	fputs(l->o->colour ? "\033[1m" : "", l->out);
	put_count(l, c->n_calls);
	if (l->t.has_times) {
		put_each(l, c);
		fputs("  ", l->out);
		sp_unit_put(l->unit, c->self_ns, l->columns.time, l->out);
		fputs("  ", l->out);
		sp_unit_put(l->unit, c->total_ns, l->columns.time, l->out);
	}
	if (l->t.has_latency)
		put_latencies(l, c);
	fputs("  ", l->out);
	counts_put_name(l, c->func, c->file, 0, c->address_taken ? " *" : "");
	l->marked |= c->address_taken;
	fprintf(l->out, "%s\n", l->o->colour ? "\033[0m" : "");
}

static void put_gap(const struct lines *l)
{
	fprintf(l->out, "%*s", (int)l->before - l->columns.count + INDENT, "");
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

static void put_callers(struct lines *l, const struct sp_callee *c)
{
	size_t n = callers_shown(l, c), i;
	int64_t rest = 0;

	for (i = 0; i < n; i++) {
		put_count(l, c->callers[i].n_calls);
		put_gap(l);
		if (c->callers[i].func || c->callers[i].file)
			counts_put_name(l, c->callers[i].func, c->callers[i].file, INDENT, "");
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
		fputs("* at least so many: calls by its address, which others know, are not counted\n", l->out);
	if (l->excepted)
		fputs("untimed: it returns twice or never, or looks to where it returns\n", l->out);
}

static void counts_set_widths(struct lines *l)
{
	struct widths *w = &l->columns;
	int64_t longest = 0;
	char text[64];
	int each = 0;

	for (size_t i = 0; i < l->t.n_rows; i++) {
		longest = SP_MAX(longest, l->t.rows[i].total_ns);
		each = SP_MAX(each, each_text(&l->t.rows[i], text));
	}
	l->unit = sp_unit_for("nanoseconds", (uint64_t)longest / 10);
	*w = l->o->width ? least : usual;
	w->count = SP_MAX(w->count, snprintf(text, sizeof(text), "%" PRId64, l->t.n_calls));
	w->each = SP_MAX(w->each, each);
	w->time =
	    SP_MAX(w->time, snprintf(text, sizeof(text), "%.*f", l->unit.decimals, (double)longest / l->unit.scale));
	l->before = (size_t)(w->count + (l->t.has_times ? 2 + w->each + 2 * (2 + w->time) : 0) +
			     (l->t.has_latency ? 2 + w->count + 4 * (2 + w->latency) : 0) + 2);
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
	return l.failed ? -ENOMEM : 0;
}

const struct sp_view sp_view_counts = {
    .name = "counts",
    .suffix = ".counts",
    .mime = "text/plain; charset=utf-8",
    .summary = "counted calls by function, with callers and times",
    .calls = true,
    .write = counts_write,
};
