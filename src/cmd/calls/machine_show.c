/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_show.c: counted calls as tables and histograms for people. */
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "cmd/calls/machine_rows.h"
#include "cmd/grid.h"
#include "proc/process.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STARS = 40, MAX_HISTOGRAMS = 10, USER_BYTES = 64, BOUND_COLUMNS = 10, OTHER_LINES = 6, TELL_LINES = 4 };

const char *sp_machine_by_name(enum sp_machine_by by)
{
	static const char *const names[] = {[SP_MACHINE_BY_PROCESS] = "process", [SP_MACHINE_BY_FUNCTION] = "function",
					    [SP_MACHINE_BY_LIBRARY] = "library", [SP_MACHINE_BY_CALLER] = "caller",
					    [SP_MACHINE_BY_COMM] = "comm",       [SP_MACHINE_BY_USER] = "user",
					    [SP_MACHINE_BY_CGROUP] = "cgroup"};

	return names[by];
}

/* --- times --- */
uint64_t sp_machine_least_ns(const struct sp_machine_sum *sum)
{
	return ~sum->times.least;
}

double sp_machine_quantile(const struct sp_machine_sum *sum, double share)
{
	double wanted = share * (double)sum->n_calls, below = 0, least = (double)sp_machine_least_ns(sum),
	       most = (double)sum->times.max_ns;

	for (size_t i = 0; i < SP_PROBED_BUCKETS; i++) {
		double n = (double)sum->times.n[i], low = i ? (double)(UINT64_C(1) << i) : 0,
		       high = (double)(UINT64_C(2) << i);

		low = SP_MAX(low, least);
		high = SP_MIN(high, most);
		if (n && below + n >= wanted)
			return low + (high - low) * (wanted - below) / n;
		below += n;
	}
	return most;
}

static void put_time(struct sp_grid *g, double ns)
{
	char text[32];

	sp_unit_write("nanoseconds", (uint64_t)(ns + 0.5), text, sizeof(text));
	sp_grid_put(g, SP_GRID_PLAIN, "%s", text);
}

/* --- a row's words --- */
const char *sp_machine_who(const struct sp_machine_rows *r, const struct sp_machine_row *row, char *user, size_t size,
			   const char **ret_library)
{
	const char *name;

	*ret_library = "";
	if (r->by == SP_MACHINE_BY_CALLER) {
		sp_machine_caller(r->callers, row->who, &name, ret_library);
		return name;
	}
	name = sp_intern_get(r->whos, row->who, NULL);
	if (r->by != SP_MACHINE_BY_USER)
		return name;
	sp_process_user_name((uint32_t)strtoul(name, NULL, 10), user, size);
	return user;
}

static void put_who(struct sp_grid *g, const struct sp_machine_rows *r, const struct sp_machine_row *row)
{
	char user[USER_BYTES];
	const char *library, *name = sp_machine_who(r, row, user, sizeof(user), &library);

	if (r->by == SP_MACHINE_BY_PROCESS)
		sp_grid_put(g, SP_GRID_PLAIN, "%" PRIu32, row->pid);
	else
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	if (*library && strncmp(name, library, strlen(library)))
		sp_grid_put(g, SP_GRID_PLAIN, "%s [%s]", name, library);
	else
		sp_grid_put(g, SP_GRID_PLAIN, "%s", name);
}

/* --- the table --- */
enum { WHO_COLUMN = 10, FUNCTION_COLUMN = 11, COLUMNS = 13 };
static const struct sp_grid_column columns[COLUMNS] = {
    {.title = "calls", .right = true},
    {.title = "(95 %)", .right = true},
    {.title = "calls/s", .right = true},
    {.title = "mean", .right = true},
    {.title = "min", .right = true, .drop = 3},
    {.title = "p50", .right = true, .drop = 1},
    {.title = "p99", .right = true, .drop = 2},
    {.title = "max", .right = true},
    {.title = "total", .right = true, .drop = 4},
    {.title = "pid", .right = true},
    [WHO_COLUMN] = {.title = "", .min = 8},
    [FUNCTION_COLUMN] = {.title = "function", .min = 12},
    {.title = "library"},
};

