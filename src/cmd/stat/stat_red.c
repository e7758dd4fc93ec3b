/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat_red.c: `soprof stat --red`: rate, errors and duration of what a service does: its system calls, or functions and
 * pairs of events that the user names. Counted in the kernel, by powers of two of the duration.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/sampling.h"
#include "cmd/stat/stat.h"
#include "recipe/narrow.h"
#include "recipe/probe.h"
#include "recipe/tracepoint.h"
#include "recipe/types.h"
#include "trace/later.h"
#include "trace/presets.h"
#include "trace/tracing.h"
#include "view/units.h"
#include "worker/broker.h"
#include "worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_SECONDS = 5, SHOWN = 20, MAX_ROWS = 1 << 14, NAME = 96 };
/* What a system call gives that failed; below are the kernel's own, of calls that begin again. */
#define CALL_FAILED "failed=ret < 0 && ret > -512"

struct red_row {
	char name[NAME];
	uint64_t id; /* spec, and number of the call */
	uint64_t n, n_errors, ns;
	uint64_t buckets[SP_TRACE_BUCKETS];
};

struct red {
	const struct sp_stat_args *args;
	struct sp_trace_spec specs[SP_TRACE_POINTS];
	char *names[SP_TRACE_POINTS];
	bool by_call[SP_TRACE_POINTS], has_errors[SP_TRACE_POINTS];
	size_t n_specs;
	struct sp_tracing *tracing;
	struct sp_child child;
	sigset_t old_signals;
	int signal_fd;
	/* Where functions are counted, of files that appear later, too: workers, and who opens for them. */
	struct sp_sampling sampling;
	struct sp_trace_later *later;
	uint64_t begun_ns, ns;
	struct red_row *rows;
	size_t n, capacity;
};

/* --- what is counted --- */
static int spec_add(struct red *red, const char *event, const char *by, const char *name, struct sp_types *types)
{
	size_t i = red->n_specs;
	const struct sp_trace_asked asked = {.by = by, .hist = "dur", .sum = "dur", .later = red->later};
	int r = i < SP_TRACE_POINTS ? 0 : sp_fail_said(-EINVAL, "more than %d events", SP_TRACE_POINTS);

	if (!r)
		r = sp_trace_spec_make(event, &asked, types, &red->specs[i]);
	if (r < 0)
		return r;
	red->names[i] = strdup(name);
	red->by_call[i] = !strncmp(by, "sys,", 4);
	red->has_errors[i] = strstr(by, "failed=") != NULL;
	red->n_specs++;
	return red->names[i] ? 0 : -ENOMEM;
}

/* LIBRARY:FUNCTION[WHAT IS AN ERROR]: from its beginning to its end. */
static int function_add(struct red *red, const char *event, struct sp_types *types)
{
	struct sp_narrowing n;
	SP_FREE char *name = NULL, *pair = NULL, *by = NULL;
	int r = sp_narrowing_split(event, &n);

	if (r < 0)
		return r;
	name = strndup(event, n.n_name);
	/* retval is named in any case: so it is the call's end */
	if (!name || asprintf(&pair, "%s.. %s", name, name) < 0 ||
	    asprintf(&by, n.n_filter ? "failed=(%.*s)" : "none=retval & 0%.*s", (int)n.n_filter, event + n.filter) < 0)
		return -ENOMEM;
	return spec_add(red, pair, by, name, types);
}

static int event_add(struct red *red, const char *event, struct sp_types *types)
{
	size_t n = strcspn(event, "[{");
	SP_FREE char *name = strndup(event, n);
	bool is_pair = strstr(event, "..") != NULL;

	if (!name)
		return -ENOMEM;
	if (!is_pair && sp_recipe_probe_is(name) && strncmp(name, "syscall:", 8) != 0)
		return function_add(red, event, types);
	if (!is_pair && !strcmp(name, "syscalls"))
		return spec_add(red, event, "sys, " CALL_FAILED, event, types);
	return spec_add(red, event, !is_pair && !strncmp(name, "syscall:", 8) ? CALL_FAILED : "none=0", event, types);
}

static int events_add(struct red *red)
{
	SP_FREE char *list = strdup(red->args->events ? red->args->events : "syscalls");
	struct sp_types types = {0};
	char *word = list;
	int r = list ? 0 : -ENOMEM;

	for (bool more = true; !r && more;) {
		size_t n = sp_narrowing_length(word);

		more = word[n] != '\0';
		word[n] = '\0';
		r = event_add(red, word, &types);
		word += n + 1;
	}
	sp_types_done(&types);
	return r;
}

