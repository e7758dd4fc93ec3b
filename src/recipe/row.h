/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * row.h: makes what a front runs of the expressions in a row of recipe.c's table.
 *
 * They are as a user's (expr.h). Their names are the arguments that the point says its event has, in C, and what all
 * events have (fields.h): nothing is asked of the kernel, so that it takes no time. That the kernel gives arguments of
 * these sizes at these places is what the row says.
 * Errors: -EINVAL with sp_error_text() and sp_error_where(), which are mistakes in the table. No state.
 */
#ifndef SP_RECIPE_ROW_H
#define SP_RECIPE_ROW_H

struct sp_recipe_point;

/* Writes the point's slot. also: NULL, or one more filter. */
int sp_row_point(struct sp_recipe_point *point, const char *also);

#endif