/* What is told apart says its name. The columns outlive the grid. */
static struct sp_grid *grid_new(const struct sp_machine_shown *s, struct sp_grid_column *own)
{
	bool has_who = s->rows->by == SP_MACHINE_BY_PROCESS || s->rows->by > SP_MACHINE_BY_LIBRARY;

	memcpy(own, columns, sizeof(columns));
	own[WHO_COLUMN].title = has_who ? sp_machine_by_name(s->rows->by) : "";
	if (s->rows->by == SP_MACHINE_BY_LIBRARY)
		own[FUNCTION_COLUMN].title = "";
	return sp_grid_new(own, COLUMNS);
}

static void put_times(struct sp_grid *g, const struct sp_machine_shown *s, const struct sp_machine_sum *sum)
{
	if (!s->args->latency) {
		for (int i = 0; i < 6; i++)
			sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
		return;
	}
	put_time(g, (double)sum->times.sum_ns / (double)sum->n_calls);
	if (s->since) /* extremes are known of all the time only */
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	else
		put_time(g, (double)sp_machine_least_ns(sum));
	put_time(g, sp_machine_quantile(sum, 0.5));
	put_time(g, sp_machine_quantile(sum, 0.99));
	if (s->since)
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	else
		put_time(g, (double)sum->times.max_ns);
	put_time(g, (double)sum->times.sum_ns);
}

static struct sp_machine_sum sum_of(const struct sp_machine_shown *s, const struct sp_machine_row *row)
{
	return s->since ? sp_machine_since(row) : row->all;
}

/* "~15737", "14087-17527" where it is an estimate. */
static void put_calls(struct sp_grid *g, const struct sp_machine_shown *s, const struct sp_machine_row *row, uint64_t n)
{
	double low, high;
	bool is_estimate = sp_machine_interval(s->rows, row, &low, &high);

	sp_grid_put(g, SP_GRID_PLAIN, "%s%" PRIu64, is_estimate ? "~" : "", n);
	if (!is_estimate || s->since)
		sp_grid_put(g, SP_GRID_PLAIN, "%s", "");
	else if (isinf(high))
		sp_grid_put(g, SP_GRID_PLAIN, "%.0f-?", low);
	else
		sp_grid_put(g, SP_GRID_PLAIN, "%.0f-%.0f", low, high);
}

static void put_row(struct sp_grid *g, const struct sp_machine_shown *s, const struct sp_machine_row *row)
{
	const struct sp_machine_function *f = &s->rows->targets->functions[row->of];
	struct sp_machine_sum sum = sum_of(s, row);
	double rate = s->seconds > 0 ? (double)sum.n_calls / s->seconds : 0;

	put_calls(g, s, row, sum.n_calls);
	sp_grid_put(g, SP_GRID_PLAIN, "%.*f", rate < 10 ? 1 : 0, rate);
	put_times(g, s, &sum);
	put_who(g, s->rows, row);
	sp_grid_put(g, SP_GRID_BOLD, "%s", row->function == UINT32_MAX ? "" : f->name);
	sp_grid_put(g, SP_GRID_PLAIN, "%s", f->library);
}

/* --- histograms, as bcc draws them --- */
static void put_stars(uint64_t n, uint64_t most, FILE *out)
{
	int stars = (int)(n * STARS / most);

	for (int i = 0; i < STARS; i++)
		fputc(i < stars ? '*' : ' ', out);
}

/* The largest number decides how wide a bound is, so that lines fit into 80 columns as long as they can. */
static int bound_columns(size_t end)
{
	int n = snprintf(NULL, 0, "%" PRIu64, (UINT64_C(1) << end) - 1);

	return SP_MAX(n, BOUND_COLUMNS);
}

