/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_significance.h: whether the change of a frame in a call tree is noise, in agreement with the rows of diff.h.
 *
 * A frame of a call tree is a part of a row: of its function's, or of its library's where a tree's nodes are
 * libraries. Its interval is computed from its own share and samples, with the row's excess of variance over counts
 * and the row's quantile; so a frame that makes up all of its row is significant if and only if the row is. What
 * belongs to no row (a thread, a marker) is treated as the library that varies most. The struct refers to the diff,
 * which must outlive it; look-ups do not change it. Errors: -ENOMEM.
 */
#ifndef SP_PROFILE_DIFF_SIGNIFICANCE_H
#define SP_PROFILE_DIFF_SIGNIFICANCE_H

#include "profile/diff.h"
#include "profile/tree.h"

struct sp_significance;

int sp_significance_new(const struct sp_diff *d, struct sp_significance **ret_significance);
void sp_significance_free(struct sp_significance *j);

/* The row of a library (a file of `joined`), of a tree's label. NULL: there is none. */
const struct sp_diff_row *sp_significance_library_row(const struct sp_significance *j, uint32_t file);
const struct sp_diff_row *sp_significance_label_row(const struct sp_significance *j, const struct sp_tree_label *label);
/* The change to use where there is no row: that of the library that varies most. */
const struct sp_change *sp_significance_default(const struct sp_significance *j);

/* The change of a part of a row. row: the row's self or total. */
struct sp_change sp_significance_of_part(const struct sp_diff *d, const struct sp_change *row, double old_value,
					 double new_value);

#endif
