/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipe_ops.h: what a recipe is to the session that runs it (the recipes themselves are in src/recipe).
 *
 * A recipe is data: what to sample, where, and which values come of it. All recipes share one kernel half, the ground
 * (a BPF object built on src/bpf), which sends all samples in one form, (key, user stack, kernel stack, values), so
 * that stacks, filters, symbols, store and views work for every recipe. The session opens it, writes the common
 * configuration, loads it, calls attach, drains, and frees everything through `destroy`.
 * Functions return 0 or a negative errno with sp_error_text(). One session at a time owns a struct sp_recipe_object.
 */
#ifndef SP_CAPTURE_RECIPE_OPS_H
#define SP_CAPTURE_RECIPE_OPS_H

#include "bpf/wire.h"
#include "event/slot.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;
struct perf_event_attr;
struct sp_capture_options;
struct sp_recipe_probe;

enum { SP_MAX_RECIPES = 7, SP_MAX_POINTS = 7 }; /* of which the last is always empty */

struct sp_recipe_value {
	const char *name, *unit; /* "samples", "count" */
};

/* Where programs are attached. */
enum sp_at {
	SP_AT_NOTHING, /* behind the last */
	SP_AT_PERF,    /* a perf event on every CPU; without a name the session's, at its frequency or period */
	SP_AT_RAW,     /* a raw tracepoint */
	SP_AT_RECORD,  /* a classic tracepoint, whose program gets the record that tracefs describes */
	SP_AT_PROBE,   /* places in libraries and programs */
};
/* What its events are about, which a session may ask to be told (sp_capture_options.objects). */
enum sp_about { SP_ABOUT_NOTHING, SP_ABOUT_MEMORY, SP_ABOUT_LOCK };
struct sp_recipe_point {
	enum sp_at at;
	const char *where; /* the event's name */
	/*
	 * Of built-in recipes: what the event's arguments are, as C declares them, and expressions over them
	 * (recipe/row.h), of which the slot is made: which events are wanted, and its match, state, value and
	 * object.
	 */
	const char *arguments, *filter, *match, *state, *value, *object;
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
	 * What a count's n and weight are. The first is "samples" in every recipe, and recipes that are sampled
	 * together share it. The second is what the recipe is about.
	 */
	struct sp_recipe_value values[2];
	struct sp_recipe_point points[SP_MAX_POINTS];
	const char *without_bpf; /* the one perf event in place of several; NULL: there is but one */
	enum sp_about about;
	uint64_t period; /* default of a perf event with a name; 0 = sampled at the session's frequency */
	uint64_t min_ns; /* not 0: its events are threads' waits (episodes), matched by task; shorter ones do not count
			    by default */
	unsigned hit_ns, short_ns; /* what one costs, as in struct sp_event; a wait that --min leaves out, if stamped */
	unsigned trap_ns; /* what of a hit is spent on the way to the program, and back; 0: next to nothing */
	const struct sp_ground *ground;
};

struct sp_recipe_object {
	struct bpf_object *object;
	struct sp_config *config; /* written before the programs are loaded */
	void *private;
};

struct sp_recipe_shared {                       /* variables of the kernel half, mapped */
	volatile sp_u32 *drain;                 /* selects the table of counts; marks tables as used */
	volatile struct sp_slicing *slicing;    /* by which samples get their slices */
	volatile struct sp_check *check;        /* of the self-test */
	struct sp_kernel_name_ask *kernel_name; /* sp_capture_kernel_name() */
	volatile sp_u32 *last_process;          /* number of the last process record */
};

/* The kernel half that all recipes share; it attaches what a session's recipes (o->recipes) need. */
struct sp_ground {
	int (*open)(const struct sp_capture_options *o, struct sp_recipe_object *ret_object);
	/* Loads the programs. On failure: libbpf's negative errno. */
	int (*load)(struct sp_recipe_object *object, struct sp_recipe_shared *ret_shared);
	/* Begins sampling. */
	int (*attach)(struct sp_recipe_object *object, const struct sp_capture_options *o);
	/* Begins sampling on one CPU that has come, or come back; opens its event by the broker, if there is one. */
	int (*attach_cpu)(struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned cpu);
	/*
	 * Sets the rate in thousandths of a sample a second, for the events that are open and, in the options, for
	 * those opened later. For sessions with one recipe, on a perf event.
	 */
	int (*rate)(struct sp_recipe_object *object, struct sp_capture_options *o, uint64_t rate_millihertz);
	/* true: stops taking samples; false: resumes. */
	int (*pause)(struct sp_recipe_object *object, bool is_paused);
	/*
	 * Detaches one recipe, or attaches it again. If its events last, its programs that run have ended when it is
	 * detached.
	 */
	int (*set)(struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned recipe, bool is_on);
	/* How many hits a recipe's perf event has had. */
	uint64_t (*hits)(const struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned recipe);
	/* Counts the episodes that are open up to now, in a session that lasts (drain_ns). */
	int (*flush)(struct sp_recipe_object *object);
	/* A descriptor from which the threads are read that do not run (struct sp_message_blocked). */
	int (*threads)(struct sp_recipe_object *object, const struct sp_threads_asked *asked);
	/* No thread is stamped any more for this recipe. 1: some may have been, 0: not in this session. */
	int (*stamps_end)(struct sp_recipe_object *object, unsigned recipe);
	/* Ends sampling: no program is started any more. */
	void (*detach)(struct sp_recipe_object *object);
	void (*destroy)(struct sp_recipe_object *object);
	/* The descriptor of front i, a program that is not of the object; -1 behind the last. */
	int (*front)(const struct sp_recipe_object *object, size_t i, unsigned *ret_recipe);
	/* Describes a recipe's event, also for sampling without BPF: type, config, period or frequency. */
	int (*event)(const struct sp_recipe *recipe, const struct sp_capture_options *o,
		     struct perf_event_attr *ret_attr);
	/* What one sample of the first recipe stands for, for the profile's info: period and its unit. */
	void (*period)(const struct sp_capture_options *o, uint64_t *ret_period, const char **ret_type,
		       const char **ret_unit);
};

/* Episodes shorter than this do not count. asked: the user's value, 0 = none. */
static inline uint64_t sp_recipe_min_ns(const struct sp_recipe *recipe, uint64_t asked)
{
	return asked ? asked : recipe->min_ns;
}

/* Whether the recipe samples at an interval; whether it counts events, each or every so many. One may do both. */
bool sp_recipe_has_rate(const struct sp_recipe *recipe);
bool sp_recipe_counts(const struct sp_recipe *recipe);
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
