/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter.h: a new profile with some rows of another, and the sums of what was left out.
 *
 * The old profile is not changed; the new one is compact: it has only what its rows need, numbered anew. The sums of
 * the rows kept and left out are returned for the summary. Globs are those of fnmatch(3) without flags; a name also
 * matches itself literally ("[kernel]").
 * Errors: 0 or a negative errno; on errors nothing is returned. Not thread-safe.
 */
#ifndef SP_PROFILE_FILTER_H
#define SP_PROFILE_FILTER_H

#include <stdbool.h>

#include "profile/profile.h"

struct sp_filter_result {
	uint32_t n_kept, n_left_out; /* rows */
	int64_t kept[SP_MAX_VALUES], left_out[SP_MAX_VALUES];
};

/* The rows for which `wants` returns true. */
int sp_profile_filter(const struct sp_profile *p,
		      bool (*wants)(const struct sp_profile *p, const struct sp_row *row, void *arg), void *arg,
		      struct sp_profile **ret_profile, struct sp_filter_result *ret_result);

enum sp_filter_by {
	SP_FILTER_LIBRARY,  /* a frame in a library, or kernel module, whose name, path or path's last component matches
			     */
	SP_FILTER_FUNCTION, /* a frame whose function's name or linkage name matches */
	SP_FILTER_PROCESS,  /* the leader's name, the pid in digits, or the executable (as LIBRARY) matches */
	SP_FILTER_COMM,     /* the thread's name */
	SP_FILTER_CGROUP,   /* the cgroup's path, its last component, or the path of one of its parents */
	SP_FILTER_ANY,      /* any of these */
	SP_FILTER_LABEL,    /* NAME: there is such a label; NAME=GLOB: its text, or its number with or without unit,
			       matches */
};

/* A row passes if any of the globs matches; with `exclude`, if none does. An empty list matches nothing. */
struct sp_glob_filter {
	enum sp_filter_by by;
	const char *const *globs;
	size_t n_globs;
	bool exclude;
};
int sp_profile_filter_by(const struct sp_profile *p, const struct sp_glob_filter *filter,
			 struct sp_profile **ret_profile, struct sp_filter_result *ret_result);

/* Whether a glob matches a process, by the rules of SP_FILTER_PROCESS. */
bool sp_profile_process_matches(const struct sp_profile *p, uint32_t process, const char *glob);

/* The same rules for names that are not in a profile. */
bool sp_glob_matches(const char *glob, const char *name);
bool sp_glob_matches_file(const char *glob, const char *name, const char *path); /* as LIBRARY */
bool sp_glob_matches_cgroup(const char *glob, const char *path);

/* By number of the frame: whether it matches, for LIBRARY, FUNCTION or ANY (either). Free it; NULL: out of memory. */
bool *sp_profile_frames_matching(const struct sp_profile *p, enum sp_filter_by by, const char *glob);

#endif
