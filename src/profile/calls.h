/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h: counted calls by function, with who called and, where the profile has samples too, what a call takes.
 *
 * Rows of the profile with calls name the callee, and behind it who called; rows with samples are whole stacks. Both
 * are joined by the function's place (library, start), so that two names of one place (memcpy, memmove) tell the same
 * times, those of the calls of both. Calls that were timed by themselves (latency) are told by the function's name: how
 * many, how long all together, and in ranges. From outside means: the caller lies in another library than the function.
 * The time of a call from outside is that of the stacks in which the function was entered from outside, once each, over
 * the counted calls from outside; its interval that of a Poisson count of the samples, at 95 %, by Wilson and
 * Hilferty's approximation. The time value is the first in nanoseconds; a profile without has no times. Sums saturate.
 * 0, -ENOMEM, -ENODATA: no value "calls". Only reads the profile; reentrant. The answer is the caller's.
 */
#ifndef SP_PROFILE_CALLS_H
#define SP_PROFILE_CALLS_H

#include <stdbool.h>

#include "profile/profile.h"

struct sp_called_by {
	uint32_t func, file; /* func 0: nobody known */
	bool is_outside;
	int64_t n_calls;
};

struct sp_called_range { /* n calls took low_ns <= t < high_ns */
	int64_t low_ns, high_ns, n;
};
struct sp_called {
	uint32_t func, file;
	bool address_taken, untimed; /* untimed: its calls are never timed */
	int64_t n_timed, timed_ns;
	struct sp_called_range *ranges; /* rising; in the table's array */
	size_t n_ranges;
	int64_t n_calls, n_outside, n_place_outside; /* place: of all names of the function's place */
	int64_t self_ns, total_ns, outside_ns;
	int64_t n_outside_samples;
	struct sp_called_by *callers; /* by falling calls; in the table's array */
	size_t n_callers;
};

struct sp_calls_table {
	struct sp_called *rows; /* by falling calls */
	size_t n_rows;
	struct sp_called_by *callers;
	struct sp_called_range *ranges;
	int64_t n_calls, time_ns, n_samples; /* of the whole profile */
	bool has_times, has_latency;
};

int sp_calls_table_new(const struct sp_profile *p, struct sp_calls_table *ret_table);
void sp_calls_table_done(struct sp_calls_table *t);

/* Nanoseconds of a call from outside, low <= ns <= high. false: no calls from outside, or no sample of any. */
bool sp_called_time(const struct sp_called *c, double *ret_ns, double *ret_low, double *ret_high);

/* How long no more than this share of the timed calls took, as if a range were evenly filled; -1: none were timed. */
double sp_called_quantile(const struct sp_called *c, double share);

/* The index of the value "calls", or -1. */
int sp_calls_table_value(const struct sp_profile *p);

#endif
