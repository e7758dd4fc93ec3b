/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h: the perf events of `profile -e` and `stat`, by the names that perf has for them.
 *
 * A table, whose first event is the default; events of caches (L1-dcache-load-misses) and raw ones (r1a8). Clock events
 * have periods in nanoseconds and a fixed rate; the others count something. Behind a name `:u` takes those in user mode
 * only, `:k` those in the kernel. Hardware events need a PMU, which virtual machines often lack: then opening one fails
 * with -EOPNOTSUPP and a message that names another event to use. The table is constant.
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
	bool user_only, kernel_only; /* by what stands behind the name */
};

const struct sp_event *sp_event_at(size_t i);           /* NULL after the last */
const struct sp_event *sp_event_find(const char *name); /* in the table; NULL name: the default. NULL if unknown */

/* Any event; its name is the table's, or the one that was given. false: there is none of this name. */
bool sp_event_named(const char *name, struct sp_event *ret_event);

struct sp_suggest;
/* Offers all names. The best one may lie in nearest, which stays the caller's. */
enum { SP_EVENT_NAME = 64 };
void sp_event_suggest(struct sp_suggest *near, char nearest[SP_EVENT_NAME]);

#endif
