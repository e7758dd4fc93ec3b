/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/time.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static void counts_nanoseconds(void **state)
{
	uint64_t before = sp_time_ns(CLOCK_MONOTONIC);

	usleep(20000);
	uint64_t took = sp_time_ns(CLOCK_MONOTONIC) - before;
	assert_in_range(took, 20000000, UINT64_C(20000000000));
}

static void agrees_with_other_clocks(void **state)
{
	struct timeval now;
	double uptime_s;
	FILE *f = fopen("/proc/uptime", "re");

	assert_int_equal(gettimeofday(&now, NULL), 0);
	assert_in_range(sp_time_ns(CLOCK_REALTIME) / SP_NS_PER_S, now.tv_sec, now.tv_sec + 10);
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lf", &uptime_s), 1);
	fclose(f);
	assert_in_range(sp_time_ns(CLOCK_BOOTTIME) / SP_NS_PER_S, uptime_s - 1, uptime_s + 10);
}

static void an_unknown_clock_is_zero(void **state)
{
	assert_true(sp_time_ns(12345) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counts_nanoseconds),
	    cmocka_unit_test(agrees_with_other_clocks),
	    cmocka_unit_test(an_unknown_clock_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
