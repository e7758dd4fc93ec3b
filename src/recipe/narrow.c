/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/narrow.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/recipe_ops.h"
#include "recipe/expr.h"
#include "recipe/fields.h"
#include "recipe/kprobe.h"
#include "recipe/probe.h"
#include "recipe/types.h"
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
void sp_narrowing_record(struct sp_recipe_point *point, uint32_t id)
{
	point->at = SP_AT_RECORD;
	point->id = id;
	point->slot.flags |= SP_SLOT_RECORD;
	point->slot.n_arguments = 0;
}

/* Both expressions; without parts: there is none. */
struct expressions {
	struct sp_expr filter, value;
};

static int expressions_parse(const char *event, const struct sp_narrowing *narrowing, struct expressions *both)
{
	int r = 0;

	if (narrowing->n_filter)
		r = sp_expr_parse(event, narrowing->filter, narrowing->filter + narrowing->n_filter, &both->filter);
	if (!r && narrowing->n_value)
		r = sp_expr_parse(event, narrowing->value, narrowing->value + narrowing->n_value, &both->value);
	return r;
}

void sp_narrowing_ops(const struct sp_recipe_point *point, struct sp_op_list *ret_list)
{
	memcpy(ret_list->ops, point->slot.ops, sizeof(ret_list->ops));
	ret_list->n = 0;
	while (ret_list->n < SP_N_OPS && ret_list->ops[ret_list->n].kind != SP_OP_END)
		ret_list->n++;
}

static int ops_add(const struct expressions *both, struct sp_recipe_point *point)
{
	struct sp_front_slot *slot = &point->slot;
	struct sp_op_list list = {.n = 0};
	int r = 0;

	sp_narrowing_ops(point, &list);
	if (both->filter.n)
		r = sp_expr_need(&both->filter, &list);
	if (!r && both->value.n)
		r = sp_expr_value(&both->value, &list);
	if (r)
		return r;
	memcpy(slot->ops, list.ops, sizeof(slot->ops));
	slot->n_arguments = sp_op_list_arguments(&list);
	if (both->value.n)
		slot->value = 0;
	return 0;
}

/* --- which fields are meant --- */
/* Whether the name stands in front of a path. */
static bool has_path(const struct sp_expr *e, uint16_t number)
{
	for (uint16_t i = 1; i <= e->n; i++)
		if ((e->nodes[i].kind == SP_EXPR_MEMBER || e->nodes[i].kind == SP_EXPR_INDEX ||
		     e->nodes[i].kind == SP_EXPR_CAST) &&
		    e->nodes[i].a == number)
			return true;
	return false;
}

/* A name that is no field of the record: whose members are asked for, or (if there are some) an argument. 0: none. */
static uint16_t argument_find(const struct sp_expr *e, const struct sp_fields *record,
			      const struct sp_fields *arguments)
{
	for (uint16_t i = 1; i <= e->n; i++) {
		const struct sp_expr_node *node = &e->nodes[i];
		const char *name = e->text + node->at;

		if (node->kind == SP_EXPR_NAME && !sp_fields_find(record, name, node->length) &&
		    (!arguments || has_path(e, i) || sp_fields_find(arguments, name, node->length)))
			return i;
	}
	return 0;
}

/* One of the record's fields, which does not go with arguments. */
static int record_refuse(const struct sp_expr *e, const struct sp_fields *record, const struct sp_fields *arguments)
{
	for (uint16_t i = 1; i <= e->n; i++) {
		const struct sp_expr_node *node = &e->nodes[i];
		const char *name = e->text + node->at;

		if (node->kind == SP_EXPR_NAME && !sp_fields_find(arguments, name, node->length) &&
		    sp_fields_find(record, name, node->length))
			return sp_fail_at(
			    -EINVAL, e->text, node->at,
			    "%.*s is a field of the tracepoint's record, which does not go with the arguments "
			    "of the raw one",
			    (int)node->length, name);
	}
	return 0;
}

/* Whether any of the expressions has such a name. */
static bool any_argument(const struct sp_expr_list *all, const struct sp_fields *record,
			 const struct sp_fields *arguments)
{
	for (size_t i = 0; i < all->n; i++)
		if (argument_find(all->each[i], record, arguments))
			return true;
	return false;
}

/* Puts the arguments in place of the record's fields, if a name is one, or has members. */
static int arguments_choose(const struct sp_expr_list *all, const char *event, struct sp_fields *fields)
{
	static const struct sp_fields none;
	struct sp_fields arguments;
	int r;

	if (!any_argument(all, fields, NULL))
		return 0;
	r = sp_types_arguments(fields->types, event, &arguments);
	if (r < 0 && !any_argument(all, fields, &none)) {
		sp_error_clear();
		return 0;
	}
	if (r < 0)
		return r;
	if (any_argument(all, fields, &arguments)) {
		for (size_t i = 0; i < all->n && !r; i++)
			r = record_refuse(all->each[i], fields, &arguments);
		sp_fields_done(fields);
		*fields = arguments;
	} else {
		sp_fields_done(&arguments);
	}
	return r;
}

int sp_narrowing_fields(const char *name, const struct sp_recipe_point *point, const struct sp_expr_list *all,
			struct sp_types *types, struct sp_fields *ret_fields)
{
	const char *event;
	int r;

	if (point->at == SP_AT_PROBE)
		return sp_recipe_probe_fields(point, ret_fields);
	if (point->slot.flags & SP_SLOT_KPROBE)
		return sp_kprobe_fields(point, types, ret_fields);

	event = strchr(name, ':') + 1;
	if (!strncmp(name, "raw:", 4))
		return sp_types_arguments(types, event, ret_fields);
	r = sp_fields_read(name, types, ret_fields);
	if (r == -EACCES) {
		sp_error_clear();
		return sp_fail_said(r, "the fields of %s are told to root only; run it as root, with sudo", name);
	}
	if (r == -ENOENT) {
		sp_error_clear();
		return sp_fail_said(-EINVAL, "this kernel has no tracepoint %s", name);
	}
	if (r < 0)
		return sp_fail(r, "read the fields of %s", name);
	if (strncmp(name, "syscalls:", 9) != 0)
		r = arguments_choose(all, event, ret_fields);
	if (r < 0)
		sp_fields_done(ret_fields);
	return r;
}

int sp_narrowing_apply(const char *event, const char *name, const struct sp_narrowing *narrowing,
		       struct sp_types *types, struct sp_recipe_point *point, const char **ret_unit)
{
	struct expressions both = {.filter.n = 0};
	struct sp_fields fields;
	struct sp_expr *each[] = {&both.filter, &both.value};
	int r = expressions_parse(event, narrowing, &both);

	if (!r)
		r = sp_narrowing_fields(name, point, &(struct sp_expr_list){each, SP_COUNT(each)}, types, &fields);
	if (r < 0)
		return r;
	if (both.filter.n)
		r = sp_expr_resolve(&both.filter, &fields, name);
	if (!r && both.value.n)
		r = sp_expr_resolve(&both.value, &fields, name);
	if (!r)
		r = ops_add(&both, point);
	if (!r)
		*ret_unit = both.value.n ? sp_expr_unit(&both.value) : "count";
	if (!r && (sp_expr_has_record(&both.filter) || sp_expr_has_record(&both.value)))
		sp_narrowing_record(point, fields.id);
	sp_fields_done(&fields);
	return r;
}
