/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/library.h"
#include "base/error.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct z {
	unsigned long (*crc32)(unsigned long crc, const unsigned char *bytes, unsigned n);
	const char *(*version)(void);
};
static const struct sp_library_function functions[] = {
    {"crc32", offsetof(struct z, crc32)}, {"zlibVersion", offsetof(struct z, version)}, {"no such function", 0}};

static void the_first_that_is_there_is_loaded(void **state)
{
	static const char *const sonames[] = {"libnowhere.so.9", "libz.so.1", NULL};
	struct z z = {0};

	assert_int_equal(sp_library_load("a test", "zlib1g", sonames, functions, 2, &z), 0);
	assert_int_equal(z.crc32(0, (const unsigned char *)"123456789", 9), 0xcbf43926); /* the check value of CRC-32 */
	assert_int_equal(*z.version(), '1');
}

static void what_is_missing_is_named(void **state)
{
	static const char *const none[] = {"libnowhere.so.9", NULL}, *const z_names[] = {"libz.so.1", NULL};
	struct z z = {0};

	assert_int_equal(sp_library_load("a test", "libnowhere9", none, functions, 2, &z), -ELIBACC);
	assert_non_null(strstr(sp_error_text(-ELIBACC), "a test needs libnowhere9: libnowhere.so.9"));
	sp_error_clear();
	assert_int_equal(sp_library_load("a test", "zlib1g", z_names, functions, 3, &z), -ELIBACC);
	assert_non_null(strstr(sp_error_text(-ELIBACC), "no such function"));
	sp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_that_is_there_is_loaded),
	    cmocka_unit_test(what_is_missing_is_named),
	};
	return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
