/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leaves.h: a profile's labels as frames, for views that show stacks and no labels.
 *
 * A row with this label gets a leaf frame (merge.h says on which stack): a function that is named as the label's text,
 * in a file that stands for the label, "[LABEL]" (SP_FILE_WORDS). All else is the same, and so are all values and sums:
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
