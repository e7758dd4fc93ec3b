/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/events.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/recipe_ops.h"
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
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false, 0, "accesses to the last cache"},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, 0, "misses of the last cache"},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, 0, "branches that were executed"},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, 0, "branches that were predicted wrongly"},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, 2900, "page faults, each or every Nth"},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, 2900, "page faults without I/O"},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, 2900, "page faults that read from a disk"},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, 3200, "threads that leave their CPU"},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false, 3200, "threads put on another CPU"},
	{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, false, 2900, "unaligned accesses, mended"},
	{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, false, 2900, "instructions, emulated"},
};

/* Other names that perf has for them. */
static const struct {
	const char *name, *also;
} aliases[] = {
    {"cpu-cycles", "cycles"},
    {"branch-instructions", "branches"},
    {"cs", "context-switches"},
    {"migrations", "cpu-migrations"},
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
	for (i = 0; i < SP_COUNT(aliases); i++)
		if (!strcmp(aliases[i].name, name))
			name = aliases[i].also;
	for (i = 0; i < SP_COUNT(events); i++)
		if (!strcmp(events[i].name, name))
			return &events[i];
	return NULL;
}

int sp_recipe_event_check(const char *event)
{
	char list[512] = "";
	size_t i, n = 0;

	if (sp_event_find(event))
		return 0;
	for (i = 0; i < SP_COUNT(events) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", events[i].name);
	return sp_fail_said(-EINVAL, "unknown event '%s'; there are: %s", event, list);
}

void sp_recipe_set_take_all(struct sp_recipe_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct sp_recipe *own = set->own[i];
		const struct sp_event *event =
		    own && own->points[0].at == SP_AT_PERF ? sp_event_find(own->points[0].where) : NULL;

		if (!event || event->type != PERF_TYPE_SOFTWARE || event->is_clock || own->period)
			continue;
		own->period = 1;
		own->hit_ns = event->hit_ns;
	}
}
