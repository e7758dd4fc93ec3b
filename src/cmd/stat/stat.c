/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat.c: `soprof stat`: counts events of a command, of processes or of the machine. */
#include "cmd/stat/stat.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "proc/process.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_CPU = 8191, FORM = 1, TARGET = 2 };

/* As those of perf; a clock for each CPU where all processes are counted. */
#define COUNTED "context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses"
#define DETAILED "L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses"

/* clang-format off */
#define AT(member) .offset = offsetof(struct sp_stat_args, member)
static const struct sp_option options[] = {
	{SP_OPT_STRING, 'e', "event", "EVENT[,EVENT]", "what to count: names of perf's, SYSTEM:EVENT, rNNN; :u, :k", AT(events)},
	{SP_OPT_FLAG, 'd', "detailed", NULL, "accesses and misses of caches, too", AT(detailed)},
	{SP_OPT_LIST, 'p', "pid", "PID[,PID]", "in these processes", AT(pids), .min = 1, .max = SP_MAX_PID, .excludes = TARGET},
	{SP_OPT_LIST, 't', "tid", "TID[,TID]", "in these threads", AT(tids), .min = 1, .max = SP_MAX_PID, .excludes = TARGET},
	{SP_OPT_RANGES, 'C', "cpu", "CPU[,CPU]", "on these CPUs, in all processes", AT(cpus), .min = 0, .max = MAX_CPU, .excludes = TARGET},
	{SP_OPT_FLAG, 'a', "all-cpus", NULL, "in all processes while COMMAND runs", AT(all), .excludes = TARGET},
	{SP_OPT_NUMBER, 'I', "interval", "SECONDS", "the counts of each SECONDS", AT(interval_s), .min = 1, .max = SP_MAX_SECONDS},
	{SP_OPT_NUMBER, 'r', "repeat", "N", "run COMMAND N times: means, and their standard errors", AT(repeats), .min = 1, .max = SP_STAT_MAX_REPEATS},
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by library, function, process, caller ...: sampled, two columns an event", AT(by), .choice = sp_grouping_choice},
	{SP_OPT_FLAG, 0, "use", NULL, "utilisation, saturation and errors of CPUs, memory, disks, network", AT(use)},
	{SP_OPT_FLAG, 0, "red", NULL, "rate, errors and duration of system calls, or of -e LIB:FUNCTION[ERROR], A..B", AT(red)},
	{SP_OPT_STRING, 'x', "field-separator", "TEXT", "as CSV with this separator, as perf has it", AT(separator), .excludes = FORM},
	{SP_OPT_FLAG, 0, "csv", NULL, "as -x,", AT(csv), .excludes = FORM},
	{SP_OPT_FLAG, 'j', "json", NULL, "as JSON: an object a line", AT(json), .excludes = FORM},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE", AT(output)},
	{SP_OPT_OPERAND, 0, NULL, "SECONDS", "how long; else until Ctrl-C", AT(seconds), .min = 1, .max = SP_MAX_SECONDS},
	{SP_OPT_COMMAND, 0, NULL, "COMMAND", "runs COMMAND, counts in it and all that it starts", AT(command)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"soprof stat -- ls /", "time, switches and faults of a command, as perf stat"},
    {"sudo soprof stat --by library 5", "CPU time, switches and faults of each library"},
    {"soprof stat -r 10 -e task-clock,page-faults -- ./program", "means of ten runs, and their standard errors"},
    {"sudo soprof stat -e kmem:kmalloc,sched:sched_switch -I 1 -p 4711 10",
     "two tracepoints in one process, each second"},
    {"soprof stat --use 5", "what this machine is short of"},
    {"sudo soprof stat --red -p 4711 10", "what a service asks the kernel for: how often, how long, what fails"},
    {0},
};

