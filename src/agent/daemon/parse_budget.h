/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse_budget.h: the CPU time that the agent may still spend on parsing, so that it stays within --max-cpu as a whole.
 *
 * A bucket (bucket.h). Sampling cannot wait (limits.h halves its rate); parsing of new files for names and unwind
 * tables can. The bucket gains max_cpu_ppm of the time, up to SP_PARSE_BUDGET_S seconds' worth, and begins full, so
 * that a machine's usual programs are named at once. All CPU time of the agent is taken from it. The emptier it is, the
 * more samples a file needs to be parsed: one above a half, 64 below an eighth; so a storm of short-lived programs
 * leaves something for lasting ones. In debt nothing is parsed; no debt is larger than a full bucket, so it is paid
 * after SP_PARSE_BUDGET_S if nothing else takes of it. Over any time T the agent uses at most max_cpu_ppm of T +
 * SP_PARSE_BUDGET_S, and what was being parsed when the budget ran out (what was beyond the largest debt not counted).
 * Users have shares of it (user_budget.h). No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_AGENT_DAEMON_PARSE_BUDGET_H
#define SP_AGENT_DAEMON_PARSE_BUDGET_H

#include "agent/bucket.h"
#include <stdbool.h>
#include <stdint.h>

enum { SP_PARSE_BUDGET_S = 300 };

struct sp_parse_budget {
	uint64_t max_cpu_ppm; /* 0 = no limit */
	struct sp_bucket left;
	uint64_t cpu_ns;
};

/* now_ns: CLOCK_MONOTONIC; cpu_ns: all CPU time so far. */
void sp_parse_budget_init(struct sp_parse_budget *p, uint64_t max_cpu_ppm, uint64_t now_ns, uint64_t cpu_ns);
void sp_parse_budget_update(struct sp_parse_budget *p, uint64_t now_ns, uint64_t cpu_ns);
/* Whether a file with so many samples may be parsed, by the last update. */
bool sp_parse_budget_allows(const struct sp_parse_budget *p, uint64_t n_samples);

#endif
