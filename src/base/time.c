/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/time.h"

uint64_t sp_time_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * SP_NS_PER_S + (uint64_t)t.tv_nsec;
}
