/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table as JSON: golden files, which tests/unit/view/hostile.py reads with a parser that is not ours. */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <stdint.h>
#include <string.h>

extern const struct sp_view sp_view_json;

static const struct {
	const char *name;
	struct sp_view_options o;
} goldens[] = {
    {"json-library.json", {.by = SP_TOTAL_BY_LIBRARY, .value = 1}},
    {"json-limit.json", {.by = SP_TOTAL_BY_LIBRARY, .limit = 3}},
    {"json-function.json", {.by = SP_TOTAL_BY_FUNCTION}},
    {"json-process.json", {.by = SP_TOTAL_BY_PROCESS}},
    {"json-caller.json", {.by = SP_TOTAL_BY_CALLER}},
    {"json-package.json", {.by = SP_TOTAL_BY_PACKAGE}},
};

static void equal_to_the_golden_files(void **state)
{
	for (size_t i = 0; i < SP_COUNT(goldens); i++)
		fixture_golden(goldens[i].name, &sp_view_json, &goldens[i].o);
}

static void empty_profile(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "a\"b", "count") >= 0);
	text = fixture_render(&sp_view_json, p, &o, NULL);
	assert_string_equal(text,
			    "{\"format\":\"soprof-table\",\"version\":1,\"by\":\"library\",\n"
			    "\"value\":{\"name\":\"a\\\"b\",\"unit\":\"count\"},\"value_types\":"
			    "[{\"name\":\"a\\\"b\",\"unit\":\"count\"}],\n\"total\":0,\"samples\":0,\n\"groups\":[],\n"
			    "\"left_out\":{\"groups\":0,\"self\":0,\"self_percent\":0.000000}}\n");
	sp_profile_free(p);
}

static void no_such_value(void **state)
{
	struct sp_view_options o = {.value = 7};
	struct sp_profile *p = fixture_profile();

	assert_true(sp_view_json.write(p, &o, stdout) < 0);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files),
	    cmocka_unit_test(empty_profile),
	    cmocka_unit_test(no_such_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
