/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counted calls as gprof prints them: byte for byte what GNU gprof makes of our own gmon.out and its stub. */
#include "counted.h"
#include "fixture.h"

#include "base/error.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct sp_view sp_view_gprof, sp_view_gmon, sp_view_pairs;

static void put_file(const char *path, int (*write)(const struct sp_profile *, const struct sp_view_options *, FILE *),
		     const struct sp_profile *p, const struct sp_view_options *o)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	assert_int_equal(write(p, o, out), 0);
	assert_int_equal(fclose(out), 0);
}

/* What GNU gprof prints with these options; NULL if it is not installed. */
static char *gnu_gprof(const struct sp_profile *p, const struct sp_view_options *o, const char *options)
{
	char dir[] = "/tmp/soprof-gprof-XXXXXX", gmon[64], stub[64], *text = NULL;
	int r;

	assert_non_null(mkdtemp(dir));
	snprintf(gmon, sizeof(gmon), "%s/gmon.out", dir);
	snprintf(stub, sizeof(stub), "%s/stub", dir);
	put_file(gmon, sp_view_gmon.write, p, o);
	put_file(stub, sp_view_gmon.write_beside, p, o);
	r = fixture_run((char *[]){"gprof", (char *)(uintptr_t)options, stub, gmon, NULL}, NULL, &text);
	unlink(gmon);
	unlink(stub);
	rmdir(dir);
	if (r < 0) {
		free(text);
		return NULL;
	}
	if (r)
		fail_msg("gprof: exit code %d: %s", r, text);
	return text;
}

/* The flat profile is that of -b; the graph and the index have those outside, too, as with -z. */
static void same_as_gnu(const struct sp_profile *p, const struct sp_view_options *o)
{
	SP_FREE char *ours = fixture_render(&sp_view_gprof, p, o, NULL), *brief = gnu_gprof(p, o, "-b");
	SP_FREE char *whole = brief ? gnu_gprof(p, o, "-bz") : NULL;
	char *graph = strchr(ours, '\f'), *brief_graph, *whole_graph;

	if (!whole) {
		print_message("skip: no gprof\n");
		skip();
	}
	brief_graph = strchr(brief, '\f');
	whole_graph = strchr(whole, '\f');
	assert_non_null(graph);
	assert_non_null(brief_graph);
	assert_non_null(whole_graph);
	assert_string_equal(graph, whole_graph);
	*graph = *brief_graph = 0;
	assert_string_equal(ours, brief);
}

static void gnu_gprof_prints_the_same(void **state)
{
	for (int with_times = 0; with_times < 2; with_times++)
		for (int external = 0; external < 2; external++) {
			struct sp_profile *p = counted_profile(with_times);

			same_as_gnu(p, &(struct sp_view_options){.external = external});
			sp_profile_free(p);
		}
}

/*
 * Graphs with cycles in cycles, of a few libraries, some callers outside. Every function is called from there: GNU
 * gprof leaves out the entry of a cycle that nobody calls, where we have one.
 */
static struct sp_profile *random_graph(unsigned int seed)
{
	enum { FUNCTIONS = 40, LIBRARIES = 3, OUTSIDE = 6 };
	struct counted c = counted_new(seed % 3 != 0);
	uint32_t frames[FUNCTIONS + OUTSIDE], files[LIBRARIES + 1];
	char name[32];

	srandom(seed);
	for (int i = 0; i <= LIBRARIES; i++) {
		snprintf(name, sizeof(name), "lib%d.so", i);
		files[i] = counted_file(&c, name);
	}
	for (int i = 0; i < FUNCTIONS + OUTSIDE; i++) {
		snprintf(name, sizeof(name), "%sf%d", random() % 8 ? "" : "_", i);
		frames[i] = counted_frame(&c, files[i < FUNCTIONS ? random() % LIBRARIES : LIBRARIES], name,
					  0x2000 + 32 * (uint64_t)i + (uint64_t)(random() % 30));
	}
	for (int i = 0; i < FUNCTIONS; i++)
		counted_calls(&c, frames[FUNCTIONS + random() % OUTSIDE], frames[i], 1 + random() % 5000);
	for (int i = 0; i < FUNCTIONS * (1 + (int)seed % 3); i++) {
		int64_t calls = 1 + random() % 1000000007 * (i % 5 ? 1 : 1000);

		counted_calls(&c, frames[random() % (FUNCTIONS + OUTSIDE)], frames[random() % FUNCTIONS], calls);
		counted_time(&c, frames[random() % FUNCTIONS], 0, random() % 100000);
	}
	return c.p;
}

static void random_graphs_too(void **state)
{
	for (unsigned int seed = 1; seed <= 24; seed++) {
		struct sp_profile *p = random_graph(seed);

		same_as_gnu(p, &(struct sp_view_options){.external = seed % 4 == 0});
		sp_profile_free(p);
	}
}

static void a_whole_library_by_its_name(void **state)
{
	struct counted c = counted_new(false);
	uint32_t git = counted_file(&c, "git"), libz = counted_file(&c, "libz.so.1");
	uint32_t inflate = counted_frame(&c, libz, "inflate", 0x2000);
	SP_FREE char *text = NULL;

	counted_calls(&c, counted_frame(&c, git, "[git]", 0x9000), inflate, 7);
	counted_calls(&c, counted_frame(&c, libz, "[libz.so.1]", 0x9000), inflate, 2);
	counted_calls(&c, counted_frame(&c, git, "[gitk]", 0x9100), inflate, 1);
	text = fixture_render(&sp_view_pairs, c.p, &(struct sp_view_options){0}, NULL);
	assert_string_equal(text, "<git>                              inflate                                    7\n"
				  "<libz.so.1>                        inflate                                    2\n"
				  "git:[gitk]                         inflate                                    1\n");
	sp_profile_free(c.p);
}

