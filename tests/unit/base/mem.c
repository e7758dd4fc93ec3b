/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void closes_at_the_end_of_the_scope(void **state)
{
	int seen, kept;

	{
		SP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		seen = fd;
		assert_true(is_open(fd));
	}
	assert_false(is_open(seen));
	{
		SP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		kept = sp_take_fd(&fd);
		assert_int_equal(fd, -1);
	}
	assert_true(is_open(kept));
	close(kept);
}

static int close_and_fail(void)
{
	SP_CLOSE int fd = -1;
	SP_FCLOSE FILE *none = NULL;
	SP_FREE char *text = strdup("x");

	errno = EXDEV;
	return fd;
}

static void cleanup_leaves_errno_and_nothing_alone(void **state)
{
	assert_int_equal(close_and_fail(), -1);
	assert_int_equal(errno, EXDEV);
}

static char *made(void)
{
	SP_FREE char *text = strdup("kept");

	return sp_take_ptr(text);
}

static void taken_memory_lives_on(void **state)
{
	SP_FREE char *text = made();

	assert_string_equal(text, "kept");
}

static void closes_streams(void **state)
{
	int seen;

	{
		SP_FCLOSE FILE *f = fopen("/dev/null", "re");
		assert_non_null(f);
		seen = fileno(f);
	}
	assert_false(is_open(seen));
}

static void grows_zeroed_and_keeps_what_was_there(void **state)
{
	SP_FREE uint32_t *array = NULL;
	size_t capacity = 0;

	for (uint32_t n = 0; n < 10000; n++) {
		assert_int_equal(sp_grow(&array, &capacity, n + 1, sizeof(*array)), 0);
		assert_true(capacity > n);
		assert_int_equal(array[n], 0);
		array[n] = n + 1;
	}
	for (uint32_t n = 0; n < 10000; n++)
		assert_int_equal(array[n], n + 1);
	assert_true(capacity <= 15000);
}

static void too_much_changes_nothing(void **state)
{
	SP_FREE uint64_t *array = NULL;
	size_t capacity = 0;

	assert_int_equal(sp_grow(&array, &capacity, 1, sizeof(*array)), 0);
	uint64_t *before = array;
	size_t had = capacity;
	assert_int_equal(sp_grow(&array, &capacity, SIZE_MAX / 4, sizeof(*array)), -ENOMEM);
	assert_int_equal(sp_grow(&array, &capacity, SIZE_MAX / 16 + 1, sizeof(*array)), -ENOMEM);
	assert_ptr_equal(array, before);
	assert_int_equal(capacity, had);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(closes_at_the_end_of_the_scope),
	    cmocka_unit_test(cleanup_leaves_errno_and_nothing_alone),
	    cmocka_unit_test(taken_memory_lives_on),
	    cmocka_unit_test(closes_streams),
	    cmocka_unit_test(grows_zeroed_and_keeps_what_was_there),
	    cmocka_unit_test(too_much_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
