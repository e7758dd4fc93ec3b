/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat_counter.h: counters of the kernel (perf_event_open) without samples: opened, read, closed.
 *
 * A counter counts one event: of CPUs, in all processes; or of threads and what they start from then on. Where several
 * hardware events share a register the kernel counts in turns: a count is then value * enabled / running, as perf has
 * it. What cannot be counted is no failure: `refused` says why, and the others are counted. Counters belong to the
 * caller (sp_stat_counters_done). 0 or a negative errno with sp_error_text(). Not thread-safe.
 */
#ifndef SP_CMD_STAT_STAT_COUNTER_H
#define SP_CMD_STAT_STAT_COUNTER_H

#include "cmd/stat/stat_event.h"

struct sp_stat_count {
	uint64_t value, enabled_ns, running_ns; /* summed over what was opened */
};

struct sp_stat_counter {
	const struct sp_stat_event *event;  /* the caller's */
	struct sp_stat_count count, before; /* as read last, and the time before that */
	int refused;                        /* a negative errno; 0: it counts */
	bool user_only;                     /* asked for, or since this user may not count in the kernel */
	int *fds;
	size_t n_fds, capacity;
};

struct sp_stat_counters {
	struct sp_stat_counter *counters; /* one for each event, in their order */
	size_t n;
};

/* None is open yet. */
int sp_stat_counters_new(const struct sp_stat_events *events, struct sp_stat_counters *ret_counters);
void sp_stat_counters_done(struct sp_stat_counters *c);

/* A command that waits for its exec: counts from there. */
int sp_stat_count_child(struct sp_stat_counters *c, int pid);
/* All threads of a process, and what they start. -ESRCH: there is no such process. */
int sp_stat_count_process(struct sp_stat_counters *c, uint32_t pid);
int sp_stat_count_thread(struct sp_stat_counters *c, uint32_t tid);
int sp_stat_count_cpu(struct sp_stat_counters *c, unsigned cpu);

int sp_stat_counters_read(struct sp_stat_counters *c);

/* Since the time before, or since the beginning; scaled. ret_share: of the time, that it was counted. */
double sp_stat_value(const struct sp_stat_counter *c, bool since_before, double *ret_share);

#endif
