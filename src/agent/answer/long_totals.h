/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * long_totals.h: tables of long ranges by library or function, from the totals that the store keeps of minutes, hours
 * and days.
 *
 * They are of the same windows as any other query of the range. The profile has names and value types, but no rows. 0
 * or a negative errno: -ENODATA without text if there are none. One thread.
 */
#ifndef SP_AGENT_ANSWER_LONG_TOTALS_H
#define SP_AGENT_ANSWER_LONG_TOTALS_H

#include "profile/totals.h"
#include "store/totals.h"

/* For shorter ranges the windows themselves are read. */
#define SP_LONG_TOTALS_NS(by) ((by) == SP_TOTAL_BY_LIBRARY ? SP_STORE_ROUGH_NS : SP_STORE_LONG_NS)

struct sp_long_totals_from {
	/* As sp_store_totals(). */
	int (*totals)(void *arg, const struct sp_store_query *q, bool by_function,
		      int (*each)(void *each_arg, const struct sp_store_total *t), void *each_arg,
		      struct sp_store_answer *ret_answer);
	int (*value)(const struct sp_profile *p, const char *name, uint32_t *ret_value); /* finds the value of a name */
	void *arg;
};
/* by: SP_TOTAL_BY_LIBRARY or SP_TOTAL_BY_FUNCTION; value: the requested one's name, or NULL. */
int sp_long_totals(const struct sp_long_totals_from *from, const struct sp_store_query *q, enum sp_total_by by,
		   const char *value, struct sp_profile **ret_profile, struct sp_totals *ret_totals,
		   struct sp_store_answer *ret_answer);

/* The same for a profile's rows, as if they had been stored. */
int sp_totals_of_profile(const struct sp_profile *p, bool by_function,
			 int (*each)(void *arg, const struct sp_store_total *t), void *arg);

#endif
