/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/pace.h"
#include "base/mem.h"

#define BURST_NS (SP_PACE_BURST_MS * INT64_C(1000000))
#define REST_NS (SP_PACE_REST_MS * INT64_C(1000000))

static double gain(const struct sp_pace *p)
{
	return (double)(p->max_cpu_ppm / 2) / 1e6;
}

void sp_pace_init(struct sp_pace *p, uint64_t max_cpu_ppm, uint64_t now_ns)
{
	*p = (struct sp_pace){.max_cpu_ppm = max_cpu_ppm, .left = {BURST_NS, now_ns}};
}

uint64_t sp_pace_take(struct sp_pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
	const struct sp_bucket_size size = {
	    .gain_ppm = p->max_cpu_ppm / 2, .burst_ns = BURST_NS, .debt_ns = (int64_t)((double)REST_NS * gain(p)) + 1};

	if (!p->max_cpu_ppm) {
		p->left.at_ns = now_ns;
		return 0;
	}
	sp_bucket_take(&p->left, &size, now_ns, (int64_t)SP_MIN(cpu_ns, (uint64_t)INT64_MAX / 2));
	return p->left.left_ns >= 0 ? 0 : SP_MIN((uint64_t)((double)-p->left.left_ns / gain(p)), (uint64_t)REST_NS);
}
