/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr_ops.c: compiles an expression into ops. What a part gives is left in a register; its operands are computed in
 * that register and the next ones, the heavier operand first. What is constant is computed here.
 */
#include "base/error.h"
#include "base/mem.h"
#include "event/compute.h"
#include "recipe/expr.h"
#include "recipe/fields.h"
#include <errno.h>
#include <string.h>

enum { MAX_TEXT = 128 };

struct compiler {
	const struct sp_expr *e;
	struct sp_op_list *list;
};

static int compile(struct compiler *c, uint16_t number, unsigned to);

/* --- ops --- */
static int too_long(const struct compiler *c, size_t at)
{
	return sp_fail_at(-EINVAL, c->e->text, at,
			  "the expression is too long from here on: it and what else the event needs are more than "
			  "%d steps, or %d numbers at once",
			  SP_N_OPS, SP_N_OP_REGS);
}

static int emit(struct compiler *c, size_t at, const struct sp_op *op)
{
	if (c->list->n == SP_N_OPS || op->dst >= SP_N_OP_REGS || op->a >= SP_N_OP_REGS ||
	    (op->b >= SP_N_OP_REGS && op->b != SP_OP_IMM))
		return too_long(c, at);
	c->list->ops[c->list->n++] = *op;
	return 0;
}

static int emit_imm(struct compiler *c, size_t at, enum sp_op_kind kind, unsigned to, unsigned a, uint64_t imm)
{
	return emit(c, at,
		    &(struct sp_op){.kind = (sp_u8)kind, .dst = (sp_u8)to, .a = (sp_u8)a, .b = SP_OP_IMM, .imm = imm});
}

static int emit_two(struct compiler *c, size_t at, enum sp_op_kind kind, unsigned to, unsigned a, unsigned b)
{
	return emit(c, at, &(struct sp_op){.kind = (sp_u8)kind, .dst = (sp_u8)to, .a = (sp_u8)a, .b = (sp_u8)b});
}

static int emit_size(struct compiler *c, size_t at, enum sp_op_kind kind, unsigned to, unsigned a, uint32_t size,
		     uint64_t imm)
{
	return emit(
	    c, at,
	    &(struct sp_op){
		.kind = (sp_u8)kind, .dst = (sp_u8)to, .a = (sp_u8)a, .b = SP_OP_IMM, .size = size, .imm = imm});
}

/* --- what a part is --- */
static const struct sp_expr_node *node_at(const struct compiler *c, uint16_t number)
{
	return &c->e->nodes[number];
}

static bool gives_truth(const struct sp_expr_node *node)
{
	return node->kind == SP_EXPR_IN || (node->kind == SP_EXPR_UNARY && node->op == SP_EXPR_NOT) ||
	       (node->kind == SP_EXPR_BINARY &&
		(node->op >= SP_EXPR_BOTH || (node->op >= SP_EXPR_LT && node->op <= SP_EXPR_NE)));
}

/* Whether it is an unsigned number of 64 bits, which makes what it is part of unsigned. */
static bool is_unsigned(const struct compiler *c, uint16_t number)
{
	const struct sp_expr_node *node = node_at(c, number);

	if (gives_truth(node))
		return false;
	switch (node->kind) {
	case SP_EXPR_NUMBER:
		return node->number > INT64_MAX && !node->is_signed;
	case SP_EXPR_NAME:
		return !node->field->is_signed && sp_field_bits(node->field) == 64;
	case SP_EXPR_UNARY:
		return is_unsigned(c, node->a);
	case SP_EXPR_CHOICE:
		return is_unsigned(c, node->b) || is_unsigned(c, node->c);
	case SP_EXPR_BINARY:
		return is_unsigned(c, node->a) ||
		       (node->op != SP_EXPR_SHL && node->op != SP_EXPR_SHR && is_unsigned(c, node->b));
	default:
		return false;
	}
}

static bool is_text(const struct compiler *c, uint16_t number)
{
	const struct sp_expr_node *node = node_at(c, number);

	return node->kind == SP_EXPR_TEXT || (node->kind == SP_EXPR_NAME && node->field->is_text);
}

