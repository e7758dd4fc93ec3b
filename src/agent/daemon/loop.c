/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.c: makes the agent, runs its event loop, and ends windows. */
#include "agent/daemon/loop_priv.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/filter.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "capture/lasting.h"
#include "capture/recipe_ops.h"
#include "proc/process.h"
#include "worker/broker.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ALONE_NS (3 * SP_NS_PER_S)

/* Failed windows in a row: then a new process may do better. */
enum {
	MAX_FAILED_WINDOWS = 6,
	MAX_FAILED_STEPS = 10000,
	OTHER_FILES = 256,
	MAX_FILES = 8192,
	GIVE_UP_MS = 3000,
	CLOSE_MS = 6000, /* after being told to stop; then what the store would roll up is left to the next start */
	LARGE_BYTES = 256 << 10
};

/* --- start and stop --- */
/* Every known file is kept open. */
static void raise_file_limit(struct sp_agent *a)
{
	struct rlimit l = {.rlim_cur = 1024, .rlim_max = 1024};

	if (!getrlimit(RLIMIT_NOFILE, &l)) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
		getrlimit(RLIMIT_NOFILE, &l);
	}
	/* While a renewal has to wait there may be twice as many files. */
	a->env.max_files = l.rlim_cur > 4 * OTHER_FILES ? (size_t)(l.rlim_cur - OTHER_FILES) / 3 : OTHER_FILES;
	a->env.max_files = SP_MIN(a->env.max_files, MAX_FILES);
}

static void log_store(void *arg, const char *text)
{
	(void)arg;
	sp_log(SP_LOG_WARNING, "store: %s", text);
}

static int open_store(struct sp_agent *a, const struct sp_agent_config *c)
{
	struct sp_store_options o = {.max_disk_bytes = c->max_disk_bytes,
				     .max_memory_bytes = sp_limits_dictionary_bytes(c->max_memory_bytes),
				     .note = log_store};
	size_t i;
	int r;

	for (i = 0; i < SP_COUNT(o.retain_s); i++)
		o.retain_s[i] = c->retain_s[i];
	r = sp_store_open(c->store, &o, &a->env.store);
	a->env.events.store = a->env.store;
	return r;
}

static int start_workers(struct sp_agent *a)
{
	struct sp_workers_options o = {.n_parsers = 1, /* CPU time matters more than speed */
				       .shortens_names = true,
				       .max_cpu_ms = sp_parse_budget_longest_ms(a->config.max_cpu_ppm)};
	int r = sp_privileges() ? sp_broker_new(&a->env.broker) : 0;

	if (r < 0)
		return r;
	o.broker = a->env.broker;
	return sp_workers_new(&o, &a->env.workers);
}

int sp_loop_watch_fd(struct sp_agent *a, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &e) < 0 && errno != EEXIST)
		return sp_fail(-errno, "watch a descriptor");
	return 0;
}

static int open_timers(struct sp_agent *a)
{
	int r;

	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	a->window_timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	a->step_timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (a->epoll < 0 || a->window_timer < 0 || a->step_timer < 0)
		return sp_fail(-errno, "make timers");
	r = sp_loop_watch_fd(a, a->window_timer);
	if (r >= 0)
		r = sp_loop_watch_fd(a, a->step_timer);
	return r < 0 ? r : sp_loop_watch_fd(a, a->env.upgrades.pipe[0]);
}

static int make_samplers(struct sp_agent *a, const struct sp_agent_config *c)
{
	int r = sp_process_cpus_online(&a->env.cpus, &a->env.n_cpus);

	a->env.n_online = (unsigned)a->env.n_cpus;
	a->env.cpu_changed = sp_gap_cpu_changed;
	a->env.may_parse = sp_own_usage_may_parse;
	a->env.users = sp_own_usage_users;
	a->env.users.arg = a;
	a->env.arg = a;
	for (; r >= 0 && a->n_samplers < c->n_sources; a->n_samplers++) {
		r = sp_sampler_new(&a->env, &c->sources[a->n_samplers], &a->samplers[a->n_samplers]);
		if (r < 0)
			sp_sampler_done(&a->samplers[a->n_samplers]);
		if (r < 0)
			break;
	}
	return r;
}

