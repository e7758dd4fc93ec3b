/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_fields.h: made-up fields, one of each kind, in the 64 bytes of memory that evaluator.h has, of which the last is
 * text of any length; and types that make a structure of the same bytes. For the unit test of expressions and their
 * fuzzer.
 */
#ifndef SP_TESTS_MADE_FIELDS_H
#define SP_TESTS_MADE_FIELDS_H

#include "evaluator.h"
#include "recipe/fields.h"
#include "recipe/types.h"
#include <bpf/btf.h>

enum { DYNAMIC_AT = 44 };

/* As C has what made_types_open() says. */
enum made_constant { MADE_BELOW = -3, MADE_TWO = 2 };
struct made {
	struct made *next;
	union {
		uint64_t u64;
		struct {
			uint8_t u8;
			int8_t s8;
			uint16_t u16;
			int32_t s32;
		};
		uint16_t list[4];
	};
	struct __attribute__((packed)) {
		int16_t s16;
		unsigned long long b3 : 3;
		signed long long sb5 : 5;
		unsigned long long b17 : 17;
		signed long long sb23 : 23;
	} inner;
	char text[16];
};

enum { MADE_TYPE_CHAR = 1, MADE_POINTER = 20, MADE_HANDLE, MADE_STRING };

#define RECORD(n, o, s, sign)                                                                                          \
	{                                                                                                              \
		.name = n, .type = n, .from = SP_FIELD_RECORD, .offset = o, .size = s, .is_signed = sign               \
	}
#define ARGUMENT(n, t, o, s, sign)                                                                                     \
	{                                                                                                              \
		.name = n, .type = t, .from = SP_FIELD_ARGUMENT, .offset = o, .size = s, .is_signed = sign             \
	}
#define POINTER(n, o, id, string)                                                                                      \
	{                                                                                                              \
		.name = n, .type = n, .from = SP_FIELD_ARGUMENT, .offset = o, .size = 8, .type_id = id,                \
		.is_string = string                                                                                    \
	}
static const struct sp_field made_list[] = {
    RECORD("u8", 8, 1, false),
    RECORD("s8", 9, 1, true),
    RECORD("u16", 10, 2, false),
    RECORD("s16", 12, 2, true),
    RECORD("u32", 14, 4, false),
    RECORD("s32", 18, 4, true),
    RECORD("u64", 8, 8, false),
    RECORD("s64", 16, 8, true),
    {.name = "text", .type = "char[16]", .from = SP_FIELD_RECORD, .offset = 24, .size = 16, .is_text = true},
    {.name = "dynamic", .type = "char[]", .from = SP_FIELD_DYNAMIC, .offset = 40, .size = 4, .is_text = true},
    ARGUMENT("argument", "long", 1, 8, true),
    ARGUMENT("arg32", "unsigned int", 2, 4, false),
    ARGUMENT("arg16", "short", 3, 2, true),
    {.name = "dfd",
     .type = "int",
     .from = SP_FIELD_BUILTIN,
     .offset = SP_BUILTIN_CALL_ARGUMENT,
     .size = 4,
     .is_signed = true},
    {.name = "mode", .type = "umode_t", .from = SP_FIELD_BUILTIN, .offset = SP_BUILTIN_CALL_ARGUMENT + 1, .size = 2},
    {.name = "hidden", .type = "u8[4]", .size = 4, .why_not = "it is an array"},
    POINTER("made", 0, MADE_POINTER, false),
    POINTER("handle", 0, MADE_HANDLE, false),
    POINTER("string", 4, MADE_STRING, true),
};
#undef RECORD
#undef ARGUMENT
#undef POINTER

static struct sp_types made_types;
static struct sp_fields made_fields = {
    .list = (struct sp_field *)made_list, .n = sizeof(made_list) / sizeof(*made_list), .types = &made_types};

/* The types in the kernel's form. Their numbers are 1, 2 ... as they come. */
static inline bool made_types_open(void)
{
	struct btf *b = made_types.kernel = btf__new_empty();
	const int sign = BTF_INT_SIGNED;
	bool ok = b && btf__add_int(b, "char", 1, sign) == MADE_TYPE_CHAR && btf__add_int(b, "u8", 1, 0) == 2 &&
		  btf__add_int(b, "s8", 1, sign) == 3 && btf__add_int(b, "u16", 2, 0) == 4 &&
		  btf__add_int(b, "s16", 2, sign) == 5 && btf__add_int(b, "s32", 4, sign) == 6 &&
		  btf__add_int(b, "u64", 8, 0) == 7 && btf__add_int(b, "s64", 8, sign) == 8 &&
		  btf__add_array(b, 4, 1, 16) == 9 && btf__add_array(b, 4, 4, 4) == 10;

	ok = ok && btf__add_struct(b, "", 8) == 11 && !btf__add_field(b, "u8", 2, 0, 0) &&
	     !btf__add_field(b, "s8", 3, 8, 0) && !btf__add_field(b, "u16", 4, 16, 0) &&
	     !btf__add_field(b, "s32", 6, 32, 0);
	ok = ok && btf__add_union(b, "", 8) == 12 && !btf__add_field(b, "u64", 7, 0, 0) &&
	     !btf__add_field(b, "", 11, 0, 0) && !btf__add_field(b, "list", 10, 0, 0);
	ok = ok && btf__add_struct(b, "inner", 8) == 13 && !btf__add_field(b, "s16", 5, 0, 0) &&
	     !btf__add_field(b, "b3", 7, 16, 3) && !btf__add_field(b, "sb5", 8, 19, 5) &&
	     !btf__add_field(b, "b17", 7, 24, 17) && !btf__add_field(b, "sb23", 8, 41, 23);
	ok = ok && btf__add_array(b, 4, 1, 16) == 14;
	ok = ok && btf__add_ptr(b, 17) == 15 && btf__add_typedef(b, "inner_t", 13) == 16;
	ok = ok && btf__add_struct(b, "made", 40) == 17 && !btf__add_field(b, "next", 15, 0, 0) &&
	     !btf__add_field(b, "", 12, 64, 0) && !btf__add_field(b, "inner", 16, 128, 0) &&
	     !btf__add_field(b, "text", 14, 192, 0) && !btf__add_field(b, "no_number", 19, 0, 0);
	ok = ok && btf__add_enum(b, "made_constant", 4) == 18 && !btf__add_enum_value(b, "MADE_BELOW", -3) &&
	     !btf__add_enum_value(b, "MADE_TWO", 2);
	ok = ok && btf__add_func_proto(b, 0) == 19;
	return ok && btf__add_const(b, 15) == MADE_POINTER && btf__add_ptr(b, 15) == MADE_HANDLE &&
	       btf__add_ptr(b, 1) == MADE_STRING;
}

/*
 * The dynamic text lies behind the fields; helpers give small numbers as the kernel's do. `next` is what it finds, or
 * leads to the same structure.
 */
static inline void made_env(struct sp_op_env *env)
{
	env->memory[40] = DYNAMIC_AT;
	env->memory[41] = 0;
	if (env->memory[8] & 3)
		memcpy(env->memory, &env->base, 8);
	env->argument[0] = env->base;
	env->argument[2] = (sp_u32)env->argument[2]; /* as the kernel gives arguments of these sizes */
	env->argument[3] = (sp_u16)env->argument[3];
	env->argument[4] = env->base + DYNAMIC_AT;
	for (sp_u32 i = SP_BUILTIN_PID; i <= SP_BUILTIN_CPU; i++)
		env->builtin[i] = (sp_u32)env->builtin[i] >> 1;
}

#endif
