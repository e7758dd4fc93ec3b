/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ops of any expression, over fields of any bytes, give what walking its tree gives. An input is an expression as
 * it is typed or, behind a first byte below 8, what one is made by: nearly all of these have a value to compare. It is
 * evaluated over a record of the bytes behind it, and over others that are made of this one: reading an expression
 * takes as long as evaluating it a hundred times. How many expressions were compared, and how often, is told at the
 * end.
 */
#include "base/error.h"
#include "base/mem.h"
#include "recipe/narrow.h"
#include "require.h"
#include "tree.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "event/ops.h" /* behind the environment that it works on */

enum { RECORDS = 128 };

static uint64_t n_expressions, n_compared;

/* --- records --- */
/* The same for the same input (splitmix64). */
static uint64_t number_make(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* A third of the words: bits, a number of any size, or one at which arithmetic goes wrong. */
static void words_vary(void *words, size_t n, uint64_t *seed)
{
	static const uint64_t edges[] = {0,          1,          2,         63,         64,        255,
					 0x7fffffff, 0x80000000, INT64_MAX, 1ULL << 63, UINT64_MAX};

	for (size_t i = 0; i < n; i++) {
		uint64_t which = number_make(seed), word = number_make(seed);

		if (which % 9 >= 3)
			continue;
		if (which % 9 == 1)
			word >>= which >> 8 & 63;
		else if (which % 9 == 2)
			word = edges[word % SP_COUNT(edges)];
		memcpy((char *)words + 8 * i, &word, 8);
	}
}

/* Some of the texts that expressions ask for: two in the memory, a thread's name. */
static void texts_vary(struct sp_op_env *env, uint64_t *seed)
{
	static const char texts[][16] = {"", "a", "ab", "abcdefgh", "abcdefghi", "abcdefghijk"};
	char *const places[] = {(char *)env->memory + 24, (char *)env->memory + DYNAMIC_AT,
				(char *)&env->builtin[SP_BUILTIN_COMM]};
	uint64_t which = number_make(seed);

	if (which % 2)
		memcpy(places[(which >> 8) % SP_COUNT(places)], texts[(which >> 16) % SP_COUNT(texts)], 16);
}

static void record_vary(const struct sp_op_env *from, uint64_t *seed, struct sp_op_env *ret_env)
{
	*ret_env = *from;
	words_vary(ret_env->memory, sizeof(ret_env->memory) / 8, seed);
	words_vary(ret_env->argument, SP_N_ARGUMENTS, seed);
	words_vary(ret_env->builtin, SP_N_BUILTINS, seed);
	texts_vary(ret_env, seed);
	made_env(ret_env);
}

/* --- comparing --- */
static void record_compare(const struct sp_expr *e, const struct sp_op *need, const struct sp_op *value,
			   struct sp_op_env *env)
{
	struct tree t = {.e = e, .env = env};
	sp_u64 r[SP_N_OP_REGS] = {0}, unused[SP_N_OP_REGS] = {0};
	struct tree_value wanted = tree_walk(&t, e->root);

	if (t.is_beyond)
		return;
	require(sp_ops_run(env, need, unused) == (wanted.bits != 0));
	require(sp_ops_run(env, value, r) == 1);
	require(r[0] == (wanted.is_unsigned || (sp_s64)wanted.bits >= 0 ? wanted.bits : 0));
	n_compared++;
}

static void compare(const struct sp_expr *e, struct sp_op_env *env, uint64_t seed)
{
	struct sp_op_list need = {.n = 0}, value = {.n = 0};
	struct sp_op_env varied;

	if (sp_expr_need(e, &need) || sp_expr_value(e, &value))
		return;
	n_expressions++;
	record_compare(e, need.ops, value.ops, env);
	for (unsigned i = 1; i < RECORDS; i++) {
		record_vary(env, &seed, &varied);
		record_compare(e, need.ops, value.ops, &varied);
	}
}

/* --- an expression, made by bytes: what parts it has --- */
struct maker {
	const uint8_t *data;
	size_t size, at, n;
	char text[1024];
};

static unsigned next(struct maker *m)
{
	return m->at < m->size ? m->data[m->at++] : 0;
}

static void put(struct maker *m, const char *words)
{
	m->n += (size_t)snprintf(m->text + m->n, sizeof(m->text) - m->n, "%s", words);
	m->n = SP_MIN(m->n, sizeof(m->text) - 1);
}

#define PICK(m, list) (list)[next(m) % SP_COUNT(list)]

static void number_put(struct maker *m)
{
	static const char *const edges[] = {"0",
					    "1",
					    "2",
					    "63",
					    "64",
					    "255",
					    "0x7fff",
					    "0x80000000",
					    "0xffffffff",
					    "0x7fffffffffffffff",
					    "0x8000000000000000",
					    "0xffffffffffffffff",
					    "10us",
					    "4K",
					    "MADE_BELOW",
					    "MADE_TWO"};
	unsigned which = next(m);
	char digits[24];

	snprintf(digits, sizeof(digits), "%u", which < 128 ? which : which << 8 | next(m));
	put(m, which % 2 ? PICK(m, edges) : digits);
}

static void name_put(struct maker *m)
{
	static const char *const names[] = {"u8",
					    "s8",
					    "u16",
					    "s16",
					    "u32",
					    "s32",
					    "u64",
					    "s64",
					    "argument",
					    "arg32",
					    "arg16",
					    "dfd",
					    "mode",
					    "pid",
					    "uid",
					    "cpu",
					    "now",
					    "made->u64",
					    "made->u8",
					    "made->s8",
					    "made->u16",
					    "made->s32",
					    "made->list[3]",
					    "made->list[pid & 3]",
					    "made->inner.s16",
					    "made->inner.b3",
					    "made->inner.sb5",
					    "made->inner.b17",
					    "made->inner.sb23",
					    "made->next->s32",
					    "made->next->inner.sb5",
					    "((struct made *)u64)->u16"};

	put(m, PICK(m, names));
}

static void text_put(struct maker *m)
{
	static const char *const names[] = {"text", "dynamic", "comm", "string", "made->text"};
	static const char *const texts[] = {"\"\"", "\"a\"", "\"a*\"", "\"abcdefgh\"", "\"abcdefghi*\"", "\"*\""};

	put(m, PICK(m, names));
	put(m, next(m) % 2 ? " == " : " != ");
	put(m, PICK(m, texts));
}

static void part_put(struct maker *m, unsigned depth)
{
	static const char *const unary[] = {"!", "~", "-"};
	static const char *const binary[] = {
	    "*", "/", "%", "+", "-", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||"};
	unsigned kind = depth ? next(m) % 10 : next(m) % 4;

	if (kind < 3) {
		name_put(m);
	} else if (kind == 3) {
		number_put(m);
	} else if (kind == 4) {
		text_put(m);
	} else if (kind == 5) {
		put(m, PICK(m, unary));
		part_put(m, depth - 1);
	} else if (kind == 6) {
		put(m, "(");
		part_put(m, depth - 1);
		put(m, next(m) % 4 ? " in {1, -1}" : " in {3, u8}");
		put(m, ")");
	} else if (kind == 7) {
		put(m, "(");
		part_put(m, depth - 1);
		put(m, " ? ");
		part_put(m, depth - 1);
		put(m, " : ");
		part_put(m, depth - 1);
		put(m, ")");
	} else {
		bool is_closed = next(m) % 2;

		put(m, is_closed ? "(" : "");
		part_put(m, depth - 1);
		put(m, " ");
		put(m, PICK(m, binary));
		put(m, " ");
		part_put(m, depth - 1);
		put(m, is_closed ? ")" : "");
	}
}

/* Moves `data` behind what the expression is made by. */
static char *text_make(const uint8_t **data, size_t *size)
{
	struct maker m = {.data = *data, .size = *size, .at = 1};

	part_put(&m, 1 + **data % 4);
	*data += m.at;
	*size -= m.at;
	return strdup(m.text);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

static void tell(void)
{
	fprintf(stderr, "compared: %" PRIu64 " expressions, %" PRIu64 " times\n", n_expressions, n_compared);
}

static void begin(void)
{
	require(made_types_open());
	atexit(tell);
}

static void bytes_take(struct sp_op_env *env, const uint8_t *data, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < sizeof(env->memory) && at < size; i++)
		env->memory[i] = data[at++];
	for (size_t i = 0; i < sizeof(env->builtin) && at < size; i++)
		((uint8_t *)env->builtin)[i] = data[at++];
	for (size_t i = 0; i < sizeof(env->argument) && at < size; i++)
		((uint8_t *)env->argument)[i] = data[at++];
	made_env(env);
}

static uint64_t seed_of(const uint8_t *data, size_t size)
{
	uint64_t seed = 0xcbf29ce484222325; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		seed = (seed ^ data[i]) * 0x100000001b3;
	return seed;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	struct sp_op_env env = {.base = 0x1000};
	uint64_t seed = seed_of(data, size);
	struct sp_narrowing narrowing;
	struct sp_expr e = {0};
	char *text;
	size_t at;

	if (!made_types.kernel)
		begin();
	/* the expression first, then what the fields are made of */
	if (size && *data < 8) {
		text = text_make(&data, &size);
	} else {
		text = strndup((const char *)data, size);
		at = SP_MIN(strlen(text) + 1, size);
		data += at;
		size -= at;
	}
	bytes_take(&env, data, size);
	require(sp_narrowing_length(text) <= strlen(text));
	sp_narrowing_split(text, &narrowing);
	if (!sp_expr_parse(text, 0, strlen(text), &e) && !sp_expr_resolve(&e, &made_fields, "made:up"))
		compare(&e, &env, seed);
	else
		require(sp_error_where(-22, &at) != NULL || !*text || strlen(text) > 1000);
	sp_error_clear();
	free(text);
	return 0;
}