int sp_agent_new(const struct sp_agent_config *config, struct sp_agent **ret_agent)
{
	struct sp_agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->epoll = a->window_timer = a->step_timer = -1;
	a->config = *config;
	a->env.config = &a->config;
	a->env.events.listeners = &a->env.listeners;
	a->window_ns = SP_AGENT_WINDOW_NS;
	sp_limits_init(&a->limits, config->max_cpu_ppm, config->max_memory_bytes);
	sp_pace_init(&a->pace, config->max_cpu_ppm, sp_time_ns(CLOCK_MONOTONIC));
	sp_heap_return_large(LARGE_BYTES); /* a window's tree, a table of names */
	raise_file_limit(a);
	a->env.kallsyms = sp_kallsyms_open(); /* privileges are not dropped yet: without them the addresses read as 0 */
	r = sp_upgrades_init(&a->env.upgrades);
	if (r >= 0)
		r = open_store(a, config);
	if (r >= 0)
		r = start_workers(a);
	if (r >= 0)
		r = open_timers(a);
	if (r >= 0)
		r = make_samplers(a, config);
	if (r < 0) {
		sp_agent_free(a);
		return r;
	}
	*ret_agent = a;
	return 0;
}

void sp_agent_free(struct sp_agent *a)
{
	size_t i;

	if (!a)
		return;
	sp_workers_free(a->env.workers); /* fails what is unanswered, through the samplers */
	for (i = 0; i < a->n_samplers; i++)
		sp_sampler_done(&a->samplers[i]);
	sp_upgrades_done(&a->env.upgrades);
	sp_event_queue_done(&a->env.events);
	sp_store_close_by(a->env.store, a->close_by_ns);
	sp_text_open_by(NULL, NULL);
	sp_broker_free(a->env.broker);
	sp_cleanup_close(&a->epoll);
	sp_cleanup_close(&a->window_timer);
	sp_cleanup_close(&a->step_timer);
	sp_cleanup_fclose(&a->env.kallsyms);
	free(a->env.cpus);
	free(a);
}

