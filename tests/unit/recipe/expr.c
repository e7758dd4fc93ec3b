/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions: what they give is what C gives (cases that the compiler of this test computes), what walking their tree
 * gives (made-up ones), and mistakes are told where they are.
 */
#include "tree.h"

#include "event/ops.h"
#include "numbers.h"

#include "base/error.h"
#include "base/mem.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_MADE = 200000 / SP_FEWER };

static void env_make(struct sp_op_env *env)
{
	for (size_t i = 0; i < SP_N_ARGUMENTS; i++)
		env->argument[i] = odd_number();
	for (size_t i = 0; i < SP_N_BUILTINS; i++)
		env->builtin[i] = odd_number();
	for (size_t i = 0; i < MEMORY_BYTES; i++)
		env->memory[i] = (sp_u8)(random_number() % 3 ? random_number() : random_number() % 2 ? 0 : 255);
	memcpy(env->memory + 24, "swapper/1\0\0\0\0\0\0", 16);
	memcpy(env->memory + DYNAMIC_AT, "/usr/bin/true\0", 14);
	memcpy(&env->builtin[SP_BUILTIN_COMM], "a name of 15 by\0", 16);
	env->base = random_number() & 1 ? 0x1000 : odd_number();
	made_env(env);
}

/* Compiles it. Returns the error, which may only be that it is too long. */
static int compiled(const char *text, struct sp_expr *e, struct sp_op_list *need, struct sp_op_list *value)
{
	int r = sp_expr_parse(text, 0, strlen(text), e);

	*need = *value = (struct sp_op_list){.n = 0};
	if (!r)
		r = sp_expr_resolve(e, &made_fields, "made:up");
	if (!r)
		r = sp_expr_need(e, need);
	return r ? r : sp_expr_value(e, value);
}

static sp_u64 value_of(const char *text, struct sp_op_env *env)
{
	struct sp_expr e;
	struct sp_op_list need, value;
	sp_u64 r[SP_N_OP_REGS] = {0};
	int error = compiled(text, &e, &need, &value);

	if (error)
		fail_msg("%s: %s", text, sp_error_text(error));
	assert_int_equal(sp_ops_run(env, value.ops, r), 1);
	return r[0];
}

/* By the C compiler: fields are variables of their types. */
static void as_in_c(void **state)
{
	struct sp_op_env env = {0};
	uint8_t u8 = 200;
	int8_t s8 = -3;
	uint16_t u16 = 65000;
	int16_t s16 = -300;
	uint32_t u32 = 4000000000U;
	int32_t s32 = -2000000000;
	int64_t dfd = -100, argument = -7;

	made_env(&env);
	env.memory[8] = u8;
	env.memory[9] = (sp_u8)s8;
	memcpy(env.memory + 10, &u16, 2);
	memcpy(env.memory + 12, &s16, 2);
	memcpy(env.memory + 14, &u32, 4);
	memcpy(env.memory + 18, &s32, 4);
	env.argument[1] = (sp_u64)argument;
	env.builtin[SP_BUILTIN_CALL_ARGUMENT] = 0xffffff9c; /* as the C library passes -100 */
/* Without parentheses where C needs none, and the compiler has those that it wants. */
#define READ(text, expression) assert_int_equal(value_of(text, &env), (sp_u64)(expression))
#define SAME(expression) READ(#expression, expression)
	SAME(u8 + 2 * 3 - 4 / 2 % 5);
	SAME((u8 + 2) * (3 - s8));
	READ("u16 << 3 | 1 ^ 6 & 3", (u16 << 3) | (1 ^ (6 & 3)));
	READ("u8 & 8 == 8", u8 & (8 == 8));
	SAME(s16 * s8);
	SAME(s32 < u8);
	SAME(u8 > s32);
	SAME(s8 == -3);
	SAME(dfd == -100);
	READ("dfd != -100 || argument < 0 && argument > -8", dfd != -100 || (argument < 0 && argument > -8));
	READ("1 || 1 && 0", 1 || (1 && 0));
	SAME(!u8 + !!u16);
	SAME(-argument);
	SAME(~argument & 0xff);
	SAME(s16 / 7 * -1);
	SAME(-(s16 % 7));
	SAME(u8 > 100 ? u16 : s8);
	SAME(s16 > 300 ? 1 : s8 < 0 ? 0x2a : 052);
	SAME((-16 >> 2) + 10);
	SAME(1 << 20 == 0x100000 && 10UL == 10);
	SAME(0 - 5 < 3);
	READ("u8 == 200 == 1", (u8 == 200) == 1);
	READ("3 > 2 > 1", (3 > 2) > 1);
	SAME(5 - 3 - 1);
	SAME(100 / 10 / 5);
#undef SAME
#undef READ
	assert_int_equal(value_of("u32 == -294967296", &env), 1); /* as C and perf have it */
	assert_int_equal(value_of("u16 in {1, 65000, 3}", &env), 1);
	assert_int_equal(value_of("u16 in {1, 2} || u16 in {s8, 65000}", &env), 1);
	assert_int_equal(value_of("-536 in {1, u16}", &env), 1);
	assert_int_equal(value_of("s8 in {3, 253}", &env), 0);
	assert_int_equal(value_of("s8", &env), 0); /* what is below 0 adds nothing */
	assert_int_equal(value_of("argument / (u8 - 200) - argument % (u8 - 200)", &env), 7);
}