/* 7 samples of 5,025,126 ns: gprof's tick is one of them, though the profile does not say how long they are. */
static void ticks_are_samples(void **state)
{
	struct sp_profile *p;
	struct counted c = {0};
	int64_t values[] = {3, 7, 7 * 5025126LL};
	SP_FREE char *text = NULL;
	uint32_t frame;
	int64_t stack;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "calls", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
	c.p = p;
	frame = counted_frame(&c, counted_file(&c, "libz.so.1"), "inflate", 0x2000);
	stack = sp_profile_add_stack(p, &(struct sp_stack){SP_CLASS_COMPLETE, 0, 1, &frame});
	assert_int_equal(sp_profile_add(p, 0, (uint32_t)stack, 0, values), 0);
	text = fixture_render(&sp_view_gprof, p, &(struct sp_view_options){0}, NULL);
	assert_non_null(strstr(text, "Each sample counts as 0.00502513 seconds.\n"));
	same_as_gnu(p, &(struct sp_view_options){0});
	sp_profile_free(p);
}

/* Numbers that only a damaged or hostile profile holds. */
static void absurd_numbers(void **state)
{
	struct counted c = counted_new(true);
	uint32_t file = counted_file(&c, "libz.so.1"), a, b;
	SP_FREE char *text = NULL;
	FILE *out = fopen("/dev/null", "we");

	a = counted_frame(&c, file, "a", UINT64_MAX);
	b = counted_frame(&c, file, "b", UINT64_MAX - 1);
	counted_calls(&c, a, b, INT64_MAX);
	counted_calls(&c, b, b, INT64_MAX);
	counted_calls(&c, 0, a, INT64_MIN);
	counted_time(&c, b, a, INT64_MAX / 10000000);
	text = fixture_render(&sp_view_gprof, c.p, &(struct sp_view_options){0}, NULL);
	assert_non_null(strstr(text, "9223372036854775807/9223372036854775807"));
	assert_int_equal(sp_view_gmon.write(c.p, &(struct sp_view_options){0}, out), -EFBIG);
	assert_int_equal(sp_view_gmon.write_beside(c.p, &(struct sp_view_options){0}, out), 0);
	fclose(out);
	sp_profile_free(c.p);
}

static void golden(const char *name, const struct sp_view *view, bool external)
{
	struct sp_profile *p = counted_profile(true);
	SP_FREE char *text = fixture_render(view, p, &(struct sp_view_options){.external = external}, NULL);

	for (char *at = text; (at = strpbrk(at, "\f\t"));) /* gprof's own, around its headings */
		*at = ' ';
	fixture_harmless(text);
	fixture_compare(name, text);
	sp_profile_free(p);
}

static void the_layouts(void **state)
{
	golden("gprof.txt", &sp_view_gprof, false);
	golden("gprof-external.txt", &sp_view_gprof, true);
	golden("pairs.txt", &sp_view_pairs, false);
	golden("pairs-external.txt", &sp_view_pairs, true);
}

static void billions_are_exact(void **state)
{
	struct sp_profile *p = counted_profile(false);
	SP_FREE char *text = fixture_render(&sp_view_gprof, p, &(struct sp_view_options){0}, NULL);

	assert_non_null(strstr(text, " 20000000024 "));
	assert_non_null(strstr(text, "20000000024/20000000024     git:cmd_main ["));
	sp_profile_free(p);
}

static void a_profile_without_calls_is_refused(void **state)
{
	const struct sp_view *const views[] = {&sp_view_gprof, &sp_view_gmon, &sp_view_pairs};
	struct sp_profile *p = fixture_profile();
	FILE *out = fopen("/dev/null", "we");

	for (size_t i = 0; i < SP_COUNT(views); i++) {
		assert_int_equal(views[i]->write(p, &(struct sp_view_options){0}, out), -ENODATA);
		assert_non_null(strstr(sp_error_text(-ENODATA), "no calls were counted in this profile"));
	}
	fclose(out);
	sp_profile_free(p);
}

/* Deep chains must not need a deep stack, and a cycle may be long. */
static void long_chains_and_long_cycles(void **state)
{
	enum { N = 50000 };
	struct counted c = counted_new(true);
	uint32_t file = counted_file(&c, "libdeep.so"), last = counted_frame(&c, file, "f0", 0x2000), first = last;
	char name[16];

	for (int i = 1; i < N; i++) {
		uint32_t next;

		snprintf(name, sizeof(name), "f%d", i);
		next = counted_frame(&c, file, name, 0x2000 + 16 * (uint64_t)i);
		counted_calls(&c, last, next, 1);
		last = next;
	}
	counted_time(&c, last, 0, 100);
	for (int cycle = 0; cycle < 2; cycle++) {
		SP_FREE char *text = fixture_render(&sp_view_gprof, c.p, &(struct sp_view_options){0}, NULL);

		assert_true(!strstr(text, "<cycle 1 as a whole>") == !cycle);
		assert_non_null(strstr(text, "[1]    100.0    "));
		counted_calls(&c, last, first, 1);
	}
	sp_profile_free(c.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gnu_gprof_prints_the_same),
	    cmocka_unit_test(the_layouts),
	    cmocka_unit_test(billions_are_exact),
	    cmocka_unit_test(a_profile_without_calls_is_refused),
	    cmocka_unit_test(long_chains_and_long_cycles),
	    cmocka_unit_test(random_graphs_too),
	    cmocka_unit_test(a_whole_library_by_its_name),
	    cmocka_unit_test(ticks_are_samples),
	    cmocka_unit_test(absurd_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
