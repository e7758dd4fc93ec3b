/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.h: what an expression gives, computed by walking its tree with 128-bit numbers and strings of C, to compare its
 * ops with. For the unit test and the fuzzer.
 */
#ifndef SP_TESTS_TREE_H
#define SP_TESTS_TREE_H

#include "made_fields.h"
#include "recipe/expr.h"

struct tree_value {
	sp_u64 bits;
	bool is_unsigned;
};
struct tree {
	const struct sp_expr *e;
	struct sp_op_env *env;
	bool is_beyond; /* it read behind the memory */
};

static inline struct tree_value tree_walk(struct tree *t, sp_u32 i);
static inline sp_u64 tree_address(struct tree *t, const struct sp_field *f)
{
	return (f->from == SP_FIELD_PLACE ? tree_walk(t, f->base).bits : t->env->base) + f->offset;
}

static inline struct tree_value tree_number(struct tree *t, const struct sp_field *f)
{
	struct tree_value v = {.is_unsigned = sp_field_bits(f) == 64 && !f->is_signed};

	if (f->from == SP_FIELD_RECORD || f->from == SP_FIELD_PLACE)
		v.bits = plain_shift(sp_env_memory(t->env, tree_address(t, f), f->size), f->bit, false);
	else if (f->from == SP_FIELD_ARGUMENT)
		v.bits = t->env->argument[f->offset];
	else
		v.bits = t->env->builtin[f->offset];
	v.bits = plain_extend(v.bits, sp_field_bits(f), f->is_signed);
	return v;
}

static inline bool tree_text_is(struct tree *t, const struct sp_field *f, const struct sp_expr_node *node)
{
	sp_u64 at = f->is_string                  ? tree_number(t, f).bits
		    : f->from == SP_FIELD_DYNAMIC ? t->env->base + DYNAMIC_AT
						  : tree_address(t, f);
	__int128 d = (sp_s64)(at - t->env->base);
	char wanted[256];
	size_t n = sp_expr_text(t->e, node, wanted, sizeof(wanted)), i = 0;
	bool is_start = n && t->e->text[node->at + node->length - 1] == '*' &&
			(node->length < 2 || t->e->text[node->at + node->length - 2] != '\\');

	if (f->from != SP_FIELD_BUILTIN && d < MEMORY_BYTES && d + (int)n >= 0)
		t->is_beyond |= d < 0 || d + (int)n >= MEMORY_BYTES; /* it is there in part */
	for (n -= is_start; i < n + !is_start; i++, at++)
		if (wanted[i] != (f->from == SP_FIELD_BUILTIN ? ((char *)&t->env->builtin[f->offset])[i]
							      : (char)sp_env_memory(t->env, at, 1)))
			return false;
	return true;
}

static inline bool tree_is_constant(struct tree *t, sp_u32 i)
{
	const struct sp_expr_node *node = &t->e->nodes[i];

	return node->kind == SP_EXPR_NUMBER ||
	       ((node->kind == SP_EXPR_UNARY || node->kind == SP_EXPR_BINARY) && tree_is_constant(t, node->a) &&
		(node->kind == SP_EXPR_UNARY || tree_is_constant(t, node->b)));
}

/* Equal, where a negative constant has the width of an unsigned field. */
static inline bool tree_equal(struct tree *t, sp_u32 a, struct tree_value x, sp_u32 b, struct tree_value y)
{
	for (int side = 0; side < 2; side++) {
		const struct sp_expr_node *name = &t->e->nodes[side ? b : a];
		sp_u64 *constant = side ? &x.bits : &y.bits;

		if (name->kind == SP_EXPR_NAME && !name->field->is_signed && sp_field_bits(name->field) < 64 &&
		    tree_is_constant(t, side ? a : b) && (sp_s64)*constant < 0)
			*constant = plain_extend(*constant, sp_field_bits(name->field), false);
	}
	return x.bits == y.bits;
}

