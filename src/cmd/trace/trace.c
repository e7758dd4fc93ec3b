/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/trace/trace.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "proc/cgroup.h"
#include "proc/process.h"
#include "recipe/types.h"
#include "trace/rows.h"
#include "worker/broker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEFAULT_ROWS = 1 << 16,
	TURN_MS = 50, /* how long a record waits at most */
	OUT_BYTES = 1 << 16,
	RING_BYTES = 2 << 20, /* for a CPU */
	MAX_RING_BYTES = 64 << 20,
};
/* The inode of the first pid namespace (include/linux/proc_ns.h). */
#define FIRST_PID_NS 0xeffffffcU

struct trace {
	struct sp_trace_run run;
	struct sp_child child;
	sigset_t old_signals;
	int signal_fd;
	uint64_t begun_ns;
};

/* --- before it begins --- */
/* Programs know processes by their numbers in the first namespace. */
static int numbers_check(const struct sp_trace_args *a)
{
	struct stat st;

	if ((!a->pids.n && !a->command) || stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NS)
		return 0;
	return sp_fail_said(-EOPNOTSUPP,
			    "-p and COMMAND do not work inside a pid namespace yet: trace all processes, or outside of "
			    "the container");
}

/* A row says what is wanted of it where the user does not. */
static struct sp_trace_asked asked_of(const struct sp_trace_args *a, const char *event)
{
	const struct sp_trace_row_kind *row = sp_trace_row_find(event, strcspn(event, "[{"));

	return (struct sp_trace_asked){.by = a->by,
				       .sum = a->sum,
				       .hist = a->hist,
				       .print = a->print || !row ? a->print : row->print,
				       .comm = a->comm,
				       .min_ns = a->min_ns || !row ? a->min_ns : row->min_ns,
				       .tells = sp_trace_tells(a)};
}

static int specs_make(struct trace *t)
{
	const struct sp_trace_args *a = t->run.args;
	struct sp_types types = {0};
	int r = 0;

	for (size_t i = 0; i < a->operands.n && r >= 0; i++) {
		const char *event = a->operands.words[i];
		const struct sp_trace_asked asked = asked_of(a, event);

		r = sp_trace_spec_make(event, &asked, &types, &t->run.specs[i]);
		t->run.n_specs += r >= 0;
	}
	sp_types_done(&types);
	return r;
}

static uint32_t ring_bytes(void)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t bytes = RING_BYTES;

	for (long i = 1; i < n_cpus && bytes < MAX_RING_BYTES; i *= 2)
		bytes *= 2;
	return bytes;
}

static int tracing_make(struct trace *t)
{
	const struct sp_trace_args *a = t->run.args;
	struct sp_tracing_options o = {.specs = t->run.specs,
				       .n_specs = t->run.n_specs,
				       .tells = sp_trace_tells(a),
				       .targets = a->pids.n || a->command,
				       .follow = a->command != NULL,
				       .max_rows = (uint32_t)(a->max_rows ? a->max_rows : DEFAULT_ROWS),
				       .ring_bytes = ring_bytes(),
				       .only = a->pids.n == 1 ? (int)a->pids.values[0] : 0};
	int r = a->cgroup ? sp_cgroup_id(a->cgroup, &o.cgroup, &o.cgroup_level) : 0;

	if (r >= 0)
		r = sp_tracing_new(&o, &t->run.tracing);
	for (size_t i = 0; i < a->pids.n && r >= 0; i++) {
		if (kill((pid_t)a->pids.values[i], 0) && errno == ESRCH)
			return sp_fail_said(-ESRCH, "-p: there is no process %u", a->pids.values[i]);
		r = sp_tracing_target_add(t->run.tracing, a->pids.values[i], SP_TARGET_WANTED);
	}
	return r;
}

static int child_begin(struct trace *t)
{
	uint32_t number;
	int r;

	if (!t->run.args->command)
		return 0;
	r = sp_child_start(&t->child, t->run.args->command, &t->old_signals);
	if (r >= 0)
		r = sp_process_of_pidfd(t->child.pid_fd, &number);
	return r < 0 ? r : sp_tracing_target_add(t->run.tracing, number, SP_TARGET_AFTER_EXEC);
}