/* --- the arguments --- */
static int args_check(const struct sp_stat_args *a)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	bool counts = a->by < 0 && !a->use && !a->red;
	const struct {
		bool is_wrong;
		const char *why;
	} rules[] = {
	    {a->repeats > 1 && !a->command, "-r repeats a command: put -- COMMAND at the end"},
	    {a->repeats > 1 && a->interval_s, "-r and -I do not go together"},
	    {a->seconds && a->command, "SECONDS is for what runs already: no COMMAND beside it"},
	    {a->command && (a->pids.n || a->tids.n),
	     "-p and -t are for what runs already: no COMMAND beside them, but SECONDS"},
	    {(a->by >= 0) + a->use + a->red > 1, "--by, --use and --red do not go together"},
	    {a->red && (a->tids.n || a->cpus.n || a->all || a->interval_s),
	     "--red is a table of processes: without -t, -C, -a and -I"},
	    {!counts && (a->repeats > 1 || a->detailed || a->separator),
	     "-r, -d and -x are for counting: without --by, --use and --red"},
	    {a->use && (a->command || a->pids.n || a->tids.n || a->cpus.n || a->events),
	     "--use is of the whole machine: no COMMAND, -p, -t, -C or -e beside it"},
	    {a->by >= 0 && (a->interval_s || a->all), "--by is a table of all: without -I and -a"},
	};

	for (size_t i = 0; i < SP_COUNT(rules); i++)
		if (rules[i].is_wrong)
			return sp_fail_said(-EINVAL, "%s", rules[i].why);
	if (a->cpus.n && n_cpus > 0 && a->cpus.values[a->cpus.n - 1] >= n_cpus)
		return sp_fail_said(-EINVAL, "-C: there is no CPU %u; this machine's are 0 to %ld",
				    a->cpus.values[a->cpus.n - 1], n_cpus - 1);
	return 0;
}

static bool is_of_machine(const struct sp_stat_args *a)
{
	return a->all || a->cpus.n || (!a->command && !a->pids.n && !a->tids.n);
}

static int events_make(const struct sp_stat_args *a, struct sp_stat_events *events)
{
	int r;

	if (a->events)
		r = sp_stat_events_add(events, a->events);
	else
		r = sp_stat_events_add(events, is_of_machine(a) ? "cpu-clock," COUNTED : "task-clock," COUNTED);
	return r >= 0 && a->detailed ? sp_stat_events_add(events, DETAILED) : r;
}

/* --- counting --- */
struct stat_run {
	const struct sp_stat_args *args;
	struct sp_stat_events events;
	struct sp_stat_counters counters;
	struct sp_child child;
	sigset_t old_signals;
	int signal_fd;
	uint64_t start_ns;
	struct rusage before; /* of children that have ended */
	FILE *out;
	bool has_warned, is_stopped;
};

static int cpus_open(struct stat_run *s)
{
	const struct sp_u32_list *asked = &s->args->cpus;
	SP_FREE unsigned *online = NULL;
	size_t n = 0;
	int r = asked->n ? 0 : sp_process_cpus_online(&online, &n);

	for (size_t i = 0; i < (asked->n ? asked->n : n) && r >= 0; i++)
		r = sp_stat_count_cpu(&s->counters, asked->n ? asked->values[i] : online[i]);
	return r;
}

static int targets_open(struct stat_run *s)
{
	const struct sp_stat_args *a = s->args;
	int r = 0;

	if (is_of_machine(a))
		return cpus_open(s);
	for (size_t i = 0; i < a->pids.n && r >= 0; i++)
		r = sp_stat_count_process(&s->counters, a->pids.values[i]);
	for (size_t i = 0; i < a->tids.n && r >= 0; i++)
		r = sp_stat_count_thread(&s->counters, a->tids.values[i]);
	return r >= 0 && a->command ? sp_stat_count_child(&s->counters, s->child.pid) : r;
}

