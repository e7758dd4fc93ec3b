/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the files of this layer share.
 *
 * Trees: the merged stacks that tree.c adds (tree_stacks.c), and the second half of it, once all paths are added
 * (tree_finish.c). Diffs, where side 0 is old and 1 is new: which files are one library (diff_pair.c), the joined
 * profile (diff_join.c), sums and variances (diff_sums.c), intervals (diff_noise.c).
 * Threads, ownership and errors: as in tree.h and diff.h.
 */
#ifndef SP_PROFILE_PRIV_H
#define SP_PROFILE_PRIV_H

#include <stdint.h>

#include "base/sum.h"
#include "profile/diff.h"
#include "profile/identity.h"
#include "profile/tree.h"

/* A stack and thread name, with the sums of its rows. A tree is made of these, in the order of their first rows. */
struct sp_tree_stack {
	uint32_t user, kernel, comm; /* comm: a string */
	int64_t value, second, n_samples;
};
struct sp_tree_stack sp_tree_stack_of_row(const struct sp_profile *p, const struct sp_tree_options *o,
					  const struct sp_identity *same, const struct sp_row *row);
/* Whether it has a value; with `drawn`, one above 0. */
bool sp_tree_stack_has_value(const struct sp_tree_options *o, const struct sp_tree_stack *stack);
/* Free *ret_stacks. -ENOMEM. */
int sp_tree_stacks_make(const struct sp_profile *p, const struct sp_tree_options *o, const struct sp_identity *same,
			struct sp_tree_stack **ret_stacks, uint32_t *ret_n);

/*
 * Finishes a tree as tree.h says: totals, thresholds, order. Before, its nodes have parent, label, self, second_self,
 * n_samples (of self and of nodes pruned above) and, in the totals, the values of nodes pruned above. 0 or -ENOMEM.
 */
int sp_tree_finish(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *t);

/* --- diff --- */
struct sp_pairs {
	uint32_t n_classes;
	uint32_t *class_of[2]; /* by file: the number of its library, a class of files, from 1; 0 = no frame is in it */
	bool *upgraded;        /* by class */
};
int sp_pairs_new(const struct sp_profile *const p[2], const struct sp_identity same[2], struct sp_pairs *ret_pairs);
void sp_pairs_done(struct sp_pairs *pairs);

/* Sets d->joined and d->upgrades. */
int sp_diff_join(const struct sp_profile *const p[2], const struct sp_diff_options *o, struct sp_diff *d);

/* The rows, unsorted, not marked as upgraded, and with p values in place of q. */
int sp_diff_sum_rows(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *ret_rows);

/* For d->scale: see diff.h. -EAGAIN: no row varies (a single row has no variance in shares); the growth is 1. */
int sp_diff_find_growth(const struct sp_diff *d, enum sp_diff_by by, double *ret_growth);

/* One row's value (self or total) on one side. */
struct sp_noise_side {
	double x;        /* the value */
	double q;        /* sum of value^2 / samples: its variance by counts alone */
	double n;        /* its samples */
	double variance; /* of x (ABSOLUTE) or of its share; without the one sample that is always added */
	double freedom;  /* degrees of freedom of the variance; infinite for counts */
};
/* The whole of a side. */
struct sp_noise_whole {
	double x, q, n_samples;
};
/* Sets both sides' variance and freedom from counts and overdispersion. */
void sp_noise_set_from_counts(const struct sp_diff *d, struct sp_noise_side s[2], const struct sp_noise_whole w[2]);
/* The factor of variances, extrapolated from those of batches of 1, 2, 4 ... times the size. */
double sp_noise_growth(const double *variances, size_t n);
/* Multiplies the variance by the growth: correlated batches count as fewer, n / growth. */
void sp_noise_grow(struct sp_noise_side *s, double growth);
/* Sets all but q of a change from its two sides; returns the p value. */
double sp_noise_change(enum sp_diff_scale scale, const struct sp_noise_side s[2], const struct sp_noise_whole w[2],
		       struct sp_change *ret_change);
/* One row, for the estimates of dispersion and spread. */
struct sp_noise_pair {
	double x[2], variance[2], samples; /* of old, new; samples of both */
};
/* All rows' self or total; the caller frees them. */
int sp_diff_pairs(const struct sp_diff *d, enum sp_diff_by by, bool total, struct sp_noise_pair **ret_pairs,
		  size_t *ret_n);
/* See diff.h. Rows of few samples are left out; -EAGAIN: too few rows are left. */
int sp_noise_dispersion(const struct sp_noise_pair *pairs, size_t n, double *ret_dispersion);
int sp_noise_spread(const struct sp_noise_pair *pairs, size_t n, double dispersion, double *ret_spread);

#endif
