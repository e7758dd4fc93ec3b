/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * planned.h: exact sums by library, and by function, of the windows of a plan.
 *
 * Days, hours and minutes have sums beside them, minutes those of libraries only. What has none, or whose sums cannot
 * be read, is summed up from its rows, as the writer does that; so the sums of a plan are those of all its windows.
 * each() as in sp_scan_totals(); of rows the window is where the sums begin, with the kinds of values. 0, a negative
 * errno, or what each() returned. The plan belongs to the caller, and is empty afterwards. One thread.
 */
#ifndef SP_STORE_QUERY_PLANNED_H
#define SP_STORE_QUERY_PLANNED_H

#include "store/query/plan.h"

struct sp_planned {
	struct sp_store *store;
	const char *source;
	struct sp_plan *plan;
	bool by_function;
	uint64_t first_ns, slice_ns; /* rows of windows that begin in different slices are told apart; 0: together */
	int (*each)(void *arg, const struct sp_scan_totals *t);
	void *arg;
	uint64_t n_damaged; /* comes back */
};
/* The days of which the plan has all. */
int sp_planned_tell_days(struct sp_planned *p);
/* All that the plan still has. */
int sp_planned_tell(struct sp_planned *p);

#endif
