/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/parse_budget.h"
#include "base/mem.h"
#include "base/time.h"

static int64_t max_budget(const struct sp_parse_budget *p)
{
	return (int64_t)(p->max_cpu_ppm * (SP_NS_PER_S / 1000000) * SP_PARSE_BUDGET_S);
}

void sp_parse_budget_init(struct sp_parse_budget *p, uint64_t max_cpu_ppm, uint64_t now_ns, uint64_t cpu_ns)
{
	*p = (struct sp_parse_budget){.max_cpu_ppm = max_cpu_ppm, .at_ns = now_ns, .cpu_ns = cpu_ns};
	p->left_ns = max_budget(p);
}

void sp_parse_budget_update(struct sp_parse_budget *p, uint64_t now_ns, uint64_t cpu_ns)
{
	double earned = (double)(now_ns - p->at_ns) * (double)p->max_cpu_ppm / 1e6;

	/* A process's last moments are reported late and coarsely; the sum must not go back. */
	cpu_ns = SP_MAX(cpu_ns, p->cpu_ns);
	p->left_ns += (int64_t)earned - (int64_t)(cpu_ns - p->cpu_ns);
	p->left_ns = SP_MAX(SP_MIN(p->left_ns, max_budget(p)), -max_budget(p));
	p->at_ns = now_ns;
	p->cpu_ns = cpu_ns;
}

bool sp_parse_budget_allows(const struct sp_parse_budget *p, uint64_t n_samples)
{
	int64_t threshold = max_budget(p) / 2;
	uint64_t needed = 1;

	if (!p->max_cpu_ppm)
		return true;
	for (; needed < 64 && p->left_ns <= threshold; needed *= 4)
		threshold /= 2;
	return p->left_ns > 0 && n_samples >= needed;
}
