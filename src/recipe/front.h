/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front.h: the user half of an attach point: loads its program with the ops that it runs, attaches it, and frees it.
 *
 * A front shares the session's maps, by their descriptors, and goes on into the session's sink. It belongs to the
 * caller, who frees it before the maps. Functions return 0 or a negative errno with sp_error_text(): -EOPNOTSUPP: there
 * is no such tracepoint; -EINVAL: it has fewer arguments than the slot reads.
 */
#ifndef SP_RECIPE_FRONT_H
#define SP_RECIPE_FRONT_H

#include "capture/recipe_ops.h"
#include "event/slot.h"
#include <stdbool.h>
#include <sys/types.h>

struct bpf_link;
struct bpf_program;
struct sp_broker;
struct sp_config;
struct sp_front;

struct sp_front_maps {
	int scratch, counters, sink;    /* the session's maps, and its sink: a program of the front's type */
	int guards;                     /* likewise; 0: there is no guard */
	int episodes;                   /* likewise; 0: there is no guard, and all threads are asked for */
	int targets;                    /* likewise; 0: no numbers of processes or threads are asked for */
	int stamps;                     /* likewise; 0: threads are not stamped */
	int live, calls;                /* likewise; 0: nothing is held */
	const struct sp_config *config; /* the session's: who is asked for; NULL: all */
	pid_t only;                     /* probes: the process that they are for; 0 = all */
	struct sp_broker *broker;       /* opens classic tracepoints; NULL: nobody does */
};

/* The point's name must outlive the front. */
int sp_front_new(const struct sp_recipe_point *point, const struct sp_front_maps *maps, struct sp_front **ret_front);
/* Loads a front without attaching it, for tests that run it by hand. */
int sp_front_load(const struct sp_front_slot *slot, const struct sp_front_maps *maps, struct sp_front **ret_front);
int sp_front_program(const struct sp_front *front);      /* its descriptor */
unsigned sp_front_trap_ns(const struct sp_front *front); /* what a hit costs on the way to the program, and back */
enum sp_front_role sp_front_role(const struct sp_front *front);
/* Whether programs can be attached to this raw tracepoint; tried with an empty one. */
bool sp_front_can_be_at(const char *tracepoint);
int sp_front_attach(struct sp_front *front);  /* again */
void sp_front_detach(struct sp_front *front); /* it runs no more, but its statistics can still be read */
void sp_front_free(struct sp_front *front);

/*
 * Of a session that is attached, for fronts of the caller's own: recipes have a point of that kind for them, without a
 * name. Maps that the session does not have are negative.
 */
void sp_ground_maps(const struct sp_recipe_object *object, enum sp_at at, struct sp_front_maps *ret_maps);
/* Before a program is loaded that reads what the slot says: makes it of the type that its event's programs have. */
void sp_slot_program_set(const struct sp_front_slot *slot, struct bpf_program *program);
/*
 * Attaches a loaded one. *ret_link: NULL if it is a probe's, which its own point detaches. ret_event: NULL, or of a
 * classic tracepoint a descriptor of the kernel's event, the caller's: as long as it is open, the link is destroyed at
 * once; the kernel takes its time (40 ms) for each event that is given up, one after the other.
 */
int sp_point_attach(const struct sp_recipe_point *point, struct bpf_program *program, pid_t only,
		    struct sp_broker *broker, struct bpf_link **ret_link, int *ret_event);

#endif
