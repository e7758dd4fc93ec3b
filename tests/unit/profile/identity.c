/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/identity.h"
#include "test.h"

#include <stdint.h>

static void names_of_libraries(void **state)
{
	static const struct {
		const char *name, *path, *want;
	} cases[] = {{"libz.so.1", "/usr/lib/libz.so.1.2.13", "libz.so.1"},
		     {"", "/usr/bin/gzip", "gzip"},
		     {"", "gzip", "gzip"},
		     {"", "/usr/bin/", "/usr/bin/"},
		     {"", "", "[unknown]"}};
	struct sp_profile *p = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sp_file f = {.kind = SP_FILE_ELF,
				    .tag = i + 1,
				    .name = (uint32_t)sp_profile_add_string(p, cases[i].name),
				    .path = (uint32_t)sp_profile_add_string(p, cases[i].path)};
		int64_t file = sp_profile_add_file(p, &f);

		assert_true(file > 0);
		assert_string_equal(sp_library_name(p, (uint32_t)file), cases[i].want);
	}
	assert_string_equal(sp_library_name(p, 0), "[unknown]");
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_of_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