/* --- windows --- */
static void begin_window(struct sp_agent *a, const struct sp_clock *now)
{
	uint64_t end = sp_clock_window_end(now, a->window_ns);
	struct itimerspec at = {
	    .it_value = {.tv_sec = (time_t)(end / SP_NS_PER_S), .tv_nsec = (long)(end % SP_NS_PER_S)}};

	a->window_began = *now;
	a->window_end_boot_ns = end;
	a->n_failed_steps = 0;
	a->suspended_ns = 0;
	timerfd_settime(a->window_timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Becomes readable when the wall clock is set; it never expires. */
static void arm_step_timer(struct sp_agent *a)
{
	struct itimerspec never = {.it_value.tv_sec = INT64_C(1) << 33};

	timerfd_settime(a->step_timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static int end_window(struct sp_agent *a, const struct sp_clock *now, bool is_last)
{
	int r = 0, failure;
	size_t i;

	sp_gap_check_late(a, now);
	for (i = 0; i < a->n_samplers; i++) {
		failure = sp_sampler_end_window(&a->samplers[i], now, a->suspended_ns, is_last);
		r = r < 0 ? r : failure;
	}
	if (r >= 0)
		sp_gap_check_samples(a, now);
	a->env.latest_wall_ns = SP_MAX(a->env.latest_wall_ns, now->wall_ns);
	sp_store_alive(a->env.store);
	begin_window(a, now);
	return r;
}

/* A failed window is logged; MAX_FAILED_WINDOWS in a row end the agent. */
static int count_failed_window(struct sp_agent *a, int r)
{
	a->env.n_errors++;
	if (++a->n_failed_windows >= MAX_FAILED_WINDOWS)
		return sp_fail(r, "sample");
	sp_log(SP_LOG_ERROR, "sample: %s", sp_error_text(r));
	sp_error_clear();
	return 0;
}

/* Failed steps are logged once a window. Too many are taken for an endless loop. */
static int count_failed_step(struct sp_agent *a, int r)
{
	a->env.n_errors++;
	if (++a->n_failed_steps > MAX_FAILED_STEPS)
		return sp_fail(r, "sample");
	if (a->n_failed_steps == 1)
		sp_log(SP_LOG_WARNING, "sample: %s", sp_error_text(r));
	sp_error_clear();
	return 0;
}

/* A suspension or a step of the clock ends the window, so that no window contains one. */
static bool check_clocks(struct sp_agent *a, struct sp_clock *ret_now)
{
	struct sp_clock now = sp_clock_read();
	struct sp_clock_change change = sp_clock_compare(&a->last_clock, &now);

	a->last_clock = *ret_now = now;
	if (!change.suspended_ns && !change.stepped_ns)
		return false;
	a->suspended_ns += change.suspended_ns;
	sp_gap_check_clocks(a, &now, &change);
	return true;
}

/* --- the flush of windows that have ended, which may take many turns of the loop --- */
static void flush_windows(struct sp_agent *a)
{
	size_t i;

	for (i = 0; i < a->n_samplers; i++)
		sp_sampler_flush(&a->samplers[i]);
	a->is_flushing = true;
}

static bool is_working(const struct sp_agent *a)
{
	bool is = false;
	size_t i;

	for (i = 0; i < a->n_samplers; i++)
		is |= sp_sampler_is_working(&a->samplers[i]);
	return is;
}

static int end_flush(struct sp_agent *a)
{
	int r = a->flush_result;

	a->is_flushing = false;
	a->flush_result = 0;
	sp_own_usage_check(a, &a->last_clock);
	sp_own_usage_report_refused(a);
	sp_event_queue_flush(&a->env.events);
	if (r < 0)
		return count_failed_window(a, r);
	a->n_failed_windows = 0;
	return 0;
}

static int work(struct sp_agent *a)
{
	size_t i;
	int r;

	for (i = 0; i < a->n_samplers; i++) {
		r = sp_sampler_work(&a->samplers[i]);
		a->flush_result = a->flush_result < 0 ? a->flush_result : r;
	}
	return a->is_flushing && !is_working(a) ? end_flush(a) : 0;
}

static int end_due_window(struct sp_agent *a)
{
	struct sp_clock now;
	bool is_over = check_clocks(a, &now);
	size_t i;
	int r;

	for (i = 0; i < a->n_samplers; i++)
		is_over |= sp_sampler_is_full(&a->samplers[i], &now);
	if (!is_over && now.boot_ns < a->window_end_boot_ns)
		return 0;
	r = end_window(a, &now, false);
	if (r < 0)
		return count_failed_window(a, r);
	flush_windows(a);
	return 0;
}

/* --- the loop --- */
int sp_agent_listen(struct sp_agent *a, const struct sp_agent_listener *listener)
{
	struct sp_listeners *l = &a->env.listeners;

	if (l->n >= SP_AGENT_MAX_LISTENERS)
		return sp_fail(-E2BIG, "listen to windows");
	l->all[l->n++] = *listener;
	return 0;
}

void sp_agent_event(struct sp_agent *a, const struct sp_store_event *e)
{
	sp_event_queue_add(&a->env.events, e);
}

static int loop_timeout_ms(const struct sp_agent *a)
{
	uint64_t next = sp_time_ns(CLOCK_MONOTONIC) + a->window_ns;
	int ms = sp_upgrades_timeout_ms(&a->env.upgrades);
	size_t i;

	for (i = 0; i < a->n_samplers; i++)
		next = SP_MIN(next, sp_sampler_next_ns(&a->samplers[i]));
	if (a->pace.rest_until_ns)
		next = SP_MIN(next, a->pace.rest_until_ns);
	return sp_ms_sooner(sp_watches_timeout_ms(a, ms), sp_ms_until(next));
}

static void drain_timers(const struct sp_agent *a)
{
	const int timers[] = {a->window_timer, a->step_timer};
	uint64_t n;
	size_t i;

	for (i = 0; i < SP_COUNT(timers); i++)
		while (read(timers[i], &n, sizeof(n)) < 0 && errno == EINTR)
			; /* their values do not matter: the clocks are read */
}

static int run_once(struct sp_agent *a)
{
	struct epoll_event events[32];
	int n = epoll_wait(a->epoll, events, SP_COUNT(events), loop_timeout_ms(a)), r = 0;
	size_t i;

	if (n < 0 && errno != EINTR)
		return sp_fail(-errno, "wait");
	drain_timers(a);
	for (i = 0; i < a->n_samplers; i++) {
		int r_step = sp_sampler_step(&a->samplers[i]);

		r = r_step < 0 ? count_failed_step(a, r_step) : r;
	}
	sp_watches_serve(a, events, n);
	sp_upgrades_run(&a->env.upgrades, a->env.config, &a->env.events, sp_time_ns(CLOCK_REALTIME));
	if (r >= 0 && !a->is_stopping)
		r = end_due_window(a);
	return r < 0 ? r : work(a);
}

/* Until all that has ended is stored. What fails now is as good as over. */
static void settle(struct sp_agent *a)
{
	while (is_working(a)) {
		if (run_once(a) >= 0)
			continue;
		sp_error_clear();
		a->env.give_up_ns = 1;
		work(a);
	}
}

static int start_samplers(struct sp_agent *a)
{
	int fds[SP_CAPTURE_MAX_FDS], r = 0;
	size_t i, k, n;

	for (i = 0; r >= 0 && i < a->n_samplers; i++) {
		r = sp_sampler_start(&a->samplers[i], &a->window_began);
		n = r < 0 ? 0 : sp_capture_fds(a->samplers[i].capture, fds);
		for (k = 0; r >= 0 && k < n; k++)
			r = sp_loop_watch_fd(a, fds[k]);
	}
	return r;
}

int sp_agent_start(struct sp_agent *a)
{
	struct sp_clock now = sp_clock_read();
	int r;

	a->last_clock = now;
	a->status.started_wall_ns = now.wall_ns;
	a->status.started_boot_ns = now.boot_ns;
	sp_own_usage_start(a, &now);
	a->limits.why = a->status.why_halved = "";
	begin_window(a, &now);
	sp_gap_check_start(a);
	r = start_samplers(a);
	if (r >= 0 && a->env.broker)
		r = sp_privileges_drop(a->env.broker);
	if (r < 0)
		return r;
	r = sp_filter_enter(SP_FILTER_AGENT);
	return r < 0 ? sp_fail(r, "filter system calls") : 0;
}

/*
 * Whether the broker was killed some time ago. Who ends all of a service's processes at once has a signal for us, too,
 * which may come a moment later.
 */
static bool is_alone(const struct sp_agent *a, uint64_t *since_ns)
{
	uint64_t now_ns;

	if (!a->env.broker || !sp_broker_has_ended(a->env.broker))
		return false;
	now_ns = sp_time_ns(CLOCK_MONOTONIC);
	if (!*since_ns)
		*since_ns = now_ns;
	return now_ns - *since_ns >= ALONE_NS;
}

void sp_agent_run(struct sp_agent *a)
{
	uint64_t since_ns = 0;

	arm_step_timer(a);
	while (a->failure >= 0 && !a->is_stopping) {
		a->failure = run_once(a);
		a->is_alone = !a->is_stopping && is_alone(a, &since_ns);
		if (a->is_alone) /* nothing that is new would get names any more: a service manager begins anew */
			sp_agent_stop(a);
	}
	sp_watches_serve_nobody(a);
}

int sp_agent_finish(struct sp_agent *a)
{
	struct sp_clock now;
	int last;

	settle(a);
	check_clocks(a, &now);
	last = end_window(a, &now, true);
	sp_gap_end(a);
	if (last >= 0)
		flush_windows(a);
	settle(a);
	sp_event_queue_flush(&a->env.events);
	if (a->is_alone)
		return sp_fail_said(-EPIPE, "the broker was killed, without which no files can be opened");
	return a->failure < 0 ? a->failure : last;
}

void sp_agent_stop(struct sp_agent *a)
{
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);

	if (a->is_stopping)
		return;
	a->is_stopping = true;
	a->env.give_up_ns = now_ns + GIVE_UP_MS * 1000000ULL;
	a->close_by_ns = now_ns + CLOSE_MS * 1000000ULL;
}

struct sp_store *sp_agent_store(const struct sp_agent *a)
{
	return a->env.store;
}

int sp_agent_current(struct sp_agent *a, const char *source, const struct sp_agent_asked *asked)
{
	size_t i;

	for (i = 0; i < a->n_samplers; i++)
		if (!strcmp(a->samplers[i].recipe->name, source))
			return sp_sampler_current(&a->samplers[i], asked);
	return -ENOENT;
}

/* Sources and store stay as they are. */
int sp_agent_reload(struct sp_agent *a, const struct sp_agent_config *config)
{
	size_t i, n = SP_MIN(a->n_samplers, config->n_sources);
	int r = 0, failure;

	a->config = *config;
	sp_own_usage_limit(a, config->max_cpu_ppm);
	a->limits.max_memory_bytes = config->max_memory_bytes;
	for (i = 0; i < n; i++) {
		const struct sp_agent_source *s = &config->sources[i];
		uint64_t hz = s->frequency_hz ? s->frequency_hz : config->frequency_hz;

		if (a->samplers[i].recipe != s->recipe)
			continue;
		a->samplers[i].naming.debug_dirs = config->debug_dirs;
		a->samplers[i].naming.no_fetch = !config->debuginfod;
		sp_naming_fetch_reset(&a->samplers[i].naming);
		failure = sp_sampler_set_rate(&a->samplers[i], hz * 1000, a->limits.halvings);
		r = r < 0 ? r : failure;
	}
	return r;
}
