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

enum sp_filter_by {
	SP_FILTER_LIBRARY,  /* a frame in a library whose name, path or path's last component matches; kernel modules,
			       too */
	SP_FILTER_FUNCTION, /* a frame with a function of a matching name or linkage name */
	SP_FILTER_PROCESS,  /* the leader's name, the pid in digits, the executable as a library matches */
	SP_FILTER_COMM,     /* the thread's name */
	SP_FILTER_CGROUP,   /* the cgroup's path, its last component, or the path of one that it lies in */
	SP_FILTER_ANY,      /* any of these */
	SP_FILTER_LABEL,    /* the glob is NAME, of a label; or NAME=GLOB: its word, or number with or without unit */
};

/* A row passes if one of the globs matches; with exclude, if none does. No globs match nothing. */
struct sp_glob_filter {
	enum sp_filter_by by;
	const char *const *globs;
	size_t n_globs;
	bool exclude;
};
int sp_profile_filter_by(const struct sp_profile *p, const struct sp_glob_filter *filter,
			 struct sp_profile **ret_profile, struct sp_filter_result *ret_result);

/* As SP_FILTER_PROCESS has it. */
bool sp_profile_process_matches(const struct sp_profile *p, uint32_t process, const char *glob);

/* As sp_profile_filter_by with one glob for libraries or threads. */
int sp_profile_filter_library(const struct sp_profile *p, const char *glob, struct sp_profile **ret_profile,
			      struct sp_filter_result *ret_result);
int sp_profile_filter_comm(const struct sp_profile *p, const char *glob, struct sp_profile **ret_profile,
			   struct sp_filter_result *ret_result);

/* What a glob means by these words: for those who keep them elsewhere than in a profile. */
bool sp_glob_means(const char *glob, const char *name);
bool sp_glob_means_file(const char *glob, const char *name, const char *path); /* as LIBRARY, of a function's file */
bool sp_glob_means_cgroup(const char *glob, const char *path);

/* By number of the frame: does it match? For LIBRARY and FUNCTION (ANY: either). Free it; NULL: out of memory. */
bool *sp_profile_frames_matching(const struct sp_profile *p, enum sp_filter_by by, const char *glob);

#endif
