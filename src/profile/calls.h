/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h: counted calls by function: by whom, and, where the profile has samples too, how long a call takes.
 *
 * A row of counted calls is a stack of two frames: the function called and its caller. Rows of samples are whole
 * stacks. The two are joined by the function's address (library, start), so two names of one address (memcpy,
 * memmove) share their times, which are those of the calls of both. Calls timed one by one (latency) are matched by
 * the function's name: their number, their sum, and a histogram. A call from outside is one whose caller lies in
 * another library.
 * Time per call from outside = time of the stacks in which the function was entered from outside (each stack once) /
 * counted calls from outside. Its 95 % interval is that of a Poisson count of the samples (approximation of Wilson
 * and Hilferty); where samples came without a user stack (lost for want of room), it is wider above by the part that
 * these are of all. The value used for time is the first one in nanoseconds; without one there are no times. Sums
 * saturate.
 * Errors: -ENOMEM; -ENODATA: no value "calls". Only reads the profile; reentrant. The caller owns the result.
 */
#ifndef SP_PROFILE_CALLS_H
#define SP_PROFILE_CALLS_H

#include <stdbool.h>

#include "profile/profile.h"

struct sp_callee_caller {
	uint32_t func, file; /* func 0: not known */
	bool is_outside;
	int64_t n_calls;
};

struct sp_latency_range { /* n calls took low_ns <= t < high_ns */
	int64_t low_ns, high_ns, n;
};
struct sp_callee {
	uint32_t func, file;
	bool address_taken; /* calls through its address are not counted */
	bool untimed;       /* its calls are never timed */
	int64_t n_timed, timed_ns;
	struct sp_latency_range *ranges; /* rising; a part of the table's array */
	size_t n_ranges;
	int64_t n_calls, n_outside;
	int64_t n_address_outside; /* calls from outside by all names of the function's address */
	int64_t self_ns, total_ns, outside_ns;
	int64_t n_outside_samples;
	double missed_share;              /* the table's */
	struct sp_callee_caller *callers; /* by falling calls; a part of the table's array */
	size_t n_callers;
};

struct sp_calls_table {
	struct sp_callee *rows; /* by falling calls */
	size_t n_rows;
	struct sp_callee_caller *callers;
	struct sp_latency_range *ranges;
	int64_t n_calls, time_ns, n_samples; /* of the whole profile */
	double missed_share; /* of the samples of processes that call what is counted: without a user stack */
	bool has_times, has_latency;
};

int sp_calls_table_new(const struct sp_profile *p, struct sp_calls_table *ret_table);
void sp_calls_table_done(struct sp_calls_table *t);

/* Nanoseconds per call from outside, with low <= ns <= high. False: no calls from outside, or no samples of them. */
bool sp_callee_time(const struct sp_callee *c, double *ret_ns, double *ret_low, double *ret_high);

/* Quantile of the timed calls in ns, interpolated linearly within a range; -1: none were timed. */
double sp_callee_quantile(const struct sp_callee *c, double share);

/* The index of the value "calls", or -1. */
int sp_calls_table_value(const struct sp_profile *p);

#endif
