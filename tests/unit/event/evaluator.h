/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evaluator.h: what a list of ops gives, computed in the plainest way, to compare event/ops.h with: 128-bit numbers and
 * conditions in place of shifts, and an environment that is arrays. For the unit test and the fuzzer.
 */
#ifndef SP_TESTS_EVALUATOR_H
#define SP_TESTS_EVALUATOR_H

#include "event/op.h"
#include <stdbool.h>
#include <string.h>

enum { MEMORY_BYTES = 64 };

struct sp_op_env {
	sp_u64 argument[SP_N_ARGUMENTS];
	sp_u64 base; /* address of memory[0] */
	sp_u8 memory[MEMORY_BYTES];
	sp_u64 builtin[SP_N_BUILTINS];
};

static inline sp_u64 sp_env_argument(struct sp_op_env *env, sp_u64 number)
{
	return number < SP_N_ARGUMENTS ? env->argument[number] : 0;
}

static inline sp_u64 sp_env_memory(struct sp_op_env *env, sp_u64 address, sp_u32 size)
{
	sp_u64 value = 0, at = address - env->base;

	if (size <= 8 && at <= MEMORY_BYTES && at + size <= MEMORY_BYTES)
		memcpy(&value, env->memory + at, size);
	return value;
}

static inline sp_u64 sp_env_builtin(struct sp_op_env *env, sp_u64 builtin)
{
	return builtin < SP_N_BUILTINS ? env->builtin[builtin] : 0;
}

static inline sp_u64 plain_shift(sp_u64 a, sp_u64 by, bool left)
{
	for (by %= 64; by; by--)
		a = left ? a * 2 : a / 2;
	return a;
}

static inline sp_u64 plain_compute(sp_u32 kind, sp_u64 a, sp_u64 b)
{
	__int128 x = (sp_s64)a, y = (sp_s64)b;
	unsigned __int128 u = a, v = b;

	switch (kind) {
	case SP_OP_ADD:
		return (sp_u64)(u + v);
	case SP_OP_SUB:
		return (sp_u64)(u - v);
	case SP_OP_MUL:
		return (sp_u64)(u * v);
	case SP_OP_DIV:
		return v ? (sp_u64)(u / v) : 0;
	case SP_OP_MOD:
		return v ? (sp_u64)(u % v) : a;
	case SP_OP_SDIV:
		return y ? (sp_u64)(x / y) : 0;
	case SP_OP_SMOD:
		return y ? (sp_u64)(x % y) : a;
	case SP_OP_AND:
		return a & b;
	case SP_OP_OR:
		return a | b;
	case SP_OP_XOR:
		return a ^ b;
	case SP_OP_SHL:
		return plain_shift(a, b, true);
	case SP_OP_SHR:
		return plain_shift(a, b, false);
	case SP_OP_SAR:
		return x < 0 ? ~plain_shift(~a, b, false) : plain_shift(a, b, false);
	case SP_OP_EQ:
		return u == v;
	case SP_OP_NE:
		return u != v;
	case SP_OP_LT:
		return u < v;
	case SP_OP_LE:
		return u <= v;
	case SP_OP_SLT:
		return x < y;
	case SP_OP_SLE:
		return x <= y;
	case SP_OP_BOTH:
		return u != 0 && v != 0;
	case SP_OP_EITHER:
		return u != 0 || v != 0;
	}
	return 0;
}

static inline sp_u64 plain_extend(sp_u64 x, sp_u32 bits, bool with_sign)
{
	sp_u64 low = x;

	if (!bits || bits >= 64)
		return x;
	for (sp_u32 i = bits; i < 64; i++)
		low &= ~(1ULL << i);
	for (sp_u32 i = bits; i < 64 && with_sign && low >> (bits - 1) & 1; i++)
		low |= 1ULL << i;
	return low;
}

/* As sp_ops_run(). */
static inline int plain_run(struct sp_op_env *env, const struct sp_op *ops, sp_u64 *r)
{
	for (const struct sp_op *op = ops; op < ops + SP_N_OPS; op++) {
		bool has_b = op->b < SP_N_OP_REGS;

		if (op->kind == SP_OP_END)
			break;
		if (op->kind >= SP_N_OP_KINDS || op->dst >= SP_N_OP_REGS || op->a >= SP_N_OP_REGS ||
		    (!has_b && op->b != SP_OP_IMM))
			continue;
		if (op->kind == SP_OP_NEED && !r[op->a])
			return 0;
		if (op->kind == SP_OP_SET)
			r[op->dst] = op->imm;
		else if (op->kind == SP_OP_ARGUMENT)
			r[op->dst] = sp_env_argument(env, op->imm);
		else if (op->kind == SP_OP_LOAD)
			r[op->dst] = sp_env_memory(env, r[op->a] + op->imm, op->size);
		else if (op->kind == SP_OP_BUILTIN)
			r[op->dst] = sp_env_builtin(env, op->imm);
		else if (op->kind == SP_OP_ZERO_EXTEND || op->kind == SP_OP_SIGN_EXTEND)
			r[op->dst] = plain_extend(r[op->a], op->size, op->kind == SP_OP_SIGN_EXTEND);
		else if (op->kind != SP_OP_NEED)
			r[op->dst] = plain_compute(op->kind, r[op->a], has_b ? r[op->b] : op->imm);
	}
	return 1;
}

#endif
