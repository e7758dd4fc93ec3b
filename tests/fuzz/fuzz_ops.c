/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any list of ops, of any bytes, gives what the plainest evaluator gives. */
#include "../unit/event/evaluator.h"
#include "event/ops.h"
#include "require.h"
#include <stdlib.h>

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	struct {
		struct sp_op ops[SP_N_OPS];
		struct sp_op_env env;
	} given = {0};
	sp_u64 a[SP_N_OP_REGS] = {0}, b[SP_N_OP_REGS] = {0};

	memcpy(&given, data, size < sizeof(given) ? size : sizeof(given));
	require(sp_ops_run(&given.env, given.ops, a) == plain_run(&given.env, given.ops, b));
	require(!memcmp(a, b, sizeof(a)));
	return 0;
}
