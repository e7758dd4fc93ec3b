/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h: the agent's limits on itself: decides when the sampling rate is halved or doubled.
 *
 * sp_limits_update() gets CPU time and memory once a minute. CPU is the mean of the last SP_LIMITS_MINUTES, and is not
 * judged before so many have passed since the start or since the last change of the rate. Halved, at most
 * SP_LIMITS_HALVINGS times: CPU is above its limit, and what is not parsing is above three quarters of the limit.
 * (Parsing does not depend on the rate; parse_budget.h limits it.) Doubled: what is not parsing is below a third of the
 * limit; so even if all of it followed the rate, it would stay below two thirds. Memory above its limit: first a fresh
 * profile; if that does not help, half the rate. No state but the struct's, no clock; cannot fail. One thread.
 */
#ifndef SP_AGENT_DAEMON_LIMITS_H
#define SP_AGENT_DAEMON_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_LIMITS_MINUTES = 5, SP_LIMITS_HALVINGS = 5 };

struct sp_limits {
	uint64_t max_cpu_ppm, max_memory_bytes; /* 0 = none */
	unsigned halvings;
	const char *why;            /* "cpu", "memory"; "" = not halved */
	uint64_t cpu_ppm, rest_ppm; /* at the last reading: all, and all but parsers; 0 = not known */
	/* since the last change of the rate, oldest first */
	struct {
		uint64_t at_ns, cpu_ns, rest_ns;
	} readings[SP_LIMITS_MINUTES + 1];
	unsigned n_readings;
	bool memory_was_over;
};

enum sp_limits_advice { SP_LIMITS_GO_ON, SP_LIMITS_RENEW, SP_LIMITS_HALVE, SP_LIMITS_DOUBLE };

/*
 * How much of the memory limit a profile may take, and the store's dictionary. Where there are many stacks the
 * dictionary grows most, so it gets another fifth of what is above SP_LIMITS_FOR_ALL: rolling up an hour takes that.
 */
enum { SP_LIMITS_FOR_ALL = 60 << 20 };
uint64_t sp_limits_profile_bytes(uint64_t max_memory_bytes);
uint64_t sp_limits_dictionary_bytes(uint64_t max_memory_bytes);

void sp_limits_init(struct sp_limits *l, uint64_t max_cpu_ppm, uint64_t max_memory_bytes);
/* parsers_ns: part of cpu_ns. With HALVE and DOUBLE, l->halvings has been changed already. */
enum sp_limits_advice sp_limits_update(struct sp_limits *l, uint64_t now_ns, uint64_t cpu_ns, uint64_t parsers_ns,
				       uint64_t memory_bytes);

#endif
