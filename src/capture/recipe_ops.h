/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipe_ops.h: what a recipe is to the session that runs it (the recipes themselves are in src/recipe).
 *
 * A recipe is data: what to sample, where, and which values come of it. All recipes share one kernel half, the ground
 * (a BPF object built on src/bpf; ground_ops.h), which sends all samples in one form, (key, user stack, kernel stack,
 * values), so that stacks, filters, symbols, store and views work for every recipe. The session opens it, writes the
 * common configuration, loads it, calls attach, drains, and frees everything through `destroy`. Functions return 0 or a
 * negative errno with sp_error_text(). One session at a time owns a struct sp_recipe_object.
 */
#ifndef SP_CAPTURE_RECIPE_OPS_H
#define SP_CAPTURE_RECIPE_OPS_H

#include "bpf/wire.h"
#include "capture/ground_ops.h"
#include "event/slot.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_capture_options;
struct sp_recipe_probe;

enum { SP_MAX_RECIPES = 7, SP_MAX_POINTS = 15 }; /* of which the last is always empty */

struct sp_recipe_value {
	const char *name, *unit; /* "samples", "count" */
};

/* Where programs are attached. */
enum sp_at {
	SP_AT_NOTHING, /* after the last */
	SP_AT_PERF,    /* a perf event on every CPU; without a name the session's, at its frequency or period */
	SP_AT_RAW,     /* a raw tracepoint */
	SP_AT_RECORD,  /* a classic tracepoint, whose program gets the record that tracefs describes */
	SP_AT_PROBE,   /* places in libraries and programs */
	SP_AT_KPROBE,  /* where a function of the kernel begins, and where it returns */
	SP_AT_KRETPROBE,
};
/* What its events are about, which a session may ask to be told (sp_capture_options.objects). */
enum sp_about { SP_ABOUT_NOTHING, SP_ABOUT_MEMORY, SP_ABOUT_LOCK };
struct sp_recipe_point {
	enum sp_at at;
	const char *where; /* the event's name; NULL: of fronts that are not the session's (sp_ground_maps()) */
	/*
	 * Of built-in recipes: what the event's arguments are, as C declares them, and expressions over them
	 * (recipe/recipe_point.h), of which the slot is made: which events are wanted, and its match, state, value,
	 * times and object.
	 */
	const char *arguments, *filter, *match, *state, *value, *times, *object;
	uint32_t id;                   /* SP_AT_RECORD: by which perf_event_open knows it */
	struct sp_recipe_probe *probe; /* SP_AT_PROBE: which (recipe/probe.h); the set's */
	uint32_t cookie;               /* SP_AT_PERF: SP_COOKIE_MEMORY and the like, where objects are asked for */
	struct sp_front_slot slot;     /* what the front does; the session fills in the recipe's number */
};

struct sp_recipe {
	const char *name;
	const char *title;   /* title of a view: what the second value is */
	const char *summary; /* in a list, of 39 columns at most */
	/*
	 * What a count's n and weight are. The first is "samples", which all recipes of a session share, except those
	 * with is_live. The second is what the recipe is about.
	 */
	struct sp_recipe_value values[2];
	struct sp_recipe_point points[SP_MAX_POINTS];
	const char *without_bpf; /* the one perf event in place of several; NULL: there is but one */
	enum sp_about about;
	uint64_t period; /* default of a perf event with a name; 0 = sampled at the session's frequency */
	uint64_t min_ns; /* not 0: its events are threads' waits (episodes), matched by task; shorter ones do not count
			    by default */
	bool is_live;    /* counts what was not freed yet; the next recipe, without points, counts all allocations */
	unsigned hit_ns, short_ns; /* what one costs, as in struct sp_event; a wait that --min leaves out, if stamped */
	unsigned trap_ns;          /* what of a hit is spent on the way to the program, and back; 0: next to nothing */
	const struct sp_ground *ground;
};

/* Episodes shorter than this do not count. asked: the user's value, 0 = none. */
static inline uint64_t sp_recipe_min_ns(const struct sp_recipe *recipe, uint64_t asked)
{
	return asked ? asked : recipe->min_ns;
}

/* Whether the recipe samples at an interval; whether it counts events, each or every so many. One may do both. */
bool sp_recipe_has_rate(const struct sp_recipe *recipe);
bool sp_recipe_counts(const struct sp_recipe *recipe);
bool sp_recipe_is_guarded(const struct sp_recipe *recipe);
/* Whether any of them is guarded (capture/guard.h): counts events, and there is a budget. */
bool sp_guard_is_wanted(const struct sp_capture_options *o);
/* Whether a session of these has programs that may interrupt each other; whether all of its events are of a clock. */
bool sp_recipes_nest(const struct sp_recipe *const *recipes);
bool sp_recipes_are_clocks(const struct sp_capture_options *o);

/*
 * The error of an event that could not be opened, with or without BPF: r, or -EOPNOTSUPP where the machine has no such
 * event. NULL: the default event.
 */
int sp_event_refused(int r, const char *event, unsigned cpu);

#endif
