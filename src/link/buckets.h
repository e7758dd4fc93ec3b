/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buckets.h: latencies of calls in a file of calls (format.h).
 *
 * Rows of a function without caller and site, distinct by `part`: one has the sum of the ticks of all calls that
 * returned, the others the number of calls in each bucket. There are four buckets to an octave of ticks; the header
 * has the ticks of a second. Also used by the audit library: no libc. No state, no errors.
 */
#ifndef SP_LINK_BUCKETS_H
#define SP_LINK_BUCKETS_H

#include <stdint.h>

enum sp_calls_part { SP_CALLS_PART_CALLS, SP_CALLS_PART_TICKS, SP_CALLS_PART_BUCKET };
enum { SP_CALLS_BUCKETS = 252 };

static inline unsigned sp_calls_bucket(uint64_t ticks)
{
	unsigned high = ticks < 4 ? 0 : 63 - (unsigned)__builtin_clzll(ticks);

	return high == 0 ? (unsigned)ticks : (high - 1) * 4 + (unsigned)(ticks >> (high - 2) & 3);
}

/* The lower bound of a bucket, in ticks; the last one has no upper bound. */
static inline uint64_t sp_calls_bucket_low(unsigned bucket)
{
	return bucket < 4 ? bucket : (uint64_t)(4 + bucket % 4) << (bucket / 4 - 1);
}

#endif
