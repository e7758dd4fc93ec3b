/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h: counted calls as a profile.
 *
 * One value, "calls", in "count". A row's user stack is the callee, then who called it, as far as that is known: the
 * function at the place of the call, or, counted by object, "[LIBRARY]", or nobody. A tail call has both: "[LIBRARY]",
 * whose reference was called, above the place that it returns to. The callee's frame lies at the function's start and
 * has its name, as the caller asked for it; where its address is known elsewhere, so that calls may have gone
 * uncounted, the frame says SP_FRAMEF_ADDRESS_TAKEN. A call's place is a frame without a function: names are the
 * caller's business. Where calls were timed there are two values more, "timed" and, in nanoseconds, "latency", in rows
 * of the callee alone. The profile is the caller's. 0, -ENOMEM. Only reads the snapshot.
 */
#ifndef SP_LINK_PROFILE_H
#define SP_LINK_PROFILE_H

#include "link/file.h"

#define SP_CALLS_VALUE "calls"
/* Of calls that were timed: how many, each with the range of its time in two labels of its key; and their sum. */
#define SP_CALLS_TIMED "timed"
#define SP_CALLS_LATENCY "latency"
#define SP_CALLS_FROM "latency_from"
#define SP_CALLS_BELOW "latency_below"

struct sp_profile;

/* What is asked of the caller, who may look into files. */
struct sp_calls_namer {
	/* A new string from a symbol's name; NULL: out of memory. */
	char *(*demangle)(const char *linkage_name);
	/*
	 * Virtual address and size of what begins at each of n rising offsets in a file of p; 0 where not known, as
	 * they are before. 0 or a negative errno, which ends it all.
	 */
	int (*place)(void *arg, struct sp_profile *p, uint32_t file, const uint64_t *offsets, size_t n,
		     uint64_t *vaddrs, uint64_t *sizes);
	void *arg;
};

int sp_calls_profile(const struct sp_calls_snapshot *s, const struct sp_calls_namer *namer,
		     struct sp_profile **ret_profile);

#endif
