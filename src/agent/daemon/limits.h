/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h: the agent's limits on itself: decides when the sampling rate is lowered or raised.
 *
 * sp_limits_update() gets CPU time and memory once a minute. The rate is a means against the cost of sampling only:
 * parsing has its own budget (parse_budget.h), and answers are for others. Halved, at most SP_LIMITS_HALVINGS times,
 * when the mean of the last SP_LIMITS_MINUTES is above the CPU limit, and sampling's part above three quarters of it.
 * (Not judged before so many have passed since the start or since the last change.) Raised, by the last minute alone:
 * sampling would stay below two thirds of the limit. Memory above its limit: a fresh profile, since a lower rate frees
 * nothing. No state but the struct's, no clock; cannot fail. One thread.
 */
#ifndef SP_AGENT_DAEMON_LIMITS_H
#define SP_AGENT_DAEMON_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_LIMITS_MINUTES = 5, SP_LIMITS_HALVINGS = 5 };

struct sp_limits {
	uint64_t max_cpu_ppm, max_memory_bytes; /* 0 = none */
	unsigned halvings;
	const char *why;                /* "cpu"; "" = not halved */
	uint64_t cpu_ppm, sampling_ppm; /* at the last reading: all, and sampling's part; 0 = not known */
	/* since the last change of the rate, oldest first */
	struct {
		uint64_t at_ns, cpu_ns, sampling_ns;
	} readings[SP_LIMITS_MINUTES + 1];
	unsigned n_readings;
};

enum sp_limits_advice { SP_LIMITS_GO_ON, SP_LIMITS_RENEW, SP_LIMITS_HALVE, SP_LIMITS_RAISE };

/*
 * How much of the memory limit a profile may take, and the store's dictionary. Where there are many stacks the
 * dictionary grows most, so it gets another fifth of what is above SP_LIMITS_FOR_ALL: rolling up an hour takes that.
 */
enum { SP_LIMITS_FOR_ALL = 60 << 20 };
uint64_t sp_limits_profile_bytes(uint64_t max_memory_bytes);
uint64_t sp_limits_dictionary_bytes(uint64_t max_memory_bytes);
/*
 * Memory that is not ours, but would be free without us: of deleted files that are held open for their names. So all
 * together stays within one and a half times the limit.
 */
uint64_t sp_limits_deleted_bytes(uint64_t max_memory_bytes);
/* How many nodes the new stacks of one user may add to the call trees at once (stack_share.h); each takes up to 100
 * bytes. */
uint64_t sp_limits_user_nodes(uint64_t max_memory_bytes);
/* How many bytes the long names of one user's functions may take in a profile (naming/name_share.h). */
uint64_t sp_limits_user_name_bytes(uint64_t max_memory_bytes);

void sp_limits_init(struct sp_limits *l, uint64_t max_cpu_ppm, uint64_t max_memory_bytes);
/* other_ns: part of cpu_ns that is not sampling. With HALVE and RAISE, l->halvings has been changed already. */
enum sp_limits_advice sp_limits_update(struct sp_limits *l, uint64_t now_ns, uint64_t cpu_ns, uint64_t other_ns,
				       uint64_t memory_bytes);

#endif
