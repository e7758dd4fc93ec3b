/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fields.c: which field a name of an expression is; those of system calls, and those that all events have. */
#include "recipe/fields.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "event/op.h"
#include "recipe/expr.h"
#include "recipe/path.h"
#include "recipe/types.h"
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define NUMBER(n, t, b, s) {.name = n, .type = t, .from = SP_FIELD_BUILTIN, .offset = b, .size = s, .is_signed = true}
#define UNSIGNED(n, t, b, s) {.name = n, .type = t, .from = SP_FIELD_BUILTIN, .offset = b, .size = s}
static const struct sp_field builtins[] = {
	NUMBER("pid", "int", SP_BUILTIN_PID, 4),
	NUMBER("tid", "int", SP_BUILTIN_TID, 4),
	UNSIGNED("uid", "unsigned int", SP_BUILTIN_UID, 4),
	UNSIGNED("gid", "unsigned int", SP_BUILTIN_GID, 4),
	NUMBER("cpu", "int", SP_BUILTIN_CPU, 4),
	UNSIGNED("cgroup", "unsigned long", SP_BUILTIN_CGROUP, 8),
	UNSIGNED("now", "unsigned long", SP_BUILTIN_NOW, 8),
	{.name = "comm", .type = "char[16]", .from = SP_FIELD_BUILTIN, .offset = SP_BUILTIN_COMM, .size = 16, .is_text = true},
	UNSIGNED("task", "struct task_struct *", SP_BUILTIN_TASK, 8),
	NUMBER("sys", "long", SP_BUILTIN_CALL, 8),
	NUMBER("sysarg0", "long", SP_BUILTIN_CALL_ARGUMENT + 0, 8),
	NUMBER("sysarg1", "long", SP_BUILTIN_CALL_ARGUMENT + 1, 8),
	NUMBER("sysarg2", "long", SP_BUILTIN_CALL_ARGUMENT + 2, 8),
	NUMBER("sysarg3", "long", SP_BUILTIN_CALL_ARGUMENT + 3, 8),
	NUMBER("sysarg4", "long", SP_BUILTIN_CALL_ARGUMENT + 4, 8),
	NUMBER("sysarg5", "long", SP_BUILTIN_CALL_ARGUMENT + 5, 8),
};
#undef NUMBER
#undef UNSIGNED
/* clang-format on */

const struct sp_field *sp_builtin_at(size_t i)
{
	return i < SP_COUNT(builtins) ? &builtins[i] : NULL;
}

/* --- system calls --- */
static bool is_word_of_c(const char *type)
{
	static const char *const words[] = {"char", "short", "int", "long", "unsigned", "signed", "const", "bool"};

	for (size_t n = strcspn(type, " "); n; type += n, type += *type == ' ', n = strcspn(type, " ")) {
		size_t i = 0;

		while (i < SP_COUNT(words) && (strlen(words[i]) != n || strncmp(words[i], type, n) != 0))
			i++;
		if (i == SP_COUNT(words))
			return false;
	}
	return true;
}

/* Size and sign of a type that is known to the kernel by a name of one word; false: it is none. */
static bool typedef_take(struct sp_field *f, struct sp_types *types)
{
	const char *name = strncmp(f->type, "const ", 6) != 0 ? f->type : f->type + 6;
	const struct btf_type *t;
	struct btf *btf = NULL;
	int id;

	if (!types || sp_types_load(types, &btf) < 0)
		sp_error_clear();
	id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : -1;
	id = id < 0 ? -1 : btf__resolve_type(btf, (__u32)id);
	t = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);
	if (!t || !btf_is_int(t) || t->size > 8)
		return false;
	f->size = t->size;
	f->is_signed = btf_int_encoding(t) & BTF_INT_SIGNED;
	return true;
}

/*
 * The record has 8 bytes for each argument, whatever its type; the kernel takes as many of them as the type has. Of a
 * type that is not known it is all 8.
 */
