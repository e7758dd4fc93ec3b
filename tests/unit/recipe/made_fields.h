/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_fields.h: made-up fields, one of each kind, in the 64 bytes of memory that evaluator.h has, of which the last is
 * text of any length. For the unit test of expressions and their fuzzer.
 */
#ifndef SP_TESTS_MADE_FIELDS_H
#define SP_TESTS_MADE_FIELDS_H

#include "evaluator.h"
#include "recipe/fields.h"

enum { DYNAMIC_AT = 44 };
static const struct sp_field made_list[] = {
    {"u8", "u8", SP_FIELD_RECORD, 8, 1, false, false, NULL},
    {"s8", "s8", SP_FIELD_RECORD, 9, 1, true, false, NULL},
    {"u16", "u16", SP_FIELD_RECORD, 10, 2, false, false, NULL},
    {"s16", "s16", SP_FIELD_RECORD, 12, 2, true, false, NULL},
    {"u32", "u32", SP_FIELD_RECORD, 14, 4, false, false, NULL},
    {"s32", "s32", SP_FIELD_RECORD, 18, 4, true, false, NULL},
    {"u64", "u64", SP_FIELD_RECORD, 8, 8, false, false, NULL},
    {"s64", "s64", SP_FIELD_RECORD, 16, 8, true, false, NULL},
    {"text", "char[16]", SP_FIELD_RECORD, 24, 16, false, true, NULL},
    {"dynamic", "__data_loc char[]", SP_FIELD_DYNAMIC, 40, 4, false, true, NULL},
    {"argument", "long", SP_FIELD_ARGUMENT, 1, 8, true, false, NULL},
    {"arg32", "unsigned int", SP_FIELD_ARGUMENT, 2, 4, false, false, NULL},
    {"arg16", "short", SP_FIELD_ARGUMENT, 3, 2, true, false, NULL},
    {"dfd", "int", SP_FIELD_BUILTIN, SP_BUILTIN_CALL_ARGUMENT, 4, true, false, NULL},
    {"mode", "umode_t", SP_FIELD_BUILTIN, SP_BUILTIN_CALL_ARGUMENT + 1, 2, false, false, NULL},
    {"hidden", "u8[4]", SP_FIELD_NOWHERE, 0, 4, false, false, "it is an array"},
};
static const struct sp_fields made_fields = {.list = (struct sp_field *)made_list,
					     .n = sizeof(made_list) / sizeof(*made_list)};

/* The dynamic text lies behind the fields; helpers give small numbers as the kernel's do. */
static inline void made_env(struct sp_op_env *env)
{
	env->memory[40] = DYNAMIC_AT;
	env->memory[41] = 0;
	env->argument[0] = env->base;
	env->argument[2] = (sp_u32)env->argument[2]; /* as the kernel gives arguments of these sizes */
	env->argument[3] = (sp_u16)env->argument[3];
	for (sp_u32 i = SP_BUILTIN_PID; i <= SP_BUILTIN_CPU; i++)
		env->builtin[i] = (sp_u32)env->builtin[i] >> 1;
}

#endif