/* The op of an operator; of `a > b` and `a >= b` that of b < a and b <= a. */
static enum sp_op_kind kind_of(enum sp_expr_op op, bool is_unsigned)
{
	static const struct {
		enum sp_op_kind with_sign, without;
	} kinds[] = {
	    [SP_EXPR_MUL] = {SP_OP_MUL, SP_OP_MUL},    [SP_EXPR_DIV] = {SP_OP_SDIV, SP_OP_DIV},
	    [SP_EXPR_MOD] = {SP_OP_SMOD, SP_OP_MOD},   [SP_EXPR_ADD] = {SP_OP_ADD, SP_OP_ADD},
	    [SP_EXPR_SUB] = {SP_OP_SUB, SP_OP_SUB},    [SP_EXPR_SHL] = {SP_OP_SHL, SP_OP_SHL},
	    [SP_EXPR_SHR] = {SP_OP_SAR, SP_OP_SHR},    [SP_EXPR_LT] = {SP_OP_SLT, SP_OP_LT},
	    [SP_EXPR_LE] = {SP_OP_SLE, SP_OP_LE},      [SP_EXPR_GT] = {SP_OP_SLT, SP_OP_LT},
	    [SP_EXPR_GE] = {SP_OP_SLE, SP_OP_LE},      [SP_EXPR_EQ] = {SP_OP_EQ, SP_OP_EQ},
	    [SP_EXPR_NE] = {SP_OP_NE, SP_OP_NE},       [SP_EXPR_AND] = {SP_OP_AND, SP_OP_AND},
	    [SP_EXPR_XOR] = {SP_OP_XOR, SP_OP_XOR},    [SP_EXPR_OR] = {SP_OP_OR, SP_OP_OR},
	    [SP_EXPR_BOTH] = {SP_OP_BOTH, SP_OP_BOTH}, [SP_EXPR_EITHER] = {SP_OP_EITHER, SP_OP_EITHER},
	};

	return is_unsigned ? kinds[op].without : kinds[op].with_sign;
}

static bool is_swapped(enum sp_expr_op op)
{
	return op == SP_EXPR_GT || op == SP_EXPR_GE;
}

static enum sp_op_kind binary_kind(const struct compiler *c, const struct sp_expr_node *node)
{
	bool is_shift = node->op == SP_EXPR_SHL || node->op == SP_EXPR_SHR;

	return kind_of(node->op, is_unsigned(c, node->a) || (!is_shift && is_unsigned(c, node->b)));
}

/* Whether a part is constant, and its value. */
static bool is_constant(const struct compiler *c, uint16_t number, uint64_t *ret_value)
{
	const struct sp_expr_node *node = node_at(c, number);
	uint64_t a, b;

	if (node->kind == SP_EXPR_NUMBER) {
		*ret_value = node->number;
		return true;
	}
	if ((node->kind != SP_EXPR_UNARY && node->kind != SP_EXPR_BINARY) || !is_constant(c, node->a, &a))
		return false;
	if (node->kind == SP_EXPR_UNARY) {
		*ret_value = node->op == SP_EXPR_NOT ? !a : node->op == SP_EXPR_INVERT ? ~a : -a;
		return true;
	}
	if (!is_constant(c, node->b, &b))
		return false;
	*ret_value = sp_op_compute(binary_kind(c, node), is_swapped(node->op) ? b : a, is_swapped(node->op) ? a : b);
	return true;
}

bool sp_expr_constant(const struct sp_expr *expr, uint16_t number, uint64_t *ret_value)
{
	return is_constant(&(struct compiler){.e = expr}, number, ret_value);
}

/* How many registers a part needs, about: the heavier operand is computed first. */
static unsigned weight_of(const struct compiler *c, uint16_t number)
{
	const struct sp_expr_node *node = node_at(c, number);
	unsigned a, b;

	if (node->kind == SP_EXPR_UNARY)
		return weight_of(c, node->a);
	if (node->kind != SP_EXPR_BINARY)
		return node->kind == SP_EXPR_CHOICE || node->kind == SP_EXPR_IN ? 3 : 1;
	a = weight_of(c, node->a);
	b = weight_of(c, node->b);
	return a == b ? a + 1 : SP_MAX(a, b);
}

/* --- fields --- */
/* Whether the bits above are already those of the number: 0 in arguments, and what helpers give. */
static bool is_extended(const struct sp_field *f)
{
	if (f->from == SP_FIELD_BUILTIN)
		return f->offset < SP_BUILTIN_CALL || f->size == 8;
	return f->is_signed || f->is_narrow ? sp_field_bits(f) == 64 : f->bit + sp_field_bits(f) == 8 * f->size;
}

