/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unmatched.h: says that a filter's glob matches nothing in a profile, with the nearest name that is there.
 *
 * For who filters, by sp_narrow_matched() or otherwise, and finds that no row is left of some. No state.
 */
#ifndef SP_CMD_UNMATCHED_H
#define SP_CMD_UNMATCHED_H

#include "profile/filter.h"

/*
 * For who filters and finds that no row is left of some: the profile is that before the filter. -ENOENT with a message
 * that begins with the option, or -ENOMEM.
 */
int sp_unmatched(const struct sp_profile *p, const char *option, const struct sp_glob_filter *filter);
/*
 * Replaces the profile by what the filter keeps of it; where it keeps none of some, as sp_unmatched(). After a failure
 * the profile is as it was. *ret_left_out, of the first value, may be NULL.
 */
int sp_narrow_matched(struct sp_profile **p, const char *option, const struct sp_glob_filter *filter,
		      int64_t *ret_left_out);

#endif
