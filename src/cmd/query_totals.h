/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_totals.h: long ranges by library or function, from the exact totals that the store keeps of each hour and day.
 *
 * Days come from the days' sums (UTC), what is left from hours, and by library from minutes. The last ones are taken
 * whole where they lie in the range by a part; what is younger than they are is not in it: the answer's range tells.
 * The profile has names and value types, and no rows. 0 or a negative errno: -ENODATA without words if there are none.
 * One thread.
 */
#ifndef SP_CMD_QUERY_TOTALS_H
#define SP_CMD_QUERY_TOTALS_H

#include "cmd/history.h"
#include "profile/totals.h"

/* Of ranges shorter than this the windows themselves are asked. */
#define SP_QUERY_TOTALS_NS(by) (((by) == SP_TOTAL_BY_LIBRARY ? UINT64_C(6) : UINT64_C(20)) * 3600 * 1000000000)

/* by: SP_TOTAL_BY_LIBRARY or SP_TOTAL_BY_FUNCTION; value: the name of the one wanted, NULL = the first. */
int sp_query_totals(struct sp_history *h, const struct sp_store_query *q, enum sp_total_by by, const char *value,
		    struct sp_profile **ret_profile, struct sp_totals *ret_totals, struct sp_store_answer *ret_answer);

#endif
