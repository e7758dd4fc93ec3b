/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h: the agent's limits on itself: when to halve the rate, and when to raise it again.
 *
 * Once a minute it is told the CPU time used since the start and the memory in use. CPU is judged over the last
 * SP_LIMITS_MINUTES (at the beginning, when tables and names are being made, after SP_LIMITS_MINUTES for the first
 * time). Above the limit the rate is halved, at most SP_LIMITS_HALVINGS times, and judged anew; but only where that
 * helps: what the parsers use does not follow the rate (parse_budget.h holds them back), and the rest has to be more
 * than three quarters of the limit. Where the rest is below a third for all the minutes the rate is doubled: even if
 * all of it went with the rate, two thirds would be the most. Memory above its limit asks for a fresh profile first,
 * and if that does not help, for half the rate. No state but the struct's, no clock of its own; cannot fail. One
 * thread.
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
	uint64_t cpu_ppm, rest_ppm; /* of the last look: all, and without the parsers; 0 = not known */
	/* looks at the CPU time, the oldest first, since the rate was changed last */
	struct {
		uint64_t at_ns, cpu_ns, rest_ns;
	} looks[SP_LIMITS_MINUTES + 1];
	unsigned n_looks;
	bool memory_was_over;
};

enum sp_limits_advice { SP_LIMITS_GO_ON, SP_LIMITS_RENEW, SP_LIMITS_HALVE, SP_LIMITS_DOUBLE };

/*
 * The shares that a profile, and the dictionary of the store, have of the memory. A dictionary is large where stacks
 * are many; what else there is grows less with them, so that a fifth of what is above SP_LIMITS_FOR_ALL is its own,
 * too: to roll up an hour takes as much again.
 */
enum { SP_LIMITS_FOR_ALL = 60 << 20 };
uint64_t sp_limits_profile_bytes(uint64_t max_memory_bytes);
uint64_t sp_limits_dictionary_bytes(uint64_t max_memory_bytes);

void sp_limits_init(struct sp_limits *l, uint64_t max_cpu_ppm, uint64_t max_memory_bytes);
/* halvings has been changed already where HALVE or DOUBLE is advised. parsers_ns: of the CPU time. */
enum sp_limits_advice sp_limits_look(struct sp_limits *l, uint64_t now_ns, uint64_t cpu_ns, uint64_t parsers_ns,
				     uint64_t memory_bytes);

#endif
