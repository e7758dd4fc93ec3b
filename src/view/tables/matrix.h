/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * matrix.h: the caller matrix (profile/matrix.h) in the views table, csv and json (--by matrix).
 *
 * A line for each cell: the library that costs, the library that called it, the entry function. Lines beyond the
 * limit are added up in one. 0 or a negative errno (-EINVAL: no such value). Private to the views; reentrant.
 */
#ifndef SP_VIEW_TABLES_MATRIX_H
#define SP_VIEW_TABLES_MATRIX_H

#include "view/view.h"

int sp_matrix_put_table(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);
int sp_matrix_put_csv(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);
int sp_matrix_put_json(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);

#endif
