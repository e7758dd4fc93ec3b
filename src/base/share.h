/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.h: the CPU time that each of many may have: users, for answers, new files and parsing; HTTP clients, for
 * handshakes.
 *
 * A bucket for each (bucket.h), by a number of the caller's, which begins full. Who is in debt is refused until it is
 * paid. Buckets are kept for SP_SHARE_USERS; the fullest is forgotten for one more, which gives it what it had almost.
 * No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_BASE_SHARE_H
#define SP_BASE_SHARE_H

#include "base/bucket.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_SHARE_USERS = 64 };
#define SP_SHARE_ALL_USERS UINT64_MAX /* no user has this number: for what many have together */

struct sp_shares {
	struct sp_bucket_size size; /* of each; gain_ppm 0 = no limit */
	size_t n;
	struct sp_share {
		uint64_t who;
		struct sp_bucket left;
	} users[SP_SHARE_USERS];
};

/* part: of max_cpu_ppm, each has one of so many; 0 = no limit. Also while it is in use. */
void sp_share_limit(struct sp_shares *s, uint64_t max_cpu_ppm, unsigned part, int64_t burst_ns);
/* now_ns: CLOCK_MONOTONIC; cpu_ns below 0: given back. */
void sp_share_take(struct sp_shares *s, uint64_t who, uint64_t now_ns, int64_t cpu_ns);
bool sp_share_is_used_up(const struct sp_shares *s, uint64_t who, uint64_t now_ns);

#endif
