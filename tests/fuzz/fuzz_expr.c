/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ops of any expression, over fields of any bytes, give what walking its tree gives. */
#include "base/error.h"
#include "recipe/narrow.h"
#include "require.h"
#include "tree.h"
#include <stdlib.h>

#include "event/ops.h" /* behind the environment that it works on */

static void compare(const struct sp_expr *e, struct sp_op_env *env)
{
	struct sp_op_list need = {.n = 0}, value = {.n = 0};
	struct tree t = {.e = e, .env = env};
	sp_u64 r[SP_N_OP_REGS] = {0}, unused[SP_N_OP_REGS] = {0};
	struct tree_value wanted;

	if (sp_expr_need(e, &need) || sp_expr_value(e, &value))
		return;
	wanted = tree_walk(&t, e->root);
	if (t.is_beyond)
		return;
	require(sp_ops_run(env, need.ops, unused) == (wanted.bits != 0));
	require(sp_ops_run(env, value.ops, r) == 1);
	require(r[0] == (wanted.is_unsigned || (sp_s64)wanted.bits >= 0 ? wanted.bits : 0));
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	struct sp_op_env env = {.base = 0x1000};
	struct sp_narrowing narrowing;
	struct sp_expr e = {0};
	char *text;
	size_t at;

	/* the expression first, then what the fields are made of */
	text = strndup((const char *)data, size);
	at = strlen(text) + 1;
	for (size_t i = 0; i < sizeof(env.memory) && at < size; i++)
		env.memory[i] = data[at++];
	for (size_t i = 0; i < sizeof(env.builtin) && at < size; i++)
		((uint8_t *)env.builtin)[i] = data[at++];
	made_env(&env);
	require(made_types.kernel || made_types_open());
	require(sp_narrowing_length(text) <= strlen(text));
	sp_narrowing_split(text, &narrowing);
	if (!sp_expr_parse(text, 0, strlen(text), &e) && !sp_expr_resolve(&e, &made_fields, "made:up"))
		compare(&e, &env);
	else
		require(sp_error_where(-22, &at) != NULL || !*text || strlen(text) > 1000);
	sp_error_clear();
	free(text);
	return 0;
}
