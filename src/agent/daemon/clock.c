/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/clock.h"
#include "base/time.h"

enum { MAX_READINGS = 8, INTERRUPTED_NS = 20000 };

struct sp_clock sp_clock_read(void)
{
	struct sp_clock c = {0};
	uint64_t before, took, best = UINT64_MAX;
	int i;

	for (i = 0; i < MAX_READINGS && best > INTERRUPTED_NS; i++) {
		struct sp_clock reading;

		before = sp_time_ns(CLOCK_BOOTTIME);
		reading.mono_ns = sp_time_ns(CLOCK_MONOTONIC);
		reading.wall_ns = sp_time_ns(CLOCK_REALTIME);
		reading.boot_ns = sp_time_ns(CLOCK_BOOTTIME);
		took = reading.boot_ns - before;
		if (took < best) {
			best = took;
			c = reading;
		}
	}
	return c;
}

struct sp_clock_change sp_clock_compare(const struct sp_clock *before, const struct sp_clock *now)
{
	struct sp_clock_change change = {0};
	int64_t boot = (int64_t)(now->boot_ns - before->boot_ns);
	int64_t suspended = boot - (int64_t)(now->mono_ns - before->mono_ns);
	int64_t stepped = (int64_t)(now->wall_ns - before->wall_ns) - boot;

	if (suspended > SP_CLOCK_SUSPEND_NS)
		change.suspended_ns = (uint64_t)suspended;
	if (stepped > SP_CLOCK_STEP_NS || stepped < -SP_CLOCK_STEP_NS)
		change.stepped_ns = stepped;
	return change;
}

uint64_t sp_clock_window_end(const struct sp_clock *now, uint64_t length_ns)
{
	uint64_t left = length_ns - now->wall_ns % length_ns;

	if (left < length_ns / 10)
		left += length_ns;
	return now->boot_ns + left;
}
