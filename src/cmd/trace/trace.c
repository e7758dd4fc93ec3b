/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/trace/trace.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/sampling.h"
#include "proc/cgroup.h"
#include "proc/process.h"
#include "recipe/probe.h"
#include "recipe/types.h"
#include "trace/later.h"
#include "trace/presets.h"
#include "worker/broker.h"
#include "worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEFAULT_ROWS = 1 << 16,
	TURN_MS = 50,    /* how long a record waits at most */
	STACKS_MS = 100, /* likewise, with its stack */
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
	/* Where stacks are walked, or files may appear later: workers, and who opens for them. */
	struct sp_sampling sampling;
	struct sp_trace_later *later;
	bool later_is_due; /* something was mapped */
	/* What came of loading the events' programs beside those that walk stacks, in another thread. */
	int beside;
	char beside_text[1024];
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

/* A preset says what is wanted of it where the user does not. */
static struct sp_trace_asked asked_of(const struct trace *t, const char *event)
{
	const struct sp_trace_args *a = t->run.args;
	const struct sp_trace_preset *preset = sp_trace_preset_find(event, strcspn(event, "[{"));

	return (struct sp_trace_asked){.by = a->by,
				       .sum = a->sum,
				       .hist = a->hist,
				       .print = a->print || !preset ? a->print : preset->print,
				       .comm = a->comm,
				       .min_ns = a->min_ns || !preset ? a->min_ns : preset->min_ns,
				       .tells = sp_trace_tells(a),
				       .later = t->later};
}

/* Its own columns by their names. `own`: what was made, the caller's. */
static int columns_expand(const char *event, struct sp_trace_asked *asked, char *own[4])
{
	const struct sp_trace_preset *preset = sp_trace_preset_find(event, strcspn(event, "[{"));
	const char **lists[] = {&asked->by, &asked->sum, &asked->hist, &asked->print};

	for (size_t i = 0; i < SP_COUNT(lists) && preset; i++) {
		if (!*lists[i])
			continue;
		own[i] = sp_trace_preset_expand(preset, *lists[i]);
		if (!own[i])
			return -ENOMEM;
		*lists[i] = own[i];
	}
	return 0;
}

static int specs_make(struct trace *t)
{
	const struct sp_trace_args *a = t->run.args;
	struct sp_types types = {0};
	int r = sp_trace_later_new(&t->later);

	for (size_t i = 0; i < a->operands.n && r >= 0; i++) {
		const char *event = a->operands.words[i];
		struct sp_trace_asked asked = asked_of(t, event);
		char *own[4] = {NULL};

		r = columns_expand(event, &asked, own);
		if (r >= 0)
			r = sp_trace_spec_make(event, &asked, &types, &t->run.specs[i]);
		t->run.n_specs += r >= 0;
		for (size_t k = 0; k < SP_COUNT(own); k++)
			free(own[k]);
	}
	sp_types_done(&types);
	return r;
}

/* Where stacks are walked events come at a third of the rate at most. */
static uint32_t ring_bytes(bool walks)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t bytes = RING_BYTES;

	for (long i = 1; i < n_cpus && bytes < MAX_RING_BYTES; i *= 2)
		bytes *= 2;
	return walks ? bytes / 2 : bytes;
}

/* The cgroup of a thread that does not run is not known to programs. */
static int cgroup_check(const struct trace *t)
{
	for (size_t i = 0; t->run.args->cgroup && i < t->run.n_specs; i++)
		if (t->run.specs[i].config.of_task)
			return sp_fail_said(-EINVAL, "--cgroup is not for %s, which is about threads that do not run",
					    t->run.specs[i].event);
	return 0;
}

