/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary: golden files, its width, and that it agrees with the profile. */
#include "view/summary.h"

#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct sp_summary_count lost[] = {
    {"table of counts full", 3}, {"a sample inside a sample", 0}, {"no room for a new stack", 12}};
static const struct sp_summary_count unexpressed[] = {{"libmvec.so.1", 7},
						      {"libc.so.6", 0},
						      {"lib\n\x1b]0;x\x07.so", 1},
						      {"a", 1},
						      {"b", 1},
						      {"c", 1},
						      {"d", 1},
						      {"e", 2}};

static const struct sp_summary full = {
    .n_samples = 178,
    .lost = lost,
    .n_lost = SP_COUNT(lost),
    .unexpressed = unexpressed,
    .n_unexpressed = SP_COUNT(unexpressed),
    .user_ns = 1200000,
    .system_ns = 3400000,
    .bpf_ns = 560000,
    .memory_bytes = 18ULL << 20,
    .map_bytes = 7ULL << 20,
    .n_tables = 41,
    .n_evicted = 3,
    .n_libraries = 4,
};

static char *render(const struct sp_profile *p, const struct sp_summary *s)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(sp_summary_write(p, s, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void golden(const char *name, struct sp_summary s)
{
	struct sp_profile *p = fixture_profile();
	char *text SP_FREE = render(p, &s);

	if (!s.colour)
		fixture_harmless(text);
	fixture_compare(name, text);
	sp_profile_free(p);
}

static void everything(void **state)
{
	golden("summary.txt", full);
}

static void narrow_and_coloured(void **state)
{
	struct sp_summary s = full;

	s.width = 50;
	s.colour = true;
	golden("summary-narrow.txt", s);
}

static void nothing_told(void **state)
{
	golden("summary-bare.txt", (struct sp_summary){.bpf_time_unknown = true});
}

static void kernel_only(void **state)
{
	golden("summary-K.txt", (struct sp_summary){.kernel_only = true, .n_libraries = 100});
}

static void lines_fit(void **state)
{
	struct sp_profile *p = fixture_profile();
	struct sp_summary s = full;

	s.n_libraries = 3; /* the names of the others are longer than any line */
	for (s.width = 60; s.width <= 120; s.width += 7) {
		char *text SP_FREE = render(p, &s);
		const char *line = strstr(text, "\n\n") + 2, *end;

		for (; (end = strchr(line, '\n')); line = end + 1)
			if (!strstr(line, "libwith-a-very") || strstr(line, "libwith-a-very") > end)
				assert_in_range(end - line, 1, s.width);
	}
	sp_profile_free(p);
}

static void empty_profile(void **state)
{
	struct sp_summary s = {0};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	text = render(p, &s);
	assert_non_null(strstr(text, "samples     0 in 0 ns; lost 0\n"));
	assert_non_null(strstr(text, "complete 0 (0.00 %)"));
	sp_profile_free(p);
}

/* Of several costs the first has none: the libraries are those of the next. */
static void first_cost_is_none(void **state)
{
	struct sp_summary s = {.value = 1};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
	assert_true(sp_profile_add_value_type(p, "offcpu", "nanoseconds") >= 0);
	assert_int_equal(sp_profile_add(p, 0, 0, 0, (int64_t[]){1, 0, 5}), 0);
	text = render(p, &s);
	assert_non_null(strstr(text, "(% of offcpu)"));
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(everything),         cmocka_unit_test(narrow_and_coloured),
	    cmocka_unit_test(nothing_told),       cmocka_unit_test(kernel_only),
	    cmocka_unit_test(lines_fit),          cmocka_unit_test(empty_profile),
	    cmocka_unit_test(first_cost_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
