/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path.h: what stands behind a name in an expression: ->member, .member, [EXPR], and (struct NAME *) in front of it, by
 * the kernel's types (types.h).
 *
 * A path ends at a place: so many bytes behind the address that another part of the expression gives. It becomes a
 * field of the expression's own (SP_FIELD_PLACE). Private to src/recipe. Errors: -EINVAL with sp_error_where();
 * -EACCES: the kernel has no types.
 */
#ifndef SP_RECIPE_PATH_H
#define SP_RECIPE_PATH_H

#include "recipe/expr.h"

/* Makes a field of node `number`, whose operands are resolved. */
int sp_path_resolve(struct sp_expr *expr, uint16_t number, const struct sp_fields *fields);

#endif
