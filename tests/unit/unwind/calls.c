/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every form of a near call that the assembler knows is seen in front of its return address. */
#include "test.h"
#include "unwind/step_types.h"
#include <stdint.h>
#include <string.h>

extern const uint8_t *const returns_of_calls[], *const end_of_returns[]; /* call_forms.s */

static void test_all_forms(void **state)
{
	const uint8_t *const *volatile end = end_of_returns;

	assert_int_equal(end - returns_of_calls, 16 * (5 + 15 * 4) + 15 * 2 + 6);
	for (const uint8_t *const *at = returns_of_calls; at < end; at++)
		if (!sp_ends_in_call(*at - 8))
			fail_msg("number %td: ... %02x %02x %02x %02x %02x %02x %02x", at - returns_of_calls, (*at)[-7],
				 (*at)[-6], (*at)[-5], (*at)[-4], (*at)[-3], (*at)[-2], (*at)[-1]);
}

/* What asks where it is, and what is no call. */
static void test_none(void **state)
{
	static const uint8_t next[8] = {[3] = 0xe8}, jump[8] = {[6] = 0xff, 0xe0}, far[8] = {[6] = 0xff, 0x18}, zero[8];

	assert_false(sp_ends_in_call(next));
	assert_false(sp_ends_in_call(jump));
	assert_false(sp_ends_in_call(far));
	assert_false(sp_ends_in_call(zero));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_forms), cmocka_unit_test(test_none)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