/* Leaves the address of a place in `to`, but for its offset. */
static int base_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	if (node->field->from == SP_FIELD_PLACE)
		return compile(c, node->field->base, to);
	return emit_imm(c, node->at, SP_OP_ARGUMENT, to, 0, 0); /* the record */
}

/* Leaves a number in `to`, of which only the bits of its size mean something. */
static int number_read(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	const struct sp_field *f = node->field;
	int r;

	if (f->from != SP_FIELD_RECORD && f->from != SP_FIELD_PLACE)
		return emit_imm(c, node->at, f->from == SP_FIELD_ARGUMENT ? SP_OP_ARGUMENT : SP_OP_BUILTIN, to, 0,
				f->offset);
	r = base_compile(c, node, to);
	if (!r)
		r = emit_size(c, node->at, SP_OP_LOAD, to, to, f->size, f->offset);
	return r || !f->bit ? r : emit_imm(c, node->at, SP_OP_SHR, to, to, f->bit);
}

static int number_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	const struct sp_field *f = node->field;
	int r = number_read(c, node, to);

	if (r || is_extended(f))
		return r;
	return emit_size(c, node->at, f->is_signed ? SP_OP_SIGN_EXTEND : SP_OP_ZERO_EXTEND, to, to, sp_field_bits(f),
			 0);
}

static int name_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	if (node->field->is_text)
		return sp_fail_at(-EINVAL, c->e->text, node->at,
				  "%s is text: compare it by == or != with a text in \"\"", node->field->name);
	if (node->field->why_not)
		return sp_fail_at(-EINVAL, c->e->text, node->at, "%s is no number: %s", node->field->name,
				  node->field->why_not);
	return number_compile(c, node, to);
}

/* --- text --- */
struct wanted {
	char text[MAX_TEXT + 8];
	size_t n; /* so many bytes must be equal: with the NUL, unless it is a beginning */
};

static int text_wanted(const struct compiler *c, const struct sp_expr_node *node, const struct sp_field *field,
		       struct wanted *ret_wanted)
{
	size_t n = sp_expr_text(c->e, node, ret_wanted->text, MAX_TEXT);
	const char *last = c->e->text + node->at + node->length - 1;
	bool is_beginning = node->length && *last == '*' && (node->length < 2 || last[-1] != '\\');

	n -= is_beginning;
	ret_wanted->n = is_beginning ? n : n + 1;
	if (node->length >= MAX_TEXT)
		return too_long(c, node->at);
	if (field->from != SP_FIELD_DYNAMIC && !field->is_string && n >= field->size)
		return sp_fail_at(-EINVAL, c->e->text, node->at, "%s has no more than %u characters", field->name,
				  field->size - 1);
	return 0;
}

/* Leaves the address of the text in `to`: of a field of fixed length without its offset. */
static int text_address(struct compiler *c, const struct sp_expr_node *name, unsigned to)
{
	const struct sp_field *field = name->field;
	int r = field->is_string ? number_compile(c, name, to) : base_compile(c, name, to);

	if (r || field->from != SP_FIELD_DYNAMIC)
		return r;
	r = emit_size(c, name->at, SP_OP_LOAD, to + 1, to, 2, field->offset); /* the offset is the lower half */
	return r ? r : emit_two(c, name->at, SP_OP_ADD, to, to, to + 1);
}

/* Leaves up to 8 bytes of the text, from `from` on, in `to`. */
static int text_word(struct compiler *c, size_t at, const struct sp_field *field, unsigned to, unsigned address,
		     size_t from, size_t n)
{
	uint64_t offset = field->from == SP_FIELD_DYNAMIC || field->is_string ? 0 : field->offset;
	int r;

	if (field->from != SP_FIELD_BUILTIN || field->is_string)
		return emit_size(c, at, SP_OP_LOAD, to, address, (uint32_t)n, offset + from);
	r = emit_imm(c, at, SP_OP_BUILTIN, to, 0, field->offset + from / 8);
	return r || n == 8 ? r : emit_size(c, at, SP_OP_ZERO_EXTEND, to, to, (uint32_t)(8 * n), 0);
}