static void argument_size(struct sp_field *f, struct sp_types *types)
{
	bool is_long = strstr(f->type, "long") != NULL, is_byte;

	f->size = 8;
	f->is_signed = false;
	if (strchr(f->type, '*'))
		return;
	if (!is_word_of_c(f->type)) {
		typedef_take(f, types);
		return;
	}
	is_byte = strstr(f->type, "char") || strstr(f->type, "bool");
	f->size = is_long ? 8 : strstr(f->type, "short") ? 2 : is_byte ? 1 : 4;
	f->is_signed = !strstr(f->type, "unsigned") && !strstr(f->type, "bool");
}

void sp_fields_of_call(struct sp_fields *fields, bool is_enter)
{
	uint32_t n = 0;

	for (size_t i = 0; i < fields->n; i++) {
		struct sp_field *f = &fields->list[i];

		if (!strcmp(f->name, "__syscall_nr")) {
			f->from = SP_FIELD_BUILTIN;
			f->offset = SP_BUILTIN_CALL;
		} else if (f->from == SP_FIELD_DYNAMIC || n == 6) {
			f->from = SP_FIELD_NOWHERE;
			f->why_not = "it is no argument of the call";
		} else if (f->from == SP_FIELD_RECORD) {
			f->from = is_enter ? SP_FIELD_BUILTIN : SP_FIELD_ARGUMENT;
			f->offset = is_enter ? SP_BUILTIN_CALL_ARGUMENT + n++ : 1;
			if (is_enter)
				argument_size(f, fields->types);
		}
	}
}

int sp_fields_of_arguments(const char *declarations, struct sp_fields *ret_fields)
{
	int r = sp_fields_declared(declarations, ret_fields);

	for (size_t i = 0; !r && i < ret_fields->n; i++) {
		ret_fields->list[i].from = SP_FIELD_ARGUMENT;
		ret_fields->list[i].offset = (uint32_t)i;
		ret_fields->list[i].why_not = NULL;
		argument_size(&ret_fields->list[i], NULL);
	}
	return r;
}

/* --- names --- */
const struct sp_field *sp_fields_find(const struct sp_fields *fields, const char *name, size_t n)
{
	for (size_t i = 0; i < fields->n; i++)
		if (strlen(fields->list[i].name) == n && !strncmp(fields->list[i].name, name, n))
			return &fields->list[i];
	for (size_t i = 0; i < SP_COUNT(builtins); i++)
		if (strlen(builtins[i].name) == n && !strncmp(builtins[i].name, name, n))
			return &builtins[i];
	return NULL;
}

static void name_offer(void *near, const char *name)
{
	sp_suggest_offer(near, name);
}

/* First what is a value by itself, then pointers to structures, whose members are. Returns the length of the whole. */
static size_t names_list(const struct sp_fields *fields, char *ret_list, size_t size)
{
	size_t used = 0;

	for (unsigned turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < fields->n && used < size; i++) {
			const struct sp_field *f = &fields->list[i];
			bool is_pointer = strstr(f->type, "struct ") && strchr(f->type, '*');

			if (f->from != SP_FIELD_NOWHERE && strncmp(f->name, "common_", 7) != 0 &&
			    is_pointer == (turn > 0))
				used +=
				    (size_t)snprintf(ret_list + used, size - used, "%s%s", used ? ", " : "", f->name);
		}
	return used;
}

/* Suggests the nearest name; if none is near, all fields of the event. */
static int field_unknown(const struct sp_expr *e, size_t at, size_t n, const struct sp_fields *fields,
			 const struct btf *btf, const char *event)
{
	char word[SP_SUGGEST_MAX + 1] = "", list[512] = "";
	struct sp_suggest near = {.word = word};
	size_t used;

	snprintf(word, sizeof(word), "%.*s", (int)SP_MIN(n, sizeof(word)), e->text + at);
	for (size_t i = 0; i < fields->n; i++)
		sp_suggest_offer(&near, fields->list[i].name);
	for (size_t i = 0; i < SP_COUNT(builtins); i++)
		sp_suggest_offer(&near, builtins[i].name);
	if (!near.best && btf)
		sp_type_constants(btf, name_offer, &near);
	if (near.best)
		return sp_fail_at(-EINVAL, e->text, at, "%s has no field '%s'; did you mean %s?", event, word,
				  near.best);
	used = names_list(fields, list, sizeof(list));
	if (used >= sizeof(list))
		return sp_fail_at(-EINVAL, e->text, at,
				  "%s has no field '%s'; soprof profile --list '%s' -v shows its fields", event, word,
				  event);
	return sp_fail_at(-EINVAL, e->text, at, "%s has no field '%s'; it has %s", event, word,
			  used ? list : "none that can be read");
}