/* --- what was counted --- */
static struct red_row *row_find(struct red *red, uint32_t spec, uint64_t call)
{
	uint64_t id = (uint64_t)spec << 32 | (red->by_call[spec] ? (uint32_t)call : 0);
	const char *name;
	struct red_row *row;

	for (size_t i = 0; i < red->n; i++)
		if (red->rows[i].id == id)
			return &red->rows[i];
	if (sp_grow(&red->rows, &red->capacity, red->n + 1, sizeof(*red->rows)) < 0)
		return NULL;
	row = &red->rows[red->n++];
	*row = (struct red_row){.id = id};
	name = red->by_call[spec] ? sp_call_name(call) : red->names[spec];
	if (name)
		snprintf(row->name, sizeof(row->name), "%s", name);
	else
		snprintf(row->name, sizeof(row->name), "call %" PRId64, (int64_t)call);
	return row;
}

static int row_take(void *arg, const sp_u64 *key, const struct sp_trace_value *sum)
{
	struct red *red = arg;
	uint32_t spec = sp_trace_key_point(key), bucket = sp_trace_key_bucket(key);
	struct red_row *row = row_find(red, spec, key[1]);

	if (!row)
		return -ENOMEM;
	row->n += sum->n;
	row->ns += sum->sum[0];
	row->buckets[SP_MIN(bucket, (uint32_t)SP_TRACE_BUCKETS - 1)] += sum->n;
	if (red->has_errors[spec] && key[red->by_call[spec] ? 2 : 1])
		row->n_errors += sum->n;
	return 0;
}

/* The longest first. */
static int by_time(const void *a, const void *b)
{
	const struct red_row *x = a, *y = b;

	return SP_FALLING(x->ns, y->ns) ?: strcmp(x->name, y->name);
}

/* All but so many hundredths were shorter than this: the end of their bucket. */
static uint64_t quantile_ns(const struct red_row *row, unsigned percent)
{
	uint64_t left = (row->n * percent + 99) / 100;

	for (unsigned i = 0; i < SP_TRACE_BUCKETS; i++) {
		if (row->buckets[i] >= left)
			return i >= SP_TRACE_FROM_0 + 63 ? UINT64_MAX
							 : 2ULL << (i - SP_MIN(i, (unsigned)SP_TRACE_FROM_0));
		left -= row->buckets[i];
	}
	return UINT64_MAX;
}

/* --- layouts --- */
static double each_second(const struct red *red, uint64_t n)
{
	return red->ns ? (double)n * 1e9 / (double)red->ns : 0;
}

static bool tells_errors(const struct red *red, const struct red_row *row)
{
	return red->has_errors[row->id >> 32];
}

static void time_put(struct sp_grid *g, uint64_t ns)
{
	char text[64];

	sp_unit_write("nanoseconds", ns, text, sizeof(text));
	sp_grid_put(g, SP_GRID_PLAIN, "%s", text);
}

static void row_put(const struct red *red, const struct red_row *row, struct sp_grid *g)
{
	sp_grid_put(g, SP_GRID_BOLD, "%s", row->name);
	sp_grid_put(g, SP_GRID_PLAIN, "%.1f", each_second(red, row->n));
	if (tells_errors(red, row)) {
		sp_grid_put(g, row->n_errors ? SP_GRID_RED : SP_GRID_PLAIN, "%.1f", each_second(red, row->n_errors));
		sp_grid_put(g, SP_GRID_PLAIN, "%.1f", 100.0 * (double)row->n_errors / (double)SP_MAX(row->n, 1UL));
	} else {
		sp_grid_put(g, SP_GRID_DIM, "-");
		sp_grid_put(g, SP_GRID_DIM, "-");
	}
	time_put(g, row->ns / SP_MAX(row->n, 1UL));
	time_put(g, quantile_ns(row, 50));
	time_put(g, quantile_ns(row, 99));
}

static int table_put(const struct red *red, FILE *out)
{
	static const struct sp_grid_column columns[] = {
	    {"what", false, 16, 0, 0},     {"rate/s", true, 0, 0, 0}, {"errors/s", true, 0, 0, 0},
	    {"error %", true, 0, 0, 0},    {"mean", true, 0, 0, 0},   {"half below", true, 0, 0, 0},
	    {"99 % below", true, 0, 0, 0},
	};
	struct sp_grid *g = sp_grid_new(columns, SP_COUNT(columns));
	unsigned width = sp_terminal_width(out, NULL);
	size_t n = SP_MIN(red->n, (size_t)SHOWN);
	int r;

	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		row_put(red, &red->rows[i], g);
	r = sp_grid_print(g, width, width != 0, "", out);
	sp_grid_free(g);
	if (n < red->n)
		fprintf(out, "... and %zu more, which took less time: --csv has all\n", red->n - n);
	return r;
}

