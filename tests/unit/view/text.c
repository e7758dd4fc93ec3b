/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text view: golden files for every option, and what they may not show. */
#include "fixture.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const struct sp_view sp_view_text, sp_view_folded;

static const struct {
	const char *name;
	struct sp_view_options o;
} goldens[] = {
    {"text.txt", {.ascending = true, .header = "Sampling at 99 Hertz of all threads by user + kernel stack.\n"}},
    {"text-descending.txt", {0}},
    {"text-d.txt", {.ascending = true, .delimiter = true}},
    {"text-a.txt", {.ascending = true, .annotate = true}},
    {"text-v.txt", {.ascending = true, .verbose = true, .delimiter = true}},
    {"text-A.txt", {.ascending = true, .addresses = true}},
    {"text-avA.txt", {.ascending = true, .addresses = true, .verbose = true, .annotate = true}},
    {"text-U.txt", {.ascending = true, .user_only = true, .delimiter = true}},
    {"text-K.txt", {.ascending = true, .kernel_only = true, .delimiter = true}},
    {"text-ns.txt", {.ascending = true, .value = 1}},
};

static void equal_to_the_golden_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(goldens); i++)
		fixture_golden(goldens[i].name, &sp_view_text, &goldens[i].o);
}

/* The counts of all blocks add up to the samples, whatever is shown of a stack. */
static void nothing_is_lost(void **state)
{
	struct sp_profile *p = fixture_profile();

	(void)state;
	for (size_t i = 1; i < SP_COUNT(goldens) - 1; i++) {
		char *text SP_FREE = fixture_render(&sp_view_text, p, &goldens[i].o, NULL);
		long sum = 0;

		for (const char *at = text; (at = strstr(at, "\n        ")); at++)
			sum += strtol(at + 1, NULL, 10);
		assert_int_equal(sum, FIXTURE_SAMPLES);
	}
	sp_profile_free(p);
}

static void without_v_no_extra_words(void **state)
{
	struct sp_view_options o = {.delimiter = true, .annotate = true, .addresses = true};
	struct sp_profile *p = fixture_profile();
	char *text SP_FREE = fixture_render(&sp_view_text, p, &o, NULL);

	(void)state;
	assert_null(strstr(text, "[cut:"));
	assert_null(strstr(text, "(guessed)"));
	sp_profile_free(p);
}

static void empty_profile(void **state)
{
	struct sp_view_options o = {.header = "Sampling"};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

	(void)state;
	assert_int_equal(sp_profile_new(&p), 0);
	text = fixture_render(&sp_view_text, p, &o, NULL);
	assert_string_equal(text, "Sampling\n");
	sp_profile_free(p);
}

/* The slices of a recording are keys of their own, of which nothing is to be seen. */
static void slices_are_one_block(void **state)
{
	const struct sp_view *const views[] = {&sp_view_text, &sp_view_folded};
	char *texts[2][SP_COUNT(views)];

	(void)state;
	for (int sliced = 0; sliced < 2; sliced++) {
		struct sp_profile *p = fixture_profile();
		struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(p, "sliced")};
		uint32_t stack = sp_profile_row(p, 0)->user;
		for (uint32_t slice = 1; slice <= 10; slice++) {
			int64_t one[] = {slice, FIXTURE_PERIOD_NS};
			key.slice = sliced ? slice : 0;
			int64_t number = sp_profile_add_key(p, &key);
			assert_int_equal(sp_profile_add(p, (uint32_t)number, stack, 0, one), 0);
		}
		for (size_t i = 0; i < SP_COUNT(views); i++)
			texts[sliced][i] = fixture_render(views[i], p, &(struct sp_view_options){0}, NULL);
		sp_profile_free(p);
	}
	for (size_t i = 0; i < SP_COUNT(views); i++) {
		assert_non_null(strstr(texts[0][i], "sliced"));
		assert_string_equal(texts[0][i], texts[1][i]);
		free(texts[0][i]);
		free(texts[1][i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files), cmocka_unit_test(nothing_is_lost),
	    cmocka_unit_test(without_v_no_extra_words),  cmocka_unit_test(empty_profile),
	    cmocka_unit_test(slices_are_one_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
