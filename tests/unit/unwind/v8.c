/* SPDX-License-Identifier: GPL-2.0-or-later */
/* v8.c: steps through V8's code over memory that is made up, as V8 lays it out and as it never would. */
#include "base/mem.h"
#include "made_walk.h"
#include "test.h"
#include <stdint.h>
#include <stdlib.h>

static sp_u32 sp_env_ahead(struct walk *w);
#include "unwind/x86_64/v8.h"

static sp_u32 sp_env_ahead(struct walk *w)
{
	return sp_v8_ahead(w->code + SP_CODE_BEFORE);
}

enum { LEAF = 0x1000, CALLER = 0x2000, BUILTIN = 0x3000, STACK = 0x8000, FRAME = STACK + 0x100 };
static struct walk *made_up(void)
{
	struct walk *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	memset(w->memory + LEAF - 64, 0x90, 512);
	memcpy(w->memory + CALLER - 5, "\xe8\x10\x10\x10\x10", 5);
	put(w, FRAME - 8, 2 * 19);
	put(w, FRAME, BASE + FRAME + 0x100);
	put(w, FRAME + 8, BASE + CALLER);
	return w;
}

static struct sp_regs regs_made_up(void)
{
	return (struct sp_regs){.ip = BASE + LEAF, .sp = BASE + STACK, .fp = BASE + FRAME};
}

/* A step from what is made up; the caller has to be this, its stack pointer there, found in this way. */
static void step_is(struct walk *w, struct sp_regs regs, sp_u32 off, sp_u32 how, sp_u64 sp, sp_u32 ret_how)
{
	assert_int_equal(sp_step_v8(w, &regs, &how, off), SP_STEP_NEXT);
	assert_int_equal(regs.ip, BASE + CALLER);
	assert_int_equal(regs.sp, BASE + sp);
	assert_int_equal(how, ret_how);
	free(w);
}

static void frames_by_their_word(void **state)
{
	static const struct {
		sp_u64 word;
		sp_u32 how;
	} cases[] = {{2 * 19, SP_HOW_RUNTIME}, {0, SP_HOW_RUNTIME},      {0x7f01, SP_HOW_RUNTIME},
		     {256, SP_HOW_GUESSED},    {0x7f03, SP_HOW_GUESSED}, {0x12345678, SP_HOW_GUESSED}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct walk *w = made_up();

		put(w, FRAME - 8, cases[i].word);
		step_is(w, regs_made_up(), 0, 0, FRAME + 16, cases[i].how);
	}
}

/* Instructions at hand, what the row knows, where the return address is from the stack pointer on. */
static void leaves(void **state)
{
	static const struct {
		const char *code;
		sp_u8 bytes;
		sp_u8 row, up;
		sp_u32 how;
	} cases[] = {
	    {"\x55\x48\x89\xe5", 4, 0, 0, SP_HOW_RUNTIME},                            /* push %rbp; mov */
	    {"\x48\x89\xe5", 3, 0, 8, SP_HOW_RUNTIME},                                /* mov %rsp,%rbp */
	    {"\x48\x83\xf9\x01\x7e\x00\x55\x48\x89\xe5", 10, 0, 0, SP_HOW_RUNTIME},   /* a check before */
	    {"\xc2\x10\x00", 3, 0, 0, SP_HOW_RUNTIME},                                /* ret $16 */
	    {"\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3", 9, 0, 0, SP_HOW_RUNTIME},        /* pop %r10; lea; push; ret */
	    {"\x41\x58\x48\x8d\x24\xdc\x41\x50\xc3", 9, 0, 0, SP_HOW_RUNTIME},        /* the same by r8 */
	    {"\x48\x83\xf9\x02\x7f\x03\xc2\x10\x00", 9, 0, 0, SP_HOW_RUNTIME},        /* cmp; jg; ret $16 */
	    {"\x7f\x03\xc2\x10\x00", 5, 0, 0, SP_HOW_RUNTIME},                        /* jg; ret $16 */
	    {"\x90\x90\x90", 3, 16, 8, SP_HOW_RUNTIME},                               /* by its row */
	    {"\xbb\x28\0\0\0\x49\xbc\1\2\3\4\5\6\0\0\xe8", 16, 0, 0, SP_HOW_RUNTIME}, /* a baseline function's start */
	    {"\x33\xdb\x49\xbc\1\2\3\4\5\6\0\0\xe8", 13, 0, 0, SP_HOW_RUNTIME},
	    {"\x49\xbc\1\2\3\4\5\6\0\0\xe8", 11, 0, 0, SP_HOW_RUNTIME},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct walk *w = made_up();

		memcpy(w->memory + LEAF, cases[i].code, cases[i].bytes);
		put(w, STACK + cases[i].up, BASE + CALLER);
		put(w, FRAME + 8, BASE + BUILTIN); /* which is another's */
		step_is(w, regs_made_up(), cases[i].row, SP_HOW_EXACT, STACK + cases[i].up + 8U, cases[i].how);
	}
}

