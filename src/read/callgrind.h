/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callgrind.h: stacks out of what a file of callgrind's tells: each function's own cost, and what each of its callers
 * caused of it.
 *
 * Such a file has no stacks. A function's own cost goes up to its callers by their shares of the calls' costs, and so
 * on to a function that nobody calls. So each function's own cost is exact, to the unit and for each event; who caused
 * it is exact as far as a callee costs its callers alike. A stack with a function that has several callers is
 * SP_CLASS_GUESSED. What is given to a caller is at least a hundred-thousandth of the whole; what is smaller waits
 * until it is, so that rows stay few and shares right. Of recursion each function is on a stack once, unless there is
 * no other way to a root.
 *
 * Owns its tables; the profile is the caller's. 0 or a negative errno. Private to the layer. Not thread-safe.
 */
#ifndef SP_READ_CALLGRIND_H
#define SP_READ_CALLGRIND_H

#include "profile/profile.h"

enum { SP_CALLGRIND_MAX_EVENTS = SP_MAX_VALUES - 1 }; /* one value is for calls */

struct sp_cost_graph;
struct sp_input;

struct sp_cost_function {
	uint32_t object, source, name; /* strings of the profile; 0: not known */
};

int sp_cost_graph_new(struct sp_profile *p, struct sp_cost_graph **ret_graph);
void sp_cost_graph_free(struct sp_cost_graph *g);
/* Its number. is_root: no function, but what "calls" the roots of stacks; is_none: what had no stack. */
int64_t sp_cost_graph_function(struct sp_cost_graph *g, const struct sp_cost_function *function, bool is_root,
			       bool is_none);
void sp_cost_graph_add_own(struct sp_cost_graph *g, uint32_t function, const int64_t *costs);
int sp_cost_graph_add_call(struct sp_cost_graph *g, uint32_t from, uint32_t to, int64_t calls, const int64_t *costs);
/* Adds the rows. n: of events, the profile's first values; calls_value: where the number of calls goes; -1: nowhere. */
int sp_cost_graph_finish(struct sp_cost_graph *g, const struct sp_input *in, uint32_t n_events, int calls_value);

#endif