static int trace_begin(struct trace *t)
{
	int r = sp_privileges_check();

	if (r >= 0)
		r = numbers_check(t->run.args);
	if (r >= 0)
		r = specs_make(t);
	if (r >= 0)
		r = sp_signals_take(0, &t->old_signals, &t->signal_fd);
	if (r >= 0)
		r = sp_output_open(t->run.args->output, t->run.args->command != NULL, &t->run.out);
	if (r >= 0)
		setvbuf(t->run.out, NULL, _IOFBF, OUT_BYTES);
	if (r >= 0)
		r = tracing_make(t);
	if (r >= 0)
		r = child_begin(t);
	if (r >= 0)
		r = sp_tracing_attach(t->run.tracing);
	if (r >= 0)
		r = sp_privileges_drop(NULL);
	return r < 0 ? r : sp_child_release(&t->child);
}

/* Fields that are not told, though nobody has chosen. */
static void left_out_tell(const struct sp_trace_run *run)
{
	for (size_t i = 0; i < run->n_specs; i++)
		if (run->specs[i].left_out)
			fprintf(stderr, "soprof: %s has more fields than a line: --print chooses; not shown: %s\n",
				run->specs[i].name, run->specs[i].left_out);
}

/* --- while it runs --- */
/* What has come; a reader that has gone is no error. 1: nobody reads any more. */
static int turn_take(struct trace *t, bool shows_rows, bool is_last)
{
	struct sp_trace_run *run = &t->run;
	int r = 0;

	if (sp_trace_tells(run->args)) {
		r = sp_trace_lines_take(run, is_last);
	} else if (shows_rows) {
		r = sp_trace_rows_turn(run);
		if (r >= 0)
			r = sp_trace_rows_show(run);
	}
	if (r < 0)
		return r;
	if (!fflush(run->out) && !ferror(run->out))
		return 0;
	return errno == EPIPE ? 1 : sp_fail(errno ? -errno : -EIO, "write the output");
}

static int wait_ms(const struct trace *t, uint64_t until_ns)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), left = until_ns > now ? (until_ns - now + 999999) / 1000000 : 0;

	if (sp_trace_tells(t->run.args))
		return (int)SP_MIN(left, (uint64_t)TURN_MS);
	return until_ns == UINT64_MAX ? -1 : (int)SP_MIN(left, (uint64_t)INT32_MAX);
}

/* Waits until then, or a signal, or the end of the command: 1. */
static int trace_wait(struct trace *t, uint64_t until_ns)
{
	bool tells = sp_trace_tells(t->run.args);
	struct pollfd fds[] = {{.fd = t->signal_fd, .events = POLLIN},
			       {.fd = t->child.pid_fd, .events = POLLIN},
			       {.fd = tells ? sp_tracing_fd(t->run.tracing) : -1, .events = POLLIN}};
	int n = poll(fds, SP_COUNT(fds), wait_ms(t, until_ns));

	if (n < 0 && errno != EINTR)
		return sp_fail(-errno, "wait");
	return n > 0 && (fds[0].revents || fds[1].revents);
}

static int trace_run(struct trace *t)
{
	const struct sp_trace_args *a = t->run.args;
	uint64_t end = a->seconds ? t->begun_ns + a->seconds * SP_NS_PER_S : UINT64_MAX;
	uint64_t step = a->interval_s ? a->interval_s * SP_NS_PER_S : UINT64_MAX;
	uint64_t next = a->interval_s ? t->begun_ns + step : UINT64_MAX;
	int r = 0, over = 0;

	while (!r && !over && sp_time_ns(CLOCK_MONOTONIC) < end) {
		bool is_due;

		over = trace_wait(t, SP_MIN(next, end));
		is_due = sp_time_ns(CLOCK_MONOTONIC) >= next && next < end; /* the last one is shown in the end */
		next += is_due ? step : 0;
		r = over < 0 ? over : turn_take(t, is_due, false);
	}
	sp_tracing_detach(t->run.tracing);
	return r ? r : turn_take(t, true, true);
}

/* --- at the end --- */
static void lost_tell(uint64_t n, const char *what)
{
	if (n)
		fprintf(stderr, "soprof: %" PRIu64 " %s\n", n, what);
}

