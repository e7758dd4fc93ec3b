/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.h: the CPU time that each ordinary user may have of the agent for answers.
 *
 * A token bucket for each user: it gains max_cpu_ppm of the time, up to SP_SHARE_BURST_S seconds, and begins full. A
 * user in debt is not answered until it is paid. Buckets are kept for SP_SHARE_USERS users; the fullest is forgotten
 * for one more, which gives it what it had almost. No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_AGENT_SOCKET_SHARE_H
#define SP_AGENT_SOCKET_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SP_SHARE_BURST_S = 10, SP_SHARE_USERS = 64 };

struct sp_shares {
	uint64_t max_cpu_ppm; /* 0 = no limit */
	size_t n;
	struct sp_share {
		uid_t uid;
		int64_t left_ns; /* at at_ns; below 0: debt */
		uint64_t at_ns;
	} users[SP_SHARE_USERS];
};

/* now_ns: CLOCK_MONOTONIC. */
void sp_share_take(struct sp_shares *s, uid_t uid, uint64_t now_ns, uint64_t cpu_ns);
bool sp_share_is_used_up(const struct sp_shares *s, uid_t uid, uint64_t now_ns);

#endif
