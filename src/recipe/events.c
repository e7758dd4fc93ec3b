/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/events.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "capture/recipe_ops.h"
#include "recipe/recipe.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct sp_event events[] = {
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, 11000, .summary = "cpu by a clock of each CPU: the default"},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, 11000, .summary = "cpu by a clock that runs with threads"},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, 0, .summary = "cycles of a CPU"},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, 0, .summary = "instructions that were executed"},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false, 0, .summary = "accesses to the last cache"},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, 0, .summary = "misses of the last cache"},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, 0, .summary = "branches that were executed"},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, 0, .summary = "branches that were predicted wrongly"},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, 2900, .summary = "page faults, each or every Nth"},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, 2900, .summary = "page faults without I/O"},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, 2900, .summary = "page faults that read from a disk"},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, 3200, .summary = "threads that leave their CPU"},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false, 3200, .summary = "threads put on another CPU"},
	{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, false, 2900, .summary = "unaligned accesses, mended"},
	{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, false, 2900, .summary = "instructions, emulated"},
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

/* --- events of caches: CACHE-OPERATION-RESULT --- */
static const struct {
	const char *name;
	uint64_t number;
} caches[] = {
    {"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I}, {"LLC", PERF_COUNT_HW_CACHE_LL},
    {"dTLB", PERF_COUNT_HW_CACHE_DTLB},     {"iTLB", PERF_COUNT_HW_CACHE_ITLB},     {"branch", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE},
};

static const struct {
	const char *accesses, *misses;
	uint64_t number;
} operations[] = {
    {"loads", "load-misses", PERF_COUNT_HW_CACHE_OP_READ},
    {"stores", "store-misses", PERF_COUNT_HW_CACHE_OP_WRITE},
    {"prefetches", "prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH},
};

/* The i-th name with its number; false behind the last. */
static bool cache_event_at(size_t i, char ret_name[SP_EVENT_NAME], uint64_t *ret_config)
{
	size_t n = 2 * SP_COUNT(operations), cache = i / n, operation = i % n / 2;
	bool misses = i % 2;

	if (cache >= SP_COUNT(caches))
		return false;
	snprintf(ret_name, SP_EVENT_NAME, "%s-%s", caches[cache].name,
		 misses ? operations[operation].misses : operations[operation].accesses);
	*ret_config = caches[cache].number | operations[operation].number << 8 |
		      (uint64_t)(misses ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS) << 16;
	return true;
}

static bool cache_event_find(const char *name, uint64_t *ret_config)
{
	char each[SP_EVENT_NAME];

	for (size_t i = 0; cache_event_at(i, each, ret_config); i++)
		if (!strcmp(each, name))
			return true;
	return false;
}

static bool raw_event_take(struct sp_event *e, const char *name)
{
	char *end;

	if (*name != 'r' || !name[1] || name[1 + strspn(name + 1, "0123456789abcdefABCDEF")])
		return false;
	errno = 0;
	e->type = PERF_TYPE_RAW;
	e->config = strtoull(name + 1, &end, 16);
	return !errno;
}

/* --- any event --- */
/* The length of the name without ":u", ":k" or ":uk". */
static size_t mode_take(struct sp_event *e, const char *name)
{
	const char *colon = strrchr(name, ':');

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "uk")])
		return strlen(name);
	e->user_only = strchr(colon, 'u') && !strchr(colon, 'k');
	e->kernel_only = strchr(colon, 'k') && !strchr(colon, 'u');
	return (size_t)(colon - name);
}

bool sp_event_named(const char *name, struct sp_event *ret_event)
{
	struct sp_event e = {.name = name};
	const struct sp_event *known;
	char word[SP_EVENT_NAME];
	size_t n = name ? mode_take(&e, name) : 0;

	if (n >= sizeof(word) || (name && !n))
		return false;
	memcpy(word, name ? name : "", n);
	word[n] = '\0';
	known = sp_event_find(name ? word : NULL);
	if (known) {
		*ret_event = *known;
		ret_event->user_only = e.user_only;
		ret_event->kernel_only = e.kernel_only;
		if (name && name[n])
			ret_event->name = name;
		return true;
	}
	e.type = PERF_TYPE_HW_CACHE;
	if (!cache_event_find(word, &e.config) && !raw_event_take(&e, word))
		return false;
	*ret_event = e;
	return true;
}

void sp_event_suggest(struct sp_suggest *near, char nearest[SP_EVENT_NAME])
{
	char each[SP_EVENT_NAME];
	uint64_t unused;

	for (size_t i = 0; sp_event_at(i); i++)
		sp_suggest_offer(near, sp_event_at(i)->name);
	for (size_t i = 0; cache_event_at(i, each, &unused); i++) {
		sp_suggest_offer(near, each);
		if (near->best != each)
			continue;
		memcpy(nearest, each, sizeof(each));
		near->best = nearest;
	}
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
		struct sp_event event;

		if (!own || own->points[0].at != SP_AT_PERF || !sp_event_named(own->points[0].where, &event) ||
		    event.type != PERF_TYPE_SOFTWARE || event.is_clock || own->period)
			continue;
		own->period = 1;
		own->hit_ns = event.hit_ns;
	}
}
