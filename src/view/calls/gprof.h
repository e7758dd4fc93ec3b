/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gprof.h: gprof's analysis of a call graph (calls.h): cycles, and the time of callees attributed to callers.
 *
 * A cycle is a strongly connected component with more than one function. It counts as one node with the time of its
 * members and the calls from outside. A caller gets the share of a callee's time (self and children) that corresponds
 * to its calls; recursive calls of a function to itself attribute nothing. Times are in ticks. Source: Graham,
 * Kessler, McKusick, "gprof: a call graph execution profiler", 1982; nodes are numbered as in GNU gprof 2.40. Private
 * to the views; the struct owns its arrays. 0 or -ENOMEM. Reentrant.
 */
#ifndef SP_VIEW_CALLS_GPROF_H
#define SP_VIEW_CALLS_GPROF_H

#include "view/calls/calls.h"

struct sp_gprof_node {
	int64_t calls, self_calls; /* from others (cycle: from outside); recursive (cycle: between members) */
	double self, child;        /* ticks */
	uint32_t cycle;            /* from 1; 0 = in none */
	uint32_t order;            /* topological: lower for callees; equal for the members of a cycle */
	uint32_t index;            /* as printed, from 1 */
};
struct sp_gprof_arc {
	double self, child; /* time of the callee attributed to the caller */
};

struct sp_gprof {
	const struct sp_call_graph *g;
	struct sp_gprof_node *nodes; /* as the graph's; behind them the cycles */
	size_t n_nodes, n_cycles;    /* n_nodes: without the cycles */
	struct sp_gprof_arc *arcs;   /* as the graph's */
	uint32_t *first_out, *out;   /* arcs by caller: out[first_out[node]] to out[first_out[node + 1]] */
	uint32_t *first_in;          /* arcs by callee, which is how the graph has them */
	uint32_t *by_index;          /* nodes and cycles as they are printed */
};

int sp_gprof_new(const struct sp_call_graph *g, struct sp_gprof *ret);
void sp_gprof_done(struct sp_gprof *p);

static inline bool sp_gprof_is_cycle(const struct sp_gprof *p, uint32_t node)
{
	return node >= p->n_nodes;
}
/* The cycle of a node, or the node itself. */
static inline uint32_t sp_gprof_whole(const struct sp_gprof *p, uint32_t node)
{
	return p->nodes[node].cycle ? (uint32_t)p->n_nodes + p->nodes[node].cycle - 1 : node;
}

#endif
