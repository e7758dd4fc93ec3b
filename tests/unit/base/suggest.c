/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/suggest.h"
#include "test.h"
#include <stdint.h>
#include <string.h>

static const char *nearest(const char *word)
{
	static const char *const names[] = {"profile", "report", "query", "agent", "diff", "doctor", "calls", "libs"};
	struct sp_suggest s = {.word = word};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		sp_suggest_offer(&s, names[i]);
	return s.best;
}

static void test_nearest(void **state)
{
	assert_string_equal(nearest("profile"), "profile");
	assert_string_equal(nearest("prfoile"), "profile"); /* swapped */
	assert_string_equal(nearest("proflie"), "profile");
	assert_string_equal(nearest("profiles"), "profile");
	assert_string_equal(nearest("prof"), "profile"); /* a beginning */
	assert_string_equal(nearest("doctr"), "doctor");
	assert_string_equal(nearest("dif"), "diff");
	assert_string_equal(nearest("lib"), "libs");
}

static void test_libraries(void **state)
{
	static const char *const names[] = {"libz.so.1", "liblzma.so.5", "libcrypto.so.3", "ld-linux-x86-64.so.2"};
	static const char *const pairs[][2] = {{"libzma", "liblzma.so.5"},
					       {"libcrpyto", "libcrypto.so.3"},
					       {"libz", "libz.so.1"},
					       {"libz.so.2", "libz.so.1"}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct sp_suggest s = {.word = pairs[i][0]};

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			sp_suggest_offer(&s, names[k]);
		assert_string_equal(s.best, pairs[i][1]);
	}
}

static void test_nothing_is_near(void **state)
{
	char word[4096];

	memset(word, 'p', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	assert_null(nearest("xyzzy"));
	assert_null(nearest(""));
	assert_null(nearest("p"));
	assert_null(nearest(word));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nearest),
	    cmocka_unit_test(test_libraries),
	    cmocka_unit_test(test_nothing_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
