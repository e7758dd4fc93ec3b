/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * ops.h: the filters, keys and values of an event, as a list of at most SP_N_OPS ops over SP_N_OP_REGS numbers.
 *
 * Compiled twice: into the kernel half, where the list is read-only data and the verifier removes all ops and cases
 * that are not in it (a list of 10 leaves some 200 instructions), and into the user half for tests and fuzzers. Whoever
 * includes it first defines `struct sp_op_env` and, of it, sp_env_argument(), sp_env_memory() and sp_env_builtin(),
 * which give 0 where there is nothing to read.
 * Numbers are 64 bits wide and wrap. x / 0 is 0, x % 0 is x, and a shift counts by its low 6 bits. An op with a
 * register, kind or size that does not exist does nothing: it is a mistake of whoever made the list.
 */
#ifndef SP_EVENT_OPS_H
#define SP_EVENT_OPS_H

#include "event/compute.h"

/* Runs one op. 0: the event is not wanted. */
static inline __attribute__((always_inline)) int sp_op_step(struct sp_op_env *env, const volatile struct sp_op *op,
							    sp_u64 *r)
{
	sp_u32 kind = op->kind, dst = op->dst, a = op->a, b = op->b, size = op->size;
	sp_u64 imm = op->imm, value;

	if (kind >= SP_N_OP_KINDS || dst >= SP_N_OP_REGS || a >= SP_N_OP_REGS || (b >= SP_N_OP_REGS && b != SP_OP_IMM))
		return 1;
	switch (kind) {
	case SP_OP_SET:
		value = imm;
		break;
	case SP_OP_ARGUMENT:
		value = sp_env_argument(env, imm);
		break;
	case SP_OP_LOAD:
		value = sp_env_memory(env, r[a] + imm, size);
		break;
	case SP_OP_BUILTIN:
		value = sp_env_builtin(env, imm);
		break;
	case SP_OP_ZERO_EXTEND:
		value = size && size < 64 ? r[a] & ((1ULL << size) - 1) : r[a];
		break;
	case SP_OP_SIGN_EXTEND:
		value = size && size < 64 ? sp_op_extend(r[a], size) : r[a];
		break;
	case SP_OP_NEED:
		return r[a] != 0;
	default:
		value = sp_op_compute(kind, r[a], b == SP_OP_IMM ? imm : r[b & (SP_N_OP_REGS - 1)]);
	}
	r[dst] = value;
	return 1;
}

/* How many of a list are looked at: the others are known to be none. */
#ifndef SP_N_OPS_RUN
#define SP_N_OPS_RUN SP_N_OPS
#endif

/* Runs all ops. Returns whether the event is wanted; the numbers are left in r[]. */
static inline __attribute__((always_inline)) int sp_ops_run(struct sp_op_env *env, const volatile struct sp_op *ops,
							    sp_u64 *r)
{
	int i;

#ifdef __bpf__
#pragma clang loop unroll(full)
#endif
	for (i = 0; i < SP_N_OPS_RUN; i++) {
		if (ops[i].kind == SP_OP_END)
			break; /* all steps behind it are one piece of code to remove */
		if (!sp_op_step(env, &ops[i], r))
			return 0;
	}
	return 1;
}

#endif
