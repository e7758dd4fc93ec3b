/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse_budget.c: hours of an agent with made-up files and costs: what it spends, and which files are parsed. */
#include "agent/daemon/parse_budget.h"
#include "base/time.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { ONE_PERCENT = 10000 };
#define MS (SP_NS_PER_S / 1000)

struct agent {
	struct sp_parse_budget p;
	uint64_t began_ns, now_ns, cpu_ns, n_small, n_large;
};

static struct agent agent_new(uint64_t ppm)
{
	struct agent a = {.began_ns = 777 * SP_NS_PER_S, .now_ns = 777 * SP_NS_PER_S, .cpu_ns = 5 * SP_NS_PER_S};

	sp_parse_budget_init(&a.p, ppm, a.now_ns, a.cpu_ns);
	return a;
}

static bool parse(struct agent *a, uint64_t n_samples, uint64_t cost_ns)
{
	sp_parse_budget_update(&a->p, a->now_ns, a->cpu_ns);
	if (!sp_parse_budget_allows(&a->p, n_samples))
		return false;
	a->cpu_ns += cost_ns;
	return true;
}

/* A second: the cost of sampling, n_new new files with one sample each, and sometimes one with a hundred. */
static void second(struct agent *a, unsigned n_new, uint64_t cost_ns)
{
	a->now_ns += SP_NS_PER_S;
	a->cpu_ns += 2 * MS;
	for (unsigned i = 0; i < n_new; i++)
		a->n_small += parse(a, 1, cost_ns);
	if (a->now_ns / SP_NS_PER_S % 100 == 0)
		a->n_large += parse(a, 100, cost_ns);
}

/* Twenty new programs a second, 10 ms each: a fifth of a CPU. */
static void test_storm(void **state)
{
	struct agent a = agent_new(ONE_PERCENT);
	uint64_t time_ns;

	(void)state;
	for (int i = 1; i <= 6 * 3600; i++) {
		second(&a, 20, 10 * MS);
		time_ns = a.now_ns - a.began_ns;
		assert_true(a.cpu_ns - 5 * SP_NS_PER_S <= (time_ns + SP_PARSE_BUDGET_S * SP_NS_PER_S) / 100 + 10 * MS);
	}
	assert_int_equal(a.n_large, 6 * 36);
	/* the rest of the limit: 8 ms a second, less the large files */
	assert_in_range(a.n_small, 6 * 3600 * 8 / 10 - 6 * 36, 6 * 3600 * 8 / 10 + 200);
}

static void test_begins_full(void **state)
{
	struct agent a = agent_new(ONE_PERCENT);
	unsigned n = 0;

	(void)state;
	while (parse(&a, 1, 10 * MS))
		n++;
	assert_int_equal(n, 150); /* half of 3 s */
	while (parse(&a, 4, 10 * MS))
		n++;
	while (parse(&a, 16, 10 * MS))
		n++;
	assert_in_range(n, 262, 263); /* seven eighths */
	assert_false(parse(&a, 63, MS));
	assert_true(parse(&a, 64, 10 * SP_NS_PER_S)); /* a file that takes all of it and more: the largest debt */
	assert_false(parse(&a, 1000000, MS));
	a.now_ns += (SP_PARSE_BUDGET_S - 1) * SP_NS_PER_S;
	assert_false(parse(&a, 1000000, MS));
	a.now_ns += 2 * SP_NS_PER_S;
	assert_true(parse(&a, 1000000, MS));
}

/* A full bucket gains nothing, and a CPU clock that goes back returns nothing. */
static void test_no_more_than_full(void **state)
{
	struct agent a = agent_new(ONE_PERCENT);
	int64_t full = a.p.left.left_ns;

	(void)state;
	a.now_ns += 3600 * SP_NS_PER_S;
	sp_parse_budget_update(&a.p, a.now_ns, a.cpu_ns - 100 * MS);
	assert_int_equal(a.p.left.left_ns, full);
	sp_parse_budget_update(&a.p, a.now_ns, a.cpu_ns + 100 * MS);
	assert_int_equal(a.p.left.left_ns, full - (int64_t)(100 * MS));
}

static void test_no_limit(void **state)
{
	struct agent a = agent_new(0);

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(parse(&a, 1, SP_NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_storm),
	    cmocka_unit_test(test_begins_full),
	    cmocka_unit_test(test_no_more_than_full),
	    cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
