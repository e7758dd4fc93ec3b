/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat.h: the parts of `soprof stat`. Private to this folder.
 *
 * stat.c         the command: options, what is counted, runs and intervals
 * stat_event.c   names of events
 * stat_counter.c counters, opened and read
 * stat_metric.c  what a count means beside others: CPUs used, per second, of all branches
 * stat_print.c   counts as perf prints them, as CSV, as JSON
 * stat_by.c      --by: has the events sampled, as `soprof profile` does
 * stat_red.c     --red: has the calls of a service counted, as `soprof trace` does
 * stat_use.c     --use: prints what CPUs, memory, disks and network tell; use_read.c reads it, use_judge.c judges it
 */
#ifndef SP_CMD_STAT_STAT_H
#define SP_CMD_STAT_STAT_H

#include "cmd/cmd.h"
#include "cmd/stat/stat_counter.h"

#include <stdio.h>

enum { SP_STAT_MAX_REPEATS = 1000000 };

struct sp_stat_args {
	const char *events, *separator, *output;
	int by; /* of sp_grouping_choice(); -1: none */
	struct sp_u32_list pids, tids, cpus;
	bool all, detailed, csv, json, use, red;
	uint64_t interval_s, repeats, seconds;
	char **command;
};

/* Of one event over the runs of -r: Welford's sums. */
struct sp_stat_spread {
	double mean, m2;
};

struct sp_stat_result { /* what is printed: of all, or of one interval */
	const struct sp_stat_args *args;
	const struct sp_stat_counters *counters;
	double elapsed_s, user_s, system_s; /* of an interval: its length */
	double at_s;                        /* when the interval ended; 0: the result of all */
	size_t n_runs;
	const struct sp_stat_spread *spreads, *elapsed_spread; /* of n_runs > 1; else NULL */
};

struct sp_stat_metric {
	double value;
	const char *unit; /* NULL: there is none */
	bool is_percent;
};

/* stat_metric.c */
void sp_stat_metric(const struct sp_stat_result *result, size_t i, struct sp_stat_metric *ret_metric);
/* The value that is printed: of all runs the mean. ret_share: of the time that it was counted. */
double sp_stat_printed_value(const struct sp_stat_result *result, size_t i, double *ret_share);
/* Of the mean, by the runs: its standard error in per cent. */
double sp_stat_error_percent(const struct sp_stat_spread *s, size_t n_runs);
void sp_stat_spread_add(struct sp_stat_spread *s, size_t n_runs, double value);

/* stat_print.c: 0, or the stream's errors are the caller's. */
void sp_stat_print_begin(const struct sp_stat_args *a, FILE *out);
void sp_stat_print(const struct sp_stat_result *result, FILE *out);
/* Which events are not counted, and why: a line on stderr for each reason. */
void sp_stat_refused_tell(const struct sp_stat_counters *c);

/* stat_by.c: the same events, sampled, by library, function, process ...; the exit code. */
int sp_stat_by(const struct sp_cmd *cmd, const struct sp_stat_args *a);

/* stat_red.c: the exit code. */
int sp_stat_red(const struct sp_cmd *cmd, const struct sp_stat_args *a);

/* stat_use.c: the exit code. */
int sp_stat_use(const struct sp_cmd *cmd, const struct sp_stat_args *a);

#endif
