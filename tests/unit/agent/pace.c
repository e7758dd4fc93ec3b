/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace.c: made-up askers: how much CPU time they get, and how soon others are served. */
#include "agent/daemon/pace.h"
#include "base/time.h"
#include "test.h"

#define MS UINT64_C(1000000)

/* Rounds that take cpu_ns each, one after the other, for so long: the CPU time of all. */
static uint64_t flood(struct sp_pace *p, uint64_t *now_ns, uint64_t cpu_ns, uint64_t length_ns)
{
	uint64_t end_ns = *now_ns + length_ns, sum_ns = 0;

	while (*now_ns < end_ns) {
		uint64_t rest_ns = sp_pace_take(p, *now_ns, cpu_ns);

		assert_true(rest_ns <= SP_PACE_REST_MS * MS);
		sum_ns += cpu_ns;
		*now_ns += cpu_ns + rest_ns;
	}
	return sum_ns;
}

static void test_few(void **state)
{
	uint64_t now_ns = 5 * SP_NS_PER_S;
	struct sp_pace p;

	sp_pace_init(&p, 10000, now_ns);
	for (int i = 0; i < 100000; i++, now_ns += 100 * MS) /* ten times a second, for hours */
		assert_int_equal(sp_pace_take(&p, now_ns, MS / 8), 0);
}

static void test_flood(void **state)
{
	uint64_t now_ns = 5 * SP_NS_PER_S, used_ns;
	struct sp_pace p;

	sp_pace_init(&p, 10000, now_ns);
	used_ns = flood(&p, &now_ns, MS / 4, 300 * SP_NS_PER_S);
	assert_in_range(used_ns, 500 * MS, 550 * MS); /* a quarter of a minute of 1 %, and an eighth of 1 % */
	used_ns = flood(&p, &now_ns, MS / 4, 300 * SP_NS_PER_S);
	assert_in_range(used_ns, 360 * MS, 390 * MS);
	/* rounds that nothing pays for: at a fixed pace, and forgotten when they end */
	used_ns = flood(&p, &now_ns, 5 * MS, 300 * SP_NS_PER_S);
	assert_in_range(used_ns / (5 * MS), 1400, 1500);
	now_ns += SP_PACE_REST_MS * MS;
	assert_int_equal(sp_pace_take(&p, now_ns, 0), 0);
}

static void test_no_limit(void **state)
{
	struct sp_pace p;

	sp_pace_init(&p, 0, 0);
	for (uint64_t i = 1; i < 1000; i++)
		assert_int_equal(sp_pace_take(&p, i, SP_NS_PER_S), 0);
	p.max_cpu_ppm = 10000; /* a reload */
	assert_true(sp_pace_take(&p, 1000, 2 * SP_NS_PER_S) > 0);
}

static void test_clock(void **state)
{
	struct sp_pace p;

	sp_pace_init(&p, 1000000, 100);
	assert_int_equal(sp_pace_take(&p, 50, 1), 0);
	assert_true(sp_pace_take(&p, UINT64_MAX, UINT64_MAX) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_few),
	    cmocka_unit_test(test_flood),
	    cmocka_unit_test(test_no_limit),
	    cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
