/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unmatched.h: says that a filter's glob matches nothing in a profile, with the nearest name that is there.
 *
 * For who filters and finds that no row is left of some: the profile is that before the filter. No state.
 */
#ifndef SP_CMD_UNMATCHED_H
#define SP_CMD_UNMATCHED_H

#include "profile/filter.h"

/* -ENOENT with a message that begins with the option, or -ENOMEM. */
int sp_unmatched(const struct sp_profile *p, const char *option, const struct sp_glob_filter *filter);

#endif
