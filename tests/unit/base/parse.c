/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parse.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct sample {
	const char *text;
	int r;
	uint64_t value;
};

static void numbers(void **state)
{
	static const struct sample samples[] = {
	    {"0", -ERANGE, 0},
	    {"1", 0, 1},
	    {"0100", 0, 100},
	    {"100", 0, 100},
	    {"101", -ERANGE, 0},
	    {"", -EINVAL, 0},
	    {"-1", -EINVAL, 0},
	    {"+1", -EINVAL, 0},
	    {" 1", -EINVAL, 0},
	    {"1 ", -EINVAL, 0},
	    {"1x", -EINVAL, 0},
	    {"0x1", -EINVAL, 0},
	    {"x", -EINVAL, 0},
	    {"1.0", -EINVAL, 0},
	    {"99999999999999999999999", -ERANGE, 0},
	    {"99999999999999999999999x", -EINVAL, 0},
	};

	for (size_t i = 0; i < SP_COUNT(samples); i++) {
		uint64_t v = 0;
		assert_int_equal(sp_parse_number(samples[i].text, 1, 100, &v), samples[i].r);
		assert_true(v == samples[i].value);
	}
	uint64_t v;
	assert_int_equal(sp_parse_number("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(sp_parse_number("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
}

static void durations(void **state)
{
	static const struct sample samples[] = {
	    {"10", 0, UINT64_C(10000000000)},
	    {"1.5", 0, 1500000000},
	    {"0.25s", 0, 250000000},
	    {"0.000000001", 0, 1},
	    {"250ms", 0, 250000000},
	    {"1.5us", 0, 1500},
	    {"7ns", 0, 7},
	    {"0.5ns", 0, 0},
	    {"2m", 0, UINT64_C(120000000000)},
	    {"1.5h", 0, UINT64_C(5400000000000)},
	    {"0.999999999d", 0, UINT64_C(86399999913600)},
	    {"1d", 0, UINT64_C(86400000000000)},
	    {"213503d", 0, UINT64_C(213503) * 86400 * 1000000000},
	    {"213504d", -ERANGE, 0},
	    {"18446744073.709551615", 0, UINT64_MAX},
	    {"18446744073.709551616", -ERANGE, 0},
	    {"1.0000000000", -EINVAL, 0},
	    {"1.", -EINVAL, 0},
	    {".5", -EINVAL, 0},
	    {"1w", -EINVAL, 0},
	    {"", -EINVAL, 0},
	    {"-1", -EINVAL, 0},
	    {"1e3", -EINVAL, 0},
	};

	for (size_t i = 0; i < SP_COUNT(samples); i++) {
		uint64_t v = 0;
		assert_int_equal(sp_parse_duration(samples[i].text, &v), samples[i].r);
		assert_true(v == samples[i].value);
	}
}

static void lists(void **state)
{
	static const uint32_t want[] = {0, 1, 2, 3, 5, 4, 4};
	SP_FREE uint32_t *got = NULL;
	SP_FREE uint32_t *none = NULL;
	size_t n;

	assert_int_equal(sp_parse_list("0-3,5,4-4,4", 5, 7, &got, &n), 0);
	assert_int_equal(n, SP_COUNT(want));
	assert_memory_equal(got, want, sizeof(want));
	assert_int_equal(sp_parse_list("", 5, 7, &none, &n), 0);
	assert_int_equal(n, 0);
}

static void lists_that_are_none(void **state)
{
	static const struct sample samples[] = {
	    {",", -EINVAL, 0},     {"1,", -EINVAL, 0},        {",1", -EINVAL, 0},
	    {"1,,2", -EINVAL, 0},  {"3-1", -EINVAL, 0},       {"1-", -EINVAL, 0},
	    {"-1", -EINVAL, 0},    {"1 2", -EINVAL, 0},       {"a", -EINVAL, 0},
	    {"1-2-3", -EINVAL, 0}, {"11", -ERANGE, 0},        {"0-11", -ERANGE, 0},
	    {"0-4", -ERANGE, 0},   {"1,2,3,4,5", -ERANGE, 0}, {"0-18446744073709551615", -ERANGE, 0},
	};

	for (size_t i = 0; i < SP_COUNT(samples); i++) {
		uint32_t *list = NULL;
		size_t n = 77;
		assert_int_equal(sp_parse_list(samples[i].text, 10, 4, &list, &n), samples[i].r);
		assert_null(list);
		assert_int_equal(n, 77);
	}
}

static void test_percent(void **state)
{
	const struct {
		const char *text, *line, *form; /* NULL: no such text */
	} all[] = {
	    {"", "", ""},
	    {"a%20b+c", "a b+c", "a b c"},
	    {"%41%7a%e2%82%AC", "Az\xe2\x82\xac", "Az\xe2\x82\xac"},
	    {"%2", NULL, NULL},
	    {"%", NULL, NULL},
	    {"%g0", NULL, NULL},
	    {"%0g", NULL, NULL},
	    {"%00", NULL, NULL},
	    {"100%25", "100%", "100%"},
	};

	for (size_t i = 0; i < SP_COUNT(all); i++)
		for (int form = 0; form < 2; form++) {
			const char *wanted = form ? all[i].form : all[i].line;
			char text[32];

			snprintf(text, sizeof(text), "%s", all[i].text);
			assert_int_equal(sp_percent_decode(text, form), wanted ? 0 : -EINVAL);
			if (wanted)
				assert_string_equal(text, wanted);
		}
	for (int c = -128; c < 128; c++) {
		const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

		assert_int_equal(sp_hex_digit((char)c), at ? at - digits : -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_percent),        cmocka_unit_test(numbers),
	    cmocka_unit_test(durations),           cmocka_unit_test(lists),
	    cmocka_unit_test(lists_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
