/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c: made-up use of CPU and memory: when the rate is halved and when doubled. */
#include "agent/daemon/limits.h"
#include "test.h"
#include <string.h>

#define MINUTE UINT64_C(60000000000)
#define MIB (1ULL << 20)

struct machine {
	struct sp_limits l;
	uint64_t now_ns, cpu_ns, parsers_ns;
};

static struct machine machine_new(void)
{
	struct machine m = {.now_ns = 1000 * MINUTE, .cpu_ns = 5 * MINUTE};

	sp_limits_init(&m.l, 10000, 60 * MIB); /* 1 % */
	return m;
}

/* A minute that uses ppm of a CPU at the full rate, half of it at half the rate. */
static enum sp_limits_advice minute(struct machine *m, uint64_t ppm, uint64_t memory)
{
	m->now_ns += MINUTE;
	m->cpu_ns += MINUTE / 1000000 * (ppm >> m->l.halvings);
	return sp_limits_update(&m->l, m->now_ns, m->cpu_ns, m->parsers_ns, memory);
}

static void test_quiet(void **state)
{
	struct machine m = machine_new();

	for (int i = 0; i < 1000; i++)
		assert_int_equal(minute(&m, 2000, 40 * MIB), SP_LIMITS_GO_ON);
	assert_int_equal(m.l.halvings, 0);
	assert_in_range(m.l.cpu_ppm, 1990, 2010);
}

/* The first minutes, with their tables and names, do not count. */
static void test_busy_beginning(void **state)
{
	struct machine m = machine_new();

	assert_int_equal(minute(&m, 900000, 40 * MIB), SP_LIMITS_GO_ON);
	for (int i = 0; i < 20; i++)
		assert_int_equal(minute(&m, 5000, 40 * MIB), SP_LIMITS_GO_ON);
}

/* Parsers and answers do not depend on the rate, so it is not halved for them. */
static void test_parsers(void **state)
{
	struct machine m = machine_new();

	for (int i = 0; i < 50; i++) {
		m.parsers_ns += MINUTE / 100;
		assert_int_equal(minute(&m, 17000, 40 * MIB), SP_LIMITS_GO_ON);
	}
	assert_in_range(m.l.cpu_ppm, 16990, 17010);
	assert_in_range(m.l.sampling_ppm, 6990, 7010);
	for (int i = 0; !m.l.halvings; i++) { /* without the parsers it is above the limit, too */
		assert_true(i <= SP_LIMITS_MINUTES);
		m.parsers_ns += MINUTE / 100;
		minute(&m, 22000, 40 * MIB);
	}
}

static void test_over_and_back(void **state)
{
	struct machine m = machine_new();
	int n = 0;

	while (minute(&m, 35000, 40 * MIB) == SP_LIMITS_GO_ON)
		assert_true(++n <= SP_LIMITS_MINUTES);
	assert_int_equal(m.l.halvings, 1);
	assert_string_equal(m.l.why, "cpu");
	for (n = 0; m.l.halvings < 2; n++)
		minute(&m, 35000, 40 * MIB);
	/* each rate is judged over all the minutes */
	assert_int_equal(n, SP_LIMITS_MINUTES);
	for (n = 0; n < 50; n++) /* 0.9 %: neither too much nor little */
		assert_int_equal(minute(&m, 35000, 40 * MIB), SP_LIMITS_GO_ON);
	/* a minute after the cause has gone the full rate is back */
	assert_int_equal(minute(&m, 4000, 40 * MIB), SP_LIMITS_RAISE);
	assert_int_equal(m.l.halvings, 0);
	assert_string_equal(m.l.why, "");
	for (n = 0; n < 50; n++) /* and it stays */
		assert_int_equal(minute(&m, 4000, 40 * MIB), SP_LIMITS_GO_ON);
}

/* The rate does not swing: the full rate would use too much again. */
static void test_no_swing(void **state)
{
	struct machine m = machine_new();
	int changes = 0;

	for (int i = 0; i < 500; i++)
		changes += minute(&m, 12000, 40 * MIB) != SP_LIMITS_GO_ON;
	assert_int_equal(changes, 1);
	assert_int_equal(m.l.halvings, 1);
}

static void test_bounds(void **state)
{
	struct machine m = machine_new();

	for (int i = 0; i < 500; i++)
		minute(&m, 1000000, 40 * MIB);
	assert_int_equal(m.l.halvings, SP_LIMITS_HALVINGS);
}

/* A lower rate frees no memory; a fresh profile does. */
static void test_memory(void **state)
{
	struct machine m = machine_new();

	for (int i = 0; i < 10; i++)
		assert_int_equal(minute(&m, 2000, 61 * MIB), SP_LIMITS_RENEW);
	assert_int_equal(m.l.halvings, 0);
	assert_int_equal(minute(&m, 2000, 59 * MIB), SP_LIMITS_GO_ON);
}

static void test_no_limits(void **state)
{
	struct machine m = machine_new();

	sp_limits_init(&m.l, 0, 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(minute(&m, 1000000, 1000 * MIB), SP_LIMITS_GO_ON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_quiet),         cmocka_unit_test(test_busy_beginning), cmocka_unit_test(test_parsers),
	    cmocka_unit_test(test_over_and_back), cmocka_unit_test(test_no_swing),       cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_memory),        cmocka_unit_test(test_no_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
