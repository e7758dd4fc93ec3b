/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.h: the CPU time that each user may have of the agent: for answers, for new files, for parsing.
 *
 * A token bucket for each user: it gains max_cpu_ppm of the time, up to burst_ns, and begins full. A user in debt is
 * refused until it is paid; no debt is larger than debt_ns. Buckets are kept for SP_SHARE_USERS users; the fullest is
 * forgotten for one more, which gives it what it had almost. No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_AGENT_SHARE_H
#define SP_AGENT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SP_SHARE_USERS = 64 };

struct sp_shares {
	uint64_t max_cpu_ppm;      /* 0 = no limit */
	int64_t burst_ns, debt_ns; /* debt_ns 0: however large it is */
	size_t n;
	struct sp_share {
		uid_t uid;
		int64_t left_ns; /* at at_ns; below 0: debt */
		uint64_t at_ns;
	} users[SP_SHARE_USERS];
};

/* now_ns: CLOCK_MONOTONIC; cpu_ns below 0: given back. */
void sp_share_take(struct sp_shares *s, uid_t uid, uint64_t now_ns, int64_t cpu_ns);
bool sp_share_is_used_up(const struct sp_shares *s, uid_t uid, uint64_t now_ns);

#endif
