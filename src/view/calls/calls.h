/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h: the call graph that a profile of counted calls holds: who called whom, how often, and where time went.
 *
 * Such a profile has a value "calls": of each row with calls the leaf was called, and the frame below it is who called
 * (a frame at offset 0 without a function, or called "[LIBRARY]", is the whole library; without a frame, nobody knows
 * who). What is inlined belongs to the function that it is inlined into. The libraries that were called are the
 * targets; a caller in any other library is outside. Time is that of a value in seconds or parts of them, if there is
 * one: of leaves in targets, with what they spent in the kernel; it is kept in ticks of 1/rate_hz seconds, as gprof has
 * it. Names are those of functions; outside LIBRARY:FUNCTION, <LIBRARY> for a whole one, and <external> for who is not
 * known or, with o->external, for all outside. They are safe for a terminal. Private to the views; the graph owns all
 * of it. -ENODATA, with sp_error_text(), for a profile without calls; -ENOMEM. Sums saturate. Reentrant.
 */
#ifndef SP_VIEW_CALLS_CALLS_H
#define SP_VIEW_CALLS_CALLS_H

#include "view/view.h"

#include <stddef.h>

struct sp_call_node {
	uint32_t library;    /* a file, 0 = not known */
	uint32_t func;       /* 0 = a whole library, or not known */
	bool is_target;      /* else outside */
	uint64_t address;    /* where it begins, as readelf prints it; 0 = not known */
	uint64_t size;       /* 0 = not known */
	int64_t calls;       /* to it */
	int64_t time, ticks; /* time: nanoseconds */
	char *name;
};
struct sp_call_arc {
	uint32_t from, to; /* of nodes */
	int64_t calls;
};

struct sp_call_graph {
	/* Targets by library, the one called most first, and address; then those outside by name. */
	struct sp_call_node *nodes;
	size_t n_nodes;
	struct sp_call_arc *arcs; /* by `to`, then falling calls, then `from` */
	size_t n_arcs;
	uint32_t rate_hz;
	int64_t ticks; /* of all nodes */
};

int sp_call_graph_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_call_graph *ret_graph);
void sp_call_graph_done(struct sp_call_graph *g);

static inline void sp_calls_add(int64_t *sum, int64_t calls)
{
	if (__builtin_add_overflow(*sum, calls, sum))
		*sum = INT64_MAX;
}

/* The value that counts calls; -ENODATA: the profile has none. */
int sp_calls_value(const struct sp_profile *p);

#endif
