/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard.h: keeps what a session costs within a budget, where events come at a rate that nobody has chosen.
 *
 * Some times a second the session tells what its events have cost (struct sp_guard_use), and sp_guard_decide() says
 * what is to be done. Of the costliest event fewer are taken (one of N, by a random draw in the kernel half, and it
 * counts N times); where not taking them costs too much, too, it is attached in windows, for one of M parts of the
 * time, and counts M times as often; where even that does not help, or an event can have no windows, it is detached,
 * and attached again when trials of it say that it would fit. More is taken again when there is room. It is arithmetic
 * without a clock and without a kernel; guarded.c does what it says. CPU time of the user half counts at most as much
 * as that of the BPF programs: at the beginning it is mostly that of unwind tables, which no thinning would save. A
 * burst is no reason: the budget of a second may be spent at once.
 */
#ifndef SP_CAPTURE_GUARD_H
#define SP_CAPTURE_GUARD_H

#include "capture/recipe_ops.h"

enum {
	SP_GUARD_LOOK_MS = 250,
	SP_GUARD_MOST = 256, /* one in so many at the least: beyond it is the cost of not taking one that counts */
	SP_GUARD_MOST_WINDOWS = 64, /* one of so many parts of the time at the least */
	SP_GUARD_WINDOW_MS = 40,    /* such a part */
	SP_GUARD_TRIAL_MS = 5,      /* how long, and how often a detached event is looked at */
	SP_GUARD_TRIAL_EVERY_MS = 2000,
	SP_GUARD_PATIENCE = 8, /* looks, before an event is detached, or more of it is taken again */
	SP_GUARD_TRIALS = 2    /* that it would have fitted, before it is attached again */
};

enum sp_guard_act {
	SP_GUARD_STAYS,
	SP_GUARD_THINS,
	SP_GUARD_WINDOWS,
	SP_GUARD_RESTORES,
	SP_GUARD_DETACHES,
	SP_GUARD_ATTACHES
};

struct sp_guard_step {
	enum sp_guard_act act;
	unsigned event;           /* the number of its recipe */
	uint32_t one_in, windows; /* from now on */
	unsigned percent, limit;  /* what it cost, and the budget, in percent of one CPU */
};
struct sp_guard_event {
	bool is_guarded, is_detached;
	bool can_window;
	bool no_thin;          /* one that is not taken costs as much as one that is, or would be missed */
	bool is_final;         /* once it is detached it stays so: what it has not seen would make the rest wrong */
	uint32_t one_in, most; /* now, and the most so far */
	uint32_t windows, most_windows;
	unsigned n_calm, n_helpless;
	unsigned n_detached, n_steps;
	struct sp_guard_step first; /* if there were steps */
	uint64_t detached_ns;       /* CLOCK_MONOTONIC */
	uint64_t away_ns;           /* that it was detached, before it was attached again */
	uint64_t missed_ns;         /* in which there should have been windows, but soprof was too late */
};
struct sp_guard {
	unsigned percent; /* of one CPU */
	int64_t left_ns;  /* of the budget, saved up for at most a second */
	struct sp_guard_event events[SP_MAX_RECIPES];
};
struct sp_guard_use { /* since the last look */
	uint64_t ns;  /* that have passed */
	uint64_t own_ns;
	/* In windows: on average. Detached: what it would have cost, by a trial; SP_GUARD_UNKNOWN: there was none. */
	uint64_t kernel_ns[SP_MAX_RECIPES];
};
#define SP_GUARD_UNKNOWN UINT64_MAX

/* Changes g; what has to be done is returned. */
struct sp_guard_step sp_guard_decide(struct sp_guard *g, const struct sp_guard_use *use);
/* How many events a CPU may take in an interval (event/guard.h): the budget, but never fewer than some. */
uint32_t sp_guard_cap(unsigned percent, unsigned hit_ns);

#endif
