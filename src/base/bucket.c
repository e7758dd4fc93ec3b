/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/bucket.h"
#include "base/mem.h"
#include "base/time.h"

int64_t sp_bucket_minute_ns(uint64_t max_cpu_ppm)
{
	return (int64_t)(max_cpu_ppm * 60 * (SP_NS_PER_S / 1000000));
}

int64_t sp_bucket_left(const struct sp_bucket *b, const struct sp_bucket_size *size, uint64_t now_ns)
{
	double earned = (double)(now_ns - SP_MIN(b->at_ns, now_ns)) * (double)size->gain_ppm / 1e6;

	return earned > (double)(size->burst_ns - b->left_ns) ? size->burst_ns : b->left_ns + (int64_t)earned;
}

void sp_bucket_take(struct sp_bucket *b, const struct sp_bucket_size *size, uint64_t now_ns, int64_t cpu_ns)
{
	b->left_ns = SP_MIN(sp_bucket_left(b, size, now_ns) - cpu_ns, size->burst_ns);
	b->left_ns = size->debt_ns ? SP_MAX(b->left_ns, -size->debt_ns) : b->left_ns;
	b->at_ns = now_ns;
}
