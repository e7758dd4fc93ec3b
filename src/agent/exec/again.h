/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * again.h: when to try again what has failed: after a pause that doubles with each failure in a row, up to a limit.
 *
 * A struct of zeros has not failed; after a success pause_ms is set to 0. Times: CLOCK_MONOTONIC. Not thread-safe.
 */
#ifndef SP_AGENT_EXEC_AGAIN_H
#define SP_AGENT_EXEC_AGAIN_H

#include "base/mem.h"
#include "base/time.h"
#include <stdbool.h>
#include <stdint.h>

struct sp_again {
	unsigned pause_ms; /* 0: the last try went well */
	uint64_t at_ns;    /* not before */
};

/* Whether it is the first failure in a row, which is the one to be told. */
static inline bool sp_again_failed(struct sp_again *a, unsigned first_ms, unsigned most_ms)
{
	bool is_first = !a->pause_ms;

	a->pause_ms = is_first ? first_ms : SP_MIN(2 * a->pause_ms, most_ms);
	a->at_ns = sp_time_ns(CLOCK_MONOTONIC) + a->pause_ms * UINT64_C(1000000);
	return is_first;
}

#endif
