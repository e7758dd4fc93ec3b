/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the files of this layer share: sums that stay at the ends of 64 bits; what tree.c makes a tree of, and
 * the second half of it, which it calls when all paths are in; and the parts of a diff: which files are one library
 * (diff_pair.c), the joined profile (diff_join.c), sums and variances (diff_fold.c), intervals (diff_noise.c). Threads,
 * ownership and errors: as in tree.h and diff.h.
 */
#ifndef SP_PROFILE_PRIV_H
#define SP_PROFILE_PRIV_H

#include <stdint.h>

#include "base/sum.h"
#include "profile/diff.h"
#include "profile/identity.h"
#include "profile/tree.h"

/* Of rows with the same path. A tree is made of these, in the order in which their first rows come. */
struct sp_tree_pile {
	uint32_t user, kernel, comm; /* comm: a string */
	int64_t value, second, n_samples;
};
struct sp_tree_pile sp_tree_pile_of(const struct sp_profile *p, const struct sp_tree_options *o,
				    const struct sp_identity *same, const struct sp_row *row);
/* With drawn, what has no value is not. */
bool sp_tree_shows(const struct sp_tree_options *o, const struct sp_tree_pile *pile);
/* Free *ret_piles. -ENOMEM. */
int sp_tree_piles_make(const struct sp_profile *p, const struct sp_tree_options *o, const struct sp_identity *same,
		       struct sp_tree_pile **ret_piles, uint32_t *ret_n);

/*
 * From nodes that know parent, label, self, second_self, n_samples (of self and of what was left out above them) and,
 * in the totals, the values of what was left out, to what tree.h says: totals, thresholds, order. 0 or -ENOMEM.
 */
int sp_tree_shape(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *t);

/* --- diff: side 0 is old, 1 is new ---------------------------------------------------------------------------------
 */
struct sp_pairs {
	uint32_t n_classes;
	uint32_t *class_of[2]; /* by file: its library's number from 1; 0 = no frame lies in it */
	bool *upgraded;        /* by number of the class */
};
int sp_pairs_new(const struct sp_profile *const p[2], const struct sp_identity same[2], struct sp_pairs *ret_pairs);
void sp_pairs_done(struct sp_pairs *pairs);

/* Fills in d->joined and d->upgrades. */
int sp_diff_join(const struct sp_profile *const p[2], const struct sp_diff_options *o, struct sp_diff *d);

/* The rows, in no order, not marked as upgraded, and with the chance of a difference as large in place of q. */
int sp_diff_fold_rows(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *ret_rows);

/* For d->scale: see diff.h. -EAGAIN: no row varies, as one alone does not in shares; the growth is 1. */
int sp_diff_find_growth(const struct sp_diff *d, enum sp_diff_by by, double *ret_growth);

/* What is known of one row's value (self or total) on one side. */
struct sp_noise_side {
	double x;        /* the value */
	double q;        /* its squares by samples: what counts alone say about its variance */
	double n;        /* its samples */
	double variance; /* of x (ABSOLUTE) or of its share; without the sample that is always added */
	double freedom;  /* degrees of freedom of the variance; infinite for counts */
};
/* The whole of a side. */
struct sp_noise_whole {
	double x, q, n_samples;
};
double sp_noise_from_counts(enum sp_diff_scale scale, const struct sp_noise_side *s, const struct sp_noise_whole *w);
/* Both sides' variance and freedom from their counts and from what rows vary by beyond them. */
void sp_noise_take_counts(const struct sp_diff *d, struct sp_noise_side s[2], const struct sp_noise_whole w[2]);
/* By how much the variance exceeds that of batches, from that of batches of 1, 2, 4 ... times their size. */
double sp_noise_growth(const double *variances, size_t n);
/* Takes it so: batches that vary so much together are as if there were fewer. */
void sp_noise_grow(struct sp_noise_side *s, double growth);
/* Fills in all but q of a change from its two sides; returns the chance of a difference as large, if nothing changed.
 */
double sp_noise_change(enum sp_diff_scale scale, const struct sp_noise_side s[2], const struct sp_noise_whole w[2],
		       struct sp_change *ret_change);
/* One row, to tell by it how much rows differ from each other. */
struct sp_noise_pair {
	double x[2], variance[2], samples; /* of old, new; samples of both */
};
/* The groups' self or totals; the caller frees them. */
int sp_diff_pairs(const struct sp_diff *d, enum sp_diff_by by, bool total, struct sp_noise_pair **ret_pairs,
		  size_t *ret_n);
/* diff.h says what these are. Rows of few samples are left out; -EAGAIN: too few are left to tell anything. */
int sp_noise_dispersion(const struct sp_noise_pair *pairs, size_t n, double *ret_dispersion);
int sp_noise_spread(const struct sp_noise_pair *pairs, size_t n, double dispersion, double *ret_spread);

#endif
