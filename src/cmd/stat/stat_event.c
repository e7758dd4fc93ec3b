/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/stat/stat_event.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/text.h"
#include "capture/recipe_ops.h"
#include "recipe/events.h"
#include "recipe/tracepoint.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ID = 64, MAX_CACHE_NAME = 64 };

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
static bool cache_event_at(size_t i, char ret_name[MAX_CACHE_NAME], uint64_t *ret_config)
{
	size_t n = 2 * SP_COUNT(operations), cache = i / n, operation = i % n / 2;
	bool misses = i % 2;

	if (cache >= SP_COUNT(caches))
		return false;
	snprintf(ret_name, MAX_CACHE_NAME, "%s-%s", caches[cache].name,
		 misses ? operations[operation].misses : operations[operation].accesses);
	*ret_config = caches[cache].number | operations[operation].number << 8 |
		      (uint64_t)(misses ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS) << 16;
	return true;
}

static bool cache_event_find(const char *name, uint64_t *ret_config)
{
	char each[MAX_CACHE_NAME];

	for (size_t i = 0; cache_event_at(i, each, ret_config); i++)
		if (!strcmp(each, name))
			return true;
	return false;
}

/* --- tracepoints --- */
/* perf_event_open knows tracepoints by the number that tracefs tells. */
static int tracepoint_find(struct sp_stat_event *e, const char *name)
{
	const char *root = sp_tracepoints_root(), *colon = strchr(name, ':');
	SP_FREE char *path = NULL, *text = NULL;
	struct sp_recipe_point unused;
	int r = root ? sp_tracepoint_point(name, &unused)
		     : sp_fail(-errno, "count the tracepoint %s: read /sys/kernel/tracing/events", name);

	if (r < 0)
		return r;
	if (asprintf(&path, "%s/%.*s/%s/id", root, (int)(colon - name), name, colon + 1) < 0)
		return -ENOMEM;
	r = sp_text_read(path, MAX_ID, &text, NULL);
	if (r < 0)
		return r;
	e->type = PERF_TYPE_TRACEPOINT;
	e->config = strtoull(text, NULL, 10);
	return 0;
}

/* --- names --- */
/* Cuts ":u", ":k" or ":uk" off the name. */
static void modifiers_take(struct sp_stat_event *e, char *name)
{
	char *colon = strrchr(name, ':');

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "uk")])
		return;
	e->user_only = strchr(colon, 'u') && !strchr(colon, 'k');
	e->kernel_only = strchr(colon, 'k') && !strchr(colon, 'u');
	*colon = 0;
}

static int event_unknown(const char *name)
{
	struct sp_suggest near = {.word = name};
	char nearest[MAX_CACHE_NAME] = "", each[MAX_CACHE_NAME];
	uint64_t unused;

	for (size_t i = 0; sp_event_at(i); i++)
		sp_suggest_offer(&near, sp_event_at(i)->name);
	for (size_t i = 0; cache_event_at(i, each, &unused); i++) {
		sp_suggest_offer(&near, each);
		if (near.best != each)
			continue;
		memcpy(nearest, each, sizeof(each));
		near.best = nearest;
	}
	if (near.best)
		return sp_fail_said(-EINVAL, "unknown event '%s'; did you mean %s?", name, near.best);
	return sp_fail_said(
	    -EINVAL, "unknown event '%s'; soprof profile --list shows events, and a tracepoint is SYSTEM:EVENT", name);
}

static bool raw_event_take(struct sp_stat_event *e, const char *name)
{
	char *end;

	if (*name != 'r' || !name[1] || name[1 + strspn(name + 1, "0123456789abcdefABCDEF")])
		return false;
	errno = 0;
	e->type = PERF_TYPE_RAW;
	e->config = strtoull(name + 1, &end, 16);
	return !errno;
}

static int event_find(struct sp_stat_event *e, const char *name)
{
	const struct sp_event *event = *name ? sp_event_find(name) : NULL;

	if (event) {
		e->type = event->type;
		e->config = event->config;
		e->is_clock = event->is_clock;
		e->sampled = event->name;
		return 0;
	}
	e->type = PERF_TYPE_HW_CACHE;
	if (cache_event_find(name, &e->config) || raw_event_take(e, name))
		return 0;
	return strchr(name, ':') ? tracepoint_find(e, name) : event_unknown(name);
}

static int event_add(struct sp_stat_events *list, const char *given)
{
	SP_FREE char *name = strdup(given);
	struct sp_stat_event e = {0};
	int r;

	if (!name)
		return -ENOMEM;
	modifiers_take(&e, name);
	r = event_find(&e, name);
	if (r >= 0)
		r = sp_grow(&list->events, &list->capacity, list->n + 1, sizeof(*list->events));
	if (r < 0)
		return r;
	e.name = strdup(given);
	if (!e.name)
		return -ENOMEM;
	if (e.type == PERF_TYPE_TRACEPOINT)
		e.sampled = e.name;
	list->events[list->n++] = e;
	return 0;
}

int sp_stat_events_add(struct sp_stat_events *list, const char *names)
{
	SP_FREE char *copy = strdup(names);
	char *rest = copy, *name;
	int r = copy ? 0 : -ENOMEM;

	while (r >= 0 && (name = strsep(&rest, ",")))
		r = event_add(list, name);
	return r;
}

void sp_stat_events_done(struct sp_stat_events *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->events[i].name);
	free(list->events);
	*list = (struct sp_stat_events){0};
}
