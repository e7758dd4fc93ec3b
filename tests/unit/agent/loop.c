/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.c: the agent with short windows and a store in memory that fails on command. A busy process has windows without
 * holes, with names; a failing store costs only the windows beyond the queue's limits; a stopped agent has a late
 * window. Root only.
 */
#include "looping.h"

static void add_up(struct noted *all, const struct noted *n)
{
	all->n_samples += n->n_samples;
	all->n_named += n->n_named;
	all->n_of_burner += n->n_of_burner;
	all->n_named_of_burner += n->n_named_of_burner;
	all->n_burn += n->n_burn;
}

/*
 * Other processes of the machine are not under control: if they start programs faster than functions are named, or one
 * that is too large for one answer, a window is stored without some names.
 */
static void check_names(const struct noted *all)
{
	assert_true(all->n_of_burner >= 20);
	assert_true(all->n_burn >= all->n_of_burner * 9 / 10);
	assert_true(all->n_named_of_burner >= all->n_of_burner * 9 / 10);
	assert_true(all->n_named >= all->n_samples / 2);
}

/* Stops after four windows; the end of the agent makes a fifth. */
static int four_ms(void *arg)
{
	return noted.n < 4 ? -1 : 0;
}

/* From the stop on, while the last window is stored: who serves all is not called, and another stop grants no more
 * time. */
static struct {
	const struct sp_agent *agent;
	uint64_t give_up_ns;
	unsigned n_served, n_stops;
} ending;

static int ending_ms(void *arg)
{
	(void)arg;
	return ending.agent->is_stopping ? 0 : -1;
}

static void serve(void *arg)
{
	(void)arg;
	ending.n_served++;
}

static void stop_again(void *arg)
{
	ending.give_up_ns = ending.n_stops++ ? ending.give_up_ns : ending.agent->env.give_up_ns;
	sp_agent_stop(arg);
	assert_true(ending.agent->env.give_up_ns == ending.give_up_ns);
}

static void watch_ending(struct sp_agent *a)
{
	struct sp_agent_watch served = {.fd = -1, .timeout_ms = ending_ms, .ready = serve, .serves_all = true};
	struct sp_agent_watch stop = {.fd = -1, .timeout_ms = ending_ms, .ready = stop_again, .arg = a};

	ending.agent = a;
	assert_int_equal(sp_agent_watch(a, &served), 0);
	assert_int_equal(sp_agent_watch(a, &stop), 0);
}

static void windows(void)
{
	struct sp_agent *a;
	struct stop stop;
	struct sp_agent_status status;
	struct noted all = {.n_samples = 0};
	size_t i, n_late = 0;

	if (!agent_begin(&a))
		skip();
	a->window_ns = SP_NS_PER_S;
	uint64_t last = sp_time_ns(CLOCK_REALTIME) - 3600 * SP_NS_PER_S;
	noted.stats = (struct sp_store_stats){.n_windows = 1,
					      .last_ns = last,
					      .last_end_ns = last + SP_NS_PER_S,
					      .was_killed = true,
					      .alive_ns = last + 5 * SP_NS_PER_S};
	stop.agent = a;
	assert_int_equal(
	    sp_agent_watch(a,
			   &(struct sp_agent_watch){.fd = -1, .timeout_ms = four_ms, .ready = stop_now, .arg = &stop}),
	    0);
	watch_ending(a);
	run_for(a, &stop, 30000);
	assert_true(ending.n_stops >= 1 && ending.n_served == 0);
	sp_agent_status(a, &status);
	assert_true(noted.n >= 5);
	for (i = 0; i < noted.n; i++) {
		const struct noted *n = &noted.windows[i];

		print_message("%ld ms: %ld samples, %ld named, %ld of the burner, %ld in burn\n",
			      (long)(n->window.duration_ns / 1000000), (long)n->n_samples, (long)n->n_named,
			      (long)n->n_of_burner, (long)n->n_burn);
		add_up(&all, n);
		if (i + 1 < noted.n) { /* a window ends where the next begins */
			uint64_t next = noted.windows[i + 1].window.boot_ns;

			assert_int_equal(next, n->window.boot_ns + n->window.duration_ns);
		}
		n_late += i && n->window.wall_ns % SP_NS_PER_S > SP_NS_PER_S / 2;
	}
	assert_true(n_late <= noted.n / 2); /* others may have the CPUs for so long */
	check_names(&all);
	assert_true(has_event("gap killed") && has_event("gap stopped"));
	assert_int_equal(status.unstored_ns,
			 5 * SP_NS_PER_S); /* from the last end: 4 s that it was alive, and a window */
	assert_true(status.gap_ns >= 3598 * SP_NS_PER_S && status.n_gaps == 2);
	assert_true(noted.n_alive >= noted.n);
	assert_int_equal(status.sources[0].n_windows, noted.n);
	assert_int_equal(status.sources[0].n_lost, 0);
	assert_int_equal(status.n_errors,
			 a->workers_seen.n_late); /* a parser may take too long for a file of another process */
	assert_true(status.own_ns > 0 && status.bpf_ns > 0 && status.memory_bytes > 1 << 20);
	sp_agent_free(a);
}

