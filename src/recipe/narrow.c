/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/narrow.h"
#include "base/error.h"
#include "capture/recipe_ops.h"
#include "recipe/expr.h"
#include "recipe/fields.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/* --- where the expressions are --- */
/* Behind a text that begins at s[at] = '"'; its end, if it is not closed. */
static size_t text_end(const char *s, size_t at)
{
	for (at++; s[at] && s[at] != '"'; at++)
		at += s[at] == '\\' && s[at + 1];
	return at + (s[at] != '\0');
}

/* Where the bracket that opens at s[at] is closed; 0: nowhere. */
static size_t bracket_end(const char *s, size_t at)
{
	char open = s[at], close = open == '[' ? ']' : '}';
	unsigned depth = 0;

	while (s[at]) {
		if (s[at] == '"') {
			at = text_end(s, at);
			continue;
		}
		depth += s[at] == open;
		if (s[at] == close && !--depth)
			return at;
		at++;
	}
	return 0;
}

size_t sp_narrowing_length(const char *list)
{
	size_t at = 0;

	while (list[at] && list[at] != ',') {
		size_t end = strchr("[{", list[at]) ? bracket_end(list, at) : at;

		if (end < at) /* it is not closed */
			return strlen(list);
		at = end + 1;
	}
	return at;
}

/* Takes "[...]" or "{...}" at event[*at], if it is there. */
static int part_take(const char *event, size_t *at, char open, size_t *ret_from, size_t *ret_n)
{
	size_t end;

	if (event[*at] != open)
		return 0;
	end = bracket_end(event, *at);
	if (!end)
		return sp_fail_at(-EINVAL, event, *at, "'%c' has no '%c'", open, open == '[' ? ']' : '}');
	*ret_from = *at + 1;
	*ret_n = end - *ret_from;
	while (*ret_n && isspace((unsigned char)event[*ret_from])) {
		++*ret_from;
		--*ret_n;
	}
	while (*ret_n && isspace((unsigned char)event[*ret_from + *ret_n - 1]))
		--*ret_n;
	if (!*ret_n)
		return sp_fail_at(-EINVAL, event, *ret_from, "an expression is missing");
	*at = end + 1;
	return 0;
}

int sp_narrowing_split(const char *event, struct sp_narrowing *ret_narrowing)
{
	struct sp_narrowing n = {.n_name = strcspn(event, "[{")};
	size_t at = n.n_name;
	int r = part_take(event, &at, '[', &n.filter, &n.n_filter);

	if (!r)
		r = part_take(event, &at, '{', &n.value, &n.n_value);
	if (!r && event[at])
		r = sp_fail_at(-EINVAL, event, at, "this is no event: SYSTEM:EVENT[FILTER]{VALUE}");
	if (!r)
		*ret_narrowing = n;
	return r;
}

/* --- their ops --- */
static void record_use(struct sp_recipe_point *point, uint32_t id)
{
	point->at = SP_AT_RECORD;
	point->id = id;
	point->slot.flags |= SP_SLOT_RECORD;
	point->slot.n_arguments = 0;
}

static int expression_read(const char *event, const char *name, size_t from, size_t n, const struct sp_fields *fields,
			   struct sp_expr *expr)
{
	int r = sp_expr_parse(event, from, from + n, expr);

	return r ? r : sp_expr_resolve(expr, fields, name);
}

static int expressions_apply(const char *event, const char *name, const struct sp_narrowing *narrowing,
			     const struct sp_fields *fields, struct sp_recipe_point *point, const char **ret_unit)
{
	struct sp_op_list list = {.n = 0};
	struct sp_expr filter = {0}, value = {0};
	int r = 0;

	memcpy(list.ops, point->slot.ops, sizeof(list.ops));
	while (list.n < SP_N_OPS && list.ops[list.n].kind != SP_OP_END)
		list.n++;
	if (narrowing->n_filter)
		r = expression_read(event, name, narrowing->filter, narrowing->n_filter, fields, &filter);
	if (!r && narrowing->n_value)
		r = expression_read(event, name, narrowing->value, narrowing->n_value, fields, &value);
	if (!r && narrowing->n_filter)
		r = sp_expr_need(&filter, &list);
	if (!r && narrowing->n_value)
		r = sp_expr_value(&value, &list);
	if (r)
		return r;
	memcpy(point->slot.ops, list.ops, sizeof(list.ops));
	if (narrowing->n_value)
		point->slot.value = 0;
	*ret_unit = narrowing->n_value ? sp_expr_unit(&value) : "count";
	if (sp_expr_has_record(&filter) || sp_expr_has_record(&value))
		record_use(point, fields->id);
	return 0;
}

int sp_narrowing_apply(const char *event, const char *name, const struct sp_narrowing *narrowing,
		       struct sp_recipe_point *point, const char **ret_unit)
{
	struct sp_fields fields;
	int r = sp_fields_read(name, &fields);

	if (r < 0)
		return sp_fail(r, "read the fields of %s", name);
	if (!strncmp(name, "syscalls:sys_exit_", 18))
		point->slot.n_arguments = 2; /* the result is the second */
	r = expressions_apply(event, name, narrowing, &fields, point, ret_unit);
	sp_fields_done(&fields);
	return r;
}
