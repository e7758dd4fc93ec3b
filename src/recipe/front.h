/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front.h: the user half of an attach point: its program is loaded with what it is to do, attached, and freed.
 *
 * A front shares the session's maps, by their descriptors, and goes on into the session's sink. It belongs to the
 * caller, who frees it before the maps. Functions return 0 or a negative errno with sp_error_text(): -EOPNOTSUPP: there
 * is no such tracepoint; -EINVAL: it has fewer arguments than the slot reads.
 */
#ifndef SP_RECIPE_FRONT_H
#define SP_RECIPE_FRONT_H

#include "event/slot.h"

struct sp_front;

struct sp_front_maps {
	int scratch, counters, sink; /* the session's; the last is a program */
};

int sp_front_new(const struct sp_front_slot *slot, const char *tracepoint, const struct sp_front_maps *maps,
		 struct sp_front **ret_front);
/* Loads it and attaches it nowhere. What it is given to run by hand: tests. */
int sp_front_load(const struct sp_front_slot *slot, const struct sp_front_maps *maps, struct sp_front **ret_front);
int sp_front_program(const struct sp_front *front); /* its descriptor */
void sp_front_detach(struct sp_front *front);       /* it does not run any more, and can still be asked about */
void sp_front_free(struct sp_front *front);

#endif
