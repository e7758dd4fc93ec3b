/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * guard.h: what the two halves of the guard (capture/guard.h) tell each other, for each recipe of a session.
 *
 * The user half says how many events one that is taken stands for, and how many may be taken on a CPU in an interval of
 * some 1 s. The kernel half counts what it takes, and what it leaves out because an interval was full. Shared by both
 * halves, as bpf/wire.h is.
 */
#ifndef SP_EVENT_GUARD_H
#define SP_EVENT_GUARD_H

#include "bpf/wire.h"

enum { SP_N_GUARDS = 8, SP_GUARD_SHIFT = 30 };

struct sp_guard_order {  /* an element of the map `guards`, by the recipe's number */
	sp_u32 one_in;   /* of so many events one is taken, by a random draw; a power of two */
	sp_u32 times;    /* so many events it stands for, then; 0: none is taken */
	sp_u64 until_ns; /* the end of a window (CLOCK_MONOTONIC): none is taken from then on; 0: there is no end */
	sp_u32 cap;      /* taken on each CPU in an interval of 1 << SP_GUARD_SHIFT ns; 0 = no limit */
	sp_u32 has_gaps; /* some were not taken: a thread that waits may have no episode */
	sp_u32 change;   /* another one: the interval begins anew */
};
struct sp_guard_count { /* of a CPU, in the map `guard_counts` */
	sp_u64 interval;
	sp_u64 change;
	sp_u64 n; /* in this interval */
	sp_u64 n_taken, n_skipped;
	sp_u64 n_left_out; /* what the skipped ones stood for */
};

#endif
