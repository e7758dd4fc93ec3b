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
	*p = (struct sp_parse_budget){.max_cpu_ppm = max_cpu_ppm, .left.at_ns = now_ns, .cpu_ns = cpu_ns};
	p->left.left_ns = max_budget(p);
}

void sp_parse_budget_update(struct sp_parse_budget *p, uint64_t now_ns, uint64_t cpu_ns)
{
	const struct sp_bucket_size size = {p->max_cpu_ppm, max_budget(p), max_budget(p)};

	/* A process's last moments are reported late and coarsely; the sum must not go back. */
	cpu_ns = SP_MAX(cpu_ns, p->cpu_ns);
	sp_bucket_take(&p->left, &size, now_ns, (int64_t)(cpu_ns - p->cpu_ns));
	p->cpu_ns = cpu_ns;
}

bool sp_parse_budget_allows(const struct sp_parse_budget *p, uint64_t n_samples)
{
	int64_t threshold = max_budget(p) / 2;
	uint64_t needed = 1;

	if (!p->max_cpu_ppm)
		return true;
	for (; needed < 64 && p->left.left_ns <= threshold; needed *= 4)
		threshold /= 2;
	return p->left.left_ns > 0 && n_samples >= needed;
}