/* Of the default events, those that this machine lacks are a line on stderr, not rows. */
static void missing_drop(struct stat_run *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->counters.n && !s->args->events; i++) {
		struct sp_stat_counter *c = &s->counters.counters[i];

		if (c->refused && c->event->type == PERF_TYPE_HARDWARE)
			free(c->fds);
		else
			s->counters.counters[n++] = *c;
	}
	s->counters.n = s->args->events ? s->counters.n : n;
}

static int all_refused(const struct sp_stat_counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->counters[i].refused)
			return 0;
	return -EACCES;
}

static int counters_open(struct stat_run *s)
{
	int r = sp_stat_counters_new(&s->events, &s->counters);

	if (r >= 0)
		r = targets_open(s);
	if (r < 0)
		return r;
	if (!s->has_warned)
		sp_stat_refused_tell(&s->counters);
	s->has_warned = true;
	if (all_refused(&s->counters))
		return sp_fail_said(-EACCES, "none of the events can be counted here");
	missing_drop(s);
	return 0;
}

static double elapsed_s(const struct stat_run *s)
{
	return (double)(sp_time_ns(CLOCK_MONOTONIC) - s->start_ns) / 1e9;
}

/* Until then, or until the command ends or a signal comes: which does not end a command by itself. false: it is over.
 */
static bool wait_until(struct stat_run *s, uint64_t until_ns)
{
	for (;;) {
		int ms = sp_ms_until(until_ns);
		struct pollfd fd = {.fd = s->signal_fd, .events = POLLIN};

		if (s->child.pid >= 0) {
			if (!sp_child_signals_pass(&s->child, s->signal_fd, ms))
				return false;
		} else if (poll(&fd, 1, ms) > 0) {
			s->is_stopped = true;
			return false;
		}
		if (sp_time_ns(CLOCK_MONOTONIC) >= until_ns)
			return true;
	}
}

static int interval_print(struct stat_run *s, double begin_s)
{
	struct sp_stat_result result = {.args = s->args, .counters = &s->counters, .at_s = elapsed_s(s), .n_runs = 1};
	int r = sp_stat_counters_read(&s->counters);

	result.elapsed_s = result.at_s - begin_s;
	if (r >= 0)
		sp_stat_print(&result, s->out);
	return r;
}

/* Intervals until the end; without -I there is one. */
static int count_to_end(struct stat_run *s)
{
	uint64_t length = s->args->interval_s * SP_NS_PER_S, now = s->start_ns;
	uint64_t end = s->args->seconds ? now + s->args->seconds * SP_NS_PER_S : UINT64_MAX;
	bool goes_on = true;
	double begin = 0;
	int r = 0;

	while (goes_on && r >= 0) {
		uint64_t until = length ? SP_MIN(now + length, end) : end;

		goes_on = wait_until(s, until) && until < end;
		now += length;
		if (length)
			r = interval_print(s, begin);
		begin = elapsed_s(s);
	}
	return r;
}

/* --- a run --- */
static int run_begin(struct stat_run *s)
{
	int r = 0;

	s->child = SP_CHILD_NONE;
	if (s->args->command)
		r = sp_child_start(&s->child, s->args->command, &s->old_signals);
	if (r >= 0)
		r = counters_open(s);
	getrusage(RUSAGE_CHILDREN, &s->before);
	s->start_ns = sp_time_ns(CLOCK_MONOTONIC);
	if (r >= 0 && s->args->command)
		r = sp_child_release(&s->child);
	return r;
}

static double seconds_since(struct timeval now, struct timeval before)
{
	return (double)(now.tv_sec - before.tv_sec) + (double)(now.tv_usec - before.tv_usec) / 1e6;
}

static int run_end(struct stat_run *s, struct sp_stat_result *result, int *ret_code)
{
	struct rusage now;
	int r;

	result->elapsed_s = elapsed_s(s);
	r = sp_stat_counters_read(&s->counters);
	if (s->args->command)
		*ret_code = sp_child_code(&s->child);
	getrusage(RUSAGE_CHILDREN, &now);
	result->user_s = seconds_since(now.ru_utime, s->before.ru_utime);
	result->system_s = seconds_since(now.ru_stime, s->before.ru_stime);
	return r;
}

