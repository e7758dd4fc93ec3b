/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h: makes a profile of counted calls.
 *
 * One value, "calls", in "count". A row's user stack is the callee, then its caller as far as known: the call site's
 * frame or, counted by object, "[LIBRARY]", or nothing. A tail call has both: "[LIBRARY]", whose reference was
 * called, and then the return address. The callee's frame is at the function's start, with the name that the caller's
 * reference has; if its address was taken, so that calls may be uncounted, the frame has SP_FRAMEF_ADDRESS_TAKEN. A
 * call site's frame has no function: the caller of this layer symbolizes it. Where calls were timed there are two
 * more values, "timed" and "latency" (nanoseconds), in rows of the callee alone. The profile is the caller's. 0,
 * -ENOMEM. Only reads the snapshot.
 */
#ifndef SP_LINK_PROFILE_H
#define SP_LINK_PROFILE_H

#include "link/file.h"

#define SP_CALLS_VALUE "calls"
/* Timed calls: their number, in rows whose keys have the range as two labels; and their sum in nanoseconds. */
#define SP_CALLS_TIMED "timed"
#define SP_CALLS_LATENCY "latency"
#define SP_CALLS_FROM "latency_from"
#define SP_CALLS_BELOW "latency_below"

struct sp_profile;

/* Callbacks for what needs other layers. */
struct sp_calls_namer {
	/* A new string; NULL: out of memory. */
	char *(*demangle)(const char *linkage_name);
	/*
	 * Sets virtual address and size of the function at each of n ascending offsets in a file of p; they are 0
	 * before, and stay so if not known. 0 or a negative errno, on which sp_calls_profile() fails.
	 */
	int (*place)(void *arg, struct sp_profile *p, uint32_t file, const uint64_t *offsets, size_t n,
		     uint64_t *vaddrs, uint64_t *sizes);
	void *arg;
};

int sp_calls_profile(const struct sp_calls_snapshot *s, const struct sp_calls_namer *namer,
		     struct sp_profile **ret_profile);

#endif
