/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse_budget.h: the CPU time that the agent may still spend on parsing, so that all of it stays within --max-cpu.
 *
 * Sampling goes on whatever it costs (limits.h halves its rate); what can wait is parsing: names and unwind tables of
 * files that nobody has met before. Time fills the budget, by max_cpu_ppm of it, up to what SP_PARSE_BUDGET_S seconds
 * give, and it begins full: a machine's usual programs are named at once. Everything that the agent uses comes out of
 * it. The less is left, the more samples a file must have to be worth it: above a half one will do, below an eighth it
 * takes 64; so a storm of programs that come and go leaves a rest for what stays. In debt nothing is parsed. Over any
 * time T the agent uses at most max_cpu_ppm of T and of SP_PARSE_BUDGET_S, and what was being parsed when the budget
 * was empty. No clock of its own, no memory; cannot fail. One thread.
 */
#ifndef SP_AGENT_DAEMON_PARSE_BUDGET_H
#define SP_AGENT_DAEMON_PARSE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_PARSE_BUDGET_S = 300 };

struct sp_parse_budget {
	uint64_t max_cpu_ppm; /* 0 = no limit */
	int64_t left_ns;      /* of CPU time; below 0: debt */
	uint64_t at_ns, cpu_ns;
};

/* now_ns: CLOCK_MONOTONIC; cpu_ns: what has been used so far. */
void sp_parse_budget_init(struct sp_parse_budget *p, uint64_t max_cpu_ppm, uint64_t now_ns, uint64_t cpu_ns);
void sp_parse_budget_update(struct sp_parse_budget *p, uint64_t now_ns, uint64_t cpu_ns);
/* Of a file with so many samples, as things stood at the last look. */
bool sp_parse_budget_allows(const struct sp_parse_budget *p, uint64_t n_samples);

#endif
