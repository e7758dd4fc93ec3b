/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff.h: what changed between two profiles, and how much of that is noise.
 *
 * Both are joined into one profile by names, not addresses: libraries by build id; those left over by path, by name,
 * by name without version. A library with another set of build ids is upgraded; its functions are matched by name,
 * and those named only by their range, which moves from build to build, become one function "unnamed functions of
 * LIB". Rows have old and new values, as shares or absolute, and a 95 % interval of the difference:
 * - from slices, if both profiles have at least SP_DIFF_MIN_SLICES: the variance of the sums of some 20 batches of
 *   slices (for shares: of their residuals, as in ratio estimation), times `growth`, by which the variances of all
 *   libraries grow when batches are two and four times larger, because samples near in time are correlated. Student's
 *   t, with Welch's degrees of freedom, of as many fewer batches.
 * - else from counts: multinomial in samples, times overdispersion estimated from the rows: `dispersion`, from the
 *   median and upper quartile of functions' squared deviations from the median ratio (quasi-Poisson, robust as
 *   Efron's empirical null, 2004), and `spread`, from libraries' weighted median, which grows with a row's samples
 *   (negative binomial). The excess over counts is doubled. Valid while more than half is unchanged; a burst of one
 *   library looks like a change of it. Record with slices.
 * In both, one sample's variance is added on each side: 4 samples against 0 prove nothing. An interval is about one
 * row of this recording: of 1000 unchanged rows up to 50 lie outside, so headlines should use q (Benjamini and
 * Hochberg): of rows with q <= 0.05 at most 5 % are chance. What differs only between runs is not in it; and when one
 * row's cost changes, all others' shares do. Not thread-safe on one diff. Errors: as usual; -EINVAL: no such value,
 * or different ones.
 */
#ifndef SP_PROFILE_DIFF_H
#define SP_PROFILE_DIFF_H

#include <stdbool.h>

#include "profile/profile.h"

#define SP_DIFF_Z_95 1.959964 /* normal distribution: 95 % lie within so many standard deviations */
enum { SP_DIFF_MIN_SLICES = 5 };
enum sp_diff_scale { SP_DIFF_SHARES, SP_DIFF_ABSOLUTE };
enum sp_diff_by { SP_DIFF_BY_LIBRARY, SP_DIFF_BY_FUNCTION, SP_DIFF_BY_STACK };
enum sp_diff_method { SP_DIFF_FROM_SLICES, SP_DIFF_FROM_COUNTS };
enum { SP_DIFF_OLD, SP_DIFF_NEW, SP_DIFF_OLD_SAMPLES, SP_DIFF_NEW_SAMPLES }; /* values of `joined` */

/* A library whose set of builds changed. old_files, new_files: files of the old and new profile, one for each build. */
struct sp_upgrade {
	uint32_t file; /* of `joined` */
	uint32_t n_old, n_new;
	uint32_t *old_files, *new_files;
};

struct sp_diff {
	/* Frames, functions and stacks are distinct by name only; keys hold the thread's name and the slice. */
	struct sp_profile *joined;
	struct sp_upgrade *upgrades;
	uint32_t n_upgrades;
	enum sp_diff_scale scale;
	enum sp_diff_method method;
	uint32_t n_slices[2];          /* of old, new: the highest slice of any row */
	double value[2], n_samples[2]; /* of the whole of old, new */
	double growth[2];              /* from slices, by scale: factor of the variances */
	double dispersion, spread;     /* from counts: the factor is dispersion + spread * a row's samples */
};

struct sp_change {
	double old, new;         /* shares (0 to 1) or values */
	double delta, low, high; /* new - old, and its interval */
	double q; /* Benjamini and Hochberg: false discovery rate if this row and clearer ones are called changed */
	bool within_noise;       /* the interval contains 0 */
	double factor, quantile; /* variance / variance of counts; half the interval / standard deviation */
};

struct sp_diff_row {
	uint32_t id;        /* of `joined`: LIBRARY: a file. FUNCTION: a function, 0 = no name. STACK: the user stack */
	uint32_t second_id; /* FUNCTION: its file. STACK: the kernel stack */
	bool none;          /* no known library, no frames: the ids are invalid */
	uint32_t upgrade;   /* of its library (STACK: of any frame's): index + 1, 0 = not upgraded */
	int64_t old_self, new_self, old_total, new_total;
	struct sp_change self, total; /* STACK: equal */
};

struct sp_diff_rows {
	struct sp_diff_row *rows; /* LIBRARY: upgraded ones first. By falling difference of self, then of total */
	size_t n_rows;
	size_t n_beyond_self, n_beyond_total; /* rows whose self, total is not within noise */
};

struct sp_diff_options {
	uint32_t old_value, new_value; /* indices */
	enum sp_diff_scale scale;
};

/* Whether name and unit are equal: only such values can be compared. */
bool sp_diff_is_same_value(const struct sp_profile *old_profile, uint32_t old_value,
			   const struct sp_profile *new_profile, uint32_t new_value);
int sp_diff_new(const struct sp_profile *old_profile, const struct sp_profile *new_profile,
		const struct sp_diff_options *o, struct sp_diff **ret_diff);
void sp_diff_free(struct sp_diff *d);
int sp_diff_rows_new(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *ret_rows);
void sp_diff_rows_done(struct sp_diff_rows *rows);

#endif
