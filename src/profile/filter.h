/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter.h: a new profile with some of the rows of another, and what was left out.
 *
 * The old profile stays as it is; the new one is compact: it names only what its rows need, under numbers of its own.
 * Nothing disappears in silence: the sums of what was kept and left out come back for the summary.
 * Globs are those of fnmatch(3) without flags, and a name always means itself ("[kernel]"). 0 or a negative errno, on
 * which nothing is returned. Not thread-safe.
 */
#ifndef SP_PROFILE_FILTER_H
#define SP_PROFILE_FILTER_H

#include <stdbool.h>

#include "profile/profile.h"

struct sp_filter_result {
	uint32_t n_kept, n_left_out; /* rows */
	int64_t kept[SP_MAX_VALUES], left_out[SP_MAX_VALUES];
};

/* The rows that `wants` says yes to. */
int sp_profile_filter(const struct sp_profile *p,
		      bool (*wants)(const struct sp_profile *p, const struct sp_row *row, void *arg), void *arg,
		      struct sp_profile **ret_profile, struct sp_filter_result *ret_result);

/* The rows with a frame in a library whose name, path or path's last component matches; kernel modules, too. */
int sp_profile_filter_library(const struct sp_profile *p, const char *glob, struct sp_profile **ret_profile,
			      struct sp_filter_result *ret_result);

/* The rows whose thread's name matches. */
int sp_profile_filter_comm(const struct sp_profile *p, const char *glob, struct sp_profile **ret_profile,
			   struct sp_filter_result *ret_result);

#endif
