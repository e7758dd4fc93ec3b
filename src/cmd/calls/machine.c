/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/calls/machine_guard.h"

#include "base/error.h"
#include "base/filter.h"
#include "base/mem.h"
#include "base/state.h"
#include "base/time.h"
#include "cmd/calls/machine_times.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/report/show.h"
#include "cmd/sampling.h"
#include "proc/cgroup.h"
#include "proc/process.h"
#include "worker/broker.h"
#include "worker/jobs_probes.h"
#include "worker/worker.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	MORE_FUNCTIONS = 2048,
	NEW_FUNCTIONS = 8192, /* of a library that is not here yet */
	LEAST_ROWS = 1 << 13,
	MOST_ROWS = 1 << 16,
};
#define ROOM_LOOK_NS (100 * UINT64_C(1000000))
/* Programs map files all the time: what has appeared is looked at so often and no more. */
#define WATCH_EVERY_NS (5 * UINT64_C(1000000))

struct machine {
	const struct sp_machine_args *args;
	struct sp_profile_args profile_args;
	struct sp_profile_session session; /* workers, signals, broker; with -F it samples, too */
	struct sp_machine_targets targets;
	struct sp_counting *counting;
	struct sp_machine_callers callers;
	struct sp_machine_rows rows;
	struct sp_machine_watch watch;
	struct sp_machine_guard guard;
	FILE *output;      /* made while we could; NULL: sp_output() does all */
	int *pidfds, ends; /* of -p; an epoll of them, or -1 */
	int others;        /* while it samples: an epoll of what the session does not wait for, or -1 */
	size_t n_pidfds, n_ended;
	uint64_t begun_ns, shown_ns;
	size_t n_shown;
};

/* --- before anything is attached --- */
static int privileges_check(void)
{
	uint64_t have = sp_process_is_in_user_namespace() ? 0 : sp_privileges();
	bool all = have >> CAP_SYS_ADMIN & 1;

	if (all || ((have >> CAP_BPF & 1) && (have >> CAP_PERFMON & 1)))
		return 0;
	return sp_fail_said(-EPERM,
			    "counting in all processes needs CAP_BPF and CAP_PERFMON: run it as root, with sudo; or "
			    "count inside a command, without any privilege: soprof calls LIB -- COMMAND");
}

static int pidfds_open(struct machine *m)
{
	const struct sp_u32_list *pids = m->args->pids;

	if (!pids->n)
		return 0;
	m->pidfds = calloc(pids->n, sizeof(*m->pidfds));
	m->ends = epoll_create1(EPOLL_CLOEXEC);
	if (!m->pidfds || m->ends < 0)
		return -ENOMEM;
	for (; m->n_pidfds < pids->n; m->n_pidfds++) {
		int fd = (int)syscall(SYS_pidfd_open, pids->values[m->n_pidfds], 0);

		if (fd < 0)
			return sp_fail_said(-ESRCH, "-p: there is no process %u", pids->values[m->n_pidfds]);
		m->pidfds[m->n_pidfds] = fd;
		if (epoll_ctl(m->ends, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd}))
			return sp_fail(-errno, "watch process %u", pids->values[m->n_pidfds]);
	}
	return 0;
}

/* Files that come later are other builds of those that are here, as a rule: a next one of each has room. */
static uint32_t functions_choose(const struct sp_machine_targets *t)
{
	uint32_t n = sp_machine_n_functions(t), more = SP_MAX(n + n / 8, (uint32_t)MORE_FUNCTIONS);

	for (size_t i = 0; i < t->n; i++)
		more += t->at[i].files.n ? 0 : NEW_FUNCTIONS;
	return n + more;
}

/*
 * The index of a table is made at once, for all that may be in it. So it has room for what the processes that are here
 * could fill: few call half of a library's functions, and what those leave that end is taken out of it while it counts.
 */
static uint32_t rows_choose(const struct machine *m, bool by_function)
{
	const struct sp_machine_targets *t = &m->targets;
	uint64_t n = m->args->pids->n, n_functions = sp_machine_n_functions(t), rows = LEAST_ROWS;

	if (m->args->max_rows)
		return (uint32_t)m->args->max_rows;
	if (by_function) {
		while (rows < n_functions + n_functions / 2)
			rows *= 2;
		return (uint32_t)rows;
	}
	if (sp_process_is_in_pid_namespace()) /* who has ended is not known */
		return MOST_ROWS;
	for (size_t i = 0; i < t->n && !m->args->pids->n; i++)
		for (size_t k = 0; k < t->at[i].files.n; k++)
			n += t->at[i].files.files[k].n_pids;
	while (rows < MOST_ROWS && rows < SP_MAX(n, 1) * n_functions)
		rows *= 2;
	return (uint32_t)rows;
}

