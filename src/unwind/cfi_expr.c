/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_expr.c: evaluates DWARF expressions symbolically to the few forms that rows can express.
 *
 * A small stack machine over symbolic values, not patterns: so `reg + a; deref; lit b; plus` and `reg + a; deref;
 * plus_uconst b` have one result, and so have index * 8 and index << 3. Branches, calls and all else give
 * SP_CFI_OTHER. One step per operation and no loops: linear in the block (DWARF 5, section 2.5).
 */
#include "unwind/priv.h"

enum { STACK_DEPTH = 16 };

struct machine {
	struct sp_cfi_value stack[STACK_DEPTH];
	unsigned n;
	bool lost; /* an operand could not be followed */
};

static void push(struct machine *m, struct sp_cfi_value v)
{
	if (m->n == STACK_DEPTH || v.kind == SP_CFI_OTHER)
		m->lost = true;
	else
		m->stack[m->n++] = v;
}

static struct sp_cfi_value pop(struct machine *m)
{
	static const struct sp_cfi_value other = {.kind = SP_CFI_OTHER};
	if (m->n == 0) {
		m->lost = true;
		return other;
	}
	return m->stack[--m->n];
}

static void push_const(struct machine *m, int64_t value)
{
	push(m, (struct sp_cfi_value){.kind = SP_CFI_CONST, .off = value});
}

static void push_copy(struct machine *m, unsigned depth)
{
	if (depth >= m->n)
		m->lost = true;
	else
		push(m, m->stack[m->n - 1 - depth]);
}

static void push_reg(struct machine *m, uint64_t reg, int64_t off)
{
	if (reg > SP_REG_RA)
		m->lost = true;
	else
		push(m, (struct sp_cfi_value){.kind = SP_CFI_REG, .reg = (uint8_t)reg, .off = off});
}

static struct sp_cfi_value add_const(struct sp_cfi_value v, int64_t n)
{
	bool is_deref = v.kind == SP_CFI_DEREF || v.kind == SP_CFI_INDEX_DEREF;
	int64_t *to = is_deref ? &v.add : &v.off;
	bool can = is_deref || v.kind == SP_CFI_CONST || v.kind == SP_CFI_REG || v.kind == SP_CFI_CFA ||
		   v.kind == SP_CFI_SCALED || v.kind == SP_CFI_INDEX || v.kind == SP_CFI_PLT;
	if (!can || __builtin_add_overflow(*to, n, to))
		v.kind = SP_CFI_OTHER;
	return v;
}

/* reg + off plus an index, in either order */
static struct sp_cfi_value plus_index(struct sp_cfi_value base, struct sp_cfi_value index)
{
	struct sp_cfi_value v = {.kind = SP_CFI_INDEX, .reg = base.reg, .shift = index.shift};
	v.index = index.kind == SP_CFI_SCALED ? index.index : index.reg;
	if (__builtin_add_overflow(base.off, index.off, &v.off))
		v.kind = SP_CFI_OTHER;
	return v;
}

static struct sp_cfi_value plus(struct sp_cfi_value a, struct sp_cfi_value b)
{
	if (b.kind == SP_CFI_CONST)
		return add_const(a, b.off);
	if (a.kind == SP_CFI_CONST)
		return add_const(b, a.off);
	if (a.kind == SP_CFI_STEP && b.kind == SP_CFI_REG) {
		struct sp_cfi_value t = a;
		a = b;
		b = t;
	}
	if (a.kind == SP_CFI_REG && a.reg == SP_REG_SP && b.kind == SP_CFI_STEP)
		return (struct sp_cfi_value){.kind = SP_CFI_PLT, .reg = SP_REG_SP, .off = a.off, .add = b.add};
	if (a.kind == SP_CFI_REG && (b.kind == SP_CFI_SCALED || b.kind == SP_CFI_REG))
		return plus_index(a, b);
	if (a.kind == SP_CFI_SCALED && b.kind == SP_CFI_REG)
		return plus_index(b, a);
	return (struct sp_cfi_value){.kind = SP_CFI_OTHER};
}

static struct sp_cfi_value minus(struct sp_cfi_value a, struct sp_cfi_value b)
{
	int64_t n;
	if (b.kind != SP_CFI_CONST || __builtin_sub_overflow((int64_t)0, b.off, &n))
		return (struct sp_cfi_value){.kind = SP_CFI_OTHER};
	return add_const(a, n);
}

static struct sp_cfi_value deref(struct sp_cfi_value v)
{
	bool can = v.kind == SP_CFI_REG && v.reg != SP_REG_RA;
	if (v.kind == SP_CFI_INDEX)
		v.kind = SP_CFI_INDEX_DEREF;
	else
		v.kind = can ? SP_CFI_DEREF : SP_CFI_OTHER;
	return v;
}

/* (reg + off) << n, for the scales of an addressing mode */
static struct sp_cfi_value shift(struct sp_cfi_value a, int64_t n)
{
	struct sp_cfi_value v = {.kind = SP_CFI_SCALED, .index = a.reg, .shift = (uint8_t)n};
	if (a.kind != SP_CFI_REG || n < 0 || n > 3 || __builtin_mul_overflow(a.off, 1 << n, &v.off))
		v.kind = SP_CFI_OTHER;
	return v;
}

