/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/tracepoint.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/text.h"
#include "capture/recipe_ops.h"
#include "recipe/events.h"
#include "recipe/x86_64/call.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_DYNAMIC = 16 << 20, MAX_NAME = 128, TRACEPOINT_MAX = 2 * NAME_MAX + 2 };

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
#include "syscalls.inc"
};

static int no_tracepoint(const char *name)
{
	return sp_fail_said(-EINVAL, "this kernel has no tracepoint %s", name);
}

/* --- system calls --- */
static struct sp_op load(sp_u8 dst, sp_u8 from, size_t offset)
{
	return (struct sp_op){.kind = SP_OP_LOAD, .dst = dst, .a = from, .size = 8, .imm = offset};
}

/* sys_enter and sys_exit both have the saved registers as first argument. */
static void call_slot(unsigned number, struct sp_front_slot *slot)
{
	const struct sp_op ops[] = {
	    {.kind = SP_OP_ARGUMENT, .dst = 0},
	    load(1, 0, SP_CALL_NUMBER_AT),
	    {.kind = SP_OP_EQ, .dst = 1, .a = 1, .b = SP_OP_IMM, .imm = number},
	    {.kind = SP_OP_NEED, .a = 1},
	    load(1, 0, SP_CALL_MODE_AT),
	    {.kind = SP_OP_EQ, .dst = 1, .a = 1, .b = SP_OP_IMM, .imm = SP_CALL_MODE},
	    {.kind = SP_OP_NEED, .a = 1},
	};

	memcpy(slot->ops, ops, sizeof(ops));
	slot->n_arguments = 1;
}

static int call_point(const char *name, struct sp_recipe_point *point)
{
	const char *call = strchr(name, ':') + 1;

	if (!strncmp(call, "sys_enter_", 10))
		point->where = "sys_enter";
	else if (!strncmp(call, "sys_exit_", 9))
		point->where = "sys_exit";
	else
		return no_tracepoint(name);
	call = strchr(call + 4, '_') + 1;
	for (size_t i = 0; i < SP_COUNT(calls); i++)
		if (!strcmp(calls[i].name, call)) {
			call_slot(calls[i].number, &point->slot);
			return 0;
		}
	return no_tracepoint(name);
}

const char *sp_call_name(unsigned long long number)
{
	for (size_t i = 0; i < SP_COUNT(calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

/* --- all tracepoints --- */
static bool is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != '-')
			return false;
	return n && n < MAX_NAME;
}

const char *sp_tracepoints_root(void)
{
	static const char *const roots[] = {"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"};
	int why = 0;

	for (size_t i = 0; i < SP_COUNT(roots); i++) {
		if (!access(roots[i], R_OK | X_OK))
			return roots[i];
		why = why ? why : errno;
	}
	errno = why;
	return NULL;
}

/* Whether tracefs has no such tracepoint. Where it cannot be read, attaching will tell. */
static bool is_absent(const char *root, const char *name, int n_system, const char *event)
{
	char path[sizeof("/sys/kernel/debug/tracing/events") + 2 * MAX_NAME + 2];

	if (!root)
		return false;
	snprintf(path, sizeof(path), "%s/%.*s/%s", root, n_system, name, event);
	return access(path, F_OK) && errno == ENOENT;
}

/* best: keeps the name of the nearest one. */
static void group_offer(const char *root, const char *group, struct sp_suggest *near, char *best)
{
	char path[sizeof("/sys/kernel/debug/tracing/events") + NAME_MAX + 2], name[TRACEPOINT_MAX];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s", root, group);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s:%s", group, e->d_name);
		sp_suggest_offer(near, name);
		if (near->best != name)
			continue;
		memcpy(best, name, sizeof(name));
		near->best = best;
	}
	if (d)
		closedir(d);
}

static int absent(const char *root, const char *name)
{
	struct sp_suggest near = {.word = name};
	char best[TRACEPOINT_MAX];
	DIR *d = opendir(root);
	struct dirent *e;

	for (size_t i = 0; sp_event_at(i); i++) /* "cycles:u", as for perf */
		if (!strncmp(sp_event_at(i)->name, name, strcspn(name, ":")))
			sp_suggest_offer(&near, sp_event_at(i)->name);
	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			group_offer(root, e->d_name, &near, best);
	if (d)
		closedir(d);
	if (near.best)
		return sp_fail_said(-EINVAL, "this kernel has no tracepoint %s; did you mean %s?", name, near.best);
	return no_tracepoint(name);
}

/* --- the list of them --- */
struct listing {
	const char *root;
	char *dynamic; /* probes that look like tracepoints, a line each: "p:GROUP/NAME ..."; NULL: none */
	void (*each)(void *arg, const char *name);
	void *arg;
};

