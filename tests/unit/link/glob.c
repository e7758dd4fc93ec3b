/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Globs of functions (audit/glob.c), which programs match without a libc, beside fnmatch(3). */
#include "audit/audit.h"
#include "test.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_TRIES = 2000000 / SP_FEWER, MAX_LEN = 8 };

static void make(char *text, const char *letters, unsigned *seed)
{
	size_t n = (size_t)rand_r(seed) % MAX_LEN, n_letters = strlen(letters);

	for (size_t i = 0; i < n; i++)
		text[i] = letters[(size_t)rand_r(seed) % n_letters];
	text[n] = '\0';
}

static void test_as_fnmatch(void **state)
{
	char glob[MAX_LEN], name[MAX_LEN];
	unsigned seed = 1, n_matches = 0;

	for (unsigned i = 0; i < N_TRIES; i++) {
		make(glob, "ab*?[]-!^\\c_", &seed);
		make(name, "abc_]-", &seed);
		bool wanted = fnmatch(glob, name, 0) == 0;
		if (sp_audit_glob_matches(glob, strlen(glob), name) != wanted)
			fail_msg("glob %s, name %s: fnmatch says %s", glob, name, wanted ? "yes" : "no");
		n_matches += wanted;
	}
	assert_true(n_matches > N_TRIES / 200);
}

static void test_list(void **state)
{
	assert_true(sp_globs_match("", "anything"));
	assert_true(sp_globs_match("str*,mem?py,[a-c]x", "memcpy"));
	assert_true(sp_globs_match("str*,mem?py,[a-c]x", "strlen"));
	assert_true(sp_globs_match("str*,mem?py,[a-c]x", "bx"));
	assert_false(sp_globs_match("str*,mem?py,[a-c]x", "memmove"));
	assert_false(sp_globs_match("str*,mem?py,[a-c]x", "dx"));
	assert_false(sp_globs_match("str", "strlen"));
	assert_true(sp_globs_match("a[b]c", "a[b]c")); /* a name means itself */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_fnmatch), cmocka_unit_test(test_list)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
