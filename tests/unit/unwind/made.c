/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of code that was made at run time, which has no unwind information. */
#include "base/mem.h"
#include "unwind/finish.h"
#include "unwind/tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct sp_record_pending *record(uint64_t fp, uint32_t how)
{
	struct sp_record_pending *r = calloc(1, sizeof(*r));
	assert_non_null(r);
	r->regs = (struct sp_regs){.ip = 0x20000010, .sp = 0x7f0000000000, .fp = fp};
	r->how = how;
	return r;
}

static sp_u32 stop_of(struct sp_record_pending *r)
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
	sp_tables_set_fp(tables, 1);
	assert_int_equal(sp_finish(tables, r, &memory, SP_UNWIND_AUTO, &stop), 0);
	sp_tables_free(tables);
	return stop;
}

/* Made code uses the frame pointer for anything: 0 in it does not say that nobody called. */
static void test_zero(void **state)
{
	(void)state;
	struct sp_record_pending *r = record(0, SP_HOW_EXACT | SP_HOW_FIRST);
	assert_int_equal(stop_of(r), SP_STOP_GUESS);
	free(r);
	r = record(0, SP_HOW_GUESSED); /* of a caller, whose frame was followed to, it does */
	assert_int_equal(stop_of(r), SP_STOP_COMPLETE);
	assert_int_equal(r->guessed, SP_STACK_GUESSED);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
