/* SPDX-License-Identifier: GPL-2.0-or-later */
/* called.c: leaves at a function's first instruction, whose code cannot be read: each form of a call that led there. */
#include "base/mem.h"
#include "made_walk.h"
#include "test.h"
#include "unwind/finish.h"
#include "unwind/tables.h"
#include <stdint.h>
#include <stdlib.h>

static sp_u32 sp_env_ahead(struct walk *w);
#include "unwind/x86_64/v8.h"

static sp_u32 sp_env_ahead(struct walk *w)
{
	return sp_v8_ahead(w->code + SP_CODE_BEFORE);
}

enum { LEAF = 0x1000, CALLER = 0x2000, POINTER = 0x3000, STACK = 0x8000 };
enum { NONE = 255 };

/* The call's bytes; the register that it goes by, and how far the pointer lies from there (NONE: it is the pointer). */
static const struct {
	const char *code;
	sp_u8 bytes, reg;
	sp_s32 off;
} cases[] = {
    {"\xe8\xfb\xef\xff\xff", 5, NONE, 0}, /* CALLER - 0x1000 - 5 + 5, put right below */
    {"\xff\xd0", 2, 0, NONE},
    {"\xff\xd1", 2, 2, NONE},
    {"\xff\xd2", 2, 1, NONE},
    {"\xff\xd6", 2, 4, NONE},
    {"\xff\xd5", 2, 6, NONE},
    {"\x41\xff\xd3", 3, 11, NONE},
    {"\xff\x10", 2, 0, 0},
    {"\x41\xff\x17", 3, 15, 0},
    {"\xff\x50\x18", 3, 0, 0x18},
    {"\x41\xff\x56\x80", 4, 14, -0x80},
    {"\xff\x90\x90\x01\x00\x00", 6, 0, 0x190},
    {"\x41\xff\x95\x00\xf0\xff\xff", 7, 13, -0x1000},
    {"\xff\x15\x00\x10\x00\x00", 6, NONE, 0x1000}, /* by the instruction pointer */
};

static struct walk *made_up(size_t i, struct sp_regs *ret_regs)
{
	struct walk *w = calloc(1, sizeof(*w));
	sp_u64 base = cases[i].reg == NONE ? CALLER : POINTER;

	assert_non_null(w);
	memset(w->memory + CALLER - 64, 0x90, 128);
	memcpy(w->memory + CALLER - cases[i].bytes, cases[i].code, cases[i].bytes);
	if (cases[i].code[0] == '\xe8')
		memcpy(w->memory + CALLER - 4, &(sp_s32){LEAF - CALLER}, 4);
	else if (cases[i].off != NONE)
		put(w, base + (sp_u64)(sp_s64)cases[i].off, BASE + LEAF);
	put(w, STACK, BASE + CALLER);
	*ret_regs = (struct sp_regs){.ip = BASE + LEAF, .sp = BASE + STACK};
	if (cases[i].reg == NONE)
		return w;
	*(cases[i].reg == SP_REG_FP ? &ret_regs->fp : &ret_regs->r[cases[i].reg]) =
	    cases[i].off == NONE ? BASE + LEAF : BASE + POINTER;
	return w;
}

static void is_caller(void **state)
{
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_regs regs;
		struct walk *w = made_up(i, &regs);
		sp_u32 how = SP_HOW_EXACT | SP_HOW_FIRST | SP_HOW_NO_FP | SP_HOW_REGS;

		if (sp_step_called(w, &regs, &how))
			fail_msg("call %zu is not seen", i);
		assert_int_equal(regs.ip, BASE + CALLER);
		assert_int_equal(regs.sp, BASE + STACK + 8);
		assert_int_equal(how, SP_HOW_NO_FP | SP_HOW_REGS);
		free(w);
	}
}

