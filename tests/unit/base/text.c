/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"
#include "base/error.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reads_files_without_a_size(void **state)
{
	SP_FREE char *text = NULL;
	size_t len;
	char want[64];

	assert_int_equal(sp_text_read("/proc/self/stat", 4096, &text, &len), 0);
	(void)snprintf(want, sizeof(want), "%d (", (int)getpid());
	assert_int_equal(strncmp(text, want, strlen(want)), 0);
	assert_int_equal(strlen(text), len);
}

static void the_bound_is_exact_and_said(void **state)
{
	char path[] = "/tmp/soprof-text-XXXXXX", *text = NULL;
	static char block[10000];
	SP_CLOSE int fd = mkstemp(path);
	size_t len;

	memset(block, 'b', sizeof(block));
	assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	assert_int_equal(sp_text_read(path, sizeof(block) - 1, &text, &len), -EFBIG);
	assert_null(text);
	assert_int_equal(strncmp(sp_error_text(-EFBIG), "read /tmp/", 10), 0);
	assert_int_equal(sp_text_read(path, sizeof(block), &text, &len), 0);
	assert_int_equal(len, sizeof(block));
	assert_memory_equal(text, block, len);
	free(text);
	assert_int_equal(unlink(path), 0);
}

static void errors_name_the_path(void **state)
{
	char *text = NULL;

	assert_int_equal(sp_text_read("/no/such", 10, &text, NULL), -ENOENT);
	assert_string_equal(sp_error_text(-ENOENT), "open /no/such: No such file or directory");
	assert_int_equal(sp_text_read("/proc", 10, &text, NULL), -EISDIR);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_files_without_a_size),
	    cmocka_unit_test(the_bound_is_exact_and_said),
	    cmocka_unit_test(errors_name_the_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
