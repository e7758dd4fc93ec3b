/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * costs.h: the table of a profile of several events: what each group costs, with two columns a value: self and total.
 *
 * Values are all that the profile has but the number of samples. Rows are the groups of profile/totals.h, by the sum
 * of their shares of self (or, by o->sort, of total, or their samples) over the values, falling; the name is the last
 * column, and cut to o->width. Rows beyond o->limit are counted in a line at the end. Writes to a stream that it does
 * not own; 0 or a negative errno. Reentrant. Private to the views.
 */
#ifndef SP_VIEW_TABLES_COSTS_H
#define SP_VIEW_TABLES_COSTS_H

#include "view/view.h"

int sp_costs_put(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);

#endif