static void csv_put(const struct red *red, FILE *out)
{
	fputs("what,count,seconds,errors,ns,half_below_ns,99_below_ns\n", out);
	for (size_t i = 0; i < red->n; i++) {
		const struct red_row *row = &red->rows[i];

		sp_encode(out, SP_ENCODE_CSV, row->name);
		fprintf(out, ",%" PRIu64 ",%.3f,", row->n, (double)red->ns / 1e9);
		if (tells_errors(red, row))
			fprintf(out, "%" PRIu64, row->n_errors);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", row->ns, quantile_ns(row, 50),
			quantile_ns(row, 99));
	}
}

static void json_put(const struct red *red, FILE *out)
{
	struct sp_json j = {.out = out};

	sp_json_object(&j, NULL);
	sp_json_format(&j, "seconds", "%.3f", (double)red->ns / 1e9);
	sp_json_array(&j, "rows");
	for (size_t i = 0; i < red->n; i++) {
		const struct red_row *row = &red->rows[i];

		sp_json_object(&j, NULL);
		sp_json_string(&j, "what", row->name);
		sp_json_uint(&j, "count", row->n);
		if (tells_errors(red, row))
			sp_json_uint(&j, "errors", row->n_errors);
		sp_json_uint(&j, "ns", row->ns);
		sp_json_uint(&j, "half_below_ns", quantile_ns(row, 50));
		sp_json_uint(&j, "99_below_ns", quantile_ns(row, 99));
		sp_json_end(&j);
	}
	sp_json_end(&j);
	sp_json_end(&j);
	sp_json_done(&j);
}

static int rows_put(void *arg, FILE *out)
{
	struct red *red = arg;

	if (red->args->json)
		json_put(red, out);
	else if (red->args->csv)
		csv_put(red, out);
	else
		return table_put(red, out);
	return 0;
}

/* --- the run --- */
static int tracing_make(struct red *red)
{
	const struct sp_stat_args *a = red->args;
	const struct sp_tracing_options o = {.specs = red->specs,
					     .n_specs = red->n_specs,
					     .targets = a->pids.n || a->command,
					     .follow = a->command != NULL,
					     .max_rows = MAX_ROWS,
					     .only = a->pids.n == 1 ? (int)a->pids.values[0] : 0};
	int r = sp_pids_check(&a->pids);

	if (r >= 0)
		r = sp_tracing_new(&o, &red->tracing);
	for (size_t i = 0; i < a->pids.n && r >= 0; i++)
		r = sp_tracing_target_add(red->tracing, a->pids.values[i], SP_TARGET_WANTED);
	return r;
}

static int child_begin(struct red *red)
{
	uint32_t number;
	int r;

	if (!red->args->command)
		return 0;
	r = sp_child_start_target(&red->child, red->args->command, &red->old_signals, &number);
	return r < 0 ? r : sp_tracing_target_add(red->tracing, number, SP_TARGET_AFTER_EXEC);
}

static int signals_begin(struct red *red)
{
	struct sp_recipe_probe *probes[SP_TRACE_PROBES];
	int r;

	if (!sp_trace_probes(red->specs, red->n_specs, probes))
		return sp_signals_take(0, &red->old_signals, &red->signal_fd);
	r = sp_sampling_begin(&red->sampling);
	red->signal_fd = red->sampling.signal_fd;
	red->old_signals = red->sampling.old_signals;
	return r;
}

static int privileges_end(struct red *red)
{
	sp_trace_later_broker(red->later, red->sampling.broker);
	return red->sampling.broker ? sp_sampling_drop_privileges(&red->sampling) : sp_privileges_drop(NULL);
}

static int red_begin(struct red *red)
{
	int r = sp_privileges_check("count calls");

	if (r >= 0)
		r = sp_trace_later_new(&red->later);
	if (r >= 0)
		r = events_add(red);
	if (r >= 0)
		r = signals_begin(red);
	if (r >= 0)
		r = tracing_make(red);
	if (r >= 0)
		r = child_begin(red);
	if (r >= 0)
		r = sp_trace_later_add(red->later, red->specs, red->n_specs);
	if (r >= 0)
		r = sp_tracing_attach(red->tracing);
	if (r >= 0)
		r = privileges_end(red);
	return r < 0 ? r : sp_child_release(&red->child);
}

