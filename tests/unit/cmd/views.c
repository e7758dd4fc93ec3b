/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which views a command offers does not depend on their order: this table takes the place of the library's. */
#include "base/error.h"
#include "cmd/output.h"
#include "cmd/profile/profile_args.h"
#include "test.h"
#include "view/view.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

extern const struct sp_view sp_view_counts, sp_view_gmon, sp_view_svg, sp_view_text;
const struct sp_view *const sp_views[] = {&sp_view_counts, &sp_view_text, &sp_view_gmon, &sp_view_svg, NULL};

static int parse(const char *option, const char *value, struct sp_profile_args *ret_args)
{
	static char word[32]; /* is written to */
	char *argv[] = {word, (char *)value, NULL};

	snprintf(word, sizeof(word), "%s", option);
	sp_error_clear();
	return sp_profile_args_parse(2, argv, ret_args);
}

static void all_are_offered_but_those_of_calls(void **state)
{
	assert_non_null(sp_sample_view_choice(0));
	assert_string_equal(sp_sample_view_choice(0), "text");
	assert_non_null(sp_sample_view_choice(1));
	assert_string_equal(sp_sample_view_choice(1), "svg");
	assert_null(sp_sample_view_choice(2));
	assert_string_equal(sp_view_choice(0), "counts");
	assert_string_equal(sp_view_choice(3), "svg");
	assert_null(sp_view_choice(4));
}

static void the_one_that_was_named_is_taken(void **state)
{
	struct sp_profile_args a;

	assert_int_equal(parse("--format", "svg", &a), SP_PARSED);
	assert_ptr_equal(a.view, &sp_view_svg);
	sp_profile_args_done(&a);
	assert_int_equal(parse("--format", "text", &a), SP_PARSED);
	assert_ptr_equal(a.view, &sp_view_text);
	sp_profile_args_done(&a);
	assert_int_equal(parse("--output", "a.svg", &a), SP_PARSED);
	assert_ptr_equal(a.view, &sp_view_svg);
	sp_profile_args_done(&a);
	assert_int_equal(parse("--format", "gmon", &a), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), "--format: 'gmon' is none of text, svg");
	sp_profile_args_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_are_offered_but_those_of_calls),
	    cmocka_unit_test(the_one_that_was_named_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
