/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of code that was made at run time, which has no unwind information. */
#include "unwind/jit.h"
#include "base/mem.h"
#include "unwind/finish.h"
#include "unwind/tables.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct sp_message_pending *record(uint64_t fp, uint32_t how)
{
	struct sp_message_pending *r = calloc(1, sizeof(*r));
	assert_non_null(r);
	r->regs = (struct sp_regs){.ip = 0x20000010, .sp = 0x7f0000000000, .fp = fp};
	r->how = how;
	return r;
}

static sp_u32 stop_of(struct sp_message_pending *r)
{
	static const sp_u8 stack[64];
	static const struct sp_map map = {.start = 0x20000000,
					  .end = 0x20001000,
					  .word = SP_FRAME_ANON << SP_FRAME_KIND_SHIFT | 1ULL << SP_FRAME_ID_SHIFT};
	struct sp_finish_memory memory = {
	    .maps = &map, .n_maps = 1, .stack = stack, .stack_bytes = sizeof(stack), .stack_at = r->regs.sp};
	struct sp_tables *tables;
	sp_u32 stop = SP_N_STOPS;

	assert_int_equal(sp_tables_new(-1, -1, 8 << 20, &tables), 0);
	sp_tables_set_code(tables, 1, SP_TABLE_FP);
	assert_int_equal(sp_finish(tables, r, &memory, SP_UNWIND_AUTO, &stop), 0);
	sp_tables_free(tables);
	return stop;
}

/* Made code uses the frame pointer for anything: 0 in it does not say that nobody called. */
static void test_zero(void **state)
{
	(void)state;
	struct sp_message_pending *r = record(0, SP_HOW_EXACT | SP_HOW_FIRST);
	assert_int_equal(stop_of(r), SP_STOP_NO_UNWIND);
	free(r);
	r = record(0, SP_HOW_GUESSED); /* of a caller, whose frame was followed to, it does */
	assert_int_equal(stop_of(r), SP_STOP_COMPLETE);
	assert_int_equal(r->guessed, SP_STACK_HAS_GUESS);
	free(r);
}

/* --- by code --- */

enum { CODE_AT = 0x10000, CALLED_AT = 0x20000, STATE_AT = 0x30000, SP_AT = 0x7000000000 };

/* Code at CODE_AT, a call in front of CALLED_AT, words at STATE_AT. */
struct memory {
	const uint8_t *code;
	size_t n_code;
	uint64_t state[16];
	size_t n_reads;
};

static size_t part(const void *from, size_t size, uint64_t at, void *bytes, size_t n)
{
	if (at >= size)
		return 0;
	n = SP_MIN(n, size - at);
	memcpy(bytes, (const char *)from + at, n);
	return n;
}

static size_t read_memory(void *arg, uint64_t at, void *bytes, size_t n)
{
	static const uint8_t call[] = {0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4};
	struct memory *m = arg;
	m->n_reads++;
	if (at >= STATE_AT)
		return part(m->state, sizeof(m->state), at - STATE_AT, bytes, n);
	if (at >= CALLED_AT - sizeof(call))
		return part(call, sizeof(call), at - (CALLED_AT - sizeof(call)), bytes, n);
	return at < CODE_AT ? 0 : part(m->code, m->n_code, at - CODE_AT, bytes, n);
}

static int find(struct memory *m, const uint64_t *words, size_t n, struct sp_jit_frame *f)
{
	const struct sp_jit_memory reader = {.read = read_memory, .arg = m};
	return sp_jit_frame_find(&reader, CODE_AT, SP_AT, words, n, f);
}

/* The return address is words[at]. */
static void check(const uint8_t *code, size_t n_code, size_t at, int32_t fp)
{
	struct memory m = {.code = code, .n_code = n_code};
	uint64_t words[16] = {0};
	struct sp_jit_frame f;
	words[at] = CALLED_AT;
	assert_int_equal(find(&m, words, 16, &f), 0);
	assert_int_equal(f.cfa, 8 * at + 8);
	assert_int_equal(f.fp, fp);
	words[at] = CODE_AT + 1; /* no call stands in front of it */
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
	words[at] = CALLED_AT;
	assert_int_equal(find(&m, words, at, &f), -ENOENT); /* it was not copied */
}

static void check_none(const uint8_t *code, size_t n_code)
{
	struct memory m = {.code = code, .n_code = n_code};
	uint64_t words[16];
	struct sp_jit_frame f;
	for (size_t i = 0; i < 16; i++)
		words[i] = CALLED_AT;
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
	assert_true(m.n_reads < 10000);
}

#define CHECK(at, fp, ...)                                                                                             \
	do {                                                                                                           \
		static const uint8_t code[] = {__VA_ARGS__};                                                           \
		check(code, sizeof(code), at, fp);                                                                     \
	} while (0)
