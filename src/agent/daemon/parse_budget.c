/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/parse_budget.h"
#include "base/mem.h"
#include "base/time.h"

static int64_t most(const struct sp_parse_budget *p)
{
	return (int64_t)(p->max_cpu_ppm * (SP_NS_PER_S / 1000000) * SP_PARSE_BUDGET_S);
}

void sp_parse_budget_init(struct sp_parse_budget *p, uint64_t max_cpu_ppm, uint64_t now_ns, uint64_t cpu_ns)
{
	*p = (struct sp_parse_budget){.max_cpu_ppm = max_cpu_ppm, .at_ns = now_ns, .cpu_ns = cpu_ns};
	p->left_ns = most(p);
}

void sp_parse_budget_update(struct sp_parse_budget *p, uint64_t now_ns, uint64_t cpu_ns)
{
	double given = (double)(now_ns - p->at_ns) * (double)p->max_cpu_ppm / 1e6;

	/* What a process used in its last moments may be told late, and coarser: never less than before. */
	cpu_ns = SP_MAX(cpu_ns, p->cpu_ns);
	p->left_ns += (int64_t)given - (int64_t)(cpu_ns - p->cpu_ns);
	p->left_ns = SP_MIN(p->left_ns, most(p));
	p->at_ns = now_ns;
	p->cpu_ns = cpu_ns;
}

bool sp_parse_budget_allows(const struct sp_parse_budget *p, uint64_t n_samples)
{
	int64_t least = most(p) / 2;
	uint64_t wanted = 1;

	if (!p->max_cpu_ppm)
		return true;
	for (; wanted < 64 && p->left_ns <= least; wanted *= 4)
		least /= 2;
	return p->left_ns > 0 && n_samples >= wanted;
}
