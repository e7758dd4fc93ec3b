/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory/memory.h"
#include "test.h"

#include <pthread.h>

enum { THREADS = 4, TURNS = 200000 / SP_FEWER, OWN = 64 };

static const void *address(uint64_t number)
{
	return (const void *)(uintptr_t)(0x7f0000000000 + 16 * number);
}

static void is_there_once(void **state)
{
	uint64_t bytes = 0, n = 0;

	assert_false(sp_block_take(address(1), &bytes, &n));
	assert_true(sp_block_add(address(1), 512, 3));
	assert_false(sp_block_take(address(2), &bytes, &n));
	assert_true(sp_block_take(address(1), &bytes, &n));
	assert_int_equal(bytes, 512);
	assert_int_equal(n, 3);
	assert_false(sp_block_take(address(1), &bytes, &n));
}

/* What finds no place is refused, and what is there stays. */
static void fills_up(void **state)
{
	uint64_t n_added = 0, n_found = 0, bytes, n;

	for (uint64_t i = 0; i < 200000; i++)
		n_added += sp_block_add(address(i * 3), i, 1);
	assert_true(n_added > 100000 && n_added < 200000);
	for (uint64_t i = 0; i < 200000; i++)
		if (sp_block_take(address(i * 3), &bytes, &n)) {
			assert_int_equal(bytes, i);
			n_found++;
		}
	assert_int_equal(n_found, n_added);
	assert_false(sp_block_take(address(3), &bytes, &n));
}

/* Each thread has blocks of its own; those of all lie in the same sets. */
static void *thread_run(void *arg)
{
	uint64_t first = (uint64_t)(uintptr_t)arg, bytes, n, n_wrong = 0;

	for (uint64_t turn = 0; turn < TURNS; turn++) {
		uint64_t number = first + turn % OWN * THREADS;

		if (!sp_block_add(address(number), turn, number))
			n_wrong++;
		else if (!sp_block_take(address(number), &bytes, &n) || bytes != turn || n != number)
			n_wrong++;
	}
	return (void *)(uintptr_t)n_wrong;
}

static void threads_do_not_meet(void **state)
{
	pthread_t threads[THREADS];
	void *n_wrong;

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread_run, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &n_wrong), 0);
		assert_null(n_wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is_there_once),
	    cmocka_unit_test(fills_up),
	    cmocka_unit_test(threads_do_not_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
