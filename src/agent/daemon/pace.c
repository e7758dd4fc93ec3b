/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/pace.h"
#include "agent/log.h"
#include "base/mem.h"
#include "base/time.h"

#define TOLD_NS (3600 * SP_NS_PER_S)
#define REST_NS (SP_PACE_REST_MS * INT64_C(1000000))

static int64_t burst_ns(uint64_t max_cpu_ppm)
{
	return sp_bucket_minute_ns(max_cpu_ppm) / 4;
}

void sp_pace_init(struct sp_pace *p, uint64_t max_cpu_ppm, uint64_t now_ns)
{
	*p = (struct sp_pace){.max_cpu_ppm = max_cpu_ppm, .left = {burst_ns(max_cpu_ppm), now_ns}};
}

uint64_t sp_pace_take(struct sp_pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
	const uint64_t gain_ppm = p->max_cpu_ppm / SP_PACE_PART;
	/* the largest debt is what a rest pays for: so many ms of so many millionths are as many ns */
	const struct sp_bucket_size size = {.gain_ppm = gain_ppm,
					    .burst_ns = burst_ns(p->max_cpu_ppm),
					    .debt_ns = (int64_t)(gain_ppm * SP_PACE_REST_MS) + 1};

	if (!p->max_cpu_ppm) {
		p->left.at_ns = now_ns;
		return 0;
	}
	sp_bucket_take(&p->left, &size, now_ns, (int64_t)SP_MIN(cpu_ns, (uint64_t)INT64_MAX / 2));
	return p->left.left_ns >= 0 ? 0 : (uint64_t)((double)-p->left.left_ns / (double)size.debt_ns * REST_NS);
}

bool sp_pace_rest(struct sp_pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t rest_ns = sp_pace_take(p, now_ns, cpu_ns);

	if (!rest_ns)
		return false;
	p->rest_until_ns = now_ns + rest_ns;
	if (!p->rested_ns || now_ns - p->rested_ns > TOLD_NS)
		sp_log(SP_LOG_NOTICE,
		       "questions take more than an eighth of --max-cpu: they are answered with pauses in between");
	p->rested_ns = now_ns;
	return true;
}
