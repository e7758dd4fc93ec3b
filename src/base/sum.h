/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sum.h: sums of values that come from outside.
 *
 * Foreign profiles and damaged files may hold any number: a sum that does not fit stays at the end of the range, so
 * that it is wrong by how much it is too large, and neither undefined nor of the other sign.
 * Threads: no state of its own. No errors.
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
