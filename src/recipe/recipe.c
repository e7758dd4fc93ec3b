/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "capture/capture.h"
#include "recipe/events.h"
#include "recipe/narrow.h"
#include "recipe/tracepoint.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

const struct sp_recipe sp_recipe_cpu = {
    .name = "cpu",
    .title = "CPU time",
    .summary = "stacks of threads running on a CPU, at a timed interval",
    .values = {{"samples", "count"}, {"cpu", "nanoseconds"}},
    .points = {{.at = SP_AT_PERF}},
    .hit_ns = 11000,
    .ground = &sp_ground,
};

static const struct sp_recipe faults = {
    .name = "faults",
    .title = "Page faults",
    .summary = "each page fault, by the stack that met it and by what was touched",
    .values = {{"samples", "count"}, {"faults", "count"}},
    .points = {{.at = SP_AT_PERF, .where = "minor-faults", .cookie = SP_COOKIE_MEMORY},
	       {.at = SP_AT_PERF, .where = "major-faults", .cookie = SP_COOKIE_MEMORY | SP_COOKIE_MAJOR}},
    .without_bpf = "page-faults",
    .about = SP_ABOUT_MEMORY,
    .period = 1,
    .hit_ns = 2900,
    .ground = &sp_ground,
};

enum { TASK_BITS = 0xf, TASK_DEAD = 0x80 };

/*
 * sched_switch(preempt, prev, next, prev_state) runs in the thread that stops: here its wait begins, and that of the
 * next thread ends. A thread is known by the address of its task. A dying one begins no wait.
 */
#define WAIT_BEGINS                                                                                                    \
	{.kind = SP_OP_BUILTIN, .dst = 0, .imm = SP_BUILTIN_TID}, {.kind = SP_OP_NEED, .a = 0}, /* no idle threads */  \
	    {.kind = SP_OP_ARGUMENT, .dst = 2, .imm = 3},                                                              \
	    {.kind = SP_OP_AND, .dst = 0, .a = 2, .b = SP_OP_IMM, .imm = TASK_DEAD},                                   \
	    {.kind = SP_OP_EQ, .dst = 0, .a = 0, .b = SP_OP_IMM, .imm = 0}, {.kind = SP_OP_NEED, .a = 0},              \
	    {.kind = SP_OP_ARGUMENT, .dst = 0, .imm = 0}, /* preempt */                                                \
	    {.kind = SP_OP_ZERO_EXTEND, .dst = 0, .a = 0, .size = 8},                                                  \
	    {.kind = SP_OP_EQ, .dst = 0, .a = 0, .b = SP_OP_IMM, .imm = 0},                                            \
	    {.kind = SP_OP_AND, .dst = 2, .a = 2, .b = SP_OP_IMM, .imm = TASK_BITS},                                   \
	    {.kind = SP_OP_MUL, .dst = 2, .a = 2, .b = 0},                                                             \
	{                                                                                                              \
		.kind = SP_OP_ARGUMENT, .dst = 1, .imm = 1                                                             \
	}

#define WAIT_BEGIN_SLOT .role = SP_ROLE_BEGIN, .n_arguments = 4, .match = 1, .state = 2, .value = SP_NO_REG

/*
 * The kernel runs our programs in the order of the points: this one goes first, so that the thread that goes on does
 * not seem to wait while the other's stack is walked.
 */
#define WAIT_END                                                                                                       \
	{                                                                                                              \
		.at = SP_AT_RAW, .where = "sched_switch", .slot = {                                                    \
			.role = SP_ROLE_END,                                                                           \
			.n_arguments = 3,                                                                              \
			.match = 1,                                                                                    \
			.state = SP_NO_REG,                                                                            \
			.value = SP_NO_REG,                                                                            \
			.ops = {{.kind = SP_OP_ARGUMENT, .dst = 1, .imm = 2}}                                          \
		}                                                                                                      \
	}

/* sched_process_exit(p) runs in a thread that ends. Since it runs, the end of a wait that is still open was missed. */
#define WAIT_FORGET(f)                                                                                                 \
	{                                                                                                              \
		.at = SP_AT_RAW, .where = "sched_process_exit", .slot = {                                              \
			.role = SP_ROLE_FORGET,                                                                        \
			.flags = (f),                                                                                  \
			.n_arguments = 1,                                                                              \
			.match = 1,                                                                                    \
			.state = SP_NO_REG,                                                                            \
			.value = SP_NO_REG,                                                                            \
			.ops = {{.kind = SP_OP_ARGUMENT, .dst = 1}}                                                    \
		}                                                                                                      \
	}

