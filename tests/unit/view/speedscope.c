/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The speedscope view: golden files, and values below zero. hostile.py checks the form, tests/full the real reader:
 * `view-speedscope DIRECTORY` writes the fixture for it in every format that speedscope reads.
 */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <stdint.h>
#include <string.h>

extern const struct sp_view sp_view_speedscope;

static const struct {
	const char *name;
	struct sp_view_options o;
} goldens[] = {
    {"fixture.speedscope.json", {.title = "a \"title\""}},
    {"fixture-U.speedscope.json", {.user_only = true, .value = 1}},
    {"fixture-K.speedscope.json", {.kernel_only = true}},
};

static void equal_to_the_golden_files(void **state)
{
	for (size_t i = 0; i < SP_COUNT(goldens); i++)
		fixture_golden(goldens[i].name, &sp_view_speedscope, &goldens[i].o);
}

static void left_out_below_zero(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "change", "bytes") >= 0);
	for (int i = 0; i < 3; i++) {
		const char *names[] = {"less", "more", "even"};
		struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(p, names[i])};
		int64_t values[] = {i == 2 ? 0 : i ? 5 : -3};

		assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), 0, 0, values), 0);
	}
	text = fixture_render(&sp_view_speedscope, p, &o, NULL);
	assert_non_null(
	    strstr(text, "\"name\":\"change (stacks below zero left out: 1)\",\"unit\":\"bytes\",\"startValue\":0,"
			 "\"endValue\":5,\n\"samples\":[\n[0]],\n\"weights\":[5]}"));
	assert_non_null(strstr(text, "{\"name\":\"more\"}"));
	sp_profile_free(p);
}

/* A stack is there once in each slice of time, in their order; not where one slice takes away what another has. */
static void in_the_order_of_time(void **state)
{
	static const char *const wanted[] = {"\"samples\":[\n[0],\n[1],\n[0]],\n\"weights\":[2,3,4]}",
					     "\"samples\":[\n[0],\n[1]],\n\"weights\":[5,3]}"};
	struct sp_view_options o = {0};

	for (int taken = 0; taken < 2; taken++) {
		struct sp_profile *p;
		char *text SP_FREE = NULL;
		const struct {
			const char *name;
			uint32_t slice;
			int64_t value;
		} rows[] = {{"first", 3, 4}, {"second", 2, 3}, {"first", 1, 2}, {"first", 7, -1}};

		assert_int_equal(sp_profile_new(&p), 0);
		sp_profile_info(p)->slice_ns = 1000;
		assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
		for (int i = 0; i < 3 + taken; i++) {
			struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(p, rows[i].name),
					     .slice = rows[i].slice};
			int64_t number = sp_profile_add_key(p, &key);

			assert_int_equal(sp_profile_add(p, (uint32_t)number, 0, 0, &rows[i].value), 0);
		}
		text = fixture_render(&sp_view_speedscope, p, &o, NULL);
		assert_non_null(strstr(text, "{\"name\":\"first\"},\n{\"name\":\"second\"}"));
		assert_non_null(strstr(text, wanted[taken]));
		sp_profile_free(p);
	}
}

static void write_for_reader(const char *directory)
{
	const char *const views[] = {"speedscope", "pprof", "folded", "perf"};
	struct sp_profile *p = fixture_profile();
	struct sp_view_options o = {.title = "fixture"};

	for (size_t i = 0; i < SP_COUNT(views); i++) {
		const struct sp_view *view = sp_view_by_name(views[i]);
		char path[4096];
		FILE *out;

		snprintf(path, sizeof(path), "%s/fixture%s", directory, view->suffix);
		out = fopen(path, "we");
		assert_non_null(out);
		assert_int_equal(view->write(p, &o, out), 0);
		assert_int_equal(fclose(out), 0);
	}
	sp_profile_free(p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files),
	    cmocka_unit_test(left_out_below_zero),
	    cmocka_unit_test(in_the_order_of_time),
	};

	if (argc > 1) {
		write_for_reader(argv[1]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
