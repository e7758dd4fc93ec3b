/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.c: made-up readings of the clocks, and once the machine's own. */
#include "agent/daemon/clock.h"
#include "base/time.h"
#include "test.h"
#include <unistd.h>

#define S UINT64_C(1000000000)

/* 14 s into an hour; up for a day, an hour of it suspended. */
static const struct sp_clock begin = {.wall_ns = 1700002814 * S, .boot_ns = 86400 * S, .mono_ns = 82800 * S};

static struct sp_clock later(uint64_t ns)
{
	return (struct sp_clock){
	    .wall_ns = begin.wall_ns + ns, .boot_ns = begin.boot_ns + ns, .mono_ns = begin.mono_ns + ns};
}

static void test_time_goes_by(void **state)
{
	struct sp_clock now = later(10 * S);
	struct sp_clock_change c = sp_clock_compare(&begin, &now);

	assert_int_equal(c.suspended_ns, 0);
	assert_int_equal(c.stepped_ns, 0);
}

static void test_suspended(void **state)
{
	struct sp_clock now = later(3 * S);
	struct sp_clock_change c;

	now.boot_ns += 7200 * S;
	now.wall_ns += 7200 * S;
	c = sp_clock_compare(&begin, &now);
	assert_int_equal(c.suspended_ns, 7200 * S);
	assert_int_equal(c.stepped_ns, 0);
}

static void test_stepped(void **state)
{
	struct sp_clock now = later(3 * S);
	struct sp_clock_change c;

	now.wall_ns += 3600 * S;
	c = sp_clock_compare(&begin, &now);
	assert_int_equal(c.stepped_ns, 3600 * S);
	assert_int_equal(c.suspended_ns, 0);
	now.wall_ns -= 7200 * S;
	c = sp_clock_compare(&begin, &now);
	assert_true(c.stepped_ns == -(int64_t)(3600 * S));
}

/* The fastest slew of chrony is no step; a suspended machine with a wrong clock has both. */
static void test_slewed_and_both(void **state)
{
	struct sp_clock now = later(10 * S);
	struct sp_clock_change c;

	now.wall_ns += S * 8 / 10;
	assert_int_equal(sp_clock_compare(&begin, &now).stepped_ns, 0);
	now = later(10 * S);
	now.boot_ns += 600 * S;
	now.wall_ns += 600 * S - 100 * S;
	c = sp_clock_compare(&begin, &now);
	assert_int_equal(c.suspended_ns, 600 * S);
	assert_true(c.stepped_ns == -(int64_t)(100 * S));
}

static void test_windows_are_aligned(void **state)
{
	struct sp_clock now = begin; /* ...14 s: six are left */

	assert_int_equal(sp_clock_window_end(&now, 10 * S), now.boot_ns + 6 * S);
	now.wall_ns = 1700002810 * S;
	assert_int_equal(sp_clock_window_end(&now, 10 * S), now.boot_ns + 10 * S);
	now.wall_ns = 1700002819 * S + S / 2; /* half a second is too short for a window */
	assert_int_equal(sp_clock_window_end(&now, 10 * S), now.boot_ns + 10 * S + S / 2);
}

static void test_this_machine(void **state)
{
	struct sp_clock before = sp_clock_read(), now;
	struct sp_clock_change c;

	usleep(50000);
	now = sp_clock_read();
	c = sp_clock_compare(&before, &now);
	assert_int_equal(c.suspended_ns, 0);
	assert_int_equal(c.stepped_ns, 0);
	assert_true(now.mono_ns - before.mono_ns >= S / 20);
	assert_true(now.wall_ns > 1600000000 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_time_goes_by),
	    cmocka_unit_test(test_suspended),
	    cmocka_unit_test(test_stepped),
	    cmocka_unit_test(test_slewed_and_both),
	    cmocka_unit_test(test_windows_are_aligned),
	    cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