/* Behind what takes its frame down, wherever that goes on. */
static void leaf_has_left(void **state)
{
	struct walk *w = made_up();

	memcpy(w->memory + LEAF - 4, "\x48\x8b\xe5\x5d", 4);
	put(w, STACK, BASE + CALLER);
	put(w, FRAME + 8, BASE + BUILTIN);
	step_is(w, regs_made_up(), 0, SP_HOW_EXACT, STACK + 8, SP_HOW_RUNTIME);
	w = made_up(); /* the interpreter: leave; pop %rcx; add %rbx,%rsp; push %rcx; ret */
	memcpy(w->memory + LEAF - 1, "\xc9\x59\x48\x03\xe3\x51\xc3", 7);
	put(w, STACK, BASE + CALLER);
	put(w, FRAME + 8, BASE + BUILTIN);
	step_is(w, regs_made_up(), 0, SP_HOW_EXACT, STACK + 8, SP_HOW_RUNTIME);
}

/* At the call of what makes its frame. */
static void baseline_call(void **state)
{
	struct walk *w = made_up();

	memcpy(w->memory + LEAF - 10, "\x49\xbc\1\2\3\4\5\6\0\0\xe8", 11);
	put(w, STACK, BASE + CALLER);
	put(w, FRAME + 8, BASE + BUILTIN);
	step_is(w, regs_made_up(), 0, SP_HOW_EXACT, STACK + 8, SP_HOW_RUNTIME);
}

/* Its return address is in r10, r8 or rcx, when it takes its arguments away. */
static void leaf_returns_by_register(void **state)
{
	static const struct {
		const char *code;
		sp_u8 bytes, reg;
	} cases[] = {{"\x48\x8d\x24\xcc\x41\x52\xc3", 7, 10}, {"\x41\x52\xc3", 3, 10},
		     {"\x48\x8d\x24\xdc\x41\x50\xc3", 7, 8},  {"\x41\x50\xc3", 3, 8},
		     {"\x48\x01\xdc\x51\xc3", 5, 2}, /* the interpreter's: add %rbx,%rsp; push %rcx; ret */
		     {"\x48\x03\xe3\x51\xc3", 5, 2},          {"\x51\xc3", 2, 2}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_regs regs = regs_made_up();
		struct walk *w = made_up();

		memcpy(w->memory + LEAF, cases[i].code, cases[i].bytes);
		regs.r[cases[i].reg] = BASE + CALLER;
		put(w, FRAME + 8, 0);
		step_is(w, regs, 0, SP_HOW_EXACT, STACK, SP_HOW_RUNTIME);
	}
}

/* A frame that is made far ahead: who calls is not sure, and it says so. */
/* Where a row does not know whether there is a frame, the word at the stack pointer is asked first. */
static void leaf_of_unsure_builtin(void **state)
{
	struct walk *w = made_up();

	put(w, STACK, BASE + CALLER);
	step_is(w, regs_made_up(), SP_V8_UNSURE, SP_HOW_EXACT, STACK + 8, SP_HOW_GUESSED);
	w = made_up();
	put(w, STACK, 7);
	step_is(w, regs_made_up(), SP_V8_UNSURE, SP_HOW_EXACT, FRAME + 16, SP_HOW_RUNTIME);
}

