/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_sum.h: sums of the samples in `perf script` text, by thread, event and stack, until all events are known.
 *
 * A profile with one event has the values samples and, if the text has periods, that event; with several events,
 * samples (of all events) and each event's own value: the sum of its periods, or, without these, its samples. Sums
 * saturate. More than SP_PERF_MAX_EVENTS events: -E2BIG, without a message. Rows have time slices (sp_key.slice)
 * where the text has times.
 * Owns its tables; the profile is the caller's. 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_READ_PERF_SUM_H
#define SP_READ_PERF_SUM_H

#include "profile/profile.h"
#include "read/perf/perf_line.h"

enum { SP_PERF_MAX_EVENTS = SP_MAX_VALUES - 1 };

struct sp_perf_sum;
struct sp_perf_stacks;

/* The header of a sample. */
struct sp_perf_who {
	uint32_t thread, event, pid;
	uint64_t period, time_ns;
	bool has_period, has_time;
};

int sp_perf_sum_new(struct sp_profile *p, struct sp_perf_sum **ret_sum);
void sp_perf_sum_free(struct sp_perf_sum *s);
int sp_perf_sum_who(struct sp_perf_sum *s, const struct sp_perf_header *h, struct sp_perf_who *ret_who);
int sp_perf_sum_add(struct sp_perf_sum *s, const struct sp_perf_who *who, uint32_t stack);
/* Offset from perf's clock to CLOCK_REALTIME. */
void sp_perf_sum_set_clock(struct sp_perf_sum *s, uint64_t to_wall_ns);
/* Ignores the times: they are not a clock's. */
void sp_perf_sum_ignore_times(struct sp_perf_sum *s);
/* Adds value types and rows, and sets start, duration and period in the profile's info. */
int sp_perf_sum_finish(struct sp_perf_sum *s, const struct sp_perf_stacks *stacks);

#endif
