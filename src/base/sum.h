/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sum.h: saturating sums.
 *
 * Values from foreign profiles and damaged files may be any number: a sum that would overflow stays at the end of the
 * range, instead of wrapping or being undefined.
 * Threads: no state. No errors.
 */
#ifndef SP_BASE_SUM_H
#define SP_BASE_SUM_H

#include <stdint.h>

static inline void sp_saturating_add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

#endif
