/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each reason of the kernel half has words of its own. */
#include "view/stop.h"

#include "bpf/wire.h"
#include "test.h"

#include <stdint.h>
#include <string.h>

static void each_reason_has_its_own_words(void **state)
{
	for (unsigned int i = 0; i < SP_N_STOPS; i++) {
		assert_non_null(sp_stop_words(i));
		for (unsigned int other = 0; other < i; other++)
			assert_string_not_equal(sp_stop_words(i), sp_stop_words(other));
	}
	assert_string_equal(sp_stop_words(SP_STOP_GONE), "in execve or exit");
	assert_string_equal(sp_stop_words(SP_STOP_FIBER), "fiber");
}

static void others_are_unknown(void **state)
{
	assert_string_equal(sp_stop_words(SP_N_STOPS), "unknown");
	assert_string_equal(sp_stop_words(0xffff), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_reason_has_its_own_words),
	    cmocka_unit_test(others_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
