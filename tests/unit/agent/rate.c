/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rate.c: changes the agent's rate within windows by a reload, and by its limits down and up again. Windows must have
 * the mean rate, and samples the weight of theirs. Root only.
 */
#include "looping.h"

enum { MINUTE = 60 };                  /* seconds between two measurements of itself */
#define CHANGING_NS (400 * 1000000ULL) /* window length */

struct changing {
	struct sp_agent *agent;
	unsigned step;
	size_t n_windows; /* at the last step */
};

/* Fills the limits' readings: a whole CPU, or nothing. */
static void minutes_were(struct sp_agent *a, uint64_t cpu_ns)
{
	struct sp_limits *l = &a->limits;
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	for (l->n_readings = 0; l->n_readings <= SP_LIMITS_MINUTES; l->n_readings++) {
		l->readings[l->n_readings].at_ns = now - (SP_LIMITS_MINUTES - l->n_readings) * MINUTE * SP_NS_PER_S;
		l->readings[l->n_readings].cpu_ns = l->readings[l->n_readings].sampling_ns =
		    a->status.cpu_ns > cpu_ns ? a->status.cpu_ns - cpu_ns : 0;
	}
	a->checked_ns = now - MINUTE * SP_NS_PER_S;
}

/* A reload changes the rate within a window; the limits change it at a window's end. */
static void change(void *arg)
{
	struct changing *c = arg;
	struct sp_agent *a = c->agent;

	c->n_windows = noted.n;
	switch (c->step++) {
	case 0:
	case 3:
		config.frequency_hz = c->step == 1 ? 48 : 150;
		assert_int_equal(sp_agent_reload(a, &config), 0);
		break;
	case 1:
		a->limits.max_memory_bytes = 0; /* sanitizers need more */
		a->limits.max_cpu_ppm = 1;
		minutes_were(a, UINT64_MAX);
		break;
	case 2:
		a->limits.max_cpu_ppm = 0;
		minutes_were(a, 0);
		break;
	default:
		sp_agent_stop(a);
	}
}

static int change_ms(void *arg)
{
	struct changing *c = arg;
	uint64_t now = sp_time_ns(CLOCK_BOOTTIME), at = c->agent->window_began.boot_ns + CHANGING_NS / 2;

	if (noted.n <
	    c->n_windows + 4) /* one with both rates, one that may have the first tick of the new one, and two more */
		return -1;
	return now >= at ? 0 : (int)((at - now) / 1000000) + 1;
}

/* Windows at this rate, after those with a change: samples weigh its period. Some may have waited for a table. */
static void check_rate(uint64_t rate_millihertz, size_t *at)
{
	double n = 0, cpu_ns = 0, period = 1e12 / (double)rate_millihertz;

	while (*at < noted.n && noted.windows[*at].window.rate_millihertz != rate_millihertz)
		++*at;
	for (++*at; *at < noted.n && noted.windows[*at].window.rate_millihertz == rate_millihertz; ++*at) {
		n += (double)noted.windows[*at].n_samples;
		cpu_ns += (double)noted.windows[*at].cpu_ns;
	}
	print_message("%.3f Hz: %.3f s in %.0f samples\n", (double)rate_millihertz / 1000, cpu_ns / 1e9, n);
	assert_true(n > 0);
	assert_true(cpu_ns > 0.75 * n * period && cpu_ns < 1.25 * n * period);
}

static void rates(void)
{
	static const uint64_t wanted_millihertz[] = {199000, 48000, 24000, 48000, 150000};
	struct changing c = {0};
	struct sp_agent *a;
	struct stop stop;
	size_t at = 0, n_mixed = 0;

	if (!agent_begin(&a))
		skip();
	a->window_ns = CHANGING_NS;
	c.agent = a;
	assert_int_equal(
	    sp_agent_watch(a, &(struct sp_agent_watch){.fd = -1, .timeout_ms = change_ms, .ready = change, .arg = &c}),
	    0);
	run_for(a, &stop, 60000);
	for (size_t i = 0; i < noted.n; i++) {
		uint64_t rate = noted.windows[i].window.rate_millihertz;

		n_mixed += (rate > 48000 && rate < 150000) || (rate > 150000 && rate < 199000);
	}
	assert_true(n_mixed >= 2); /* the mean of both */
	for (size_t i = 0; i < SP_COUNT(wanted_millihertz); i++)
		check_rate(wanted_millihertz[i], &at);
	assert_int_equal(a->limits.halvings, 0);
	assert_true(has_event("rate cpu"));
	sp_agent_free(a);
}

static void test_rates(void **state)
{
	in_child(rates);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