/* Leaves in `to` whether the field has this text; its address is in to + 1. */
static int text_equal(struct compiler *c, const struct sp_expr_node *node, const struct sp_expr_node *name, unsigned to)
{
	const struct sp_field *field = name->field;
	struct wanted wanted = {.n = 0};
	int r = text_wanted(c, node, field, &wanted);

	if (!r && !wanted.n)
		return emit_imm(c, node->at, SP_OP_SET, to, 0, 1);
	if (!r && field->from != SP_FIELD_BUILTIN)
		r = text_address(c, name, to + 1);
	for (size_t i = 0; i < wanted.n && !r; i += 8) {
		size_t n = SP_MIN(wanted.n - i, (size_t)8);
		unsigned word = i ? to + 2 : to;
		uint64_t expected = 0;

		memcpy(&expected, wanted.text + i, n);
		r = text_word(c, node->at, field, word, to + 1, i, n);
		if (!r)
			r = emit_imm(c, node->at, SP_OP_EQ, word, word, expected);
		if (!r && i)
			r = emit_two(c, node->at, SP_OP_BOTH, to, to, word);
	}
	return r;
}

/* == or != of a text and a field that is text. */
static int text_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	const struct sp_expr_node *a = node_at(c, node->a), *b = node_at(c, node->b);
	const struct sp_expr_node *text = a->kind == SP_EXPR_TEXT ? a : b, *name = text == a ? b : a;
	int r;

	if (node->op != SP_EXPR_EQ && node->op != SP_EXPR_NE)
		return sp_fail_at(-EINVAL, c->e->text, node->at, "a text can only be compared by == and !=");
	if (text->kind != SP_EXPR_TEXT || name->kind != SP_EXPR_NAME ||
	    (!name->field->is_text && !name->field->is_string))
		return sp_fail_at(-EINVAL, c->e->text, node->at,
				  "one side must be a field that is text, the other a text in \"\"");
	r = text_equal(c, text, name, to);
	return r || node->op == SP_EXPR_EQ ? r : emit_imm(c, node->at, SP_OP_EQ, to, to, 0);
}

/* --- operators --- */
static int unary_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	int r = compile(c, node->a, to);

	if (r)
		return r;
	if (node->op == SP_EXPR_NOT)
		return emit_imm(c, node->at, SP_OP_EQ, to, to, 0);
	return emit_imm(c, node->at, node->op == SP_EXPR_INVERT ? SP_OP_XOR : SP_OP_MUL, to, to, UINT64_MAX);
}

/*
 * The kernel's own filters take `flags == -1` by the width of the field, and so does C: a negative number that is
 * compared with an unsigned field of 32 bits or less loses the bits above.
 */
static uint64_t narrowed(const struct compiler *c, const struct sp_expr_node *node, uint16_t other, uint64_t constant)
{
	const struct sp_expr_node *field = node_at(c, other);

	if ((node->op != SP_EXPR_EQ && node->op != SP_EXPR_NE) || field->kind != SP_EXPR_NAME ||
	    field->field->is_signed || sp_field_bits(field->field) >= 64 || (int64_t)constant >= 0)
		return constant;
	return constant & ((1ULL << sp_field_bits(field->field)) - 1);
}

static bool is_commutative(enum sp_expr_op op)
{
	return op == SP_EXPR_MUL || op == SP_EXPR_ADD || op >= SP_EXPR_EQ;
}

static int operands_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to, unsigned *ret_a,
			    unsigned *ret_b)
{
	bool b_first = weight_of(c, node->b) > weight_of(c, node->a);
	int r = compile(c, b_first ? node->b : node->a, to);

	*ret_a = b_first ? to + 1 : to;
	*ret_b = b_first ? to : to + 1;
	return r ? r : compile(c, b_first ? node->a : node->b, to + 1);
}

/* What is asked for bits that a field has needs none of those above it. */
static int bits_compile(struct compiler *c, const struct sp_expr_node *node, uint16_t operand, uint64_t imm,
			unsigned to)
{
	const struct sp_expr_node *field = node_at(c, operand);
	bool is_number = field->kind == SP_EXPR_NAME && !field->field->is_text && !field->field->why_not;
	bool is_within = is_number && (sp_field_bits(field->field) >= 64 || !(imm >> sp_field_bits(field->field)));
	int r = is_within ? number_read(c, field, to) : compile(c, operand, to);

	return r ? r : emit_imm(c, node->at, SP_OP_AND, to, to, imm);
}