#define ALL_WAITS                                                                                                      \
	WAIT_END,                                                                                                      \
	    {.at = SP_AT_RAW,                                                                                          \
	     .where = "sched_switch",                                                                                  \
	     .slot = {WAIT_BEGIN_SLOT,                                                                                 \
		      .flags = SP_SLOT_USER | SP_SLOT_KERNEL | SP_SLOT_NO_KTHREAD | SP_SLOT_ALL_WAITS,                 \
		      .ops = {WAIT_BEGINS}}},                                                                          \
	    WAIT_FORGET(SP_SLOT_ALL_WAITS)

static const struct sp_recipe offcpu = {
    .name = "offcpu",
    .title = "Off-CPU time",
    .summary = "how long threads did not run, by the stack that they stopped in",
    .values = {{"samples", "count"}, {"offcpu", "nanoseconds"}},
    .points = {ALL_WAITS},
    .min_ns = 1000,
    .hit_ns = 2000,
    .ground = &sp_ground,
};

static const struct sp_recipe wall = {
    .name = "wall",
    .title = "Wall-clock time",
    .summary = "what threads do with their time: cpu and offcpu as one value",
    .values = {{"samples", "count"}, {"wall", "nanoseconds"}},
    .points = {{.at = SP_AT_PERF}, ALL_WAITS},
    .min_ns = 1000,
    .hit_ns = 2000,
    .ground = &sp_ground,
};

/* A bit for each command of futex(2) that waits: WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2. */
#define FUTEX_WAITS (1 << 0 | 1 << 6 | 1 << 9 | 1 << 11 | 1 << 13)

/* The system call is read from the registers that the thread saved, so that other calls cost nothing. */
static const struct sp_recipe locks = {
    .name = "locks",
    .title = "Waiting for locks",
    .summary = "how long threads waited for each other: mutexes, condition variables and the like, all of futex(2)",
    .values = {{"samples", "count"}, {"locks", "nanoseconds"}},
    .points = {WAIT_END,
	       {.at = SP_AT_RAW,
		.where = "sched_switch",
		.slot = {WAIT_BEGIN_SLOT,
			 .flags =
			     SP_SLOT_USER | SP_SLOT_KERNEL | SP_SLOT_NO_KTHREAD | SP_SLOT_NO_EXITING | SP_SLOT_LOCK,
			 .object = 4,
			 .ops = {{.kind = SP_OP_BUILTIN, .dst = 0, .imm = SP_BUILTIN_CALL},
				 {.kind = SP_OP_EQ, .dst = 0, .a = 0, .b = SP_OP_IMM, .imm = SYS_futex},
				 {.kind = SP_OP_NEED, .a = 0},
				 {.kind = SP_OP_BUILTIN, .dst = 0, .imm = SP_BUILTIN_CALL_ARGUMENT + 1},
				 {.kind = SP_OP_AND, .dst = 0, .a = 0, .b = SP_OP_IMM, .imm = 127},
				 {.kind = SP_OP_SET, .dst = 3, .imm = FUTEX_WAITS},
				 {.kind = SP_OP_SHR, .dst = 0, .a = 3, .b = 0},
				 {.kind = SP_OP_AND, .dst = 0, .a = 0, .b = SP_OP_IMM, .imm = 1},
				 {.kind = SP_OP_NEED, .a = 0},
				 WAIT_BEGINS,
				 {.kind = SP_OP_BUILTIN, .dst = 4, .imm = SP_BUILTIN_CALL_ARGUMENT},
				 {.kind = SP_OP_NEED, .a = 2}}}}, /* not preempted on the way in or out */
	       WAIT_FORGET(0)},
    .about = SP_ABOUT_LOCK,
    .min_ns = 1000,
    .hit_ns = 5800,
    .ground = &sp_ground,
};

static const struct sp_recipe *const all[] = {&sp_recipe_cpu, &offcpu, &wall, &locks, &faults};

const struct sp_recipe *sp_recipe_at(size_t i)
{
	return i < SP_COUNT(all) ? all[i] : NULL;
}