/* A name that is no field may be a constant of an enumeration. */
static int constant_resolve(struct sp_expr *e, struct sp_expr_node *node, const struct sp_fields *fields,
			    const char *event)
{
	const struct btf *btf = fields->btf;
	struct btf *kernel = NULL;
	uint64_t values[2];
	int n = 0;

	if (!btf && fields->types && sp_types_load(fields->types, &kernel) < 0)
		sp_error_clear();
	btf = btf ? btf : kernel;
	if (btf)
		n = sp_type_constant(btf, e->text + node->at, node->length, values);
	if (!n)
		return field_unknown(e, node->at, node->length, fields, btf, event);
	if (n > 1)
		return sp_fail_at(-EINVAL, e->text, node->at, "'%.*s' has more than one value: %lld and %lld",
				  (int)node->length, e->text + node->at, (long long)values[0], (long long)values[1]);
	node->kind = SP_EXPR_NUMBER;
	node->is_signed = true;
	node->number = values[0];
	return 0;
}

static int name_resolve(struct sp_expr *e, struct sp_expr_node *node, const struct sp_fields *fields, const char *event)
{
	node->field = sp_fields_find(fields, e->text + node->at, node->length);
	if (!node->field)
		return constant_resolve(e, node, fields, event);
	if (node->field->from == SP_FIELD_NOWHERE)
		return sp_fail_at(-EINVAL, e->text, node->at, "the field %s cannot be used: %s", node->field->name,
				  node->field->why_not);
	return 0;
}

/* Where a field is 0 there is still something to count; where a constant is, it is a mistake in what was typed. */
static int divisor_check(const struct sp_expr *e, const struct sp_expr_node *node)
{
	bool divides = node->kind == SP_EXPR_BINARY && (node->op == SP_EXPR_DIV || node->op == SP_EXPR_MOD);
	uint64_t divisor;

	if (!divides || !sp_expr_constant(e, node->b, &divisor) || divisor)
		return 0;
	return sp_fail_at(-EINVAL, e->text, node->at, "division by 0");
}

int sp_expr_resolve(struct sp_expr *expr, const struct sp_fields *fields, const char *event)
{
	int r = 0;

	/* operands have lower numbers than what they are part of */
	for (uint16_t i = 1; i <= expr->n && !r; i++) {
		struct sp_expr_node *node = &expr->nodes[i];

		if (node->kind == SP_EXPR_NAME)
			r = name_resolve(expr, node, fields, event);
		else if (node->kind == SP_EXPR_MEMBER || node->kind == SP_EXPR_INDEX || node->kind == SP_EXPR_CAST)
			r = sp_path_resolve(expr, i, fields);
		else
			r = divisor_check(expr, node);
	}
	return r;
}

bool sp_expr_has_record(const struct sp_expr *expr)
{
	for (uint16_t i = 1; i <= expr->n; i++)
		if (expr->nodes[i].kind == SP_EXPR_NAME &&
		    (expr->nodes[i].field->from == SP_FIELD_RECORD || expr->nodes[i].field->from == SP_FIELD_DYNAMIC))
			return true;
	return false;
}

static bool has_bytes(const struct sp_expr *e, uint16_t number)
{
	const struct sp_expr_node *node = &e->nodes[number];

	if (node->kind == SP_EXPR_BINARY && (node->op == SP_EXPR_ADD || node->op == SP_EXPR_SUB))
		return has_bytes(e, node->a) && has_bytes(e, node->b);
	return node->kind == SP_EXPR_NAME && (strstr(node->field->name, "bytes") || strstr(node->field->name, "len") ||
					      strstr(node->field->name, "size"));
}

const char *sp_expr_unit(const struct sp_expr *expr)
{
	return has_bytes(expr, expr->root) ? "bytes" : "count";
}
