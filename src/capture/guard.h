/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard.h: keeps what a session costs within a budget, where events come at a rate that nobody has chosen.
 *
 * Some times a second the session tells what its events have cost (struct sp_guard_use), and sp_guard_decide() says
 * what is to be done: of the costliest event fewer are taken (one of N, by a random draw in the kernel half, and it
 * counts N times), more again when there is room, and an event that costs too much even so is detached. It is
 * arithmetic without a clock and without a kernel; guarded.c does what it says. What soprof itself does counts only as
 * far as it does not exceed what its programs cost: it begins with work that has nothing to do with events, such as
 * unwind tables. A burst is no reason: the budget of a second may be spent at once.
 */
#ifndef SP_CAPTURE_GUARD_H
#define SP_CAPTURE_GUARD_H

#include "capture/recipe_ops.h"

enum {
	SP_GUARD_LOOK_MS = 250,
	SP_GUARD_MOST = 256,  /* one in so many at the least: beyond it is the cost of not taking one that counts */
	SP_GUARD_PATIENCE = 8 /* looks, before an event is detached, or more of it is taken again */
};

enum sp_guard_act { SP_GUARD_STAYS, SP_GUARD_THINS, SP_GUARD_RESTORES, SP_GUARD_DETACHES };

struct sp_guard_event {
	bool is_guarded, is_detached;
	uint32_t one_in, most; /* now, and the most so far */
	unsigned n_calm, n_helpless;
	uint64_t detached_ns; /* CLOCK_MONOTONIC */
};
struct sp_guard {
	unsigned percent; /* of one CPU */
	int64_t left_ns;  /* of the budget, saved up for at most a second */
	struct sp_guard_event events[SP_MAX_RECIPES];
};
struct sp_guard_use { /* since the last look */
	uint64_t ns;  /* that have passed */
	uint64_t own_ns;
	uint64_t kernel_ns[SP_MAX_RECIPES];
};
struct sp_guard_step {
	enum sp_guard_act act;
	unsigned event;          /* the number of its recipe */
	uint32_t one_in;         /* from now on */
	unsigned percent, limit; /* what it cost, and the budget, in percent of one CPU */
};

/* Changes g; what has to be done is returned. */
struct sp_guard_step sp_guard_decide(struct sp_guard *g, const struct sp_guard_use *use);
/* How many events a CPU may take in an interval (event/guard.h): the budget, but never fewer than some. */
uint32_t sp_guard_cap(unsigned percent, unsigned hit_ns);

#endif
