/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h: which windows of which resolution answer a question about a range of time.
 *
 * The same time is at most once in a plan, whatever resolutions it exists in. A short range is answered by the finest
 * windows, and where there are none by coarser ones that stand alone there; a long one by hours, its edges by minutes
 * and, where it pays, by windows of 10 s; whatever exists then fills what is left. A part is a run of windows of one
 * resolution, which one scan reads. Windows that stick out of the range are taken whole. Only what stands beside the
 * rows is read. Clocks are set a little all the time: an overlap of up to SP_PLAN_SLACK_NS is none.
 * Where a tree will do (q->rough), days stand before hours, and edges below a hundredth of the range are left out.
 * 0 or a negative errno. The plan belongs to the caller: sp_plan_done(). One thread.
 */
#ifndef SP_STORE_PLAN_H
#define SP_STORE_PLAN_H

#include "store/store.h"

#define SP_PLAN_SLACK_NS UINT64_C(2000000000)
/* Up to here a range is short. */
#define SP_PLAN_SHORT_NS UINT64_C(7500000000000)

struct sp_plan_window {
	uint64_t from_ns, to_ns, covered_ns, n_lost;
	uint32_t n_rows;
	int resolution;
};
struct sp_plan {
	struct sp_plan_window *windows; /* in the order of time */
	size_t n_windows, capacity;
	int coarsest;
};

/* q: the range, the source and the resolution are looked at; fine: the range is a short one, however long. */
int sp_plan_make(struct sp_store *s, const struct sp_store_query *q, bool fine, struct sp_plan *ret_plan);
void sp_plan_done(struct sp_plan *p);
/* How many windows the part that begins with window `first` has. */
size_t sp_plan_part(const struct sp_plan *p, size_t first);
/* The window of the plan with this beginning and resolution, among n from first on; or none: SIZE_MAX. */
size_t sp_plan_find(const struct sp_plan *p, size_t first, size_t n, uint64_t from_ns);

#endif