static int counting_make(struct machine *m)
{
	const struct sp_machine_args *a = m->args;
	bool by_function = a->by == SP_MACHINE_BY_FUNCTION || a->by == SP_MACHINE_BY_LIBRARY;
	struct sp_counting_options o = {.times = a->latency,
					.callers = a->by == SP_MACHINE_BY_CALLER,
					.users = a->by == SP_MACHINE_BY_USER,
					.no_cookies = !sp_probe_has(SP_PROBE_ENTRY),
					.pids = a->pids->values,
					.n_pids = a->pids->n,
					.comm = a->comm,
					.guarded = a->max_overhead > 0 || a->frequency_hz,
					.max_functions = functions_choose(&m->targets)};
	int r;

	o.functions = by_function && !o.no_cookies && !a->frequency_hz;
	o.max_rows = rows_choose(m, o.functions);
	m->rows.max_over = o.functions || sp_process_is_in_pid_namespace() ? 0 : SP_MAX(o.max_rows, MOST_ROWS);
	o.samples = m->profile_args.targets_come;
	o.sampled_fd = o.samples ? sp_capture_targets_fd(m->session.sampling.capture) : -1;
	m->targets.max_functions = o.max_functions;
	r = a->cgroup ? sp_cgroup_id(a->cgroup, &o.cgroup, &o.cgroup_level) : 0;

	return r < 0 ? r : sp_counting_new(&o, &m->counting);
}

/*
 * From here on workers read what is foreign, and the broker opens what is still to be opened; links need nothing but
 * the program's descriptor. What the filter leaves is what the agent has.
 */
static int privileges_drop(struct machine *m)
{
	int r = sp_output_prepare(m->args->output, m->session.sampling.broker, &m->output);

	if (r >= 0)
		r = sp_sampling_drop_privileges(&m->session.sampling);
	m->targets.broker = m->session.sampling.broker;
	return r < 0 ? r : sp_filter_enter(m->args->frequency_hz ? SP_FILTER_SAMPLING : SP_FILTER_AGENT);
}

/* With -F a session of samples, for which all is loaded here. */
static int session_begin(struct machine *m)
{
	int r;

	if (!m->args->frequency_hz)
		return sp_sampling_begin(&m->session.sampling);
	r = sp_machine_times_args(m->args, &m->profile_args);
	if (r >= 0)
		r = sp_profile_session_begin(&m->session);
	if (r >= 0 && m->session.backend.kind != SP_BACKEND_BPF)
		r = sp_fail_said(-EPERM, "-F needs BPF: %s",
				 m->session.why_not_bpf ? m->session.why_not_bpf : m->session.backend.missing);
	return r;
}

static int others_make(struct machine *m)
{
	int fds[] = {sp_counting_fd(m->counting), sp_probe_later_fd(m->watch.later), m->ends};

	m->others = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < SP_COUNT(fds); i++)
		if (m->others < 0 || (fds[i] >= 0 && epoll_ctl(m->others, EPOLL_CTL_ADD, fds[i],
							       &(struct epoll_event){.events = EPOLLIN})))
			return sp_fail(-errno, "epoll");
	return 0;
}

/* Calls are counted while they are sampled: from when both work. */
static int begin_together(struct machine *m)
{
	int r;

	if (!m->args->frequency_hz)
		return sp_machine_targets_attach(&m->targets, m->counting, m->watch.pid);
	sp_counting_close(m->counting, true);
	r = sp_machine_targets_attach(&m->targets, m->counting, m->watch.pid);
	if (r >= 0)
		r = others_make(m);
	if (r >= 0)
		r = sp_capture_start(m->session.sampling.capture);
	sp_counting_close(m->counting, false);
	return r;
}

