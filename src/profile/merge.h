/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge.h: rows of one profile added into another, with everything that they name.
 *
 * Every number is translated; only what a merged row names is taken over. Values go by name and unit: a profile without
 * value types takes over the other's, else each type of `from` must be one of `into`'s. A file of `from` becomes the
 * file of `into` that has its kind and tag, if the two do not contradict each other (other build id, name, path or
 * process), or its kind and build id (which is what a library is: paths are labels); else a new one, under a new tag if
 * its own is in use. Frames of one place with two names (not ranges) stay two frames. Labels that are still empty in
 * `into` (function of a frame, package, cgroup ...) are filled in. An info that is all zero is taken over. Processes
 * are told apart by pid, start and exec, so both profiles must be of one machine and boot, or know no processes. On an
 * error `into` holds a part of the rows. Not thread-safe on `into`; `from` is only read.
 */
#ifndef SP_PROFILE_MERGE_H
#define SP_PROFILE_MERGE_H

#include <stdbool.h>

#include "profile/profile.h"

/* All rows. -EINVAL: a value type that `into` does not have. */
int sp_profile_merge(struct sp_profile *into, const struct sp_profile *from);

/* Only the rows that `wants` says yes to. */
int sp_profile_merge_some(struct sp_profile *into, const struct sp_profile *from,
			  bool (*wants)(const struct sp_profile *from, const struct sp_row *row, void *arg), void *arg);

/* What is inlined at a frame: n of a list of frames, innermost first. */
struct sp_inlined {
	uint32_t first, n;
};
/*
 * All rows, and in their stacks before each frame of `from` what is inlined at it. by_frame[] is for the frames up to
 * n_by_frame; `inlined` are numbers of frames in `from`.
 */
int sp_profile_merge_inlined(struct sp_profile *into, const struct sp_profile *from, const struct sp_inlined *by_frame,
			     size_t n_by_frame, const uint32_t *inlined);

#endif