static inline struct tree_value tree_binary(enum sp_expr_op op, struct tree_value a, struct tree_value b)
{
	bool shifts = op == SP_EXPR_SHL || op == SP_EXPR_SHR, is_unsigned = a.is_unsigned || (b.is_unsigned && !shifts);
	__int128 x = is_unsigned ? (__int128)a.bits : (sp_s64)a.bits,
		 y = is_unsigned ? (__int128)b.bits : (sp_s64)b.bits;

	const sp_u64 gives[] = {
	    [SP_EXPR_MUL] = a.bits * b.bits,
	    [SP_EXPR_DIV] = y ? (sp_u64)(x / y) : 0,
	    [SP_EXPR_MOD] = y ? (sp_u64)(x % y) : a.bits,
	    [SP_EXPR_ADD] = (sp_u64)(x + y),
	    [SP_EXPR_SUB] = (sp_u64)(x - y),
	    [SP_EXPR_SHL] = plain_shift(a.bits, b.bits, true),
	    [SP_EXPR_SHR] = (sp_u64)(x >> (b.bits % 64)),
	    [SP_EXPR_LT] = x<y, [SP_EXPR_LE] = x <= y, [SP_EXPR_GT] = x> y,
	    [SP_EXPR_GE] = x >= y,
	    [SP_EXPR_AND] = a.bits & b.bits,
	    [SP_EXPR_XOR] = a.bits ^ b.bits,
	    [SP_EXPR_OR] = a.bits | b.bits,
	    [SP_EXPR_BOTH] = a.bits && b.bits,
	    [SP_EXPR_EITHER] = a.bits || b.bits,
	};
	bool is_truth = op >= SP_EXPR_BOTH || (op >= SP_EXPR_LT && op <= SP_EXPR_GE);

	return (struct tree_value){gives[op], is_unsigned && !is_truth};
}

static inline struct tree_value tree_walk(struct tree *t, sp_u32 i)
{
	const struct sp_expr_node *node = &t->e->nodes[i], *a = &t->e->nodes[node->a], *b = &t->e->nodes[node->b];
	struct tree_value x, y, z;

	if (node->kind == SP_EXPR_NUMBER)
		return (struct tree_value){node->number, node->number >> 63 && !node->is_signed};
	if (node->kind == SP_EXPR_NAME)
		return tree_number(t, node->field);
	if (node->kind == SP_EXPR_BINARY && (a->kind == SP_EXPR_TEXT || b->kind == SP_EXPR_TEXT)) {
		bool is = a->kind == SP_EXPR_TEXT ? tree_text_is(t, b->field, a) : tree_text_is(t, a->field, b);

		return (struct tree_value){is == (node->op == SP_EXPR_EQ), false};
	}
	x = tree_walk(t, node->a);
	if (node->kind == SP_EXPR_UNARY) {
		if (node->op == SP_EXPR_NOT)
			return (struct tree_value){!x.bits, false};
		x.bits = node->op == SP_EXPR_INVERT ? ~x.bits : 0 - x.bits;
		return x;
	}
	if (node->kind == SP_EXPR_IN) {
		bool is = false;

		for (sp_u32 k = node->b; k; k = t->e->nodes[k].next)
			is |= tree_equal(t, node->a, x, k, tree_walk(t, k));
		return (struct tree_value){is, false};
	}
	y = tree_walk(t, node->b);
	if (node->kind == SP_EXPR_CHOICE) {
		z = tree_walk(t, node->c);
		return (struct tree_value){x.bits ? y.bits : z.bits, y.is_unsigned || z.is_unsigned};
	}
	if (node->op == SP_EXPR_EQ || node->op == SP_EXPR_NE)
		return (struct tree_value){tree_equal(t, node->a, x, node->b, y) == (node->op == SP_EXPR_EQ), false};
	return tree_binary(node->op, x, y);
}

#endif