static int machine_begin(struct machine *m)
{
	int r = sp_output_check(m->args->output);

	if (r >= 0)
		r = sp_machine_targets_parse(m->args, &m->targets);
	if (r >= 0)
		r = privileges_check();
	if (r >= 0)
		r = pidfds_open(m);
	if (r >= 0)
		r = session_begin(m);
	m->watch.args = m->args;
	if (r >= 0)
		r = sp_machine_watch_new(&m->watch);
	if (r >= 0)
		r = sp_machine_targets_find(&m->targets, m->args, m->session.sampling.workers);
	if (r >= 0)
		r = counting_make(m);
	if (r >= 0)
		r = sp_machine_callers_new(&m->callers, m->session.sampling.workers);
	m->callers.tells_builds = m->args->frequency_hz != 0;
	m->rows.by = m->args->by;
	m->rows.targets = &m->targets;
	m->rows.callers = &m->callers;
	if (r >= 0)
		r = sp_machine_rows_new(&m->rows);
	m->watch.targets = &m->targets;
	m->watch.counting = m->counting;
	m->watch.workers = m->session.sampling.workers;
	m->watch.pid = m->args->pids->n == 1 ? (pid_t)m->args->pids->values[0] : 0;
	m->guard.targets = &m->targets;
	m->guard.rows = &m->rows;
	m->guard.counting = m->counting;
	m->guard.pid = m->watch.pid;
	if (r >= 0)
		r = sp_machine_watch_names(&m->watch);
	if (r >= 0)
		r = begin_together(m);
	if (r >= 0)
		r = privileges_drop(m);
	if (r >= 0 && m->args->by != SP_MACHINE_BY_CALLER && !m->args->frequency_hz) /* these open files at once */
		sp_workers_rest(m->session.sampling.workers);
	if (r >= 0 && m->targets.is_waiting)
		sp_cmd_warn("no process has the library yet: calls are counted from when one loads it");
	if (r >= 0 && !m->args->seconds)
		sp_cmd_warn("counting calls; Ctrl-C ends it");
	return r;
}

/* --- while it counts --- */
static int shown_write(void *arg, FILE *out)
{
	const struct sp_machine_shown *s = arg;

	if (s->args->json)
		return sp_machine_put_json(s, out);
	return s->args->csv ? sp_machine_put_csv(s, out) : sp_machine_show(s, out);
}

/* Of what was read up to a time. */
static struct sp_machine_shown shown_make(struct machine *m, bool since, uint64_t until_ns)
{
	uint64_t from = since ? m->shown_ns : m->begun_ns;

	m->shown_ns = until_ns;
	return (struct sp_machine_shown){.args = m->args,
					 .rows = &m->rows,
					 .counting = m->counting,
					 .guard = &m->guard,
					 .seconds = (double)(until_ns - from) / 1e9,
					 .no_cookies = !sp_probe_has(SP_PROBE_ENTRY),
					 .has_head = !m->n_shown++,
					 .since = since};
}

/* A table of what came since the last one; on a terminal in its place. */
static int interval_show(struct machine *m)
{
	struct sp_machine_shown s;
	bool is_table = !m->args->csv && !m->args->json, is_screen = isatty(STDOUT_FILENO);
	char text[32];
	time_t now = time(NULL);
	struct tm tm;
	uint64_t until;
	int r = sp_machine_guard_read(&m->guard, false, &until);

	if (r < 0)
		return r;
	s = shown_make(m, true, until);
	if (is_table && localtime_r(&now, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		printf("%s%s, %.2f s:\n", is_screen ? "\033[H\033[2J" : "", text, s.seconds);
	r = sp_output(NULL, shown_write, &s);
	sp_machine_rows_mark(&m->rows);
	if (r >= 0 && is_table)
		putchar('\n');
	fflush(stdout);
	return r;
}

static int files_take(struct machine *m)
{
	int r = sp_machine_watch_turn(&m->watch);

	if (sp_counting_fd(m->counting) >= 0)
		sp_counting_files(m->counting, sp_machine_callers_file, &m->callers);
	if (sp_workers_dispatch(m->session.sampling.workers) < 0)
		sp_error_clear();
	return r;
}

/* Each end is told once. */
static bool is_ended(struct machine *m)
{
	struct epoll_event e;

	while (m->n_pidfds && epoll_wait(m->ends, &e, 1, 0) > 0) {
		epoll_ctl(m->ends, EPOLL_CTL_DEL, e.data.fd, NULL);
		m->n_ended++;
	}
	return m->n_pidfds && m->n_ended == m->n_pidfds;
}

/* As machine_wait(), while the session takes samples in. */
static int sampling_wait(struct machine *m, uint64_t until_ns)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	struct pollfd signal = {m->session.sampling.signal_fd, POLLIN, 0};
	int r = sp_capture_run(m->session.sampling.capture,
			       until_ns == UINT64_MAX ? 0
			       : until_ns > now       ? until_ns - now
						      : 1,
			       signal.fd, m->others);

	if (r < 0 || (r && poll(&signal, 1, 0) > 0))
		return SP_MIN(r, 0);
	r = files_take(m);
	return r < 0 ? r : !is_ended(m);
}

/* Waits for something to do; 0: the end has come by a signal, or the processes'. */
static int machine_wait(struct machine *m, uint64_t until_ns)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	bool watches = now >= m->watch.again_ns;
	struct pollfd fds[] = {{m->session.sampling.signal_fd, POLLIN, 0},
			       {sp_workers_fd(m->session.sampling.workers), POLLIN, 0},
			       {sp_counting_fd(m->counting), POLLIN, 0},
			       {watches ? sp_probe_later_fd(m->watch.later) : -1, POLLIN, 0},
			       {m->ends, POLLIN, 0}};
	int ms, r;

	if (m->args->frequency_hz)
		return sampling_wait(m, until_ns);
	if (!watches)
		until_ns = SP_MIN(until_ns, m->watch.again_ns);
	ms = sp_ms_sooner(sp_ms_until(until_ns), sp_workers_timeout_ms(m->session.sampling.workers));
	if (poll(fds, SP_COUNT(fds), ms) > 0 && fds[0].revents)
		return 0;
	if (fds[3].revents)
		m->watch.again_ns = sp_time_ns(CLOCK_MONOTONIC) + WATCH_EVERY_NS;
	r = files_take(m);
	return r < 0 ? r : !is_ended(m);
}

