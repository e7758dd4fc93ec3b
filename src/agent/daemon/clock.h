/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h: what became of the time between two looks at the clocks: suspended, set, or simply over.
 *
 * CLOCK_BOOTTIME runs while the machine is suspended, CLOCK_MONOTONIC does not: what the first gained on the second was
 * spent suspended. What the wall clock gained or lost against CLOCK_BOOTTIME is a step, if it is more than a clock that
 * is being slewed can gain (SP_CLOCK_STEP_NS between two looks). A look that was interrupted for long is taken again.
 * Pure but for sp_clock_read(); thread-safe; cannot fail.
 */
#ifndef SP_AGENT_DAEMON_CLOCK_H
#define SP_AGENT_DAEMON_CLOCK_H

#include <stdint.h>

#define SP_CLOCK_STEP_NS INT64_C(900000000) /* chrony slews by up to a twelfth: 0.83 s in a window */
#define SP_CLOCK_SUSPEND_NS INT64_C(50000000)

struct sp_clock { /* one look */
	uint64_t wall_ns, boot_ns, mono_ns;
};
struct sp_clock_change {
	uint64_t suspended_ns;
	int64_t stepped_ns; /* > 0: forward */
};

struct sp_clock sp_clock_read(void);
struct sp_clock_change sp_clock_compare(const struct sp_clock *before, const struct sp_clock *now);
/*
 * By CLOCK_BOOTTIME, when the wall clock next comes to a multiple of length; where that is less than a tenth of it
 * away, the one after.
 */
uint64_t sp_clock_window_end(const struct sp_clock *now, uint64_t length_ns);

#endif
