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

enum { MAX_ID = 64 };

/* --- tracepoints --- */
/* perf_event_open knows tracepoints by the number that tracefs tells. */
static int tracepoint_find(struct sp_stat_event *e, const char *name)
{
	const char *root = sp_tracepoints_root(), *colon = strchr(name, ':');
	SP_FREE char *path = NULL, *text = NULL;
	struct sp_recipe_point unused;
	int r = root ? sp_tracepoint_point(name, &unused) : -errno;

	if (r >= 0 && asprintf(&path, "%s/%.*s/%s/id", root, (int)(colon - name), name, colon + 1) < 0)
		return -ENOMEM;
	if (r >= 0)
		r = sp_text_read(path, MAX_ID, &text, NULL);
	if (r == -EACCES) {
		sp_error_clear();
		return sp_fail_said(r, "tracepoints, as %s, are told to root only; run it as root, with sudo", name);
	}
	if (r < 0)
		return root ? r : sp_fail(r, "count the tracepoint %s: read /sys/kernel/tracing/events", name);
	e->type = PERF_TYPE_TRACEPOINT;
	e->config = strtoull(text, NULL, 10);
	return 0;
}

/* --- names --- */
static int event_unknown(const char *name)
{
	struct sp_suggest near = {.word = name};
	char nearest[SP_EVENT_NAME];

	sp_event_suggest(&near, nearest);
	if (near.best)
		return sp_fail_said(-EINVAL, "unknown event '%s'; did you mean %s?", name, near.best);
	return sp_fail_said(
	    -EINVAL, "unknown event '%s'; soprof profile --list shows events, and a tracepoint is SYSTEM:EVENT", name);
}

static int event_find(struct sp_stat_event *e, const char *name)
{
	struct sp_event event;

	if (!sp_event_named(name, &event))
		return strchr(name, ':') ? tracepoint_find(e, name) : event_unknown(name);
	e->type = event.type;
	e->config = event.config;
	e->is_clock = event.is_clock;
	e->user_only = event.user_only;
	e->kernel_only = event.kernel_only;
	e->sampled = event.name == name ? e->name : event.name;
	return 0;
}

static int event_add(struct sp_stat_events *list, const char *name)
{
	struct sp_stat_event e = {.name = strdup(name)};
	int r = e.name ? event_find(&e, e.name) : -ENOMEM;

	if (r >= 0)
		r = sp_grow(&list->events, &list->capacity, list->n + 1, sizeof(*list->events));
	if (r < 0) {
		free(e.name);
		return r;
	}
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