static bool is_dynamic(const struct listing *l, const char *group, const char *event)
{
	char words[TRACEPOINT_MAX + 2];

	snprintf(words, sizeof(words), ":%s/%s ", group, event);
	return l->dynamic && strstr(l->dynamic, words);
}

/* Only what can be switched on is a tracepoint, and single system calls must be known by their number. */
static bool is_tracepoint(const struct listing *l, const char *group, const char *event, const char *name)
{
	char path[sizeof("/sys/kernel/debug/tracing/events") + 2 * NAME_MAX + sizeof("//enable")];
	struct sp_recipe_point point;

	snprintf(path, sizeof(path), "%s/%s/%s/enable", l->root, group, event);
	if (access(path, F_OK) || is_dynamic(l, group, event) || !is_name(event, strlen(event)))
		return false;
	return strcmp(group, "syscalls") != 0 || !call_point(name, &point);
}

static int is_entry(const struct dirent *e)
{
	return e->d_type == DT_DIR && e->d_name[0] != '.';
}

static void group_list(const struct listing *l, const char *group)
{
	char path[sizeof("/sys/kernel/debug/tracing/events") + NAME_MAX + 2], name[TRACEPOINT_MAX];
	struct dirent **events = NULL;
	int n;

	snprintf(path, sizeof(path), "%s/%s", l->root, group);
	n = scandir(path, &events, is_entry, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s:%s", group, events[i]->d_name);
		if (is_tracepoint(l, group, events[i]->d_name, name))
			l->each(l->arg, name);
		free(events[i]);
	}
	free(events);
}

int sp_tracepoints_each(void (*each)(void *arg, const char *name), void *arg)
{
	struct listing l = {.root = sp_tracepoints_root(), .each = each, .arg = arg};
	char path[sizeof("/sys/kernel/debug/tracing/events/../dynamic_events")];
	struct dirent **groups = NULL;
	int n;

	if (!l.root)
		return sp_fail(-errno, "read /sys/kernel/tracing/events");
	snprintf(path, sizeof(path), "%s/../dynamic_events", l.root);
	sp_text_read(path, MAX_DYNAMIC, &l.dynamic, NULL);
	n = scandir(l.root, &groups, is_entry, alphasort);
	for (int i = 0; i < n; i++) {
		if (is_name(groups[i]->d_name, strlen(groups[i]->d_name)))
			group_list(&l, groups[i]->d_name);
		free(groups[i]);
	}
	sp_error_clear(); /* of what is none */
	free(groups);
	free(l.dynamic);
	return n < 0 ? sp_fail(-EIO, "read %s", l.root) : 0;
}

int sp_tracepoint_point(const char *name, struct sp_recipe_point *ret_point)
{
	const char *colon = strchr(name, ':'), *event = colon + 1, *root = sp_tracepoints_root();
	size_t n_system = (size_t)(colon - name);
	bool is_raw;

	if (!is_name(name, n_system) || !is_name(event, strlen(event)))
		return sp_fail_said(-EINVAL, "'%s' is no tracepoint: SYSTEM:EVENT", name);
	is_raw = n_system == strlen("raw") && !strncmp(name, "raw", n_system);
	if (!is_raw && is_absent(root, name, (int)n_system, event))
		return absent(root, name);
	*ret_point = (struct sp_recipe_point){
	    .at = SP_AT_RAW,
	    .where = event,
	    .slot = {.role = SP_ROLE_EVENT,
		     .flags = SP_SLOT_USER | SP_SLOT_KERNEL,
		     .value = SP_NO_REG,
		     .match = SP_NO_REG,
		     .state = SP_NO_REG,
		     .times = SP_NO_REG},
	};
	return n_system == strlen("syscalls") && !strncmp(name, "syscalls", n_system) ? call_point(name, ret_point) : 0;
}

/* --- the nearest one --- */
struct namesake {
	struct sp_suggest near;
	char *found;
	size_t size;
};

static void namesake_take(void *arg, const char *tracepoint)
{
	struct namesake *same = arg;
	const char *event = strchr(tracepoint, ':') + 1;

	sp_suggest_offer(&same->near, event);
	if (same->near.best == event)
		snprintf(same->found, same->size, "%s", tracepoint);
	same->near.best = *same->found ? same->found : NULL;
}

bool sp_tracepoints_nearest(const char *event, bool exactly, char *ret_name, size_t size)
{
	struct namesake same = {.near.word = event, .found = ret_name, .size = size};

	*ret_name = '\0';
	if (sp_tracepoints_each(namesake_take, &same) < 0)
		sp_error_clear();
	return same.near.best && (!exactly || !same.near.distance);
}