/* Paths over a structure that the C compiler has laid out. */
static void paths_as_in_c(void **state)
{
	struct sp_op_env env = {0};
	struct made *made = (struct made *)env.memory, **handle = &made->next;

	assert_true(sizeof(*made) <= DYNAMIC_AT - 4);
	env.base = (sp_u64)env.memory;
	made_env(&env);
	for (unsigned i = 0; i < 1000; i++) {
		made->u64 = random_number();
		made->next = made;
		for (size_t k = 0; k < sizeof(made->inner); k++)
			((char *)&made->inner)[k] = (char)random_number();
		for (size_t k = 0; k < sizeof(made->text); k++)
			made->text[k] = (char)random_number();
#define SAME(expression) assert_int_equal(value_of("(" #expression ") + (1 << 40)", &env), (expression) + (1LL << 40))
		SAME(made->u8);
		SAME(made->s8);
		SAME(made->u16);
		SAME(made->s32);
		SAME(made->list[0]);
		SAME(made->list[3] - made->list[2]);
		SAME(made->list[made->u8 & 3]);
		SAME(made->next->list[(made->u16 + made->u8) % 4] == made->list[made->u16 & 1]);
		SAME(handle[made->u8 - made->u8]->u16);
		SAME(((struct made *)made->next)->u8 + ((struct made *)handle[0])->s8);
		SAME(made->next->inner.s16);
		SAME(made->inner.b3);
		SAME(made->inner.sb5);
		SAME(made->inner.b17 * 3);
		SAME(made->next->next->inner.sb23);
		SAME(handle[0]->s32);
		SAME((made->next)->u8 == made[0].u8);
		SAME(made->text[0]);
		SAME(made->text[15] < 0);
		SAME(made->next == made);
		SAME(made->inner.sb5 == MADE_BELOW ? MADE_TWO : MADE_BELOW);
		SAME(made->u64 >> 1 > 1ULL << 62);
		SAME(made->u64 > MADE_TWO);
#undef SAME
	}
	memcpy(made->text, "swapper/1", 10);
	memcpy(env.memory + DYNAMIC_AT, "/usr/bin/true\0", 14);
	assert_int_equal(value_of("made->text == \"swapper/1\"", &env), 1);
	assert_int_equal(value_of("made->next->next->text == \"swap*\" && string == \"/usr/bin/true\"", &env), 1);
	assert_int_equal(value_of("string == \"/usr/bin/tru\" || made->text != \"swapper/1\"", &env), 0);
	made->next = NULL; /* what cannot be read is 0 */
	assert_int_equal(value_of("made->next->u64 + made->next->next->u64", &env), 0);
	assert_int_equal(value_of("made->next == 0", &env), 1);
	assert_int_equal(value_of("10ms == 10000000 && 3us == 3000 && 2s == 2000 * 1ms && 7ns == 7", &env), 1);
	assert_int_equal(value_of("4K == 4096 && 1M == 1024K && 1G == 1024M && 0x10K == 16384 && 3u == 3UL", &env), 1);
}

