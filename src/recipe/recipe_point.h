/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipe_point.h: makes what a front runs of the expressions in a point of a built-in recipe (recipe.c).
 *
 * They are as a user's (expr.h). Their names are the arguments that the point says its event has, in C, and what all
 * events have (fields.h): nothing is asked of the kernel, so that it takes no time. That the kernel gives arguments of
 * these sizes at these places is what the recipe says.
 * Errors: -EINVAL with sp_error_text() and sp_error_where(), which are mistakes in recipe.c. No state.
 */
#ifndef SP_RECIPE_RECIPE_POINT_H
#define SP_RECIPE_RECIPE_POINT_H

struct sp_recipe_point;

/* Writes the point's slot. also: NULL, or one more filter. */
int sp_recipe_point_compile(struct sp_recipe_point *point, const char *also);

#endif