/* The leaf is at another instruction, the call is of another function, or the word is no return address. */
static void is_none(void **state)
{
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_regs regs;
		struct walk *w = made_up(i, &regs);
		sp_u32 how = SP_HOW_EXACT;

		regs.ip++;
		assert_int_equal(sp_step_called(w, &regs, &how), -1);
		regs.ip--;
		memset(w->memory + CALLER - 8, 0x90, 8);
		assert_int_equal(sp_step_called(w, &regs, &how), -1);
		put(w, STACK, 0);
		assert_int_equal(sp_step_called(w, &regs, &how), -1);
		assert_int_equal(regs.ip, BASE + LEAF);
		assert_int_equal(how, SP_HOW_EXACT);
		free(w);
	}
}

/* Any bytes, words and registers: nothing is read that is not there, and what is said is true. */
static void any_bytes(void **state)
{
	srandom(1);
	for (unsigned round = 0; round < 100000; round++) {
		struct sp_regs regs;
		struct walk *w = made_up(round % SP_COUNT(cases), &regs);
		sp_u32 how = SP_HOW_EXACT;

		for (unsigned k = 0; k < 8; k++)
			if (random() & 1)
				w->memory[CALLER - 8 + k] = (sp_u8)random();
		if (!sp_step_called(w, &regs, &how))
			assert_int_equal(regs.ip, BASE + CALLER);
		free(w);
	}
}

/* The only code that can be read: the call, from its file. */
static int code_of_call(void *call, sp_u64 word, sp_u64 offset, sp_u8 *ret)
{
	if (word >> SP_FRAME_ID_SHIFT != 1 || offset != CALLER)
		return -1;
	memcpy(ret, call, SP_CALL_BYTES);
	return 0;
}

/* A sample that waited, whose leaf's page was not there: 1 if the leaf is marked as guessed. */
static int is_marked(sp_s32 distance)
{
	struct sp_message_pending *r = calloc(1, sizeof(*r));
	sp_u64 stack[] = {BASE + CALLER, 0};
	sp_u8 call[SP_CALL_BYTES] = {0x90, 0x90, 0x90, 0xe8};
	struct sp_map map = {
	    .start = BASE, .end = BASE + STACK, .shift_by = 0 - BASE, .word = 1ULL << SP_FRAME_ID_SHIFT};
	struct sp_finish_memory memory = {.maps = &map,
					  .n_maps = 1,
					  .has_all_maps = true,
					  .stack = (const sp_u8 *)stack,
					  .stack_bytes = sizeof(stack),
					  .stack_at = BASE + STACK,
					  .code_before = code_of_call,
					  .code_before_arg = call};
	struct sp_tables *tables;
	sp_u32 stop;
	int marked;

	assert_non_null(r);
	memcpy(call + 4, &distance, 4);
	assert_int_equal(sp_tables_new(NULL, -1, 0, &tables), 0);
	sp_tables_set_code(tables, 1, SP_TABLE_FP);
	r->regs = (struct sp_regs){.ip = BASE + LEAF, .sp = BASE + STACK};
	r->how = SP_HOW_EXACT | SP_HOW_FIRST;
	assert_int_equal(sp_finish(tables, r, &memory, SP_UNWIND_AUTO, &stop), 0);
	assert_int_equal(r->n_frames, 2);
	assert_int_equal(r->frames[1] & SP_FRAME_OFFSET_MASK, CALLER - 1);
	marked = (r->frames[0] & SP_FRAME_GUESSED) != 0;
	assert_int_equal((r->frames[1] & SP_FRAME_GUESSED) != 0, marked);
	sp_tables_free(tables);
	free(r);
	return marked;
}

static void is_seen_afterwards(void **state)
{
	assert_false(is_marked(LEAF - CALLER));
	assert_true(is_marked(LEAF - CALLER + 16)); /* of another function: this one's caller may have jumped here */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(is_caller), cmocka_unit_test(is_none),
					   cmocka_unit_test(any_bytes), cmocka_unit_test(is_seen_afterwards)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
