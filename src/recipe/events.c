/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/events.h"
#include "base/error.h"
#include "base/mem.h"
#include "recipe/recipe.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct sp_event events[] = {
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, 11000, "cpu by a clock of each CPU: the default"},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, 11000, "cpu by a clock that runs with threads"},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, 0, "cycles of a CPU"},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, 0, "instructions that were executed"},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, 0, "misses of the last cache"},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, 0, "branches that were predicted wrongly"},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, 2900, "page faults, every Nth or by frequency"},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, 2900, "page faults without I/O"},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, 2900, "page faults that read from a disk"},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, 3200, "threads that leave their CPU"},
};
/* clang-format on */

const struct sp_event *sp_event_at(size_t i)
{
	return i < SP_COUNT(events) ? &events[i] : NULL;
}

const struct sp_event *sp_event_find(const char *name)
{
	size_t i;

	if (!name)
		return &events[0];
	for (i = 0; i < SP_COUNT(events); i++)
		if (!strcmp(events[i].name, name))
			return &events[i];
	return NULL;
}

int sp_recipe_event_check(const char *event)
{
	char list[256] = "";
	size_t i, n = 0;

	if (sp_event_find(event))
		return 0;
	for (i = 0; i < SP_COUNT(events) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", events[i].name);
	return sp_fail_said(-EINVAL, "unknown event '%s'; there are: %s", event, list);
}
