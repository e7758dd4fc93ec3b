/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leaves.h: a profile's labels as frames, for views that show stacks and no labels.
 *
 * Rows that have a label of the name get its text as their leaf (merge.h says on which stack): a function of that name,
 * in a file of words that is called as the label is, in brackets. All else is the same, and so are all values and sums:
 * what is no code has no share of its own (frames.h). *ret_profile is a new profile, the caller's.
 * Errors: -ENOMEM. Only reads the profile; reentrant.
 */
#ifndef SP_PROFILE_LEAVES_H
#define SP_PROFILE_LEAVES_H

#include <stdbool.h>

struct sp_profile;

/* on_user: the leaf goes onto user stacks, since kernel stacks are not shown. */
int sp_profile_leaves(const struct sp_profile *p, const char *label, bool on_user, struct sp_profile **ret_profile);

#endif
