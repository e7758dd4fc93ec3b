/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h: readings of the clocks, and what two of them say about the time between: suspended, clock set, or neither.
 *
 * CLOCK_BOOTTIME runs while the machine is suspended, CLOCK_MONOTONIC does not: the difference is the time suspended.
 * What the wall clock gains or loses against CLOCK_BOOTTIME is a step, if it is more than a slewed clock can gain
 * (SP_CLOCK_STEP_NS between two readings). A reading that was interrupted for long is repeated. All functions but
 * sp_clock_read() are pure; thread-safe; they cannot fail.
 */
#ifndef SP_AGENT_DAEMON_CLOCK_H
#define SP_AGENT_DAEMON_CLOCK_H

#include <stdint.h>

#define SP_CLOCK_STEP_NS INT64_C(900000000) /* chrony slews by a twelfth at most: 0.83 s in a window */
#define SP_CLOCK_SUSPEND_NS INT64_C(50000000)

struct sp_clock { /* one reading */
	uint64_t wall_ns, boot_ns, mono_ns;
};
struct sp_clock_change {
	uint64_t suspended_ns;
	int64_t stepped_ns; /* > 0: forward */
};

struct sp_clock sp_clock_read(void);
struct sp_clock_change sp_clock_compare(const struct sp_clock *before, const struct sp_clock *now);
/*
 * Returns by CLOCK_BOOTTIME when the wall clock next reaches a multiple of length_ns; if that is less than a tenth of
 * length_ns away, the multiple after it.
 */
uint64_t sp_clock_window_end(const struct sp_clock *now, uint64_t length_ns);

#endif
