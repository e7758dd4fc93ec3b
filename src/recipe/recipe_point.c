/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_point.h"
#include "capture/recipe_ops.h"
#include "recipe/expr.h"
#include "recipe/fields.h"
#include <string.h>

static int text_read(const char *text, const struct sp_recipe_point *point, const struct sp_fields *arguments,
		     struct sp_expr *expr)
{
	int r = sp_expr_parse(text, 0, strlen(text), expr);

	return r ? r : sp_expr_resolve(expr, arguments, point->where);
}

static int need_add(const char *text, const struct sp_recipe_point *point, const struct sp_fields *arguments,
		    struct sp_op_list *list)
{
	struct sp_expr e;
	int r = text ? text_read(text, point, arguments, &e) : 0;

	return r || !text ? r : sp_expr_need(&e, list);
}

/* Takes the next register for it. */
static int number_add(const char *text, const struct sp_recipe_point *point, const struct sp_fields *arguments,
		      struct sp_op_list *list, sp_u32 *n_registers, sp_u32 *ret_register)
{
	struct sp_expr e;
	int r;

	*ret_register = SP_NO_REG;
	if (!text)
		return 0;
	r = text_read(text, point, arguments, &e);
	if (!r)
		r = sp_expr_number(&e, list, *n_registers);
	*ret_register = (*n_registers)++;
	return r;
}

int sp_recipe_point_compile(struct sp_recipe_point *point, const char *also)
{
	struct sp_front_slot *slot = &point->slot;
	struct sp_op_list list = {.n = 0};
	struct sp_fields arguments;
	sp_u32 n_registers = 0;
	int r = sp_fields_of_arguments(point->arguments ? point->arguments : "", &arguments);

	if (r < 0)
		return r;
	r = need_add(point->filter, point, &arguments, &list);
	if (!r)
		r = need_add(also, point, &arguments, &list);
	if (!r)
		r = number_add(point->match, point, &arguments, &list, &n_registers, &slot->match);
	if (!r)
		r = number_add(point->state, point, &arguments, &list, &n_registers, &slot->state);
	if (!r)
		r = number_add(point->value, point, &arguments, &list, &n_registers, &slot->value);
	if (!r)
		r = number_add(point->times, point, &arguments, &list, &n_registers, &slot->times);
	if (!r)
		r = number_add(point->object, point, &arguments, &list, &n_registers, &slot->object);
	memcpy(slot->ops, list.ops, sizeof(slot->ops));
	slot->n_arguments = sp_op_list_arguments(&list);
	sp_fields_done(&arguments);
	return r;
}
