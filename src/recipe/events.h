/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h: the perf events that a sampling recipe may use, by their usual names.
 *
 * The first is the default. Clock events have periods in nanoseconds and a fixed rate; the others count something.
 * Hardware events need a PMU, which virtual machines often lack: then opening one fails with -EOPNOTSUPP and a message
 * that names another event to use. The table is constant.
 */
#ifndef SP_RECIPE_EVENTS_H
#define SP_RECIPE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool is_clock; /* its period is in ns */
	/*
	 * What one costs the thread that meets it: run time of BPF programs as the kernel measures it, with both
	 * stacks walked and counted, on a virtual machine with 2 CPUs. 0: it was not there to be measured.
	 */
	unsigned hit_ns;
	const char *summary;
};

const struct sp_event *sp_event_at(size_t i);           /* NULL after the last */
const struct sp_event *sp_event_find(const char *name); /* NULL name: the default. Returns NULL if unknown */

#endif
