/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge.h: adds rows of one profile to another, with everything that they refer to.
 *
 * Every number is translated; only what the merged rows refer to is copied. Values are matched by name and unit: a
 * profile without value types takes the other's, else each type of `from` must exist in `into`. A file of `from`
 * becomes the file of `into` with its kind and tag, unless they contradict each other (build id, name, path or
 * process), or else the one with its kind and build id (which is what a library is; paths are labels), or else a new
 * one, with a new tag if its own is in use. Frames of one address with two names (not ranges) stay two frames. Labels
 * still empty in `into` (function of a frame, package, cgroup ...) are filled in. An info that is all zero is copied.
 * Processes are distinct by pid, start and exec, so both profiles must be of one machine and boot, or have no
 * processes.
 * On an error `into` has a part of the rows. Not thread-safe on `into`; `from` is only read.
 */
#ifndef SP_PROFILE_MERGE_H
#define SP_PROFILE_MERGE_H

#include <stdbool.h>

#include "profile/profile.h"

/*
 * Merges all rows, and puts a frame of `into` at the leaf of each for which `leaf` gives one (0: none; or a negative
 * errno): on the kernel stack, or, where that is not there or not wanted, on the user stack.
 */
struct sp_leaves {
	int64_t (*leaf)(struct sp_profile *into, const struct sp_profile *from, const struct sp_row *row, void *arg);
	void *arg;
	bool on_user; /* kernel stacks are not shown */
};
int sp_profile_merge_leaves(struct sp_profile *into, const struct sp_profile *from, const struct sp_leaves *leaves);

/*
 * Merges rows that have values, without the frames at their leaves that lie in the file `callee` of `from`: what is
 * left begins with who called it. 0: no file.
 */
int sp_profile_merge_callers(struct sp_profile *into, const struct sp_profile *from, uint32_t callee);

/* Merges all rows. -EINVAL: a value type that `into` does not have. */
int sp_profile_merge(struct sp_profile *into, const struct sp_profile *from);

/* Merges the rows for which `wants` returns true. */
int sp_profile_merge_some(struct sp_profile *into, const struct sp_profile *from,
			  bool (*wants)(const struct sp_profile *from, const struct sp_row *row, void *arg), void *arg);

/* The same without processes, threads and labels: rows of equal stacks become one. */
int sp_profile_merge_stacks(struct sp_profile *into, const struct sp_profile *from,
			    bool (*wants)(const struct sp_profile *from, const struct sp_row *row, void *arg),
			    void *arg);

/* The functions inlined at a frame: n elements of a list of frames, innermost first. */
struct sp_inlined {
	uint32_t first, n;
};
/*
 * Merges all rows, and puts before each frame of a stack the frames inlined at it. by_frame[] is for the frames up to
 * n_by_frame; `inlined` is the list, of numbers of frames in `from`.
 */
int sp_profile_merge_inlined(struct sp_profile *into, const struct sp_profile *from, const struct sp_inlined *by_frame,
			     size_t n_by_frame, const uint32_t *inlined);

#endif