/* Before the table is full. Where calls are estimated each period's end reads it anyway. */
static int room_make(struct machine *m)
{
	uint64_t until;

	return sp_counting_is_crowded(m->counting) ? sp_machine_guard_read(&m->guard, false, &until) : 0;
}

static uint64_t room_next_ns(const struct machine *m)
{
	return m->rows.max_over ? sp_time_ns(CLOCK_MONOTONIC) + ROOM_LOOK_NS : UINT64_MAX;
}

/* The next time at which something is to be done, before `next`. */
static uint64_t turn_next_ns(const struct machine *m, uint64_t next)
{
	return SP_MIN(next, SP_MIN(sp_machine_guard_next_ns(&m->guard), room_next_ns(m)));
}

static int machine_count(struct machine *m)
{
	const struct sp_machine_args *a = m->args;
	uint64_t end, next;
	int r = 0;

	m->begun_ns = m->shown_ns = sp_time_ns(CLOCK_MONOTONIC);
	sp_machine_guard_begin(&m->guard, (unsigned)a->max_overhead, a->latency);
	end = a->seconds ? m->begun_ns + a->seconds * SP_NS_PER_S : UINT64_MAX;
	next = a->interval_s ? m->begun_ns + a->interval_s * SP_NS_PER_S : UINT64_MAX;
	while (r >= 0 && (r = machine_wait(m, turn_next_ns(m, SP_MIN(end, next)))) > 0) {
		uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

		if (now >= end)
			break;
		r = sp_machine_guard_turn(&m->guard);
		if (r >= 0)
			r = room_make(m);
		if (r < 0 || now < next)
			continue;
		r = interval_show(m);
		next += a->interval_s * SP_NS_PER_S;
	}
	return r;
}

/* --- afterwards --- */
static void watch_tell(const struct machine *m)
{
	const struct sp_probe_unlooked left_out = sp_probe_later_unlooked(m->watch.later);
	char text[SP_PROBE_UNLOOKED_TEXT];

	sp_machine_tell_count(m->watch.n_added, "file that came later was", "files that came later were",
			      "probed some ms after it was mapped: calls before that are missing");
	sp_machine_tell_count(m->watch.n_failed, "file that came later", "files that came later",
			      "could not be probed");
	sp_machine_tell_count(m->watch.n_gone, "file that came later was", "files that came later were",
			      "gone before it could be probed");
	sp_machine_tell_count(sp_probe_later_n_lost(m->watch.later), "record of a new mapping was",
			      "records of new mappings were", "lost: files may be missing");
	sp_probe_unlooked_text(&left_out, text);
	if (*text)
		sp_cmd_warn(text);
}

static int counts_show(struct machine *m, const struct sp_machine_shown *s)
{
	return m->output ? sp_output_prepared(m->args->output, m->session.sampling.broker, sp_take_ptr(m->output),
					      shown_write, (void *)s)
			 : sp_output(m->args->output, shown_write, (void *)s);
}

