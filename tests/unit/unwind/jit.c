/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of code that was made at run time, which has no unwind information. */
#include "unwind/x86_64/jit.h"
#include "base/mem.h"
#include "test.h"
#include "unwind/finish.h"
#include "unwind/tables.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

	assert_int_equal(sp_tables_new(NULL, -1, 8 << 20, &tables), 0);
	sp_tables_set_code(tables, 1, SP_TABLE_FP);
	assert_int_equal(sp_finish(tables, r, &memory, SP_UNWIND_AUTO, &stop), 0);
	sp_tables_free(tables);
	return stop;
}

/* Made code uses the frame pointer for anything: 0 in it does not say that nobody called. */
static void test_zero(void **state)
{
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

/* A call of code that takes its return address off: what returns in the end stands there, as in Guile's code. */
static void test_enter(void **state)
{
	/* call 1f; jmp *rax; 1: pop r11; add $24,rsp; ret */
	CHECK(3, SP_JIT_FP_SAME, 0xe8, 2, 0, 0, 0, 0xff, 0xe0, 0x41, 0x5b, 0x48, 0x83, 0xc4, 0x18, 0xc3);
	/* call 1f; pop rbx; ret; 1: pop rbp; add $8,rsp; ret: both ways agree, but on the frame pointer */
	CHECK(1, SP_JIT_FP_LOST, 0xe8, 2, 0, 0, 0, 0x5b, 0xc3, 0x5d, 0x48, 0x83, 0xc4, 8, 0xc3);
	/* call 1f; ret; 1: pop r11; add $24,rsp; ret: they do not */
	CHECK_NONE(0xe8, 1, 0, 0, 0, 0xc3, 0x41, 0x5b, 0x48, 0x83, 0xc4, 0x18, 0xc3);
	/* call 1f; jmp *rax; 1: add $24,rsp; ret; and pop r11w; pop (rax) */
	CHECK_NONE(0xe8, 2, 0, 0, 0, 0xff, 0xe0, 0x48, 0x83, 0xc4, 0x18, 0xc3);
	CHECK_NONE(0xe8, 2, 0, 0, 0, 0xff, 0xe0, 0x66, 0x41, 0x5b, 0x48, 0x83, 0xc4, 0x18, 0xc3);
	CHECK_NONE(0xe8, 2, 0, 0, 0, 0xff, 0xe0, 0x8f, 0x00, 0x48, 0x83, 0xc4, 0x18, 0xc3);
	CHECK_NONE(0xe8, 0xff, 0xff, 0, 0, 0xff, 0xe0); /* it leads out of the code */
}

static void test_no_code(void **state)
{
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

/* --- by who jumped there --- */

enum { ENTRY_AT = CODE_AT + 64, SLOT_AT = CODE_AT + 256, RETURN_AT = CODE_AT + 512, N_IMAGE = 600 };

/*
 * Code at CODE_AT that ends in a jump, a function at ENTRY_AT, a pointer to it at SLOT_AT, and a call (8 bytes) of it
 * in front of RETURN_AT, which is the word at `at`.
 */
static int find_entry(const uint8_t *code, size_t n, const uint8_t *entry, size_t n_entry, const uint8_t *call,
		      size_t n_call, size_t at, size_t again, struct sp_jit_frame *f)
{
	uint8_t image[N_IMAGE] = {0};
	struct memory m = {.code = image, .n_code = sizeof(image)};
	uint64_t words[16] = {0}, slot = ENTRY_AT;
	memcpy(image, code, n);
	memcpy(image + ENTRY_AT - CODE_AT, entry, n_entry);
	memcpy(image + SLOT_AT - CODE_AT, &slot, sizeof(slot));
	memcpy(image + RETURN_AT - CODE_AT - n_call, call, n_call);
	words[at] = RETURN_AT;
	if (again)
		words[again] = RETURN_AT;
	return find(&m, words, 16, f);
}

static void test_entry(void **state)
{
	/* nop; jmp *(%r15) */
	static const uint8_t leaves[] = {0x90, 0x41, 0xff, 0x27};
	/* je 1f; jmp *%rax; 1: push %rax; jmp *%rcx: two heights */
	static const uint8_t unclear[] = {0x74, 2, 0xff, 0xe0, 0x50, 0xff, 0xe1};
	/* push %r13; push %rbp; sub $24,%rsp; jmp *(%r15) */
	static const uint8_t entry[] = {0x41, 0x55, 0x55, 0x48, 0x83, 0xec, 0x18, 0x41, 0xff, 0x27};
	static const uint8_t trampoline[] = {0x48, 0x83, 0xec, 0x28, 0xff, 0xe6}; /* sub $40,%rsp; jmp *%rsi */
	/* sub $40,%rsp; jmp *0(%rip): where that leads, is told */
	static const uint8_t elsewhere[] = {0x48, 0x83, 0xec, 0x28, 0xff, 0x25, 0, 0, 0, 0};
	static const uint8_t direct[] = {0xe8, 0x40, 0xfe, 0xff, 0xff};
	static const uint8_t pointer[] = {0xff, 0x15, 0x00, 0xff, 0xff, 0xff};
	/* lea slot(%rip),%rax; mov %rbp,%rdi; call *(%rax) */
	static const uint8_t loaded[] = {0x48, 0x8d, 0x05, 0x05, 0xff, 0xff, 0xff, 0x48, 0x89, 0xef, 0xff, 0x10};
	static const uint8_t unknown[] = {0xff, 0xd0};
	struct sp_jit_frame f;
#define FIND(code, entry, call, at, again)                                                                             \
	find_entry(code, sizeof(code), entry, sizeof(entry), call, sizeof(call), at, again, &f)

	assert_int_equal(FIND(leaves, entry, direct, 5, 0), 0);
	assert_int_equal(f.cfa, 48);
	assert_int_equal(f.fp, 24);
	assert_int_equal(FIND(leaves, trampoline, pointer, 5, 0), 0);
	assert_int_equal(f.cfa, 48);
	assert_int_equal(f.fp, SP_JIT_FP_SAME);
	assert_int_equal(FIND(leaves, entry, loaded, 5, 0), 0);
	/* within the trampoline: sub $40,%rsp; jmp *%rsi */
	assert_int_equal(FIND(trampoline, trampoline, direct, 1, 0), -ENOENT);
	static const uint8_t first[] = {0x48, 0x83, 0xec, 0x28, 0x90, 0xff, 0xe6};
	assert_int_equal(FIND(first, trampoline, direct, 0, 0), 0);
	assert_int_equal(f.cfa, 8);

	assert_int_equal(FIND(leaves, entry, direct, 4, 0), -ENOENT); /* it does not fit */
	assert_int_equal(FIND(leaves, entry, unknown, 5, 0), -ENOENT);
	assert_int_equal(FIND(leaves, elsewhere, direct, 5, 0), -ENOENT);
	assert_int_equal(FIND(unclear, entry, direct, 5, 0), -ENOENT);
	assert_int_equal(FIND(leaves, unclear, direct, 0, 0), -ENOENT);
	assert_int_equal(FIND(leaves, entry, direct, 5, 9), 0); /* the other one does not fit */
}

/* Whatever the bytes are, it comes to an end, within the words. */
static void test_any(void **state)
{
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
	static const uint8_t code[] = {0xeb, 0xfe};
	struct memory m = {.code = code, .n_code = sizeof(code), .state = {[1] = 0x10600, [10] = SP_AT + 16 + 1}};
	uint64_t words[16] = {[2 + 2] = STATE_AT, [2 + 9] = CALLED_AT};
	struct sp_jit_frame f;
	assert_int_equal(find(&m, words, 16, &f), 0);
	assert_int_equal(f.cfa, 16 + 80);
	assert_int_equal(f.fp, 16 + 64);
	assert_int_equal(find(&m, words, 11, &f), -ENOENT);
	m.state[10] += 8; /* it names another one */
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
	m.state[10] -= 8;
	m.state[1] = 0x10700; /* it is something else that leads here, as whatever lies on the stack may be */
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
	m.state[1] = 0;
	m.state[0] = 0x1060000000000; /* where links have 4 bytes */
	assert_int_equal(find(&m, words, 16, &f), 0);
	words[11] = CODE_AT + 1;
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
	words[11] = CALLED_AT;
	words[4] = STATE_AT + 4096; /* not readable */
	assert_int_equal(find(&m, words, 16, &f), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_zero),  cmocka_unit_test(test_code),    cmocka_unit_test(test_enter),
	    cmocka_unit_test(test_entry), cmocka_unit_test(test_no_code), cmocka_unit_test(test_any),
	    cmocka_unit_test(test_lua),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