const struct sp_recipe *sp_recipe_find(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(all); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

bool sp_recipe_has_front(const struct sp_recipe *recipe)
{
	return sp_recipe_has(recipe, SP_AT_RAW) || sp_recipe_has(recipe, SP_AT_RECORD);
}

bool sp_recipe_has(const struct sp_recipe *recipe, enum sp_at at)
{
	for (size_t i = 0; i < SP_MAX_POINTS && recipe->points[i].at; i++)
		if (recipe->points[i].at == at)
			return true;
	return false;
}

bool sp_recipe_counts(const struct sp_recipe *recipe)
{
	return recipe->period || !sp_recipe_has(recipe, SP_AT_PERF) || sp_recipe_has_front(recipe);
}

bool sp_recipe_has_rate(const struct sp_recipe *recipe)
{
	return sp_recipe_has(recipe, SP_AT_PERF) && !recipe->period;
}

/* --- sets --- */
/* Makes a recipe that the set owns, with so many bytes behind it; its value has the event's name. */
static struct sp_recipe *own_new(struct sp_recipe_set *set, const char *name, size_t more)
{
	struct sp_recipe *own = calloc(1, sizeof(*own) + more);

	if (!own)
		return NULL;
	set->own[set->n] = own;
	own->name = own->title = own->values[1].name = name;
	own->values[0] = sp_recipe_cpu.values[0];
	own->values[1].unit = "count";
	own->ground = &sp_ground;
	return own;
}

/* The error for an unknown name: suggests the nearest name, or, if none is near, lists all. */
static int unknown(const char *name)
{
	struct sp_suggest near = {.word = name};
	char list[256] = "";
	size_t n = 0;

	for (size_t i = 0; sp_recipe_at(i) && n < sizeof(list); i++) {
		sp_suggest_offer(&near, sp_recipe_at(i)->name);
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s, ", sp_recipe_at(i)->name);
	}
	for (size_t i = 0; sp_event_at(i) && n < sizeof(list); i++) {
		sp_suggest_offer(&near, sp_event_at(i)->name);
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s, ", sp_event_at(i)->name);
	}
	if (near.best)
		return sp_fail_said(-EINVAL, "there is no event '%s'; did you mean %s?", name, near.best);
	return sp_fail_said(-EINVAL, "there is no event '%s'; there are %sand tracepoints, SYSTEM:EVENT", name, list);
}

/* SYSTEM:EVENT[FILTER]{VALUE}. Behind the recipe are the tracepoint's name and the value's, which is the expression. */
static int narrowed_make(struct sp_recipe_set *set, const char *event, const struct sp_recipe **ret_recipe)
{
	struct sp_narrowing narrowing;
	struct sp_recipe *own;
	char *name, *value;
	int r = sp_narrowing_split(event, &narrowing);

	if (r < 0)
		return r;
	own = own_new(set, event, narrowing.n_name + narrowing.n_value + 2);
	if (!own)
		return -ENOMEM;
	name = (char *)(own + 1);
	memcpy(name, event, narrowing.n_name);
	value = name + narrowing.n_name + 1;
	memcpy(value, event + narrowing.value, narrowing.n_value);
	if (!strchr(name, ':'))
		return sp_fail_at(-EINVAL, event, narrowing.n_name, "only tracepoints, SYSTEM:EVENT, have fields");
	r = sp_tracepoint_point(name, &own->points[0]);
	if (!r)
		r = sp_narrowing_apply(event, name, &narrowing, &own->points[0], &own->values[1].unit);
	if (narrowing.n_value)
		own->values[1].name = value;
	*ret_recipe = own;
	return r;
}

static int named_make(struct sp_recipe_set *set, const char *name, const struct sp_recipe **ret_recipe)
{
	const struct sp_event *event = sp_event_find(name);
	struct sp_recipe *own;
	int r = 0;

	*ret_recipe = sp_recipe_find(name);
	if (*ret_recipe)
		return 0;
	if (event && event->is_clock) {
		set->event = event->name;
		*ret_recipe = &sp_recipe_cpu;
		return 0;
	}
	if (strpbrk(name, "[{"))
		return narrowed_make(set, name, ret_recipe);
	if (!event && !strchr(name, ':'))
		return unknown(name);
	own = own_new(set, name, 0);
	if (!own)
		return -ENOMEM;
	if (event)
		own->points[0] = (struct sp_recipe_point){.at = SP_AT_PERF, .where = name};
	else
		r = sp_tracepoint_point(name, &own->points[0]);
	*ret_recipe = own;
	return r;
}

/* wall has in it what cpu and offcpu are. */
static bool is_part_of(const struct sp_recipe *part, const struct sp_recipe *whole)
{
	return whole == &wall && (part == &sp_recipe_cpu || part == &offcpu);
}

static int set_check(const struct sp_recipe *a, const struct sp_recipe *b, const char *name)
{
	if (is_part_of(a, b) || is_part_of(b, a))
		return sp_fail_said(-EINVAL, "wall is cpu and offcpu as one value: it goes without them");
	if (strcmp(a->name, b->name))
		return 0;
	if (a == &sp_recipe_cpu)
		return sp_fail_said(-EINVAL, "cpu, cpu-clock, task-clock: one of them, once");
	return sp_fail_said(-EINVAL, "%s is there twice", name);
}

static int set_add(struct sp_recipe_set *set, const char *name)
{
	const struct sp_recipe *recipe;
	int r;

	if (set->n == SP_MAX_RECIPES)
		return sp_fail_said(-EINVAL, "more than %d events", SP_MAX_RECIPES);
	r = named_make(set, name, &recipe);
	if (r < 0)
		return r;
	for (size_t i = 0; i < set->n && r >= 0; i++)
		r = set_check(recipe, set->recipes[i], name);
	if (r < 0)
		return r;
	for (size_t i = 0; i < set->n; i++) /* two may have a value of one name; then it is the whole event's */
		if (set->own[set->n] && !strcmp(set->recipes[i]->values[1].name, recipe->values[1].name))
			set->own[set->n]->values[1].name = set->own[set->n]->name;
	set->recipes[set->n++] = recipe;
	return 0;
}

int sp_recipe_set_parse(const char *list, struct sp_recipe_set *ret_set)
{
	char *word;
	size_t n = 0;
	bool more = true;
	int r = 0;

	*ret_set = (struct sp_recipe_set){.words = strdup(list)};
	if (!ret_set->words)
		return -ENOMEM;
	for (word = ret_set->words; !r && more; word += n + 1) {
		n = sp_narrowing_length(word);
		more = word[n] != '\0';
		word[n] = '\0';
		r = set_add(ret_set, word);
	}
	if (r < 0)
		sp_recipe_set_done(ret_set);
	return r;
}

void sp_recipe_set_done(struct sp_recipe_set *set)
{
	for (size_t i = 0; i < SP_MAX_RECIPES; i++)
		free(set->own[i]);
	free(set->words);
	*set = (struct sp_recipe_set){0};
}

/* Ops behind those of WAIT_BEGINS, which leave in r0 whether the thread stops by itself. Preempted, it has no state. */
static int state_ops_add(struct sp_front_slot *slot, uint64_t state)
{
	const struct sp_op ops[] = {
	    {.kind = SP_OP_ARGUMENT, .dst = 3, .imm = 3},
	    {.kind = SP_OP_MUL, .dst = 3, .a = 3, .b = 0},
	    {.kind = state ? SP_OP_AND : SP_OP_EQ, .dst = 3, .a = 3, .b = SP_OP_IMM, .imm = state},
	    {.kind = SP_OP_NEED, .a = 3},
	};
	size_t n = 0;

	while (n < SP_N_OPS && slot->ops[n].kind != SP_OP_END)
		n++;
	if (n + SP_COUNT(ops) > SP_N_OPS)
		return sp_fail_said(-EINVAL, "states are not for this event");
	memcpy(slot->ops + n, ops, sizeof(ops));
	return 0;
}

static int wait_narrow(struct sp_front_slot *slot, const struct sp_waits *waits)
{
	if (waits->by_state)
		slot->flags &= ~(sp_u32)SP_SLOT_ALL_WAITS;
	if (slot->role != SP_ROLE_BEGIN)
		return 0;
	if (waits->threads != SP_WAIT_USER)
		slot->flags &= ~(sp_u32)SP_SLOT_NO_KTHREAD;
	if (waits->threads == SP_WAIT_KERNEL)
		slot->flags |= SP_SLOT_KTHREAD;
	return waits->by_state ? state_ops_add(slot, waits->state) : 0;
}

int sp_recipe_set_waits(struct sp_recipe_set *set, const struct sp_waits *waits)
{
	int r = 0;

	for (size_t i = 0; i < set->n && !r; i++) {
		if (!set->recipes[i]->min_ns)
			continue;
		if (!set->own[i])
			set->own[i] = malloc(sizeof(*set->own[i]));
		if (!set->own[i])
			return -ENOMEM;
		*set->own[i] = *set->recipes[i];
		set->recipes[i] = set->own[i];
		for (size_t k = 0; k < SP_MAX_POINTS && set->own[i]->points[k].at && !r; k++)
			r = wait_narrow(&set->own[i]->points[k].slot, waits);
	}
	return r;
}

bool sp_recipe_set_has_rate(const struct sp_recipe_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (sp_recipe_has_rate(set->recipes[i]))
			return true;
	return false;
}

bool sp_guard_is_wanted(const struct sp_capture_options *o)
{
	for (size_t i = 0; o->max_overhead_percent && o->recipes[i]; i++)
		if (sp_recipe_counts(o->recipes[i]))
			return true;
	return false;
}

bool sp_recipes_nest(const struct sp_recipe *const *recipes)
{
	return recipes[1] || sp_recipe_has_front(recipes[0]);
}