static void test_windows(void **state)
{
	in_child(windows);
}

/* The store fails, and works again half-way. */
static void recover(void *arg)
{
	noted.fails = 0;
}

static int recover_ms(void *arg)
{
	uint64_t *at = arg, now = sp_time_ns(CLOCK_MONOTONIC);

	return !noted.fails ? -1 : now >= *at ? 0 : (int)((*at - now) / 1000000) + 1;
}

static void full(void)
{
	struct sp_agent *a;
	struct stop stop;
	uint64_t at = sp_time_ns(CLOCK_MONOTONIC) + 2200 * 1000000ULL, end = 0;
	size_t i;

	if (!agent_begin(&a))
		skip();
	a->window_ns = SP_NS_PER_S / 2;
	noted.fails = -ENOSPC;
	assert_int_equal(
	    sp_agent_watch(a,
			   &(struct sp_agent_watch){.fd = -1, .timeout_ms = recover_ms, .ready = recover, .arg = &at}),
	    0);
	run_for(a, &stop, 3600);
	assert_true(noted.n >= 4);
	for (i = 0; i < noted.n; i++) { /* all windows, in order */
		if (i)
			assert_int_equal(noted.windows[i].window.boot_ns, end);
		end = noted.windows[i].window.boot_ns + noted.windows[i].window.duration_ns;
		/* The last may be very short, and one that begins late because others had the CPUs. */
		assert_true(noted.windows[i].n_samples > 0 || noted.windows[i].window.duration_ns < SP_NS_PER_S / 10);
	}
	assert_int_equal(a->samplers[0].queue.n, 0);
	assert_int_equal(a->samplers[0].queue.n_dropped, 0);
	sp_agent_free(a);
}

static void test_store_is_full(void **state)
{
	in_child(full);
}

/* The profile is renewed with nearly every window: names and stacks are as complete as without. */
static int ask_ms(void *arg)
{
	const struct sp_agent *a = arg;

	return a->samplers[0].wants_renewal ? -1 : 0;
}

static void ask(void *arg)
{
	struct sp_agent *a = arg;

	a->samplers[0].wants_renewal = true;
}

/* Adds stacks of no sample until the profile is renewed; its names are kept. */
static uint64_t names_first, names_last;

static bool is_crowded(const struct sp_profile *p)
{
	return sp_profile_memory_bytes(p) > sp_limits_profile_bytes(config.max_memory_bytes);
}

static int crowd_ms(void *arg)
{
	const struct sp_agent *a = arg;

	return is_crowded(a->samplers[0].profile) ? -1 : 0;
}

