/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ground_ops.h: the kernel half that all recipes share, to the session that runs it (it is in src/recipe/ground.c).
 *
 * The session opens it, writes the common configuration, loads it, calls attach, drains, and frees everything through
 * `destroy`. Functions return 0 or a negative errno with sp_error_text(). One session at a time owns a struct
 * sp_recipe_object.
 */
#ifndef SP_CAPTURE_GROUND_OPS_H
#define SP_CAPTURE_GROUND_OPS_H

#include "bpf/wire.h"
#include "event/slot.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct perf_event_attr;
struct sp_capture_options;
struct sp_recipe;
struct sp_workers;

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
	int (*load)(struct sp_recipe_object *object, const struct sp_capture_options *o,
		    struct sp_recipe_shared *ret_shared);
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
	/*
	 * Attaches what sampling waits for that has appeared: the descriptor is readable then; -1: it waits for
	 * nothing. Workers find out what it is, and answer in their own time.
	 */
	int (*watch_fd)(const struct sp_recipe_object *object);
	int (*watch)(struct sp_recipe_object *object, struct sp_workers *workers);
	/* Ends sampling: no program is started any more. */
	void (*detach)(struct sp_recipe_object *object);
	void (*destroy)(struct sp_recipe_object *object);
	/*
	 * The descriptor of front i, a program that is not of the object; -1 after the last. *ret_trap_ns: what of a
	 * hit is spent on the way to it, and back; 0: next to nothing.
	 */
	int (*front)(const struct sp_recipe_object *object, size_t i, unsigned *ret_recipe, unsigned *ret_trap_ns);
	/* Describes a recipe's event, also for sampling without BPF: type, config, period or frequency. */
	int (*event)(const struct sp_recipe *recipe, const struct sp_capture_options *o,
		     struct perf_event_attr *ret_attr);
	/* What one sample of the first recipe stands for, for the profile's info: period and its unit. */
	void (*period)(const struct sp_capture_options *o, uint64_t *ret_period, const char **ret_type,
		       const char **ret_unit);
};

#endif