static void leaf_far_from_its_frame(void **state)
{
	struct walk *w = made_up();

	memcpy(w->memory + LEAF + 40, "\x55\x48\x89\xe5", 4);
	put(w, STACK, BASE + CALLER);
	step_is(w, regs_made_up(), 0, SP_HOW_EXACT, STACK + 8, SP_HOW_GUESSED);
	w = made_up(); /* at the function's start, in the form of chromium's V8 */
	memcpy(w->memory + LEAF, "\x55\x48\x8b\xec", 4);
	put(w, STACK, BASE + CALLER);
	step_is(w, regs_made_up(), 0, SP_HOW_EXACT, STACK + 8, SP_HOW_RUNTIME);
}

/* The builtin that makes a baseline function's frame: that function is its caller, and has none yet. */
static void baseline_prologue(void **state)
{
	struct sp_regs regs = regs_made_up();
	sp_u32 how = SP_HOW_EXACT;
	struct walk *w = made_up();
	sp_u64 ra = BUILTIN + 0x115;

	memcpy(w->memory + ra - 15, "\x49\xbc\x11\x22\x33\x44\x55\x66\x77\x88\xe8", 11);
	memcpy(w->memory + ra - 4, &(sp_s32){(sp_s32)(LEAF - ra)}, 4);
	regs.ip = BASE + LEAF + 20;
	put(w, STACK, BASE + ra);
	put(w, STACK + 8, BASE + CALLER);
	assert_int_equal(sp_step_v8(w, &regs, &how, 0), SP_STEP_NEXT);
	assert_int_equal(regs.ip, BASE + ra);
	assert_int_equal(regs.sp, BASE + STACK + 8);
	assert_int_equal(how, SP_HOW_RUNTIME | SP_HOW_BARE);
	step_is(w, regs, 0, how, STACK + 16, SP_HOW_RUNTIME);
}

/* What V8 would never leave behind ends in a guess or a stop, after few reads, and is never called V8's word. */
static void hostile(void **state)
{
	static const sp_u64 fps[] = {0, 1, BASE + STACK - 8, BASE + FRAME + 4, BASE + MEMORY, UINT64_MAX - 7};
	struct walk *w = made_up();

	for (size_t i = 0; i < SP_COUNT(fps); i++) {
		struct sp_regs regs = regs_made_up();
		sp_u32 how = 0;

		regs.fp = fps[i];
		assert_false(sp_step_v8(w, &regs, &how, 0) == SP_STEP_NEXT && how & SP_HOW_RUNTIME);
	}
	free(w);
}

static void any_bytes(void **state)
{
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		struct walk *w = made_up();
		struct sp_regs regs = regs_made_up();
		sp_u32 how = rand_r(&seed) & 1 ? SP_HOW_EXACT : 0;

		for (int k = 0; k < 64; k++)
			w->memory[LEAF + k] = (sp_u8)rand_r(&seed);
		for (int k = 0; k < 4; k++)
			put(w, STACK + 8 * (sp_u64)k, BASE + (unsigned)rand_r(&seed) % MEMORY);
		for (int r = 0; r < 16; r++)
			regs.r[r] = BASE + (unsigned)rand_r(&seed) % MEMORY;
		sp_step_v8(w, &regs, &how, (sp_u32)rand_r(&seed) % 3 * 8 + (sp_u32)rand_r(&seed) % 2);
		assert_true(w->n_reads < 40);
		free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frames_by_their_word),
	    cmocka_unit_test(leaves),
	    cmocka_unit_test(leaf_has_left),
	    cmocka_unit_test(baseline_call),
	    cmocka_unit_test(leaf_returns_by_register),
	    cmocka_unit_test(leaf_far_from_its_frame),
	    cmocka_unit_test(leaf_of_unsure_builtin),
	    cmocka_unit_test(baseline_prologue),
	    cmocka_unit_test(hostile),
	    cmocka_unit_test(any_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
