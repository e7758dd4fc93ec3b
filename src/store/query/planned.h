/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * planned.h: exact sums by library, and by function, of the windows of a plan.
 *
 * Days, hours and minutes have stored sums; those of minutes are by library only. Windows without readable sums are
 * summed from their rows, as the writer does it. So the result always covers all windows of the plan.
 * each() as in sp_scan_totals(); for sums made of rows, the window has only its beginning, source and value types. 0,
 * a negative errno, or what each() returned. The plan belongs to the caller and is empty afterwards. One thread.
 */
#ifndef SP_STORE_QUERY_PLANNED_H
#define SP_STORE_QUERY_PLANNED_H

#include "store/query/plan.h"

struct sp_planned {
	struct sp_store *store;
	const char *source;
	struct sp_plan *plan;
	bool by_function;
	uint64_t first_ns, slice_ns; /* sum rows by slice; slice_ns 0: all together */
	int (*each)(void *arg, const struct sp_scan_totals *t);
	void *arg;
	uint64_t n_damaged, n_incomplete, n_salvaged; /* result: as in struct sp_store_answer */
};
/* Reports days of which the plan has all hours. */
int sp_planned_report_days(struct sp_planned *p);
/* Reports the rest of the plan. */
int sp_planned_report(struct sp_planned *p);

#endif
