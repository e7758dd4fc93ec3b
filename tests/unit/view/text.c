/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text view: golden files for every option, and what they may not show. */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_text, sp_view_folded, sp_view_perf;

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
	for (size_t i = 0; i < SP_COUNT(goldens); i++)
		fixture_golden(goldens[i].name, &sp_view_text, &goldens[i].o);
}

/* The counts of all blocks add up to the samples, whatever is shown of a stack. */
static void nothing_is_lost(void **state)
{
	struct sp_profile *p = fixture_profile();

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

	assert_null(strstr(text, "[cut:"));
	assert_null(strstr(text, "(guessed)"));
	sp_profile_free(p);
}

static void empty_profile(void **state)
{
	struct sp_view_options o = {.header = "Sampling"};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

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

/* One stack of libz: frames of these functions, leaf first, the first without any. */
static struct sp_profile *profile_of(const struct sp_func *funcs, const char *const *names, uint32_t n)
{
	struct sp_profile *p;
	uint32_t frames[8];

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	struct sp_file file = {.kind = SP_FILE_ELF, .name = (uint32_t)sp_profile_add_string(p, "libz.so.1"), .tag = 1};
	uint32_t number = (uint32_t)sp_profile_add_file(p, &file);
	for (uint32_t i = 0; i < n; i++) {
		struct sp_frame frame = {.offset = 0x1234 + i, .file = number};
		struct sp_func func = funcs[i];
		func.file = number;
		func.name = (uint32_t)sp_profile_add_string(p, names[i]);
		frame.func = i ? (uint32_t)sp_profile_add_func(p, &func) : 0;
		frames[i] = (uint32_t)sp_profile_add_frame(p, &frame);
	}
	int64_t stack = sp_profile_add_stack(p, &(struct sp_stack){.n_frames = n, .frames = frames});
	int64_t key = sp_profile_add_key(p, &(struct sp_key){.comm = (uint32_t)sp_profile_add_string(p, "a")});
	assert_int_equal(sp_profile_add(p, (uint32_t)key, (uint32_t)stack, 0, (int64_t[SP_MAX_VALUES]){1}), 0);
	return p;
}

/* No offset is made up where nobody knows where a function begins; perf's readers get the same names back. */
static void without_a_start_no_offset(void **state)
{
	static const struct sp_func funcs[] = {
	    {0},
	    {0},
	    {.start = 0x1000, .size = 0x1000},
	    {.start = 0x1230},
	    {.start = 0x1200, .size = 0x80, .is_range = true},
	    {.start = 0x1239, .is_range = true},
	    {0},
	};
	static const char *const names[] = {
	    "", "inflate", "crc32", "adler32", "libz.so.1+0x1200", "libz.so.1+0x1239", "odd+0x7"};
	struct sp_view_options o = {.verbose = true};
	struct sp_profile *p = profile_of(funcs, names, SP_COUNT(funcs));
	char *text SP_FREE = fixture_render(&sp_view_text, p, &o, NULL);
	char *perf SP_FREE = fixture_render(&sp_view_perf, p, &o, NULL);

	assert_string_equal(text, "    libz.so.1+0x1234 [libz.so.1]\n"
				  "    inflate [libz.so.1+0x1235]\n"
				  "    crc32+0x236 [libz.so.1]\n"
				  "    adler32+0x7 [libz.so.1]\n"
				  "    libz.so.1+0x1200+0x38 [libz.so.1]\n"
				  "    libz.so.1+0x1239 [libz.so.1]\n"
				  "    odd+0x7 [libz.so.1+0x123a]\n"
				  "    -                a (0)\n        1\n\n");
	assert_non_null(strstr(perf, "1234 libz.so.1+0x1234+0x0 (libz.so.1)\n"));
	assert_non_null(strstr(perf, "1235 inflate (libz.so.1)\n"));
	assert_non_null(strstr(perf, "1236 crc32+0x236 (libz.so.1)\n"));
	assert_non_null(strstr(perf, "1239 libz.so.1+0x1239+0x0 (libz.so.1)\n"));
	assert_non_null(strstr(perf, "123a odd+0x7+0x0 (libz.so.1)\n"));
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files), cmocka_unit_test(nothing_is_lost),
	    cmocka_unit_test(without_v_no_extra_words),  cmocka_unit_test(empty_profile),
	    cmocka_unit_test(slices_are_one_block),      cmocka_unit_test(without_a_start_no_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