static void put_histogram(const struct sp_machine_shown *s, const struct sp_machine_row *row, FILE *out)
{
	struct sp_machine_sum sum = sum_of(s, row);
	const struct sp_machine_function *f = &s->rows->targets->functions[row->of];
	char user[USER_BYTES];
	const char *library, *who = sp_machine_who(s->rows, row, user, sizeof(user), &library);
	size_t from = SP_PROBED_BUCKETS, end = 0;
	uint64_t most = 1;
	int columns;

	for (size_t i = 0; i < SP_PROBED_BUCKETS; i++) {
		most = SP_MAX(most, sum.times.n[i]);
		end = sum.times.n[i] ? i + 1 : end;
		from = sum.times.n[i] ? SP_MIN(from, i) : from;
	}
	columns = bound_columns(end);
	fputc('\n', out);
	sp_encode(out, SP_ENCODE_TERMINAL, row->function == UINT32_MAX ? f->library : f->name);
	if (*who) {
		fputs(s->rows->by == SP_MACHINE_BY_CALLER ? " from " : ", ", out);
		sp_encode(out, SP_ENCODE_TERMINAL, who);
	}
	if (row->pid)
		fprintf(out, " %" PRIu32, row->pid);
	fprintf(out, "\n%*s%-*s : count    distribution\n", columns - 1, "", columns + 5, "nsecs");
	for (size_t i = from; i < end; i++) {
		fprintf(out, "%*" PRIu64 " -> %-*" PRIu64 " : %-8" PRIu64 " |", columns, i ? UINT64_C(1) << i : 0,
			columns, (UINT64_C(2) << i) - 1, sum.times.n[i]);
		put_stars(sum.times.n[i], most, out);
		fputs("|\n", out);
	}
}

static void put_rest(const struct sp_machine_shown *s, const uint32_t *order, size_t n_shown, size_t n, FILE *out)
{
	uint64_t calls = 0;

	for (size_t i = n_shown; i < n; i++)
		calls += sum_of(s, &s->rows->rows[order[i]]).n_calls;
	if (n > n_shown)
		fprintf(out, "%" PRIu64 " calls in %zu more rows (-n)\n", calls, n - n_shown);
}

/*
 * A table that is shown in place of the last one must not be longer than the screen; nor is one for which nobody said
 * how long. With histograms, of which the first has room then, it is half as long.
 */
static size_t rows_shown(const struct sp_machine_shown *s, size_t n, FILE *out)
{
	size_t most = s->args->limit ? SP_MIN(n, s->args->limit) : n, fits;

	if (!s->since && !s->args->fits)
		return most;
	fits = sp_terminal_rows(out, s->since ? OTHER_LINES : OTHER_LINES + TELL_LINES);
	if (!fits)
		return most;
	return SP_MIN(s->since ? most : n, s->args->latency && !s->since ? SP_MAX(fits / 2, (size_t)1) : fits);
}

static size_t histograms_shown(const struct sp_machine_shown *s, size_t n_rows, FILE *out)
{
	bool is_one = s->args->fits && isatty(fileno(out));

	return SP_MIN(n_rows, is_one ? (size_t)1 : (size_t)MAX_HISTOGRAMS);
}

int sp_machine_show(const struct sp_machine_shown *s, FILE *out)
{
	struct sp_grid_column own[COLUMNS];
	struct sp_grid *g = grid_new(s, own);
	SP_FREE uint32_t *order = NULL;
	size_t n = 0, n_shown = 0, n_histograms;
	int r = g ? sp_machine_rows_sort(s->rows, s->since, &order, &n) : -ENOMEM;

	if (r >= 0) {
		n_shown = rows_shown(s, n, out);
		for (size_t i = 0; i < n_shown; i++)
			put_row(g, s, &s->rows->rows[order[i]]);
		r = n ? sp_grid_print(g, sp_terminal_width(out, NULL), sp_terminal_has_colour(out), "", out) : 0;
		put_rest(s, order, n_shown, n, out);
	}
	sp_grid_free(g);
	if (r < 0 || !s->args->latency || s->since)
		return r;
	n_histograms = histograms_shown(s, n_shown, out);
	for (size_t i = 0; i < n_histograms; i++)
		put_histogram(s, &s->rows->rows[order[i]], out);
	if (n_shown > n_histograms)
		fprintf(out, "\nthe histograms of %zu more rows are in --json\n", n_shown - n_histograms);
	return 0;
}
