/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * narrow.h: tracepoints with a filter and a value: SYSTEM:EVENT[FILTER]{VALUE}, both of them expressions (expr.h).
 *
 * Fields of the tracepoint's record are seen only by programs of the classic type (SP_AT_RECORD), which the kernel does
 * not run within another program on the same CPU; it counts what was lost so from 6.7 on. What needs no such field, and
 * system calls, stay on the raw tracepoint.
 * Where a name is none of the record's fields, but an argument of the raw tracepoint by the kernel's types (types.h),
 * all names are arguments; in raw:EVENT they always are. Those stay on the raw tracepoint, too. Errors: negative errnos
 * with sp_error_text(), -EINVAL with sp_error_where() for a mistake in an expression. No state.
 */
#ifndef SP_RECIPE_NARROW_H
#define SP_RECIPE_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_recipe_point;
struct sp_types;

struct sp_narrowing {
	size_t n_name;           /* bytes of the event's name */
	size_t filter, n_filter; /* where the expressions are; n 0: there is none */
	size_t value, n_value;
};

/* The length of the first event in a list with commas between; those within brackets and texts do not count. */
size_t sp_narrowing_length(const char *list);
int sp_narrowing_split(const char *event, struct sp_narrowing *ret_narrowing);
/*
 * Adds the ops of both expressions to the tracepoint's point. event: all that the user typed, name: the tracepoint's
 * name alone. *ret_unit: of the value.
 */
int sp_narrowing_apply(const char *event, const char *name, const struct sp_narrowing *narrowing,
		       struct sp_types *types, struct sp_recipe_point *point, const char **ret_unit);

/* The steps of that, for whoever has other expressions. */
struct sp_expr_list;
struct sp_fields;
struct sp_op_list;
/* The fields that the names in all of them are of, which are parsed and not resolved yet: record or arguments. */
int sp_narrowing_fields(const char *name, const struct sp_recipe_point *point, const struct sp_expr_list *all,
			struct sp_types *types, struct sp_fields *ret_fields);
/* The ops that the point has so far. */
void sp_narrowing_ops(const struct sp_recipe_point *point, struct sp_op_list *ret_list);
/* Makes it a classic tracepoint, of this id, since a name is a field of its record. */
void sp_narrowing_record(struct sp_recipe_point *point, uint32_t id);

#endif