/* stacks: the session that walks them, or NULL. */
static int tracing_make(struct trace *t, const struct sp_recipe_object *stacks)
{
	const struct sp_trace_args *a = t->run.args;
	struct sp_tracing_options o = {.specs = t->run.specs,
				       .n_specs = t->run.n_specs,
				       .tells = sp_trace_tells(a),
				       .targets = a->pids.n || a->command,
				       .follow = a->command != NULL,
				       .max_rows = (uint32_t)(a->max_rows ? a->max_rows : DEFAULT_ROWS),
				       .ring_bytes = ring_bytes(stacks != NULL),
				       .only = a->pids.n == 1 ? (int)a->pids.values[0] : 0,
				       .stacks = stacks,
				       .kernel_stacks = a->stack};
	int r = cgroup_check(t);

	if (r >= 0 && a->cgroup)
		r = sp_cgroup_id(a->cgroup, &o.cgroup, &o.cgroup_level);
	if (r >= 0)
		r = sp_tracing_new(&o, &t->run.tracing);
	for (size_t i = 0; i < a->pids.n && r >= 0; i++)
		r = sp_tracing_target_add(t->run.tracing, a->pids.values[i], SP_TARGET_WANTED);
	return r;
}

static int child_begin(struct trace *t)
{
	uint32_t number;
	int r;

	if (!t->run.args->command)
		return 0;
	r = sp_child_start_target(&t->child, t->run.args->command, &t->old_signals, &number);
	if (r >= 0 && t->run.stacks)
		return sp_capture_target_add(t->sampling.capture, number, SP_TARGET_AFTER_EXEC);
	return r < 0 ? r : sp_tracing_target_add(t->run.tracing, number, SP_TARGET_AFTER_EXEC);
}

/* --- files that appear later, and stacks --- */
static size_t probes_of(const struct trace *t, struct sp_recipe_probe *ret_probes[SP_TRACE_PROBES])
{
	return sp_trace_probes(t->run.specs, t->run.n_specs, ret_probes);
}

static bool has_stacks(const struct sp_trace_args *a)
{
	return a->caller || a->stack;
}

static int signals_begin(struct trace *t)
{
	struct sp_recipe_probe *probes[SP_TRACE_PROBES];
	int r;

	if (!has_stacks(t->run.args) && !probes_of(t, probes))
		return sp_signals_take(0, &t->old_signals, &t->signal_fd);
	r = sp_sampling_begin(&t->sampling);
	t->signal_fd = t->sampling.signal_fd;
	t->old_signals = t->sampling.old_signals;
	return r;
}

/* In a thread of its own, whose failures are its own, too. */
static void tracing_beside(void *arg, const struct sp_recipe_object *stacks)
{
	struct trace *t = arg;

	t->beside = tracing_make(t, stacks);
	if (t->beside < 0)
		snprintf(t->beside_text, sizeof(t->beside_text), "%s", sp_error_text(t->beside));
}

/* Both sessions are loaded at the same time: most of that is the verifier's, which has a CPU for each. */
static int with_stacks_make(struct trace *t)
{
	int r = sp_trace_stacks_new(&t->run, &t->sampling, tracing_beside, t);

	return r >= 0 && t->beside < 0 ? sp_fail_said(t->beside, "%s", t->beside_text) : r;
}

/* Stacks are walked by a session that is attached before the events, whose targets are its own. */
static int sessions_begin(struct trace *t)
{
	int r = has_stacks(t->run.args) ? with_stacks_make(t) : tracing_make(t, NULL);

	if (r >= 0)
		r = child_begin(t);
	if (r >= 0 && t->run.stacks)
		r = sp_capture_start(t->sampling.capture);
	if (r >= 0)
		r = sp_trace_later_add(t->later, t->run.specs, t->run.n_specs);
	if (r >= 0)
		r = sp_tracing_attach(t->run.tracing);
	sp_trace_later_broker(t->later, t->sampling.broker);
	return r;
}

static int privileges_end(struct trace *t)
{
	return t->sampling.broker ? sp_sampling_drop_privileges(&t->sampling) : sp_privileges_drop(NULL);
}

