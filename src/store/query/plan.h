/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h: chooses the windows, of which resolution, that answer a query about a range of time.
 *
 * A range includes the windows that begin in it. A minute consists of the windows of its generation in that minute of
 * the clock, an hour of such minutes. So a coarser window whose minute or hour is wholly in the range replaces the
 * finer ones without changing a sum, up to the coarsest resolution asked for. Where the finer ones are deleted, a
 * coarser one counts where it begins. So all plans of a range have the same sums, and those of adjacent ranges share
 * no window. The ends of ranges of SP_STORE_LONG_NS and more are moved to the next full hour (UTC) first. A part is a
 * run of windows of one resolution, which one scan reads. Only heads are read.
 * 0 or a negative errno. The plan belongs to the caller: sp_plan_done(). One thread.
 */
#ifndef SP_STORE_QUERY_PLAN_H
#define SP_STORE_QUERY_PLAN_H

#include "store/files/scan.h"
#include "store/store.h"

/* Ranges up to this length are answered from windows of 10 s. */
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
	uint64_t from_ns, to_ns; /* the range, after its ends were moved */
	int coarsest;            /* resolution of a window */
};

/* The coarsest resolution for this query; enum sp_resolution. */
int sp_plan_coarsest(const struct sp_store_query *q);
/*
 * Uses windows up to resolution `coarsest`. Of q it reads range, ends_stay, source (NULL = "cpu") and resolution.
 * answer: filled with what does not depend on `coarsest`: range, time, losses, windows.
 */
int sp_plan_make(struct sp_store *s, const struct sp_store_query *q, int coarsest, struct sp_plan *ret_plan,
		 struct sp_store_answer *answer);
void sp_plan_done(struct sp_plan *p);
/* Replaces hours by days whose pruned tree includes all of them. */
int sp_plan_use_days(struct sp_plan *p, struct sp_store *s, const char *source);
/* Whether the plan has all hours of this day, and the range includes the whole day. */
bool sp_plan_has_day(const struct sp_plan *p, const struct sp_scan_window *day);
/* Number of windows in the part that begins with window `first`. */
size_t sp_plan_part_length(const struct sp_plan *p, size_t first);
/* The index of this window among n from `first` on; SIZE_MAX: none. */
size_t sp_plan_find(const struct sp_plan *p, size_t first, size_t n, const struct sp_scan_window *w);

/* The first window at or after t_ms. */
size_t sp_plan_find_from(const struct sp_plan *p, uint64_t t_ms);
/* Removes the windows with which[i] != 0. */
void sp_plan_remove(struct sp_plan *p, const uint8_t *which);

/* Length of the period of a resolution (SP_N_RESOLUTIONS: a day). */
uint64_t sp_plan_period_ns(int resolution);
/* Compares by day, source, generation, and period of this resolution: < 0, 0, > 0. */
int sp_plan_compare_period(const struct sp_plan_window *a, const struct sp_plan_window *b, int resolution);

#endif
