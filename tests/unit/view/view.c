/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views are found by name and by the longest suffix of a path, and only so. */
#include "view/view.h"
#include "test.h"

#include <stdint.h>
#include <string.h>

static void every_view_is_found(void **state)
{
	for (size_t i = 0; sp_views[i]; i++) {
		char path[64];

		assert_ptr_equal(sp_view_by_name(sp_views[i]->name), sp_views[i]);
		snprintf(path, sizeof(path), "/tmp/a.b%s", sp_views[i]->suffix);
		assert_ptr_equal(sp_view_by_path(path), sp_views[i]);
		assert_true(strlen(sp_views[i]->summary) > 0 && strlen(sp_views[i]->summary) < 60);
		assert_non_null(sp_views[i]->mime);
	}
}

static void names_and_suffixes_are_unique(void **state)
{
	for (size_t i = 0; sp_views[i]; i++)
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(sp_views[i]->name, sp_views[j]->name);
			assert_string_not_equal(sp_views[i]->suffix, sp_views[j]->suffix);
		}
}

static void the_required_views_are_there(void **state)
{
	assert_string_equal(sp_view_by_path("x.folded")->name, "folded");
	assert_string_equal(sp_view_by_path("dir.svg/x.pb.gz")->name, "pprof");
	assert_string_equal(sp_view_by_path("x.txt")->name, "text");
	assert_non_null(sp_view_by_name("table"));
	assert_true(sp_view_by_name("pprof")->binary);
}

static void unknown_is_null(void **state)
{
	assert_null(sp_view_by_name("tex"));
	assert_null(sp_view_by_name(""));
	assert_null(sp_view_by_path("folded"));
	assert_null(sp_view_by_path("x.gz"));
	assert_null(sp_view_by_path(".folded"));
	assert_null(sp_view_by_path("/tmp/.pb.gz"));
	assert_null(sp_view_by_path(""));
}

static void a_second_file_has_a_name(void **state)
{
	for (size_t i = 0; sp_views[i]; i++)
		assert_true(!sp_views[i]->beside == !sp_views[i]->write_beside);
}

static void every_grouping_has_a_name(void **state)
{
	for (int i = 0; i < SP_N_TOTAL_BY; i++)
		assert_non_null(sp_view_groupings[i]);
	assert_string_equal(sp_view_groupings[SP_TOTAL_BY_LIBRARY], "library");
	assert_string_equal(sp_view_groupings[SP_TOTAL_BY_USER], "user");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_view_is_found),          cmocka_unit_test(names_and_suffixes_are_unique),
	    cmocka_unit_test(the_required_views_are_there), cmocka_unit_test(unknown_is_null),
	    cmocka_unit_test(every_grouping_has_a_name),    cmocka_unit_test(a_second_file_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
