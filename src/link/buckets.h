/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buckets.h: how long calls took, as a file of calls (format.h) has it: rows of a function, told apart by their part,
 * that have no caller and no site. The sum of the ticks of all calls that were seen to return is one, the number of
 * those that took about as long one for each bucket: four to an octave, by the number of ticks. The header has the
 * ticks of a second. Also for the audit library: no libc. No state, no errors.
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

/* The fewest ticks of a bucket; those of the last have no end. */
static inline uint64_t sp_calls_bucket_low(unsigned bucket)
{
	return bucket < 4 ? bucket : (uint64_t)(4 + bucket % 4) << (bucket / 4 - 1);
}

#endif
