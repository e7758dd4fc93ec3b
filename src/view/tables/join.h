/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * join.h: a table of a profile of several events: a row for each group, a column for each value.
 *
 * The number of samples is no column. Groups are those of profile/totals.h, by the sum of
 * their shares of self (or, by o->sort, of total, or their samples) over the values, falling. Rows belong to the
 * totals. sp_join() returns 0 or a negative errno. Only reads the profile; reentrant. Private to the views.
 */
#ifndef SP_VIEW_TABLES_JOIN_H
#define SP_VIEW_TABLES_JOIN_H

#include "profile/profile.h"
#include "profile/totals.h"
#include "view/view.h"

struct sp_joined_group {
	double weight;                             /* by which they are sorted, falling; names alone are not */
	const struct sp_total *row[SP_MAX_VALUES]; /* by value; NULL: the group has nothing of it */
	const struct sp_total *any;                /* any of those */
};
struct sp_joined {
	size_t n_values, n_groups;
	uint32_t value[SP_MAX_VALUES]; /* the numbers of the values */
	struct sp_totals totals[SP_MAX_VALUES];
	struct sp_joined_group *groups;
};

int sp_join(const struct sp_profile *p, const struct sp_view_options *o, struct sp_joined *ret_joined);
/* The same groups by another order. */
int sp_join_sort(const struct sp_profile *p, const struct sp_view_options *o, struct sp_joined *j);
void sp_join_done(struct sp_joined *j);

#endif