static int binary_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	enum sp_op_kind kind = binary_kind(c, node);
	uint16_t first = is_swapped(node->op) ? node->b : node->a, second = first == node->a ? node->b : node->a;
	unsigned a, b;
	uint64_t imm;
	int r;

	if (is_constant(c, first, &imm) && is_commutative(node->op)) {
		first = second;
		second = first == node->a ? node->b : node->a;
	}
	if (is_constant(c, second, &imm) && kind == SP_OP_AND)
		return bits_compile(c, node, first, imm, to);
	if (is_constant(c, second, &imm)) {
		r = compile(c, first, to);
		return r ? r : emit_imm(c, node->at, kind, to, to, narrowed(c, node, first, imm));
	}
	r = operands_compile(c, node, to, &a, &b);
	if (r)
		return r;
	return is_swapped(node->op) ? emit_two(c, node->at, kind, to, b, a) : emit_two(c, node->at, kind, to, a, b);
}

/* Leaves 0 or 1 in `to`: whether the condition is (or, if not wanted, is not) met. */
static int condition_compile(struct compiler *c, uint16_t number, bool wanted, unsigned to)
{
	int r = compile(c, number, to);

	if (r || (wanted && gives_truth(node_at(c, number))))
		return r;
	return emit_imm(c, node_at(c, number)->at, wanted ? SP_OP_NE : SP_OP_EQ, to, to, 0);
}

/* condition ? x : 0, or condition ? 0 : x, as a product. */
static int choice_or_0(struct compiler *c, const struct sp_expr_node *node, uint16_t x, unsigned to)
{
	bool x_first = weight_of(c, x) > weight_of(c, node->a);
	int r = x_first ? compile(c, x, to) : condition_compile(c, node->a, x == node->b, to);

	if (!r)
		r = x_first ? condition_compile(c, node->a, x == node->b, to + 1) : compile(c, x, to + 1);
	return r ? r : emit_two(c, node->at, SP_OP_MUL, to, to, to + 1);
}

/* condition ? b : c, as (condition != 0) * (b - c) + c. */
static int choice_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	uint64_t constant;
	int r;

	if (is_constant(c, node->b, &constant) && !constant)
		return choice_or_0(c, node, node->c, to);
	if (is_constant(c, node->c, &constant) && !constant)
		return choice_or_0(c, node, node->b, to);
	r = condition_compile(c, node->a, true, to);
	if (!r)
		r = compile(c, node->b, to + 1);
	if (!r)
		r = compile(c, node->c, to + 2);
	if (!r)
		r = emit_two(c, node->at, SP_OP_SUB, to + 1, to + 1, to + 2);
	if (!r)
		r = emit_two(c, node->at, SP_OP_MUL, to, to, to + 1);
	return r ? r : emit_two(c, node->at, SP_OP_ADD, to, to, to + 2);
}

/* A bit for each number of the list, if all are constants below 64 and so many that this is shorter. 0: it is not. */
static uint64_t list_bits(const struct compiler *c, const struct sp_expr_node *node)
{
	uint64_t bits = 0, imm;
	size_t n = 0;

	for (uint16_t i = node->b; i; i = node_at(c, i)->next, n++) {
		if (!is_constant(c, i, &imm) || imm >= 64)
			return 0;
		bits |= 1ULL << imm;
	}
	return n > 2 ? bits : 0;
}

/* what < 64 && bits >> what & 1 */
static int bits_have(struct compiler *c, const struct sp_expr_node *node, uint64_t bits, unsigned to)
{
	int r = compile(c, node->a, to + 1);

	if (!r)
		r = emit_imm(c, node->at, SP_OP_LT, to + 2, to + 1, 64);
	if (!r)
		r = emit_imm(c, node->at, SP_OP_SET, to, 0, bits);
	if (!r)
		r = emit_two(c, node->at, SP_OP_SHR, to, to, to + 1);
	return r ? r : emit_two(c, node->at, SP_OP_AND, to, to, to + 2);
}

/* Leaves in `at` whether number i of the list is what is asked for, which is in to + 1. */
static int in_equal(struct compiler *c, const struct sp_expr_node *node, uint16_t i, unsigned to, unsigned at)
{
	const struct sp_expr_node equal = {.op = SP_EXPR_EQ};
	uint64_t imm;
	int r;

	if (is_constant(c, i, &imm))
		return emit_imm(c, node->at, SP_OP_EQ, at, to + 1, narrowed(c, &equal, node->a, imm));
	r = compile(c, i, to + 2);
	if (!r && is_constant(c, node->a, &imm))
		return emit_imm(c, node->at, SP_OP_EQ, at, to + 2, narrowed(c, &equal, i, imm));
	return r ? r : emit_two(c, node->at, SP_OP_EQ, at, to + 1, to + 2);
}

