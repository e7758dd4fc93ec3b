/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/pace.h"
#include "base/mem.h"
#include "base/time.h"

#define BURST_NS (SP_PACE_BURST_MS * INT64_C(1000000))
#define REST_NS (SP_PACE_REST_MS * INT64_C(1000000))

static double gain(const struct sp_pace *p)
{
	return (double)p->max_cpu_ppm / 2 / 1e6;
}

void sp_pace_init(struct sp_pace *p, uint64_t max_cpu_ppm, uint64_t now_ns)
{
	*p = (struct sp_pace){.max_cpu_ppm = max_cpu_ppm, .left_ns = BURST_NS, .at_ns = now_ns};
}

uint64_t sp_pace_take(struct sp_pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
	double earned = (double)(now_ns - SP_MIN(p->at_ns, now_ns)) * gain(p);

	p->at_ns = now_ns;
	if (!p->max_cpu_ppm)
		return 0;
	p->left_ns += (int64_t)SP_MIN(earned, (double)BURST_NS * 2);
	p->left_ns = SP_MIN(p->left_ns, BURST_NS) - (int64_t)SP_MIN(cpu_ns, (uint64_t)INT64_MAX / 2);
	p->left_ns = SP_MAX(p->left_ns, -(int64_t)(REST_NS * gain(p)) - 1);
	return p->left_ns >= 0 ? 0 : SP_MIN((uint64_t)((double)-p->left_ns / gain(p)), (uint64_t)REST_NS);
}
