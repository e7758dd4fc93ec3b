/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipe.h: the recipes: a few constant ones, in recipe.c, and those that are made from an event's name.
 *
 * A recipe is data (capture/recipe_ops.h). A set has the recipes that the user asked for by a list of names with commas
 * between: recipes, perf events (events.h), tracepoints as SYSTEM:EVENT (tracepoint.h) and functions as
 * LIBRARY:FUNCTION (probe.h), both with [FILTER] and {VALUE} (narrow.h). A set owns the recipes that were made for it,
 * and the words of the list. Errors are negative errnos with sp_error_text(); -EINVAL for an unknown name. Nothing here
 * prints.
 */
#ifndef SP_RECIPE_RECIPE_H
#define SP_RECIPE_RECIPE_H

#include "capture/recipe_ops.h"
#include "recipe/types.h"
#include <stddef.h>

struct sp_recipe_watch;

extern const struct sp_recipe sp_recipe_cpu;
extern const struct sp_ground sp_ground;

/* NULL after the last. */
const struct sp_recipe *sp_recipe_at(size_t i);
/* NULL = unknown. */
const struct sp_recipe *sp_recipe_find(const char *name);
bool sp_recipe_has(const struct sp_recipe *recipe, enum sp_at at);
sp_u32 sp_recipes_count(const struct sp_recipe *const *recipes);
bool sp_recipes_have_live(const struct sp_recipe *const *recipes);
bool sp_recipes_wait(const struct sp_recipe *const *recipes); /* whether any has events that last */
/*
 * Whether threads are stamped when they leave, and walked when they are back: where long waits only are asked for, and
 * the kernel tells of a thread's return in the thread itself (Linux 6.15).
 */
#define SP_RETURN_AT "sched_exit_tp" /* the raw tracepoint of SP_ROLE_RETURN */
bool sp_recipes_want_stamps(const struct sp_capture_options *o);
/* Adapts a point's role to how the session follows waits: by stamps, or by episodes. false: that way has no use for it.
 */
bool sp_role_choose(bool has_stamps, sp_u32 *role);
bool sp_recipe_has_front(const struct sp_recipe *recipe); /* at a tracepoint of either kind */

struct sp_recipe_set {
	const struct sp_recipe *recipes[SP_MAX_RECIPES + 1];
	size_t n;
	const char *event; /* of the cpu recipe; NULL = its default */
	struct sp_recipe *own[SP_MAX_RECIPES];
	char *words;
	struct sp_types types;         /* while the list is read */
	struct sp_recipe_watch *watch; /* of files that are mapped since functions were looked for; NULL: of none */
};
int sp_recipe_set_parse(const char *list, struct sp_recipe_set *ret_set);
void sp_recipe_set_done(struct sp_recipe_set *set);
/*
 * Each event of a software counter is taken, and not a sample at some frequency: the kernel's guess at the number of
 * events between two samples is far off where they come in bursts, as page faults do. The guard bounds what that costs.
 */
void sp_recipe_set_take_all(struct sp_recipe_set *set);
/* Which waits count, of a set's recipes whose events last. */
enum sp_wait_threads { SP_WAIT_USER /* as the recipes by themselves */, SP_WAIT_ALL, SP_WAIT_KERNEL };
struct sp_waits {
	enum sp_wait_threads threads;
	bool by_state;
	uint64_t state; /* bits of the task's state, of which it has one at least; 0: it is ready to run */
};
/* Changes the set's recipes; those of recipe.c stay. -EINVAL: this cannot be told of one of them. */
int sp_recipe_set_waits(struct sp_recipe_set *set, const struct sp_waits *waits);
/* Tells who ends waits, for all of the set whose events last. -EINVAL: there are none. */
int sp_recipe_set_wakers(struct sp_recipe_set *set);
/* The set's own copy of a recipe, in its place. NULL: out of memory. */
struct sp_recipe *sp_recipe_set_own(struct sp_recipe_set *set, size_t i);
/* Whether any of them samples at an interval. */
bool sp_recipe_set_has_rate(const struct sp_recipe_set *set);

/*
 * A tracepoint, a function of the kernel, or a place in a library or program, which the point refers to by `name`.
 * Where a probe's places are is looked for afterwards, by sp_recipe_probe_find().
 */
int sp_recipe_point_make(const char *name, struct sp_recipe_point *ret_point);

/* 0, or -EINVAL with a message that lists the known perf events. NULL is the default. */
int sp_recipe_event_check(const char *event);

#endif
