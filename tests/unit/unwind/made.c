/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of code that was made at run time, which has no unwind information. */
#include "base/mem.h"
#include "unwind/finish.h"
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
	r->stack_at = r->regs.sp;
	r->stack_bytes = 64;
	r->n_maps = 1;
	r->maps[0] =
	    (struct sp_map){.start = 0x20000000, .end = 0x20001000, .word = SP_FRAME_ANON << SP_FRAME_KIND_SHIFT};
	return r;
}

/* Made code uses the frame pointer for anything: 0 in it does not say that nobody called. */
static void test_zero(void **state)
{
	(void)state;
	sp_u32 stop = 0;
	struct sp_record_pending *r = record(0, SP_HOW_EXACT | SP_HOW_FIRST);
	assert_int_equal(sp_finish(NULL, r, SP_UNWIND_AUTO, &stop), 0);
	assert_int_equal(stop, SP_STOP_GUESS);
	free(r);
	r = record(0, SP_HOW_GUESSED); /* of a caller, whose frame was followed to, it does */
	assert_int_equal(sp_finish(NULL, r, SP_UNWIND_AUTO, &stop), 0);
	assert_int_equal(stop, SP_STOP_COMPLETE);
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
