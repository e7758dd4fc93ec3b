/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_judge.h: what of a picture's change is noise, by the same judgement as the rows of diff.h.
 *
 * A frame of a call tree is a part of a row: of its function, or of its library, where frames of one library are one.
 * It is judged by its own share and samples, with what the row's variance exceeds that of counts by, and with the row's
 * quantile: so a frame that is all of its row has the row's verdict, in every picture. What belongs to no row (a
 * thread, a note) is judged as the library that varies most. A judge belongs to the diff, which has to outlive it, and
 * is not changed by questions. -ENOMEM.
 */
#ifndef SP_PROFILE_DIFF_JUDGE_H
#define SP_PROFILE_DIFF_JUDGE_H

#include "profile/diff.h"
#include "profile/tree.h"

struct sp_diff_judge;

int sp_diff_judge_new(const struct sp_diff *d, struct sp_diff_judge **ret_judge);
void sp_diff_judge_free(struct sp_diff_judge *j);

/* The row of a library (a file of `joined`); of what a label of a tree says. NULL: there is none. */
const struct sp_diff_row *sp_diff_judge_library(const struct sp_diff_judge *j, uint32_t file);
const struct sp_diff_row *sp_diff_judge_label(const struct sp_diff_judge *j, const struct sp_tree_label *label);
/* What is judged so where there is no row. */
const struct sp_change *sp_diff_judge_other(const struct sp_diff_judge *j);

/* row: self or total of the row that the values are a part of. */
struct sp_change sp_diff_judge_part(const struct sp_diff *d, const struct sp_change *row, double old_value,
				    double new_value);

#endif
