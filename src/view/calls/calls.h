/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h: the call graph of a profile of counted calls: who called whom, how often, and where time was spent.
 *
 * Such a profile has a value "calls": in rows with calls the leaf is the callee, and the frame below it the caller (a
 * frame at offset 0 without a function, or named "[LIBRARY]", is a whole library; without a frame the caller is not
 * known). Inlined functions belong to the function that contains them. The libraries called are targets; callers in
 * other libraries are outside. Time is a value in seconds or parts of them, if there is one: of leaves in targets,
 * with their time in the kernel; kept in ticks of 1/rate_hz seconds, as in gprof. Names are those of functions;
 * outside LIBRARY:FUNCTION, <LIBRARY> for a whole library, <external> if not known or, with o->external, for all
 * outside. They are safe for a terminal. Private to the views; the graph owns all of it. -ENODATA, with a message: no
 * calls; -ENOMEM. Sums saturate. Reentrant.
 */
#ifndef SP_VIEW_CALLS_CALLS_H
#define SP_VIEW_CALLS_CALLS_H

#include "view/view.h"

#include <stddef.h>

struct sp_call_node {
	uint32_t library;    /* a file, 0 = not known */
	uint32_t func;       /* 0 = a whole library, or not known */
	bool is_target;      /* else outside */
	uint64_t address;    /* of its start, as in readelf; 0 = not known */
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
	/* Targets, by library (the one called most first) and address; then those outside, by name. */
	struct sp_call_node *nodes;
	size_t n_nodes;
	struct sp_call_arc *arcs; /* by `to`, then falling calls, then `from` */
	size_t n_arcs;
	uint32_t rate_hz;
	int64_t ticks; /* of all nodes */
};

int sp_call_graph_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_call_graph *ret_graph);
void sp_call_graph_done(struct sp_call_graph *g);

#endif