static void spreads_add(const struct stat_run *s, struct sp_stat_spread *spreads, struct sp_stat_spread *elapsed,
			const struct sp_stat_result *result, size_t n_runs)
{
	double share;

	for (size_t i = 0; i < s->counters.n; i++)
		sp_stat_spread_add(&spreads[i], n_runs, sp_stat_value(&s->counters.counters[i], false, &share));
	sp_stat_spread_add(elapsed, n_runs, result->elapsed_s);
}

static int runs_do(struct stat_run *s, struct sp_stat_spread *spreads, int *ret_code)
{
	struct sp_stat_result result = {.args = s->args, .counters = &s->counters, .n_runs = s->args->repeats};
	struct sp_stat_spread elapsed = {0};
	int r = 0;

	for (size_t n = 1; n <= s->args->repeats && r >= 0 && !s->is_stopped; n++) {
		sp_stat_counters_done(&s->counters);
		sp_child_done(&s->child);
		r = run_begin(s);
		if (r >= 0)
			r = count_to_end(s);
		if (r >= 0)
			r = run_end(s, &result, ret_code);
		if (r >= 0)
			spreads_add(s, spreads, &elapsed, &result, n);
	}
	if (s->args->repeats > 1) {
		result.spreads = spreads;
		result.elapsed_spread = &elapsed;
	}
	if (r >= 0 && !s->args->interval_s)
		sp_stat_print(&result, s->out);
	return r;
}

static int counts(const struct sp_cmd *cmd, const struct sp_stat_args *a)
{
	struct stat_run s = {.args = a, .child = SP_CHILD_NONE, .signal_fd = -1};
	SP_FREE struct sp_stat_spread *spreads = NULL;
	int code = 0, r, closed;

	r = events_make(a, &s.events);
	if (r >= 0)
		r = sp_files_raise();
	if (r >= 0)
		r = sp_signals_take(0, &s.old_signals, &s.signal_fd);
	if (r >= 0)
		r = sp_output_open(a->output, a->command != NULL, &s.out);
	spreads = calloc(SP_MAX(s.events.n, 1UL), sizeof(*spreads));
	if (r >= 0 && !spreads)
		r = -ENOMEM;
	if (r >= 0) {
		sp_stat_print_begin(a, s.out);
		r = runs_do(&s, spreads, &code);
	}
	closed = sp_output_close(a->output, s.out);
	r = r < 0 ? r : closed;
	if (r == -ECHILD)
		code = sp_child_code(&s.child);
	sp_child_done(&s.child);
	sp_stat_counters_done(&s.counters);
	sp_stat_events_done(&s.events);
	if (s.signal_fd >= 0)
		close(s.signal_fd);
	return r < 0 ? sp_cmd_error(cmd, r, code ? code : sp_cmd_exit_code(r)) : code;
}

/* --- the command --- */
static int stat_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct sp_stat_args a = {.repeats = 1, .by = -1};
	int r = sp_options_parse(options, argc, argv, &a), code;

	if (r == SP_PARSED)
		r = args_check(&a);
	if (sp_cmd_parsed(cmd, r, &code))
		code = a.use       ? sp_stat_use(cmd, &a)
		       : a.red     ? sp_stat_red(cmd, &a)
		       : a.by >= 0 ? sp_stat_by(cmd, &a)
				   : counts(cmd, &a);
	sp_u32_list_done(&a.pids);
	sp_u32_list_done(&a.tids);
	sp_u32_list_done(&a.cpus);
	return code;
}

const struct sp_cmd sp_cmd_stat = {
    .name = "stat",
    .summary = "counts events of a command, of processes, of the machine",
    .group = SP_CMD_COUNT,
    .synopsis = "[OPTIONS] [SECONDS] [-- COMMAND...]",
    .options = options,
    .examples = examples,
    .run = stat_run,
};
