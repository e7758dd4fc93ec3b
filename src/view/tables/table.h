/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h: the table of a profile's totals, for the view of that name and for the summary.
 *
 * A row is a group of profile/totals.h, by falling self. Columns are right-justified and fit what is in them; the name
 * is the last column and never cut. Rows beyond o->limit are counted in a line at the end, with their share. Writes to
 * a stream that it does not own; 0 or a negative errno. Reentrant. Private to the views.
 */
#ifndef SP_VIEW_TABLES_TABLE_H
#define SP_VIEW_TABLES_TABLE_H

#include "profile/totals.h"
#include "view/view.h"

enum { SP_TABLE_SHARES_ONLY = 1 }; /* no column with values, only per cent */

int sp_table_put(const struct sp_profile *p, const struct sp_view_options *o, unsigned int flags, FILE *out);

/* The heading of the column of names, and a name, without a newline. */
const char *sp_table_heading(enum sp_total_by by);
void sp_table_put_name(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row, FILE *out);

#endif
