/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse_budget.h: the CPU time that the agent may still spend on parsing, so that it stays within --max-cpu as a whole.
 *
 * Sampling cannot wait (limits.h halves its rate); parsing of new files for names and unwind tables can. Left is what
 * --max-cpu allows in SP_PARSE_BUDGET_S, less all CPU time of the agent in the last SP_PARSE_BUDGET_S. Of it
 * - 1/8 is reserved for sampling, should that take more; in the first SP_PARSE_BUDGET_S another 2/8, released bit by
 *   bit, so that files that come later have names, too;
 * - a file is parsed if it has 1 sample while more than 1/2 is left, up to 64 samples below 1/8: a storm of
 *   short-lived programs leaves something for lasting ones;
 * - what is allowed counts by an estimate until it is seen in the CPU time; an estimate is 1/2 at most.
 * So the agent exceeds max_cpu_ppm only by what a large file takes beyond its estimate, and by what sampling grows
 * meanwhile. Users have shares of it (user_budget.h). No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_AGENT_DAEMON_PARSE_BUDGET_H
#define SP_AGENT_DAEMON_PARSE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_PARSE_BUDGET_S = 300, SP_PARSE_SLOT_S = 5, SP_PARSE_SLOTS = SP_PARSE_BUDGET_S / SP_PARSE_SLOT_S + 1 };

struct sp_parse_budget {
	uint64_t max_cpu_ppm; /* 0 = no limit */
	uint64_t began_ns, cpu_ns;
	uint64_t slot;                    /* the latest, since began_ns */
	uint64_t used_ns[SP_PARSE_SLOTS]; /* by slot, modulo their number; used_ns in all: */
	uint64_t sum_ns;
	int64_t asked_ns; /* was allowed, and is not in cpu_ns yet */
	int64_t left_ns;  /* by the last update; < 0: more was used than is allowed */
};

/*
 * A parser may have so much CPU time for one file: it may not use up what is there for all, however a file was made to
 * cost more than its size tells.
 */
unsigned sp_parse_budget_longest_ms(uint64_t max_cpu_ppm);
/* now_ns: CLOCK_MONOTONIC; cpu_ns: all CPU time so far. */
void sp_parse_budget_init(struct sp_parse_budget *p, uint64_t max_cpu_ppm, uint64_t now_ns, uint64_t cpu_ns);
void sp_parse_budget_update(struct sp_parse_budget *p, uint64_t now_ns, uint64_t cpu_ns);
/* Whether the slot of the last update lasts: what is left does not grow before the next one. */
bool sp_parse_budget_is_of_slot(const struct sp_parse_budget *p, uint64_t now_ns);
/* Whether a file with so many samples, and of which so many bytes are to be read, may be parsed, by the last update. */
bool sp_parse_budget_allows(const struct sp_parse_budget *p, uint64_t n_samples, uint64_t bytes);
void sp_parse_budget_ask(struct sp_parse_budget *p, uint64_t bytes); /* it is parsed now */

#endif