static int trace_begin(struct trace *t)
{
	int r = sp_privileges_check("trace");

	if (r >= 0)
		r = numbers_check(t->run.args);
	if (r >= 0)
		r = sp_pids_check(&t->run.args->pids);
	if (r >= 0)
		r = specs_make(t);
	if (r >= 0)
		r = signals_begin(t);
	if (r >= 0)
		r = sp_output_open(t->run.args->output, t->run.args->command != NULL, &t->run.out);
	if (r >= 0)
		setvbuf(t->run.out, NULL, _IOFBF, OUT_BYTES);
	if (r >= 0)
		r = sessions_begin(t);
	if (r >= 0)
		r = privileges_end(t);
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

static void begin_tell(const struct trace *t)
{
	struct sp_recipe_probe *probes[SP_TRACE_PROBES];

	left_out_tell(&t->run);
	sp_probes_tell_begin(probes, probes_of(t, probes), t->run.args->command != NULL, t->run.args->verbose);
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
	return sp_ms_sooner(sp_ms_until(until_ns), sp_trace_tells(t->run.args) ? TURN_MS : -1);
}

/* The same, while a session walks stacks, which has its own to wait for. */
static int stacks_wait(struct trace *t, uint64_t until_ns)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), most = STACKS_MS * 1000000ULL;

	if (until_ns <= now)
		return 0;
	return sp_capture_run(t->sampling.capture, SP_MIN(until_ns - now, most), t->signal_fd, t->child.pid_fd);
}

/* Waits until then, or a signal, or the end of the command: 1. */
static int trace_wait(struct trace *t, uint64_t until_ns)
{
	bool tells = sp_trace_tells(t->run.args);
	uint64_t again_ns;
	int later = sp_trace_later_fd(t->later, &again_ns);
	struct pollfd fds[] = {{.fd = t->signal_fd, .events = POLLIN},
			       {.fd = t->child.pid_fd, .events = POLLIN},
			       {.fd = tells ? sp_tracing_fd(t->run.tracing) : -1, .events = POLLIN},
			       {.fd = later, .events = POLLIN},
			       {.fd = t->sampling.workers ? sp_workers_fd(t->sampling.workers) : -1, .events = POLLIN}};
	int n;

	if (t->run.stacks)
		return stacks_wait(t, until_ns);
	n = poll(fds, SP_COUNT(fds), wait_ms(t, SP_MIN(until_ns, again_ns)));
	if (n < 0 && errno != EINTR)
		return sp_fail(-errno, "wait");
	t->later_is_due = n > 0 && fds[3].revents;
	return n > 0 && (fds[0].revents || fds[1].revents);
}

static int trace_run(struct trace *t)
{
	struct sp_recipe_probe *probes[SP_TRACE_PROBES];
	const struct sp_trace_args *a = t->run.args;
	uint64_t end = a->seconds ? t->begun_ns + a->seconds * SP_NS_PER_S : UINT64_MAX;
	uint64_t step = a->interval_s ? a->interval_s * SP_NS_PER_S : UINT64_MAX;
	uint64_t next = a->interval_s ? t->begun_ns + step : UINT64_MAX;
	int r = 0, over = 0;

	while (!r && !over && sp_time_ns(CLOCK_MONOTONIC) < end) {
		bool is_due;

		over = trace_wait(t, SP_MIN(next, end));
		if (over >= 0)
			r = sp_trace_later_turn(t->later, t->later_is_due, t->sampling.workers);
		if (r < 0)
			break;
		is_due = sp_time_ns(CLOCK_MONOTONIC) >= next && next < end; /* the last one is shown in the end */
		next += is_due ? step : 0;
		r = over < 0 ? over : turn_take(t, is_due, false);
	}
	sp_tracing_detach(t->run.tracing);
	sp_probes_tell_end(probes, probes_of(t, probes));
	return r ? r : turn_take(t, true, true);
}

