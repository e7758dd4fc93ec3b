/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_sum.h: the samples of `perf script` text, summed up by thread, event and stack until all events are known.
 *
 * A profile with one event has the values samples and, if the text tells periods, that event; with several events,
 * samples (of any event) and each event's own: its periods, or where it has none its samples. Sums stay at the ends of
 * 64 bits. At most SP_PERF_MAX_EVENTS events: -E2BIG for the next one, about which nothing is said.
 * Rows are told apart by slices of the time (sp_key.slice) where the text has times.
 * Owns its tables; borrows the profile. 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_READ_PERF_SUM_H
#define SP_READ_PERF_SUM_H

#include "profile/profile.h"
#include "read/perf_line.h"

enum { SP_PERF_MAX_EVENTS = SP_MAX_VALUES - 1 };

struct sp_perf_sum;
struct sp_perf_stacks;

/* What a sample's header says. */
struct sp_perf_who {
	uint32_t thread, event, pid;
	uint64_t period, time_ns;
	bool has_period, has_time;
};

int sp_perf_sum_new(struct sp_profile *p, struct sp_perf_sum **ret_sum);
void sp_perf_sum_free(struct sp_perf_sum *s);
int sp_perf_sum_who(struct sp_perf_sum *s, const struct sp_perf_header *h, struct sp_perf_who *ret_who);
int sp_perf_sum_add(struct sp_perf_sum *s, const struct sp_perf_who *who, uint32_t stack);
/* What to add to perf's clock to get the wall's. */
void sp_perf_sum_set_clock(struct sp_perf_sum *s, uint64_t to_wall_ns);
/* The times are none. */
void sp_perf_sum_leave_times(struct sp_perf_sum *s);
/* Declares the values, adds the rows, and tells start, duration and period in the profile's info. */
int sp_perf_sum_finish(struct sp_perf_sum *s, const struct sp_perf_stacks *stacks);

#endif