static void crowd(void *arg)
{
	struct sp_agent *a = arg;
	struct sp_profile *p = a->samplers[0].profile;
	uint32_t frames[500] = {0};

	names_last = sp_profile_names_serial(p);
	names_first = names_first ? names_first : names_last;
	for (uint32_t i = 0; !is_crowded(p); i++) {
		struct sp_stack stack = {.reason = (uint16_t)(i / 100), .n_frames = 400 + i % 100, .frames = frames};

		assert_true(sp_profile_add_stack(p, &stack) >= 0);
	}
}

/* Windows may end late when others have the CPUs, so the test waits for renewals. */
static int renewed_ms(void *arg)
{
	struct sp_agent_status status;

	sp_agent_status(arg, &status);
	return status.sources[0].n_renewals >= 2 && noted.n >= 8 ? 0 : -1;
}

static void renewed(void *arg)
{
	sp_agent_stop(arg);
}

static void renewals_by(int (*timeout_ms)(void *), void (*ready)(void *))
{
	struct sp_agent *a;
	struct stop stop;
	struct sp_agent_status status;
	struct noted all = {.n_samples = 0};
	uint64_t between_ns = 0;
	size_t i;

	if (!agent_begin(&a))
		skip();
	a->window_ns = SP_NS_PER_S / 2;
	assert_int_equal(
	    sp_agent_watch(a, &(struct sp_agent_watch){.fd = -1, .timeout_ms = timeout_ms, .ready = ready, .arg = a}),
	    0);
	assert_int_equal(
	    sp_agent_watch(a, &(struct sp_agent_watch){.fd = -1, .timeout_ms = renewed_ms, .ready = renewed, .arg = a}),
	    0);
	run_for(a, &stop, 60000);
	sp_agent_status(a, &status);
	for (i = 0; i < noted.n; i++) {
		const struct noted *n = &noted.windows[i];
		uint64_t ends = n->window.boot_ns + n->window.duration_ns;

		add_up(&all, n);
		if (i + 1 == noted.n)
			break;
		assert_true(noted.windows[i + 1].window.boot_ns >= ends);
		between_ns += noted.windows[i + 1].window.boot_ns - ends;
	}
	print_message("%zu windows, %lu renewals in %lu ms\n", noted.n, (unsigned long)status.sources[0].n_renewals,
		      (unsigned long)(status.sources[0].paused_ns / 1000000));
	assert_true(status.sources[0].n_renewals >= 2);
	assert_true(between_ns <= status.sources[0].paused_ns); /* nothing but the renewals */
	check_names(&all);
	assert_int_equal(status.sources[0].n_dropped, 0);
	sp_agent_free(a);
}

static void renewals(void)
{
	renewals_by(ask_ms, ask);
}

static void renewals_in_place(void)
{
	renewals_by(crowd_ms, crowd);
	assert_int_equal(names_last, names_first);
}

static void test_renewals(void **state)
{
	in_child(renewals);
}

static void test_renewals_in_place(void **state)
{
	in_child(renewals_in_place);
}

/* SIGSTOP for a while: the kernel goes on counting, and the window has its real length. */
static void stopped(void)
{
	struct sp_agent *a;
	struct stop stop;
	pid_t parent = getpid(), helper;
	size_t i, longest = 0;

	if (!agent_begin(&a))
		skip();
	a->window_ns = SP_NS_PER_S / 2;
	helper = fork();
	if (!helper) {
		usleep(1200000);
		kill(parent, SIGSTOP);
		usleep(3500000);
		kill(parent, SIGCONT);
		_exit(0);
	}
	run_for(a, &stop, 6000);
	waitpid(helper, NULL, 0);
	for (i = 0; i < noted.n; i++)
		if (noted.windows[i].window.duration_ns > noted.windows[longest].window.duration_ns)
			longest = i;
	assert_true(noted.windows[longest].window.duration_ns > 3 * SP_NS_PER_S);
	assert_true(noted.windows[longest].n_of_burner > 30);
	assert_true(has_event("late window"));
	sp_agent_free(a);
}

static void test_stopped(void **state)
{
	in_child(stopped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_windows),  cmocka_unit_test(test_store_is_full),
	    cmocka_unit_test(test_renewals), cmocka_unit_test(test_renewals_in_place),
	    cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