static void texts(void **state)
{
	struct sp_op_env env = {0};

	env_make(&env);
	assert_int_equal(value_of("text == \"swapper/1\"", &env), 1);
	assert_int_equal(value_of("text == \"swapper/\"", &env), 0);
	assert_int_equal(value_of("text == \"swapper/12\"", &env), 0);
	assert_int_equal(value_of("text != \"swapper/1\"", &env), 0);
	assert_int_equal(value_of("text == \"swap*\"", &env), 1);
	assert_int_equal(value_of("text == \"*\" && text != \"\"", &env), 1);
	assert_int_equal(value_of("text == \"swapper/\\1\"", &env), 1);
	assert_int_equal(value_of("text == \"swap\\*\"", &env), 0);
	assert_int_equal(value_of("\"/usr/bin/true\" == dynamic", &env), 1);
	assert_int_equal(value_of("dynamic == \"/usr/bin/trues\"", &env), 0);
	assert_int_equal(value_of("dynamic == \"/usr/bin/*\"", &env), 1);
	assert_int_equal(value_of("comm == \"a name of 15 by\"", &env), 1);
	assert_int_equal(value_of("comm == \"a name of 15 b\"", &env), 0);
	assert_int_equal(value_of("comm == \"a name of*\"", &env), 1);
}

/* --- made-up expressions --- */
static const char *const names[] = {"u8",
				    "s8",
				    "u16",
				    "s16",
				    "u32",
				    "s32",
				    "u64",
				    "s64",
				    "tid",
				    "cpu",
				    "argument",
				    "arg32",
				    "arg16",
				    "dfd",
				    "mode",
				    "cgroup",
				    "made->u8",
				    "made->next->u16",
				    "made->inner.s16",
				    "made[0].inner.b3",
				    "made->next->next->inner.sb5",
				    "made->list[2]",
				    "handle[0]->s32",
				    "made->inner.b17",
				    "(made->next)->inner.sb23",
				    "made->u64",
				    "made->next",
				    "handle[0]->text[9]",
				    "MADE_TWO",
				    "MADE_BELOW",
				    "made->list[MADE_TWO + 1]",
				    "made->s8",
				    "3us",
				    "2K"};