static void probes_tell(const struct red *red, bool is_begin)
{
	struct sp_recipe_probe *probes[SP_TRACE_PROBES];
	size_t n = sp_trace_probes(red->specs, red->n_specs, probes);

	if (is_begin)
		sp_probes_tell_begin(probes, n, red->args->command != NULL, false);
	else
		sp_probes_tell_end(probes, n);
}

/* Until then, a signal, or the end of the command: 1. Files that appear meanwhile are probed. */
static int red_wait(struct red *red, uint64_t until_ns)
{
	uint64_t again_ns;
	int later = sp_trace_later_fd(red->later, &again_ns), n, r;
	struct sp_workers *workers = red->sampling.workers;
	struct pollfd fds[] = {{.fd = red->signal_fd, .events = POLLIN},
			       {.fd = red->child.pid_fd, .events = POLLIN},
			       {.fd = later, .events = POLLIN},
			       {.fd = workers ? sp_workers_fd(workers) : -1, .events = POLLIN}};

	n = poll(fds, SP_COUNT(fds), sp_ms_until(SP_MIN(until_ns, again_ns)));
	if (n < 0 && errno != EINTR)
		return sp_fail(-errno, "wait");
	r = sp_trace_later_turn(red->later, n > 0 && fds[2].revents, workers);
	return r < 0 ? r : n > 0 && (fds[0].revents || fds[1].revents);
}

/* Until the time is over, a signal comes, or the command ends. */
static int red_run(struct red *red)
{
	uint64_t seconds = red->args->seconds ? red->args->seconds : DEFAULT_SECONDS, end;
	int r = 0;

	red->begun_ns = sp_time_ns(CLOCK_MONOTONIC);
	end = red->args->command ? UINT64_MAX : red->begun_ns + seconds * SP_NS_PER_S;
	probes_tell(red, true);
	while (!r && sp_time_ns(CLOCK_MONOTONIC) < end)
		r = red_wait(red, end);
	sp_tracing_detach(red->tracing);
	red->ns = sp_time_ns(CLOCK_MONOTONIC) - red->begun_ns;
	probes_tell(red, false);
	return SP_MIN(r, 0);
}

static int red_show(struct red *red)
{
	int r = sp_tracing_rows(red->tracing, row_take, red);

	if (r < 0)
		return r;
	if (red->n)
		qsort(red->rows, red->n, sizeof(*red->rows), by_time);
	if (red->args->command && !red->args->output)
		r = sp_output_stderr(rows_put, red); /* the other is the command's */
	else
		r = sp_output(red->args->output, rows_put, red);
	sp_cmd_lost(sp_tracing_lost(red->tracing, SP_TRACE_LOST_ROWS),
		    "events not counted: there was no room for their rows");
	sp_cmd_lost(sp_tracing_lost(red->tracing, SP_TRACE_LOST_PAIRS), "calls not seen: too many were open at once");
	sp_cmd_lost(sp_tracing_unfollowed(red->tracing),
		    "processes not followed: there was no room; their calls are not seen");
	sp_cmd_lost(sp_tracing_missed(red->tracing),
		    "calls missed, or their ends: the kernel ran no program, since one was running on that CPU");
	return r;
}

static void red_done(struct red *red)
{
	sp_child_done(&red->child);
	sp_tracing_free(red->tracing);
	if (red->sampling.signal_fd >= 0)
		red->signal_fd = -1;      /* the same */
	sp_sampling_done(&red->sampling); /* whose workers answer later files */
	sp_trace_later_free(red->later);
	for (size_t i = 0; i < red->n_specs; i++) {
		sp_trace_spec_done(&red->specs[i]);
		free(red->names[i]);
	}
	free(red->rows);
	if (red->signal_fd >= 0)
		close(red->signal_fd);
}

int sp_stat_red(const struct sp_cmd *cmd, const struct sp_stat_args *a)
{
	struct red *red = calloc(1, sizeof(*red));
	int code = SP_EXIT_OK, r;

	if (!red)
		return sp_cmd_error(cmd, -ENOMEM, SP_EXIT_FAILED);
	red->args = a;
	red->child = SP_CHILD_NONE;
	red->signal_fd = -1;
	red->sampling = SP_SAMPLING_NONE;
	r = red_begin(red);
	if (r >= 0)
		r = red_run(red);
	if (r >= 0)
		r = red_show(red);
	if (r < 0)
		code = sp_cmd_error(cmd, r,
				    r == -ECHILD   ? sp_child_code(&red->child)
				    : r == -EINVAL ? SP_EXIT_USAGE
						   : sp_sampling_exit_code(r));
	else if (a->command)
		code = sp_child_code(&red->child);
	red_done(red);
	free(red);
	return code;
}
