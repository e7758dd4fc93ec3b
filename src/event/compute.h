/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * compute.h: what an op with two operands gives; the arithmetic of event/ops.h.
 *
 * Compiled into both halves, by which constants of expressions are computed as the kernel half would. Numbers are 64
 * bits wide and wrap. x / 0 is 0, x % 0 is x, and a shift counts by its low 6 bits. No state.
 */
#ifndef SP_EVENT_COMPUTE_H
#define SP_EVENT_COMPUTE_H

#include "event/op.h"

/* Copies the sign bit of a number of this size into all bits above it. */
static inline __attribute__((always_inline)) sp_u64 sp_op_extend(sp_u64 x, sp_u32 bits)
{
	sp_u32 by = (64 - bits) & 63;

	return (sp_u64)((sp_s64)(x << by) >> by);
}

static inline __attribute__((always_inline)) sp_u64 sp_op_size(sp_u64 x)
{
	return (sp_s64)x < 0 ? -x : x;
}

/* Signed division, rounded towards 0 as in C, by magnitudes: the kernel half has no signed division. */
static inline __attribute__((always_inline)) sp_u64 sp_op_divide(sp_u64 a, sp_u64 b)
{
	sp_u64 n = b ? sp_op_size(a) / sp_op_size(b) : 0;

	return (sp_s64)(a ^ b) < 0 ? -n : n;
}

static inline __attribute__((always_inline)) sp_u64 sp_op_rest(sp_u64 a, sp_u64 b)
{
	sp_u64 n = b ? sp_op_size(a) % sp_op_size(b) : sp_op_size(a);

	return (sp_s64)a < 0 ? -n : n;
}

static inline __attribute__((always_inline)) sp_u64 sp_op_compute(sp_u32 kind, sp_u64 a, sp_u64 b)
{
	switch (kind) {
	case SP_OP_ADD:
		return a + b;
	case SP_OP_SUB:
		return a - b;
	case SP_OP_MUL:
		return a * b;
	case SP_OP_DIV:
		return b ? a / b : 0;
	case SP_OP_MOD:
		return b ? a % b : a;
	case SP_OP_SDIV:
		return sp_op_divide(a, b);
	case SP_OP_SMOD:
		return sp_op_rest(a, b);
	case SP_OP_AND:
		return a & b;
	case SP_OP_OR:
		return a | b;
	case SP_OP_XOR:
		return a ^ b;
	case SP_OP_SHL:
		return a << (b & 63);
	case SP_OP_SHR:
		return a >> (b & 63);
	case SP_OP_SAR:
		return (sp_u64)((sp_s64)a >> (b & 63));
	case SP_OP_EQ:
		return a == b;
	case SP_OP_NE:
		return a != b;
	case SP_OP_LT:
		return a < b;
	case SP_OP_LE:
		return a <= b;
	case SP_OP_SLT:
		return (sp_s64)a < (sp_s64)b;
	case SP_OP_SLE:
		return (sp_s64)a <= (sp_s64)b;
	case SP_OP_BOTH:
		return a && b;
	case SP_OP_EITHER:
		return a || b;
	}
	return 0;
}

#endif