#define CHECK_NONE(...)                                                                                                \
	do {                                                                                                           \
		static const uint8_t code[] = {__VA_ARGS__};                                                           \
		check_none(code, sizeof(code));                                                                        \
	} while (0)

static void test_code(void **state)
{
	(void)state;
	CHECK(0, SP_JIT_FP_SAME, 0xc3);
	/* 1: dec ecx; jnz 1b; add $24,rsp; pop rbp; ret */
	CHECK(4, 24, 0xff, 0xc9, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x18, 0x5d, 0xc3);
	/* push rax; call 0; xor ebp,ebp; lea 8(rsp),rsp; mov (rsp),rbp; pop rbx; ret */
	CHECK(1, 0, 0x50, 0xe8, 0, 0, 0, 0, 0x31, 0xed, 0x48, 0x8d, 0x64, 0x24, 8, 0x48, 0x8b, 0x2c, 0x24, 0x5b, 0xc3);
	CHECK(0, SP_JIT_FP_LOST, 0x31, 0xed, 0xc3); /* xor ebp,ebp; ret */
	/* je 1f; pop rbx; ret; 1: jmp *rax: one way tells */
	CHECK(1, SP_JIT_FP_SAME, 0x74, 2, 0x5b, 0xc3, 0xff, 0xe0);
	/* push $5; ret: a jump; the other way tells */
	CHECK(0, SP_JIT_FP_SAME, 0x74, 3, 0x6a, 5, 0xc3, 0xc3);
}

static void test_no_code(void **state)
{
	(void)state;
	CHECK_NONE(0x0f, 0x0b);                /* ud2 */
	CHECK_NONE(0xeb, 0xfe);                /* jumps to itself */
	CHECK_NONE(0xff, 0xe0);                /* jmp *rax */
	CHECK_NONE(0x74, 1, 0xc3, 0x58, 0xc3); /* two ways, two heights */
	CHECK_NONE(0x58, 0xeb, 0xfd);          /* pops for ever */
	CHECK_NONE(0x48, 0x89, 0xc4, 0xc3);    /* mov rax,rsp */
	CHECK_NONE(0x5c, 0xc3);                /* pop rsp */
	CHECK_NONE(0xc9, 0xc3);                /* leave */
	CHECK_NONE(0x66, 0x58, 0xc3);          /* pop ax */
	CHECK_NONE(0x48, 0x81, 0xc4, 0xff, 0xff, 0xff, 0x7f, 0xc3);
	CHECK_NONE(0x48, 0x83, 0xc4, 1, 0xc3); /* no multiple of 8 */
	CHECK_NONE(0x90);                      /* leads out of the code */
}

/* Whatever the bytes are, it comes to an end, within the words. */
static void test_any(void **state)
{
	(void)state;
	uint64_t seed = 88172645463325252;
	uint8_t code[512];
	uint64_t words[16];
	size_t n_found = 0;
	for (size_t i = 0; i < 16; i++)
		words[i] = i % 3 ? CALLED_AT : STATE_AT;
	for (unsigned round = 0; round < 3000; round++) {
		for (size_t i = 0; i < sizeof(code); i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			code[i] = i % 5 == 4 ? 0xc3 : i % 7 == 6 ? 0x75 : (uint8_t)seed;
		}
		struct memory m = {.code = code, .n_code = sizeof(code)};
		struct sp_jit_frame f;
		if (find(&m, words, 16, &f) < 0)
			continue;
		n_found++;
		assert_true(f.cfa > 0 && f.cfa <= 128 && f.cfa % 8 == 0);
		assert_int_equal(words[f.cfa / 8 - 1], CALLED_AT);
		assert_true(f.fp >= SP_JIT_FP_LOST);
	}
	assert_in_range(n_found, 100, 2999);
}

/* A trace of LuaJIT: the frame is known by the state that is in it, and that names it; 16 bytes are the trace's own. */
static void test_lua(void **state)
{
	(void)state;
	static const uint8_t code[] = {0xeb, 0xfe};
	struct memory m = {.code = code, .n_code = sizeof(code), .state = {[10] = SP_AT + 16 + 1}};
	uint64_t words[16] = {[2 + 2] = STATE_AT, [2 + 9] = CALLED_AT};
	struct sp_jit_frame f;
	assert_int_equal(find(&m, words, 16, &f), 0);
	assert_int_equal(f.cfa, 16 + 80);
	assert_int_equal(f.fp, 16 + 64);
	assert_int_equal(find(&m, words, 11, &f), -ENOENT);
	m.state[10] += 8; /* it names another one */
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
	m.state[10] -= 8;
	words[11] = CODE_AT + 1;
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
	words[11] = CALLED_AT;
	words[4] = STATE_AT + 4096; /* not readable */
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_zero), cmocka_unit_test(test_code), cmocka_unit_test(test_no_code),
	    cmocka_unit_test(test_any),  cmocka_unit_test(test_lua),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
