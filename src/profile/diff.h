/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff.h: what changed between two profiles, and how much of that is noise.
 *
 * Both are joined into one profile, by names and not by addresses: libraries by build id; then those left over by path,
 * by name, by name without version. A library with another set of build ids is upgraded; its functions are paired by
 * name, and those named by their range alone, which move from build to build, are one function "unnamed functions of
 * LIB". Rows tell old and new as shares of all, or absolute, and a 95 % interval of the difference:
 * - From slices, if both profiles have at least SP_DIFF_MIN_SLICES: the spread of the sums of some 20 batches of slices
 * (shares: their residuals, as in ratio estimation) within each side, times growth: by how much the variances of all
 * libraries grow with batches of two and four times the size, as samples near in time are alike, and batches count for
 * so many fewer; Student's t with Welch's degrees of freedom.
 * - From counts else: a multinomial in samples, times what the rows tell themselves: dispersion, from the median and
 * the upper quartile of functions' squared deviations from the median ratio (quasi-Poisson, made robust as Efron's
 * empirical null, 2004), and spread, from libraries' weighted median, which grows with a row's samples, as bursts do
 * (negative binomial). What exceeds the counts is taken twice. It holds while more than half is unchanged, and knows of
 * bursts only what rows have in common: one library's burst looks like its change. Record with slices.
 * Either has one more sample's variance on each side, as 4 to 0 is no proof. It speaks of one row of this recording: of
 * 1000 unchanged rows up to 50 lie outside, so headlines should use q (Benjamini and Hochberg): of rows with q <= 0.05
 * at most 5 % are expected to be chance. What differs from run to run, but not within a run, is no part of it; and when
 * one row's cost changes, all others' shares do. Not thread-safe on one diff. Errors: as usual; -EINVAL: no such value,
 * or it is not the same on both sides.
 */
#ifndef SP_PROFILE_DIFF_H
#define SP_PROFILE_DIFF_H

#include <stdbool.h>

#include "profile/profile.h"

#define SP_DIFF_Z_95 1.959964 /* of the normal distribution: 95 % lie within so many deviations */
enum { SP_DIFF_MIN_SLICES = 5 };
enum sp_diff_scale { SP_DIFF_SHARES, SP_DIFF_ABSOLUTE };
enum sp_diff_by { SP_DIFF_BY_LIBRARY, SP_DIFF_BY_FUNCTION, SP_DIFF_BY_STACK };
enum sp_diff_method { SP_DIFF_FROM_SLICES, SP_DIFF_FROM_COUNTS };
enum { SP_DIFF_OLD, SP_DIFF_NEW, SP_DIFF_OLD_SAMPLES, SP_DIFF_NEW_SAMPLES, SP_DIFF_N_VALUES }; /* values of `joined` */

/* A library with other builds than before. The numbers are files of the old and the new profile, one for each build. */
struct sp_upgrade {
	uint32_t file; /* of `joined` */
	uint32_t n_old, n_new;
	uint32_t *old_files, *new_files;
};

struct sp_diff {
	/* Frames, functions and stacks are told apart by names only; keys hold the thread's name and the slice. */
	struct sp_profile *joined;
	struct sp_upgrade *upgrades;
	uint32_t n_upgrades;
	enum sp_diff_scale scale;
	enum sp_diff_method method;
	uint32_t n_slices[2];          /* of old, new: the highest slice that a row has */
	double value[2], n_samples[2]; /* of the whole of old, new */
	double growth[2];              /* from slices, by scale: their variance is taken times this */
	double dispersion,
	    spread; /* from counts: their variance is taken times dispersion + spread * a row's samples */
};

struct sp_change {
	double old, new;         /* shares (0 to 1) or values */
	double delta, low, high; /* new - old, and its interval */
	double q;                /* the share of chance among all rows that are no likelier chance than this one */
	bool within_noise;       /* the interval holds 0 */
	double factor, quantile; /* the variance is that of counts times this; half the interval: so many deviations */
};

struct sp_diff_row {
	uint32_t id;      /* of `joined`: LIBRARY: a file. FUNCTION: a function, 0 = no name. STACK: the user stack */
	uint32_t of;      /* FUNCTION: its file. STACK: the kernel stack */
	bool none;        /* no known library, no frames: id means nothing */
	uint32_t upgrade; /* of its library (STACK: of any frame's): index + 1, 0 = not upgraded */
	int64_t old_self, new_self, old_total, new_total;
	struct sp_change self, total; /* STACK: the same */
};

struct sp_diff_rows {
	struct sp_diff_row *rows; /* LIBRARY: upgraded ones first. By falling difference of self, then of total */
	size_t n_rows;
	size_t n_beyond_self, n_beyond_total; /* rows that are not within noise */
};

struct sp_diff_options {
	uint32_t old_value, new_value; /* indices */
	enum sp_diff_scale scale;
};

/* By name and unit: no others can be compared. */
bool sp_diff_is_same_value(const struct sp_profile *old_profile, uint32_t old_value,
			   const struct sp_profile *new_profile, uint32_t new_value);
int sp_diff_new(const struct sp_profile *old_profile, const struct sp_profile *new_profile,
		const struct sp_diff_options *o, struct sp_diff **ret_diff);
void sp_diff_free(struct sp_diff *d);
int sp_diff_fold(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *ret_rows);
void sp_diff_rows_done(struct sp_diff_rows *rows);

#endif