/* As calls inside a command are shown. */
static int times_show(struct machine *m)
{
	struct sp_show_args show = *m->args->show;
	struct sp_capture_stats samples;
	uint64_t n_left_out = 0;
	int r = sp_machine_times_join(&m->session, &m->rows, &n_left_out);

	show.prepared = sp_take_ptr(m->output);
	show.broker = m->session.sampling.broker;
	if (r >= 0)
		r = sp_show(&show, m->args->view, m->session.sampling.profile, NULL, m->args->named->words[0]);
	sp_capture_stats(m->session.sampling.capture, &samples);
	if (r >= 0)
		sp_machine_times_tell(&m->rows, &samples, n_left_out);
	return r;
}

/* Before the probes go: what is sampled without being counted would be time of no call. */
static int sampling_end(struct machine *m)
{
	if (!m->args->frequency_hz)
		return 0;
	sp_machine_guard_close(&m->guard);
	return sp_capture_finish(m->session.sampling.capture);
}

/* Below a table on a terminal. */
static void next_tell(const struct machine *m)
{
	const struct sp_machine_args *a = m->args;
	const char *name = a->named->words[0], *sudo = sp_state_is_roots() ? "sudo " : "";

	if (a->output || a->csv || a->json || a->frequency_hz || a->interval_s || !isatty(STDOUT_FILENO))
		return;
	if (a->latency)
		sp_cmd_next("%ssoprof calls --by caller --latency %s 10 (for whom), --stacks -o x.svg (by whole stack)",
			    sudo, name);
	else
		sp_cmd_next("%ssoprof calls --%s %s 10 (%s), --stacks -o x.svg (by whole stack), -n 0 (all rows)", sudo,
			    a->by == SP_MACHINE_BY_CALLER ? "latency" : "by caller", name,
			    a->by == SP_MACHINE_BY_CALLER ? "how long each takes" : "who calls it");
}

static int machine_end(struct machine *m)
{
	struct sp_machine_shown s;
	uint64_t until;
	int r = sampling_end(m);

	sp_machine_guard_stop(&m->guard);
	sp_machine_targets_detach(&m->targets);
	if (r >= 0 && m->args->frequency_hz)
		r = sp_profile_session_name(&m->session);
	if (sp_counting_fd(m->counting) >= 0)
		sp_counting_files(m->counting, sp_machine_callers_file, &m->callers);
	r = r < 0 ? r : sp_machine_guard_read(&m->guard, true, &until);
	if (r < 0)
		return r;
	s = shown_make(m, m->args->interval_s && m->args->csv, until); /* sums would be taken for another part */
	r = m->args->frequency_hz ? times_show(m) : counts_show(m, &s);
	if (r >= 0)
		sp_machine_tell(&s);
	if (r >= 0)
		watch_tell(m);
	if (r >= 0)
		next_tell(m);
	return r;
}

static void machine_done(struct machine *m)
{
	sp_machine_targets_detach(&m->targets);
	sp_profile_session_done(&m->session); /* before those to whom answers would go */
	sp_machine_targets_done(&m->targets);
	sp_machine_watch_done(&m->watch);
	sp_counting_free(m->counting);
	sp_machine_rows_done(&m->rows);
	sp_machine_callers_done(&m->callers);
	for (size_t i = 0; i < m->n_pidfds; i++)
		close(m->pidfds[i]);
	free(m->pidfds);
	if (m->output)
		fclose(m->output);
	sp_cleanup_close(&m->ends);
	sp_cleanup_close(&m->others);
	sp_profile_args_done(&m->profile_args);
}

int sp_machine_run(const struct sp_cmd *cmd, const struct sp_machine_args *args)
{
	struct machine m = {.args = args, .ends = -1, .others = -1};
	int code = SP_EXIT_OK, r;

	m.session = SP_PROFILE_SESSION(&m.profile_args);
	m.session.quiet = true;
	r = machine_begin(&m);

	if (r >= 0)
		r = machine_count(&m);
	if (r >= 0)
		r = sp_sampling_signals_back(&m.session.sampling);
	if (r >= 0)
		r = machine_end(&m);
	if (r < 0)
		code = sp_cmd_error(cmd, r, r == -EINVAL ? SP_EXIT_USAGE : sp_sampling_exit_code(r));
	machine_done(&m);
	return code;
}
