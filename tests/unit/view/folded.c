/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folded view: golden files, and the rules by which flamegraph.pl reads a line. */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_folded;

static const struct {
	const char *name;
	struct sp_view_options o;
} goldens[] = {
    {"folded.txt", {.ascending = true}},
    {"folded-d.txt", {.ascending = true, .delimiter = true}},
    {"folded-da.txt", {.ascending = true, .delimiter = true, .annotate = true}},
    {"folded-U.txt", {.ascending = true, .user_only = true, .delimiter = true}},
    {"folded-K.txt", {.ascending = true, .kernel_only = true, .delimiter = true, .annotate = true}},
    {"folded-ns.txt", {.value = 1}},
    {"folded-two.txt", {.value = 0, .has_second = true, .second = 1}},
};

static void equal_to_the_golden_files(void **state)
{
	for (size_t i = 0; i < SP_COUNT(goldens); i++)
		fixture_golden(goldens[i].name, &sp_view_folded, &goldens[i].o);
}

struct reader {
	regex_t form; /* flamegraph.pl: /^(.*)\s+(\d+(?:\.\d*)?)$/, and once more for the count before it, if any */
	int64_t sum, old;
	unsigned int ignored, deepest;
};

static void read_old(struct reader *r, char *line, const regmatch_t *stack)
{
	regmatch_t at[3];

	line[stack->rm_eo] = 0;
	if (!regexec(&r->form, line, 3, at, 0))
		r->old += strtoll(line + at[2].rm_so, NULL, 10);
}

static void read_line(struct reader *r, char *line)
{
	regmatch_t at[3];
	unsigned int depth = 1;

	if (regexec(&r->form, line, 3, at, 0)) {
		r->ignored++;
		return;
	}
	r->sum += strtoll(line + at[2].rm_so, NULL, 10);
	read_old(r, line, &at[1]);
	for (regoff_t i = at[1].rm_so; i < at[1].rm_eo; i++)
		depth += line[i] == ';';
	r->deepest = SP_MAX(r->deepest, depth);
}

static void readable_by_the_rules_of_flamegraph(void **state)
{
	struct sp_profile *p = fixture_profile();

	for (size_t i = 0; i < SP_COUNT(goldens); i++) {
		char *text SP_FREE = fixture_render(&sp_view_folded, p, &goldens[i].o, NULL);
		struct reader r = {0};
		char *rest = text, *line;

		assert_int_equal(regcomp(&r.form, "^(.*)[ \t]+([0-9]+(\\.[0-9]*)?)$", REG_EXTENDED), 0);
		while (*rest && (line = strsep(&rest, "\n")))
			read_line(&r, line);
		regfree(&r.form);
		assert_int_equal(r.ignored, 0);
		assert_int_equal(r.old, goldens[i].o.has_second ? FIXTURE_SAMPLES * FIXTURE_PERIOD_NS : 0);
		assert_int_equal(r.sum, FIXTURE_SAMPLES * (goldens[i].o.value ? FIXTURE_PERIOD_NS : 1));
		/* comm, and the longest stack of the fixture: an unencoded `;` in a name would make one deeper */
		assert_int_equal(r.deepest, goldens[i].o.kernel_only ? 6 : goldens[i].o.user_only ? 8 : r.deepest);
	}
	sp_profile_free(p);
}

/* A stack that is only in one of two profiles has a line with a 0. */
static void both_counts(void **state)
{
	struct sp_view_options o = {.value = 1, .has_second = true};
	struct sp_profile *p;
	int64_t values[][SP_MAX_VALUES] = {{0, 7}, {9, 0}, {2, 2}, {0, 0}};

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "old", "count") >= 0 &&
		    sp_profile_add_value_type(p, "new", "count") >= 0);
	for (size_t i = 0; i < SP_COUNT(values); i++) {
		const char *names[] = {"new", "gone", "same", "nothing"};
		struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(p, names[i])};

		assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), 0, 0, values[i]), 0);
	}
	char *text SP_FREE = fixture_render(&sp_view_folded, p, &o, NULL);
	assert_string_equal(text, "new 0 7\nsame 2 2\ngone 9 0\n");
	sp_profile_free(p);
}

/* Two processes of one comm give one line: no line's stack appears twice. */
static void equal_lines_are_one(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p = fixture_profile();
	char *text SP_FREE = fixture_render(&sp_view_folded, p, &o, NULL);
	const char *stack = "openssl;_start;__libc_start_main;main;EVP_DigestUpdate;libcrypto.so.3+0x29eb40 ";
	const char *first = strstr(text, stack);

	assert_non_null(first);
	assert_int_equal(strtol(first + strlen(stack), NULL, 10), 86);
	assert_null(strstr(first + 1, stack));
	sp_profile_free(p);
}

static uint32_t add_frame_at_0(struct sp_profile *p, uint8_t kind, const char *name)
{
	struct sp_file file = {.kind = kind, .name = (uint32_t)sp_profile_add_string(p, name)};
	struct sp_frame frame = {.file = (uint32_t)sp_profile_add_file(p, &file)};

	return (uint32_t)sp_profile_add_frame(p, &frame);
}

/* Of the kernel no place is known where the store has kept none. */
static void nameless_kernel(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p;
	int64_t values[SP_MAX_VALUES] = {5};

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(p, "a")};
	uint32_t frames[] = {add_frame_at_0(p, SP_FILE_KERNEL, "[kernel]"), add_frame_at_0(p, SP_FILE_ELF, "b.so")};
	struct sp_stack stack = {.n_frames = 2, .frames = frames};

	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key),
					(uint32_t)sp_profile_add_stack(p, &stack), 0, values),
			 0);
	char *text SP_FREE = fixture_render(&sp_view_folded, p, &o, NULL);
	assert_string_equal(text, "a;b.so+0x0;[kernel] 5\n");
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files),
	    cmocka_unit_test(readable_by_the_rules_of_flamegraph),
	    cmocka_unit_test(both_counts),
	    cmocka_unit_test(equal_lines_are_one),
	    cmocka_unit_test(nameless_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
