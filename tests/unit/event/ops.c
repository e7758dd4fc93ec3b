/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of ops give what the plainest evaluator gives. Odd numbers are put in on purpose: 0, -1, the ends of 64 bits.
 * That the kernel computes the same is recipe/front.c's.
 */
#include "evaluator.h"
#include "numbers.h"

#include "event/ops.h"
#include "test.h"

enum { N_LISTS = 200000 / SP_FEWER };

static void list_make(struct sp_op *ops, sp_u32 first_kind)
{
	static const sp_u32 sizes[] = {1, 2, 4, 8};

	memset(ops, 0, SP_N_OPS * sizeof(*ops));
	for (size_t i = 0; i < SP_N_OPS; i++) {
		uint64_t n = random_number();
		sp_u32 kind =
		    i < SP_N_OP_REGS ? SP_OP_SET + (n & 1) : first_kind + (n >> 8) % (SP_N_OP_KINDS - first_kind);

		if (kind == SP_OP_NEED && (n >> 16) % 4)
			kind = SP_OP_XOR;
		ops[i] = (struct sp_op){.kind = (sp_u8)kind,
					.dst = (sp_u8)(i < SP_N_OP_REGS ? i : (n >> 24) % SP_N_OP_REGS),
					.a = (sp_u8)((n >> 32) % SP_N_OP_REGS),
					.b = (sp_u8)((n >> 40) % 3 ? (n >> 48) % SP_N_OP_REGS : SP_OP_IMM),
					.size = kind == SP_OP_LOAD ? sizes[(n >> 56) % 4] : (sp_u32)(n >> 56) % 70,
					.imm = kind == SP_OP_ARGUMENT ? n % SP_N_ARGUMENTS : odd_number()};
		if (kind == SP_OP_BUILTIN)
			ops[i].imm %= SP_N_BUILTINS;
	}
}

static void env_make(struct sp_op_env *env)
{
	for (size_t i = 0; i < SP_N_ARGUMENTS; i++)
		env->argument[i] = odd_number();
	for (size_t i = 0; i < SP_N_BUILTINS; i++)
		env->builtin[i] = odd_number();
	for (size_t i = 0; i < MEMORY_BYTES; i++)
		env->memory[i] = (sp_u8)random_number();
	env->base = random_number() & 1 ? 0 : odd_number();
}

static void here(void **state)
{
	for (unsigned i = 0; i < N_LISTS; i++) {
		struct sp_op ops[SP_N_OPS];
		struct sp_op_env env;
		sp_u64 a[SP_N_OP_REGS] = {0}, b[SP_N_OP_REGS] = {0};

		list_make(ops, SP_OP_END);
		env_make(&env);
		assert_int_equal(sp_ops_run(&env, ops, a), plain_run(&env, ops, b));
		assert_memory_equal(a, b, sizeof(a));
	}
}

/* What is no op does nothing. */
static void nonsense(void **state)
{
	static const struct sp_op bad[] = {
	    {.kind = SP_N_OP_KINDS, .imm = 7},
	    {.kind = 255, .imm = 7},
	    {.kind = SP_OP_SET, .dst = SP_N_OP_REGS, .imm = 7},
	    {.kind = SP_OP_ADD, .a = 200, .b = SP_OP_IMM, .imm = 7},
	    {.kind = SP_OP_ADD, .b = SP_N_OP_REGS, .imm = 7},
	    {.kind = SP_OP_NEED, .a = SP_N_OP_REGS},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sp_op ops[SP_N_OPS] = {bad[i]};
		struct sp_op_env env = {0};
		sp_u64 r[SP_N_OP_REGS] = {0};

		assert_int_equal(sp_ops_run(&env, ops, r), 1);
		for (size_t k = 0; k < SP_N_OP_REGS; k++)
			assert_int_equal(r[k], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(here),
	    cmocka_unit_test(nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
