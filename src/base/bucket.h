/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bucket.h: a token bucket of CPU time, which shares, pace and parse budget are made of.
 *
 * It gains gain_ppm of the time, up to burst_ns, and may be overdrawn: what was used cannot be known before. No debt is
 * larger than debt_ns. The clock is CLOCK_MONOTONIC; if it goes back nothing is gained. Its size may change while it is
 * in use. No memory; cannot fail. One thread.
 */
#ifndef SP_BASE_BUCKET_H
#define SP_BASE_BUCKET_H

#include <stdint.h>

struct sp_bucket_size {
	uint64_t gain_ppm;         /* of one CPU */
	int64_t burst_ns, debt_ns; /* debt_ns 0: however large it is */
};

struct sp_bucket {
	int64_t left_ns; /* at at_ns; below 0: debt */
	uint64_t at_ns;
};

/*
 * What a minute of max_cpu_ppm is: no more is saved up of what is spent without asking the parse budget, so that a
 * burst of it is a fifth of what five minutes may cost.
 */
int64_t sp_bucket_minute_ns(uint64_t max_cpu_ppm);
int64_t sp_bucket_left(const struct sp_bucket *b, const struct sp_bucket_size *size, uint64_t now_ns);
/* cpu_ns below 0: given back. */
void sp_bucket_take(struct sp_bucket *b, const struct sp_bucket_size *size, uint64_t now_ns, int64_t cpu_ns);

#endif
