/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h: which windows of which resolution answer a question about a range of time.
 *
 * A range is half open, and a window is of the range that it begins in. A minute is made of the windows of its own
 * generation that stand in it, an hour of such minutes: so a longer window that lies in the range with all of its
 * minute or hour says exactly what the shorter ones do, and takes their place, up to the length that is asked for.
 * Where there are no shorter ones any more, a longer one counts where it begins. So plans of one range have the same
 * sums, whatever windows they are made of, and those of two ranges that meet have none in common. Ends of ranges of
 * SP_STORE_LONG_NS and more are moved to the next full hour (UTC) first. A part is a run of windows of one resolution,
 * which one scan reads. Only what stands beside the rows is read. 0 or a negative errno. The plan belongs to the
 * caller: sp_plan_done(). One thread.
 */
#ifndef SP_STORE_QUERY_PLAN_H
#define SP_STORE_QUERY_PLAN_H

#include "store/files/scan.h"
#include "store/store.h"

/* Up to here windows of 10 s answer a question. */
#define SP_PLAN_SHORT_NS UINT64_C(7500000000000)

struct sp_plan_window {
	uint64_t from_ns, to_ns, covered_ns, n_lost;
	uint64_t t_ms, generation, day_s;
	uint32_t n_rows, source;
	int resolution;
};
struct sp_plan {
	struct sp_plan_window *windows; /* in the order of time */
	size_t n_windows, capacity;
	uint64_t from_ns, to_ns; /* the range, its ends moved */
	int coarsest;            /* resolution of a window */
};

/* How long windows are that answer this; enum sp_resolution. */
int sp_plan_longest(const struct sp_store_query *q);
/*
 * With windows up to that length. q: the range, its ends, the source (NULL = "cpu") and the resolution are looked at.
 * answer: gets what all answers to the question say of it: range, time, losses, windows.
 */
int sp_plan_make(struct sp_store *s, const struct sp_store_query *q, int longest, struct sp_plan *ret_plan,
		 struct sp_store_answer *answer);
void sp_plan_done(struct sp_plan *p);
/* Days whose pruned trees have all of their hours stand in the plan in place of these. */
int sp_plan_take_days(struct sp_plan *p, struct sp_store *s, const char *source);
/* Whether the plan has all hours that this day is made of, and those of all of the day. */
bool sp_plan_has_day(const struct sp_plan *p, const struct sp_scan_window *day);
/* How many windows the part that begins with window `first` has. */
size_t sp_plan_part(const struct sp_plan *p, size_t first);
/* The window of the plan that this one is, among n from first on; or none: SIZE_MAX. */
size_t sp_plan_find(const struct sp_plan *p, size_t first, size_t n, const struct sp_scan_window *w);

/* The first window that stands there or later. */
size_t sp_plan_from(const struct sp_plan *p, uint64_t t_ms);
/* Those windows that are marked with anything but 0. */
void sp_plan_take_out(struct sp_plan *p, const uint8_t *which);

/* Nanoseconds of the hour or minute (or day: SP_N_RESOLUTIONS) that a window stands for. */
uint64_t sp_plan_period_ns(int resolution);
/* Below, at or behind: of one day, source and generation, by the period that they stand in. */
int sp_plan_compare_period(const struct sp_plan_window *a, const struct sp_plan_window *b, int resolution);

#endif