/* what == first || what == second ...: `what` is in to + 1. */
static int in_compile(struct compiler *c, const struct sp_expr_node *node, unsigned to)
{
	uint64_t bits = list_bits(c, node);
	bool is_first = true;
	int r;

	if (is_text(c, node->a))
		return sp_fail_at(-EINVAL, c->e->text, node->at, "`in` is for numbers; compare texts by ==");
	if (bits)
		return bits_have(c, node, bits, to);
	r = compile(c, node->a, to + 1);
	for (uint16_t i = node->b; i && !r; i = node_at(c, i)->next, is_first = false) {
		r = in_equal(c, node, i, to, is_first ? to : to + 2);
		if (!r && !is_first)
			r = emit_two(c, node->at, SP_OP_OR, to, to, to + 2);
	}
	return r;
}

static int compile(struct compiler *c, uint16_t number, unsigned to)
{
	const struct sp_expr_node *node = node_at(c, number);
	uint64_t constant;

	if (is_constant(c, number, &constant))
		return emit_imm(c, node->at, SP_OP_SET, to, 0, constant);
	switch (node->kind) {
	case SP_EXPR_NAME:
		return name_compile(c, node, to);
	case SP_EXPR_UNARY:
		return unary_compile(c, node, to);
	case SP_EXPR_BINARY:
		return is_text(c, node->a) || is_text(c, node->b) ? text_compile(c, node, to)
								  : binary_compile(c, node, to);
	case SP_EXPR_CHOICE:
		return choice_compile(c, node, to);
	case SP_EXPR_IN:
		return in_compile(c, node, to);
	default:
		return sp_fail_at(-EINVAL, c->e->text, node->at, "a text must be compared with a field, by == or !=");
	}
}

/* --- what is wanted of it --- */
sp_u32 sp_op_list_arguments(const struct sp_op_list *list)
{
	sp_u32 n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->ops[i].kind == SP_OP_ARGUMENT)
			n = SP_MAX(n, (sp_u32)list->ops[i].imm + 1);
	return n;
}

/* Each side of && at the top is a need of its own, so that the first that is not met ends it. */
static int need(struct compiler *c, uint16_t number)
{
	const struct sp_expr_node *node = node_at(c, number);
	int r;

	if (node->kind == SP_EXPR_BINARY && node->op == SP_EXPR_BOTH) {
		r = need(c, node->a);
		return r ? r : need(c, node->b);
	}
	r = compile(c, number, 0);
	return r ? r : emit(c, node->at, &(struct sp_op){.kind = SP_OP_NEED, .b = SP_OP_IMM});
}

int sp_expr_need(const struct sp_expr *expr, struct sp_op_list *list)
{
	return need(&(struct compiler){.e = expr, .list = list}, expr->root);
}

int sp_expr_number(const struct sp_expr *expr, struct sp_op_list *list, unsigned to)
{
	return compile(&(struct compiler){.e = expr, .list = list}, expr->root, to);
}

bool sp_expr_is_unsigned(const struct sp_expr *expr)
{
	return is_unsigned(&(struct compiler){.e = expr}, expr->root);
}

int sp_expr_text_address(const struct sp_expr *expr, struct sp_op_list *list, unsigned to)
{
	struct compiler c = {.e = expr, .list = list};
	const struct sp_expr_node *node = &expr->nodes[expr->root];
	int r = text_address(&c, node, to);

	if (r || node->field->is_string || node->field->from == SP_FIELD_DYNAMIC || !node->field->offset)
		return r;
	return emit_imm(&c, node->at, SP_OP_ADD, to, to, node->field->offset);
}

int sp_expr_value(const struct sp_expr *expr, struct sp_op_list *list)
{
	struct compiler c = {.e = expr, .list = list};
	size_t at = expr->nodes[expr->root].at;
	const struct sp_field *field = expr->nodes[expr->root].field;
	bool is_positive = field && !field->is_signed;
	int r = compile(&c, expr->root, 0);

	if (r || is_positive || is_unsigned(&c, expr->root) || gives_truth(&expr->nodes[expr->root]))
		return r;
	r = emit_imm(&c, at, SP_OP_SAR, 1, 0, 63); /* all bits are set if it is below 0 */
	if (!r)
		r = emit_imm(&c, at, SP_OP_XOR, 1, 1, UINT64_MAX);
	return r ? r : emit_two(&c, at, SP_OP_AND, 0, 0, 1);
}