static void summary_print(const struct trace *t)
{
	const struct sp_tracing *tracing = t->run.tracing;
	double s = (double)(sp_time_ns(CLOCK_MONOTONIC) - t->begun_ns) / (double)SP_NS_PER_S;

	fprintf(stderr, "soprof: %" PRIu64 " event%s in %.1f s\n", t->run.n_events, t->run.n_events == 1 ? "" : "s", s);
	lost_tell(sp_tracing_lost(tracing, SP_TRACE_LOST_RECORDS),
		  "events lost: the buffer was full; a FILTER, or --by, has fewer");
	lost_tell(sp_tracing_lost(tracing, SP_TRACE_LOST_ROWS),
		  "events not counted: there was no room for their rows; --rows makes more");
	lost_tell(sp_tracing_lost(tracing, SP_TRACE_LOST_PAIRS), "pairs not seen: too many were open at once");
	lost_tell(sp_tracing_lost(tracing, SP_TRACE_LOST_TEXTS),
		  "texts could not be read, and are empty: their memory was not there yet");
	lost_tell(sp_tracing_missed(tracing),
		  "events missed: the kernel ran no program, since one was running on that CPU");
}

static void trace_done(struct trace *t)
{
	sp_child_done(&t->child);
	sp_tracing_free(t->run.tracing); /* before the specs, whose probes it detaches */
	for (size_t i = 0; i < t->run.n_specs; i++)
		sp_trace_spec_done(&t->run.specs[i]);
	sp_trace_rows_free(t->run.rows);
	if (t->run.out && t->run.args->output)
		fclose(t->run.out);
	if (t->signal_fd >= 0)
		close(t->signal_fd);
}

static int refused_code(int r)
{
	return r == -EINVAL ? SP_EXIT_USAGE : sp_sampling_exit_code(r);
}

static int trace_all(const struct sp_cmd *cmd, const struct sp_trace_args *a)
{
	struct trace t = {.run.args = a, .child = SP_CHILD_NONE, .signal_fd = -1};
	int code = SP_EXIT_OK, r;

	t.run.rows = calloc(1, sizeof(*t.run.rows));
	r = t.run.rows ? trace_begin(&t) : -ENOMEM;
	t.begun_ns = sp_time_ns(CLOCK_MONOTONIC);
	t.run.realtime_ns = sp_time_ns(CLOCK_REALTIME) - t.begun_ns;
	if (r >= 0)
		left_out_tell(&t.run);
	if (r >= 0)
		r = trace_run(&t);
	if (r >= 0)
		summary_print(&t);
	if (r < 0)
		code = sp_cmd_error(cmd, r, r == -ECHILD ? sp_child_code(&t.child) : refused_code(r));
	else if (a->command)
		code = sp_child_code(&t.child);
	trace_done(&t);
	return code;
}

static int trace_main(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct sp_trace_args a = {0};
	int code;

	if (sp_cmd_parsed(cmd, sp_trace_args_parse(argc, argv, &a), &code))
		code = a.list                      ? sp_trace_list_print(a.list, a.verbose)
		       : sp_trace_is_by_caller(&a) ? sp_trace_caller(cmd, &a)
						   : trace_all(cmd, &a);
	sp_trace_args_done(&a);
	return code;
}

static const struct sp_example examples[] = {
    {"sudo soprof trace opens -- ls /", "each file that ls opens, how, and how long that takes"},
    {"sudo soprof trace syscalls --by sys --hist dur 5", "how long system calls take, for each"},
    {"sudo soprof trace 'kmem:kmalloc[bytes_req > 100]' --by comm --hist bytes_req -- make",
     "large allocations of the kernel, by size, for each program"},
    {"sudo soprof trace libc.so.6:malloc --by comm --sum arg0 -I 1 5", "who asks malloc for how much, each second"},
    {NULL, NULL},
};

extern const struct sp_cmd sp_cmd_trace;
const struct sp_cmd sp_cmd_trace = {
    .name = "trace",
    .summary = "events of the kernel and of libraries, told one by one, or counted by any of their fields",
    .group = SP_CMD_COUNT,
    .needs = "root, or CAP_BPF and CAP_PERFMON",
    .synopsis = "[OPTIONS] EVENT[FILTER]... [SECONDS] [-- COMMAND...]",
    .options = sp_trace_options,
    .examples = examples,
    .run = trace_main,
};
