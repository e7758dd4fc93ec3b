/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_guard.h: keeps what counting costs its callers within --max-overhead, by counting in random windows.
 *
 * A hit costs far more than its program, on the way there, so the cost is that of all hits, by what a hit costs at its
 * instruction; the decision is the guard's (capture/guard.h). Beyond the budget the time is in periods, each as long as
 * so many windows: probes are attached for one, chosen at random, whose calls stand for the whole period's. A period is
 * read when it is over. What is not covered by a period at the end is not counted, and told.
 * 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_CMD_CALLS_MACHINE_GUARD_H
#define SP_CMD_CALLS_MACHINE_GUARD_H

#include "capture/guard.h"
#include "cmd/calls/machine_rows.h"

struct sp_machine_guard {
	/* Set by who runs it: */
	struct sp_machine_targets *targets;
	struct sp_machine_rows *rows;
	struct sp_counting *counting;
	pid_t pid;
	unsigned hit_ns[2]; /* of an emulated one, of a stepped one */

	struct sp_guard guard;
	uint64_t looked_ns, look_ns, own_ns, cost_ns;
	double share;       /* of a CPU that counting costs, in windows on average */
	uint64_t period_ns; /* when it began; 0: all is counted */
	uint64_t next_ns;   /* when something is to be done in it */
	uint64_t opened_ns, closed_ns, period_cost_ns;
	uint64_t switch_ns, window_ns; /* it took to attach and detach; how long a window is */
	uint64_t windowed_ns, open_ns; /* of periods that are over; what of them was open */
	uint64_t stopped_ns;           /* 0: it goes on */
};
/* percent 0: there is no limit, and nothing is done. `latency`: a call has an end, which costs, too. */
void sp_machine_guard_begin(struct sp_machine_guard *g, unsigned percent, bool latency);
int sp_machine_guard_turn(struct sp_machine_guard *g);
uint64_t sp_machine_guard_next_ns(const struct sp_machine_guard *g);
/* Nothing is counted any more, of what is `guarded`. */
void sp_machine_guard_close(struct sp_machine_guard *g);
/* And no window is open: after the former, if that was called. */
void sp_machine_guard_stop(struct sp_machine_guard *g);
/* Reads what there is to be read up to now; *ret_until_ns: the time that is covered. is_end: after the stop,
 * with the last period. */
int sp_machine_guard_read(struct sp_machine_guard *g, bool is_end, uint64_t *ret_until_ns);
/* On standard error: what was estimated, and how. */
void sp_machine_guard_tell(const struct sp_machine_guard *g);

#endif
