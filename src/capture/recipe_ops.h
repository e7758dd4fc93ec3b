/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipe_ops.h: what a recipe is to the session that runs it (the recipes themselves are in src/recipe).
 *
 * A recipe says what to sample: its kernel half (one BPF object built on src/bpf) sends records of one form, (key, user
 * stack, kernel stack, values), so filters, names, store and views need no change. The walk itself (sp_sample()) is
 * still in cpu.bpf.c, and takes a perf event's context. The session opens it, writes the common configuration, loads
 * it, calls attach, drains, and frees everything through `destroy`.
 * Functions return 0 or a negative errno with sp_error_text(). One session at a time owns a struct sp_recipe_object.
 */
#ifndef SP_CAPTURE_RECIPE_OPS_H
#define SP_CAPTURE_RECIPE_OPS_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;
struct perf_event_attr;
struct sp_capture_options;

struct sp_recipe_value {
	const char *name, *unit; /* "samples", "count" */
};

struct sp_recipe_object {
	struct bpf_object *object;
	struct sp_config *config; /* to be written before loading */
	void *private;
};

struct sp_recipe_shared {                    /* variables of the kernel half, mapped */
	volatile sp_u32 *window;             /* picks the table of counts, stamps the use of unwind tables */
	volatile struct sp_slicing *slicing; /* what time a row is of */
	volatile struct sp_check *check;     /* of the self-test */
	volatile sp_u32 *last_process;       /* the last number that a process record was given */
};

struct sp_recipe {
	const char *name;
	const char *summary;
	struct sp_recipe_value values[2]; /* of a count's n and weight */
	int (*open)(const struct sp_capture_options *o, struct sp_recipe_object *ret_object);
	/* Loads the programs; libbpf's negative errno. */
	int (*load)(struct sp_recipe_object *object, struct sp_recipe_shared *ret_shared);
	/* Begins sampling. */
	int (*attach)(struct sp_recipe_object *object, const struct sp_capture_options *o);
	/* The same on one CPU that has come, or come back; with the broker, if there is one. */
	int (*attach_cpu)(struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned cpu);
	/*
	 * Sets the rate, in thousandths of a sample a second: of the events that are open and, in the options, of those
	 * that come.
	 */
	int (*rate)(struct sp_recipe_object *object, struct sp_capture_options *o, uint64_t rate_millihertz);
	/* true: stops taking samples; false: resumes. */
	int (*pause)(struct sp_recipe_object *object, bool is_paused);
	/* Ends sampling: after it no program begins any more. */
	void (*detach)(struct sp_recipe_object *object);
	void (*destroy)(struct sp_recipe_object *object);
	/*
	 * The event that it samples on, for sampling without BPF: type, config, period or frequency. NULL: this recipe
	 * needs BPF.
	 */
	int (*event)(const struct sp_capture_options *o, struct perf_event_attr *ret_attr);
	/* What one sample stands for, for the profile's head: period and its unit. */
	void (*period)(const struct sp_capture_options *o, uint64_t *ret_period, const char **ret_type,
		       const char **ret_unit);
};

/*
 * The words for an event that could not be opened, by whichever way: r, or -EOPNOTSUPP where the machine has no such
 * event. NULL: the default.
 */
int sp_event_refused(int r, const char *event, unsigned cpu);

#endif
