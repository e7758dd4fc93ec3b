/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of the reasons stand in the order of the kernel half's enum. */
#include "view/stop.h"

#include "bpf/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* By name, so that a reason moved or added in the enum is found here. */
static const char *const words[] = {
    [SP_STOP_COMPLETE] = "complete",
    [SP_STOP_NONE] = "kernel thread or idle",
    [SP_STOP_GONE] = "in execve or exit",
    [SP_STOP_PENDING] = "waiting for a table",
    [SP_STOP_DEEP] = "too deep",
    [SP_STOP_UNMAPPED] = "unmapped address",
    [SP_STOP_BUSY] = "memory map busy",
    [SP_STOP_READ] = "stack memory unreadable",
    [SP_STOP_RULE] = "unwind rule too complex",
    [SP_STOP_REGISTER] = "register lost",
    [SP_STOP_CFA] = "impossible frame address",
    [SP_STOP_NO_UNWIND] = "no unwind information",
    [SP_STOP_TABLE] = "table not loaded in time",
    [SP_STOP_FILES] = "no file number left",
    [SP_STOP_BITS] = "32-bit program",
    [SP_STOP_COPY] = "outside the copied stack",
    [SP_STOP_THREAD] = "thread",
    [SP_STOP_FIBER] = "fiber",
};
_Static_assert(SP_STOP_NONE == (int)SP_STOP_WORDS_NONE, "no user stack has another number");
_Static_assert(SP_STOP_THREAD == (int)SP_STOP_WORDS_THREAD && SP_STOP_FIBER == (int)SP_STOP_WORDS_FIBER, "nor roots");
_Static_assert(sizeof(words) / sizeof(words[0]) == SP_N_STOPS, "a reason has no words");

static void words_follow_the_enum(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < SP_N_STOPS; i++)
		assert_string_equal(sp_stop_words(i), words[i]);
}

static void others_are_unknown(void **state)
{
	(void)state;
	assert_string_equal(sp_stop_words(SP_N_STOPS), "unknown");
	assert_string_equal(sp_stop_words(0xffff), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(words_follow_the_enum),
	    cmocka_unit_test(others_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
