/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * long_totals.h: long ranges by library or function, from the exact totals that the store keeps of each hour and day.
 *
 * Days come from the days' sums (UTC), what is left from hours, and by library from minutes. The last ones are taken
 * whole where they lie in the range by a part; what is younger than they are is not in it: the answer's range tells.
 * The profile has names and value types, and no rows. 0 or a negative errno: -ENODATA without words if there are none.
 * One thread.
 */
#ifndef SP_AGENT_LONG_TOTALS_H
#define SP_AGENT_LONG_TOTALS_H

#include "profile/totals.h"
#include "store/store.h"

/* Of ranges shorter than this the windows themselves are asked. */
#define SP_LONG_TOTALS_NS(by) (((by) == SP_TOTAL_BY_LIBRARY ? UINT64_C(6) : UINT64_C(20)) * 3600 * 1000000000)

struct sp_long_totals_from {
	/* As sp_store_totals(). */
	int (*totals)(void *arg, const char *source, uint64_t from_ns, uint64_t to_ns, int step,
		      int (*each)(void *each_arg, const struct sp_store_total *t), void *each_arg);
	int (*value)(const struct sp_profile *p, const char *name, uint32_t *ret_value); /* which one a name means */
	void *arg;
};
/* by: SP_TOTAL_BY_LIBRARY or SP_TOTAL_BY_FUNCTION; value: the name of the one wanted, or NULL. */
int sp_long_totals(const struct sp_long_totals_from *from, const struct sp_store_query *q, enum sp_total_by by,
		   const char *value, struct sp_profile **ret_profile, struct sp_totals *ret_totals,
		   struct sp_store_answer *ret_answer);

#endif