static const char *const operators[] = {
    "*", "/", "%", "+", "-", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||"};
static const char *const comparisons[] = {"text == \"swapper/1\"",
					  "dynamic != \"/usr*\"",
					  "comm == \"a name\"",
					  "\"swapper\" != text",
					  "made->next->text == \"swapper/*\"",
					  "string != \"/usr/bin/true\"",
					  "handle[0]->text == \"swapper/1\""};

static size_t choice_write(char *s, size_t size, unsigned depth, unsigned which);
static size_t made_write(char *s, size_t size, unsigned depth)
{
	uint64_t n = random_number();
	size_t used = 0;

	switch (depth ? n % 10 : n % 3) {
	case 0:
		return (size_t)snprintf(s, size, n & 64 ? "%llu" : "0x%llx", (unsigned long long)odd_number());
	case 1:
	case 2:
		if (!(n >> 40 & 15))
			return (size_t)snprintf(s, size, "(%s)", comparisons[(n >> 8) % SP_COUNT(comparisons)]);
		return (size_t)snprintf(s, size, "%s", names[(n >> 8) % SP_COUNT(names)]);
	case 3:
		used = (size_t)snprintf(s, size, "%c", "!~-"[(n >> 8) % 3]);
		return used + made_write(s + used, size - used, depth - 1);
	case 4:
		return choice_write(s, size, depth, n >> 20 & 3);
	case 5:
		used = (size_t)snprintf(s, size, "(%s in {", names[(n >> 8) % SP_COUNT(names)]);
		if (n >> 20 & 1) /* small numbers, which become bits */
			return used + (size_t)snprintf(s + used, size - used, "%u, %u, 3, 63})",
						       (unsigned)(n >> 32 & 63), (unsigned)(n >> 40 & 127));
		used += made_write(s + used, size - used, 0);
		used += (size_t)snprintf(s + used, size - used, ", -1, ");
		used += made_write(s + used, size - used, depth - 1);
		return used + (size_t)snprintf(s + used, size - used, "})");
	default:
		used = (size_t)snprintf(s, size, "%s", n >> 16 & 1 ? "(" : "");
		used += made_write(s + used, size - used, depth - 1);
		used += (size_t)snprintf(s + used, size - used, " %s ", operators[(n >> 8) % SP_COUNT(operators)]);
		used += made_write(s + used, size - used, depth - 1);
		return used + (size_t)snprintf(s + used, size - used, "%s", n >> 16 & 1 ? ")" : "");
	}
}

/* a ? b : c, with 0 at times as one of the two. */
static size_t choice_write(char *s, size_t size, unsigned depth, unsigned which)
{
	size_t used = (size_t)snprintf(s, size, "(");

	used += made_write(s + used, size - used, depth - 1);
	used += (size_t)snprintf(s + used, size - used, which ? " ? " : " ? 0 : ");
	if (which)
		used += made_write(s + used, size - used, depth - 1);
	used += (size_t)snprintf(s + used, size - used, which == 1 ? " : 0" : which ? " : " : "");
	if (which != 1)
		used += made_write(s + used, size - used, depth - 1);
	return used + (size_t)snprintf(s + used, size - used, ")");
}

static void made(void **state)
{
	unsigned n_compiled = 0, n_paths = 0;

	for (unsigned i = 0; i < N_MADE; i++) {
		struct sp_expr e;
		struct sp_op_list need, value;
		struct sp_op_env env;
		struct tree t = {.e = &e, .env = &env};
		struct tree_value wanted;
		sp_u64 r[SP_N_OP_REGS] = {0}, unused[SP_N_OP_REGS] = {0};
		char text[8192];
		int error;

		made_write(text, sizeof(text), 1 + i % 4);
		env_make(&env);
		error = compiled(text, &e, &need, &value);
		if (error && (strstr(sp_error_text(error), "too long") || strstr(sp_error_text(error), "more than") ||
			      strstr(sp_error_text(error), "division by 0")))
			continue;
		if (error)
			fail_msg("%s: %s", text, sp_error_text(error));
		n_compiled++;
		wanted = tree_walk(&t, e.root);
		if (t.is_beyond)
			continue;
		n_paths += e.n_places > 0;
		if (sp_ops_run(&env, need.ops, unused) != (wanted.bits != 0))
			fail_msg("%s is wanted or not", text);
		sp_ops_run(&env, value.ops, r);
		if (r[0] != (wanted.is_unsigned || (sp_s64)wanted.bits >= 0 ? wanted.bits : 0))
			fail_msg("%s is %llx, not %llx", text, (unsigned long long)wanted.bits,
				 (unsigned long long)r[0]);
	}
	assert_in_range(n_compiled, N_MADE / 2, N_MADE);
	assert_in_range(n_paths, N_MADE / 5, N_MADE);
}

static const struct {
	const char *text, *said;
	size_t at;
} wrong[] = {
    {" ", "a number or the name of a field is missing", 1},
    {"u8 >", "a number or the name of a field is missing", 4},
    {"u8 > > 3", "a number or the name of a field is missing", 5},
    {"(u8 > 3", "')' is missing", 7},
    {"u8 = 3", "'=' is no operator; is '==' meant?", 3},
    {"u8 3", "an operator is missing", 3},
    {"u8 > 3k", "this is no part of a number", 6},
    {"u8 > 08", "this is no part of a number", 6},
    {"u8 > 0x", "this is no part of a number", 6},
    {"u8 > 18446744073709551616", "the number has more than 64 bits", 5},
    {"text == \"x", "the text has no end", 8},
    {"u8 ? 3", "':' is missing", 6},
    {"u8 in 3", "'{' is missing", 6},
    {"u8 in {3 4}", "',' or '}' is missing", 9},
    {"1 + argumnet", "made:up has no field 'argumnet'; did you mean argument?", 4},
    {"nothing_like_it",
     "made:up has no field 'nothing_like_it'; it has u8, s8, u16, s16, u32, s32, u64, s64, "
     "text, dynamic, argument, arg32, arg16, dfd, mode, made, handle, string",
     0},
    {"hidden == 3", "the field hidden cannot be used: it is an array", 0},
    {"text > 3", "a text can only be compared by == and !=", 5},
    {"u8 + text", "a text can only be compared by == and !=", 3},
    {"text == 3", "one side must be a field that is text, the other a text in \"\"", 5},
    {"u8 == \"x\"", "one side must be a field that is text, the other a text in \"\"", 3},
    {"text", "text is text: compare it by == or != with a text in \"\"", 0},
    {"\"x\"", "a text must be compared with a field, by == or !=", 1},
    {"text == \"1234567890123456\"", "text has no more than 15 characters", 9},
    {"made->lisst[0] == 3", "struct made has no member 'lisst' in this kernel; did you mean list?", 6},
    {"made->zzzz == 3",
     "struct made has no member 'zzzz' in this kernel; it has next, u64, u8, s8, u16, s32, list, inner, text, "
     "no_number",
     6},
    {"made->next.u8", "next is struct made *: its members follow '->'", 11},
    {"made->inner->s16", "inner is inner_t: its members follow '.'", 13},
    {"made->inner == 3", "inner is no number: it is a structure: choose a member of it", 6},
    {"made->list == 3", "list is no number: it is an array: choose one of it by [NUMBER]", 6},
    {"made->no_number", "no_number is no number: it is no number", 6},
    {"made->list[4]", "list has no more than 4", 10},
    {"made->list[-1]", "there is nothing at such a number: 0, 1 ...", 11},
    {"made->no_number[u8]", "no_number is function: neither an array nor a pointer to what is known", 15},
    {"((struct made)made)->u8", "'*)' is missing", 13},
    {"((struct unmade *)made)->u8", "this kernel has no struct unmade", 2},
    {"((struct made *)u8)->u8", "u8 is u8: no pointer", 2},
    {"((struct made *)3)->u8", "only a name has members", 2},
    {"made->list[1", "']' is missing", 12},
    {"made->u8->x", "u8 is u8: no pointer to a structure whose members the kernel's types have", 10},
    {"made->u8.x", "u8 is u8: no structure", 9},
    {"made->u8[0]", "u8 is u8: neither an array nor a pointer to what is known", 8},
    {"handle->u8", "handle is handle: what it points to follows [0]", 8},
    {"made->", "the name of a member is missing", 6},
    {"made.3", "the name of a member is missing", 5},
    {"(3)->x", "only a name has members", 5},
    {"made->text > 3", "a text can only be compared by == and !=", 11},
    {"made->next == \"x\"", "one side must be a field that is text, the other a text in \"\"", 11},
    {"u8 > MADE_TOO", "made:up has no field 'MADE_TOO'; did you mean MADE_TWO?", 5},
    {"u8 > 99999999999999s", "the number has more than 64 bits", 5},
    {"u8 > 3min", "this is no part of a number", 6},
    {"1 / 0", "division by 0", 2},
    {"u8 + s16 % (3 - 3) > 1", "division by 0", 9},
    {"made->list[1 % 0]", "division by 0", 13},
    {"text in {\"x\"}", "`in` is for numbers; compare texts by ==", 5},
};

static void mistakes(void **state)
{
	for (size_t i = 0; i < SP_COUNT(wrong); i++) {
		struct sp_expr e;
		struct sp_op_list need, value;
		size_t at = 999;
		int r = compiled(wrong[i].text, &e, &need, &value);

		assert_int_equal(r, -EINVAL);
		assert_string_equal(sp_error_text(r), wrong[i].said);
		assert_string_equal(sp_error_where(r, &at) ? wrong[i].text : "", wrong[i].text);
		assert_int_equal(at, wrong[i].at);
	}
}

static void too_much(void **state)
{
	char deep[4096] = "", wide[4096] = "u8";
	struct sp_expr e;
	struct sp_op_list need, value;
	size_t at;

	memset(deep, '(', 1000);
	assert_int_equal(compiled(deep, &e, &need, &value), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), "the expression is nested too deeply");
	memset(deep, '-', 1000);
	assert_int_equal(compiled(deep, &e, &need, &value), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), "the expression is nested too deeply");
	for (int i = 0; i < 20; i++)
		snprintf(wide + strlen(wide), sizeof(wide) - strlen(wide), " && u8 == 3");
	assert_int_equal(compiled(wide, &e, &need, &value), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "more than 24 steps"));
	assert_non_null(sp_error_where(-EINVAL, &at));
	assert_true(at > 40 && at < strlen(wide));
	for (int i = 0; i < 100; i++)
		snprintf(wide + strlen(wide), sizeof(wide) - strlen(wide), " && u8 == 3");
	assert_int_equal(compiled(wide, &e, &need, &value), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), "the expression has more than 128 parts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(as_in_c), cmocka_unit_test(paths_as_in_c), cmocka_unit_test(texts),
	    cmocka_unit_test(made),    cmocka_unit_test(mistakes),      cmocka_unit_test(too_much),
	};
	if (!made_types_open())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
