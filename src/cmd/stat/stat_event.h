/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat_event.h: what `soprof stat` counts, as its user names it.
 *
 * Names are those of perf: software and hardware events and their other names (recipe/events.h), events of caches
 * (L1-dcache-load-misses), raw ones (r1a8), tracepoints (SYSTEM:EVENT). Behind a name `:u` counts user mode only, `:k`
 * the kernel only. A list belongs to the caller, who frees it with sp_stat_events_done(). Errors: -EINVAL with
 * sp_error_text() that names the nearest one, -EACCES where tracefs may not be read. Not thread-safe.
 */
#ifndef SP_CMD_STAT_STAT_EVENT_H
#define SP_CMD_STAT_STAT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_stat_event {
	char *name;          /* as it was asked for */
	const char *sampled; /* what `soprof profile -e` calls it: a constant, or the name */
	uint32_t type;
	uint64_t config;
	bool user_only, kernel_only;
	bool is_clock; /* counts ns */
};

struct sp_stat_events {
	struct sp_stat_event *events;
	size_t n, capacity;
};

/* "task-clock,cs:u,kmem:kmalloc": adds each of them. */
int sp_stat_events_add(struct sp_stat_events *list, const char *names);
void sp_stat_events_done(struct sp_stat_events *list);

#endif
