/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "test.h"

#include <stdint.h>
#include <string.h>

enum { N = 20000, LARGE = 3 << 20 };

/* Each is filled with its number when it is taken: none may overlap another, or move. */
static void taken_memory_is_apart_and_stays(void **state)
{
	static uint8_t *taken[N];
	struct sp_arena a = {0};

	for (size_t i = 0; i < N; i++) {
		taken[i] = sp_arena_take(&a, i % 300);
		assert_non_null(taken[i]);
		assert_int_equal((uintptr_t)taken[i] % 8, 0);
		memset(taken[i], (int)(i % 251), i % 300);
	}
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < i % 300; k++)
			assert_int_equal(taken[i][k], i % 251);
	sp_arena_done(&a);
	assert_int_equal(a.all_bytes, 0);
}

static void more_than_a_block_fits(void **state)
{
	struct sp_arena a = {0};
	uint8_t *small = sp_arena_take(&a, 1), *large = sp_arena_take(&a, LARGE);

	assert_true(small && large);
	memset(large, 1, LARGE);
	assert_true(a.all_bytes >= LARGE && a.all_bytes < LARGE + (2 << 20));
	assert_null(sp_arena_take(&a, SIZE_MAX - 3));
	assert_non_null(sp_arena_take(&a, 8));
	sp_arena_done(&a);
}

static void little_takes_little(void **state)
{
	struct sp_arena a = {0};

	assert_non_null(sp_arena_take(&a, 8));
	assert_true(a.all_bytes < 1000);
	sp_arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(taken_memory_is_apart_and_stays),
	    cmocka_unit_test(more_than_a_block_fits),
	    cmocka_unit_test(little_takes_little),
	};
	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