static struct sp_cfi_value mul(struct sp_cfi_value a, struct sp_cfi_value b)
{
	if (a.kind == SP_CFI_CONST)
		return b.kind == SP_CFI_CONST ? (struct sp_cfi_value){.kind = SP_CFI_OTHER} : mul(b, a);
	if (b.kind != SP_CFI_CONST || b.off < 1 || b.off > 8 || b.off & (b.off - 1))
		return (struct sp_cfi_value){.kind = SP_CFI_OTHER};
	return shift(a, __builtin_ctzll((uint64_t)b.off));
}

/* The steps of the PLT's expression: ip & 15; >= n; << 3. */
static struct sp_cfi_value plt_step(uint8_t op, struct sp_cfi_value a, struct sp_cfi_value b)
{
	struct sp_cfi_value v = {.kind = SP_CFI_OTHER};
	if (b.kind != SP_CFI_CONST)
		return v;
	if (op == 0x1a && a.kind == SP_CFI_REG && a.reg == SP_REG_RA && a.off == 0 && b.off == 15)
		v.kind = SP_CFI_AND15;
	if (op == 0x2a && a.kind == SP_CFI_AND15 && b.off >= 0 && b.off <= 16) {
		v.kind = SP_CFI_GE;
		v.add = b.off;
	}
	if (op == 0x24 && a.kind == SP_CFI_GE && b.off == 3) {
		v.kind = SP_CFI_STEP;
		v.add = a.add;
	}
	return op == 0x24 && v.kind == SP_CFI_OTHER ? shift(a, b.off) : v;
}

static int64_t read_const(struct sp_cursor *c, uint8_t op)
{
	switch (op) {
	case 0x08:
		return sp_cursor_u8(c);
	case 0x09:
		return (int8_t)sp_cursor_u8(c);
	case 0x0a:
		return sp_cursor_u16(c);
	case 0x0b:
		return (int16_t)sp_cursor_u16(c);
	case 0x0c:
		return sp_cursor_u32(c);
	case 0x0d:
		return (int32_t)sp_cursor_u32(c);
	case 0x0e:
	case 0x0f:
		return (int64_t)sp_cursor_u64(c);
	case 0x10:
		return (int64_t)sp_cursor_uleb(c);
	default: /* 0x11 */
		return sp_cursor_sleb(c);
	}
}

static void swap(struct machine *m)
{
	struct sp_cfi_value b = pop(m), a = pop(m);
	push(m, b);
	push(m, a);
}

static void step_binary(struct machine *m, uint8_t op)
{
	struct sp_cfi_value b = pop(m), a = pop(m);
	switch (op) {
	case 0x22:
		push(m, plus(a, b));
		break;
	case 0x1c:
		push(m, minus(a, b));
		break;
	case 0x1e:
		push(m, mul(a, b));
		break;
	default:
		push(m, plt_step(op, a, b));
	}
}

static void step_other(struct machine *m, struct sp_cursor *c, uint8_t op)
{
	switch (op) {
	case 0x06: /* deref */
		push(m, deref(pop(m)));
		break;
	case 0x94: /* deref_size */
		m->lost |= sp_cursor_u8(c) != 8;
		push(m, deref(pop(m)));
		break;
	case 0x12: /* dup */
	case 0x14: /* over */
		push_copy(m, op == 0x14);
		break;
	case 0x15: /* pick */
		push_copy(m, sp_cursor_u8(c));
		break;
	case 0x13: /* drop */
		pop(m);
		break;
	case 0x16:
		swap(m);
		break;
	case 0x1a: /* and */
	case 0x1c: /* minus */
	case 0x1e: /* mul */
	case 0x22: /* plus */
	case 0x24: /* shl */
	case 0x2a: /* ge */
		step_binary(m, op);
		break;
	case 0x23: /* plus_uconst */
		push(m, add_const(pop(m), (int64_t)sp_cursor_uleb(c)));
		break;
	case 0x96: /* nop */
		break;
	default:
		m->lost = true;
	}
}

static void step(struct machine *m, struct sp_cursor *c)
{
	uint8_t op = sp_cursor_u8(c);
	if (op >= 0x08 && op <= 0x11) {
		push_const(m, read_const(c, op));
	} else if (op >= 0x30 && op <= 0x4f) { /* lit0 to lit31 */
		push_const(m, op - 0x30);
	} else if (op >= 0x70 && op <= 0x8f) { /* breg0 to breg31 */
		push_reg(m, op - 0x70, sp_cursor_sleb(c));
	} else if (op == 0x92) { /* bregx */
		uint64_t reg = sp_cursor_uleb(c);
		push_reg(m, reg, sp_cursor_sleb(c));
	} else {
		step_other(m, c, op);
	}
}

struct sp_cfi_value sp_cfi_eval(struct sp_cursor block, bool with_cfa)
{
	struct machine m = {.n = 0};
	if (with_cfa)
		push(&m, (struct sp_cfi_value){.kind = SP_CFI_CFA});
	while (!m.lost && !block.bad && sp_cursor_left(&block) > 0)
		step(&m, &block);
	struct sp_cfi_value result = pop(&m);
	if (m.lost || block.bad)
		result.kind = SP_CFI_OTHER;
	return result;
}