/* --- at the end --- */
static void summary_print(const struct trace *t)
{
	const struct sp_tracing *tracing = t->run.tracing;
	double s = (double)(sp_time_ns(CLOCK_MONOTONIC) - t->begun_ns) / (double)SP_NS_PER_S;

	fprintf(stderr, "soprof: %" PRIu64 " event%s in %.1f s\n", t->run.n_events, t->run.n_events == 1 ? "" : "s", s);
	sp_cmd_lost(sp_tracing_lost(tracing, SP_TRACE_LOST_RECORDS),
		    "events lost: the buffer was full; a FILTER, or --by, has fewer");
	sp_cmd_lost(sp_tracing_lost(tracing, SP_TRACE_LOST_ROWS),
		    "events not counted: there was no room for their rows; --rows makes more");
	sp_cmd_lost(sp_tracing_lost(tracing, SP_TRACE_LOST_PAIRS), "pairs not seen: too many were open at once");
	sp_cmd_lost(sp_tracing_lost(tracing, SP_TRACE_LOST_TEXTS),
		    "texts could not be read, and are empty: their memory was not there yet");
	sp_cmd_lost(sp_tracing_lost(tracing, SP_TRACE_LOST_ARGUMENTS),
		    "events lost: an argument was in memory that could not be read");
	if (t->run.stacks)
		sp_trace_stacks_tell(t->run.stacks);
	sp_cmd_lost(sp_tracing_unfollowed(tracing),
		    "processes not followed: there was no room; their events are not seen");
	sp_cmd_lost(sp_tracing_missed(tracing),
		    "events missed: the kernel ran no program, since one was running on that CPU");
}

static void trace_done(struct trace *t)
{
	sp_child_done(&t->child);
	if (sp_output_close(t->run.args->output, t->run.out) < 0) /* after another failure, which was told */
		sp_error_clear();
	sp_tracing_free(t->run.tracing); /* before the specs, whose probes it detaches */
	sp_trace_stacks_free(t->run.stacks);
	if (t->sampling.signal_fd >= 0)
		t->signal_fd = -1;      /* the same */
	sp_sampling_done(&t->sampling); /* whose workers answer the watch */
	sp_trace_later_free(t->later);
	for (size_t i = 0; i < t->run.n_specs; i++)
		sp_trace_spec_done(&t->run.specs[i]);
	sp_trace_rows_free(t->run.rows);
	if (t->signal_fd >= 0)
		close(t->signal_fd);
}

static int refused_code(int r)
{
	return r == -EINVAL ? SP_EXIT_USAGE : sp_sampling_exit_code(r);
}

static int trace_all(const struct sp_cmd *cmd, const struct sp_trace_args *a)
{
	struct trace t = {.run.args = a, .child = SP_CHILD_NONE, .signal_fd = -1, .sampling = SP_SAMPLING_NONE};
	int code = SP_EXIT_OK, r;

	t.run.rows = calloc(1, sizeof(*t.run.rows));
	r = t.run.rows ? trace_begin(&t) : -ENOMEM;
	t.begun_ns = sp_time_ns(CLOCK_MONOTONIC);
	t.run.realtime_ns = sp_time_ns(CLOCK_REALTIME) - t.begun_ns;
	if (r >= 0) {
		begin_tell(&t);
		r = trace_run(&t);
	}
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
		code = a.list                      ? sp_trace_list_print(cmd, a.list, a.verbose)
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

const struct sp_cmd sp_cmd_trace = {
    .name = "trace",
    .summary = "events of the kernel and of libraries, printed one by one, or counted by any of their fields",
    .group = SP_CMD_COUNT,
    .needs = "root, or CAP_BPF and CAP_PERFMON",
    .synopsis = "[OPTIONS] EVENT[FILTER]... [SECONDS] [-- COMMAND...]",
    .options = sp_trace_options,
    .examples = examples,
    .run = trace_main,
};
