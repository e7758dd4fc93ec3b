/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demangled names equal c++filt's, for every exported name of real libraries; hostile ones are cut in time. */
#include "base/mem.h"
#include "symbol/names.h"
#include "symbol/priv.h"
#include "test.h"
#include "tool.h"
#include <stdint.h>
#include <string.h>
#include <time.h>

static void expect(const char *name, const char *expected)
{
	char *shown SP_FREE = sp_demangle(name);
	assert_non_null(shown);
	assert_string_equal(shown, expected);
}

static void test_known_names(void **state)
{
	expect("", "");
	expect("malloc", "malloc");
	expect("_start", "_start");
	expect("_Z", "_Z");
	expect("_Zfoo", "_Zfoo");
	expect("_R", "_R");
	expect("_ZNSs7_M_copyEPcPKcm", "std::string::_M_copy(char*, char const*, unsigned long)");
	expect("_Z3foov.part.0", "foo() [clone .part.0]");
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123", "core::fmt::Formatter::pad");
	expect("_RNvC6_123foo3bar", "123foo::bar");
	expect("_RINvNtC0std3mem8align_ofdE", "_RINvNtC0std3mem8align_ofdE");
	expect("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	expect("a name\nwith ; any\x1b bytes\xff", "a name\nwith ; any\x1b bytes\xff");
}

/* All names that a library exports, one a line, without versions. */
static FILE *exported_names(const char *path)
{
	return TOOL_RUN(NULL, "nm", "-D", "--defined-only", "--without-symbol-versions", "--format=just-symbols", path);
}

static void compare_library(const char *path)
{
	FILE *names SP_FCLOSE = exported_names(path);
	if (!names) {
		print_message("no %s here\n", path);
		return;
	}
	FILE *shown SP_FCLOSE = TOOL_RUN(names, "c++filt", "-i");
	char *name SP_FREE = NULL, *line SP_FREE = NULL;
	size_t name_size = 0, line_size = 0, n = 0;
	assert_non_null(shown);
	rewind(names);
	for (; getline(&name, &name_size, names) > 0; n++) {
		assert_true(getline(&line, &line_size, shown) > 0);
		name[strcspn(name, "\n")] = line[strcspn(line, "\n")] = 0;
		if (strlen(line) < SP_NAME_MAX)
			expect(name, line);
	}
	print_message("%s: %zu names\n", path, n);
	assert_true(n > 100);
}

static void test_libraries(void **state)
{
	compare_library("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	compare_library("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1");
	compare_library("/usr/lib/x86_64-linux-gnu/libicuuc.so.72");
}

/* f(A<int, int>, A<that, that>, A<that, that> ...): each parameter is twice as long as the one before. */
static void test_unfolding_is_cut(void **state)
{
	char name[1024] = "_Z1f1AIiiE";
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	for (size_t i = 0; i < sizeof(digits) - 1; i++) {
		size_t n = strlen(name);
		snprintf(name + n, sizeof(name) - n, "S_IS%c_S%c_E", digits[i], digits[i]);
	}
	clock_t before = clock();
	char *shown SP_FREE = sp_demangle(name);
	assert_non_null(shown);
	assert_int_equal(strlen(shown), SP_NAME_MAX - 1);
	assert_memory_equal(shown, "f(A<int, int>, A<A<int, int>, A<int, int> >", 43);
	assert_string_equal(shown + SP_NAME_MAX - 4, "...");
	assert_true(clock() - before < CLOCKS_PER_SEC);
}

static void test_long_names_are_cut(void **state)
{
	char *name SP_FREE = calloc(1, SP_LINKAGE_MAX + 2);
	memset(name, 'P', SP_LINKAGE_MAX + 1);
	memcpy(name, "_Z1f", 4);
	char *shown SP_FREE = sp_demangle(name);
	assert_int_equal(strlen(shown), SP_NAME_MAX - 1);
	assert_memory_equal(shown, "_Z1fPPPP", 8);
	assert_string_equal(shown + SP_NAME_MAX - 4, "...");
	name[SP_NAME_MAX - 1] = 0;
	char *whole SP_FREE = sp_name_cut(name);
	assert_string_equal(whole, name);
}

/* Libiberty refuses what would cost too much stack; the name stays as it is. */
static void test_deep_names(void **state)
{
	char *name SP_FREE = calloc(1, SP_LINKAGE_MAX + 1);
	memset(name, 'P', SP_LINKAGE_MAX - 1);
	memcpy(name, "_Z1f", 4);
	name[SP_LINKAGE_MAX - 1] = 'i';
	char *shown SP_FREE = sp_demangle(name);
	assert_int_equal(strlen(shown), SP_NAME_MAX - 1);
	memset(name, 0, SP_LINKAGE_MAX);
	memset(name, 'R', SP_LINKAGE_MAX - 1);
	memcpy(name, "_R", 2);
	char *rust SP_FREE = sp_demangle(name);
	assert_int_equal(strlen(rust), SP_NAME_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known_names),      cmocka_unit_test(test_libraries),
	    cmocka_unit_test(test_unfolding_is_cut), cmocka_unit_test(test_long_names_are_cut),
	    cmocka_unit_test(test_deep_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
