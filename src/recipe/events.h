/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h: the perf events that a sampling recipe may run on, by their usual names.
 */
#ifndef SP_RECIPE_EVENTS_H
#define SP_RECIPE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct sp_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool is_clock; /* its period is in ns */
};

const struct sp_event *sp_event_find(const char *name); /* NULL name: the default; NULL: unknown */

#endif
