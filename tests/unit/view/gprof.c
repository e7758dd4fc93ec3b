/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counted calls as gprof prints them: byte for byte what GNU gprof makes of our own gmon.out and its stub. */
#include "counted.h"
#include "fixture.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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
	(void)state;
	for (int with_times = 0; with_times < 2; with_times++)
		for (int external = 0; external < 2; external++) {
			struct sp_profile *p = counted_profile(with_times);

			same_as_gnu(p, &(struct sp_view_options){.external = external});
			sp_profile_free(p);
		}
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
	(void)state;
	golden("gprof.txt", &sp_view_gprof, false);
	golden("gprof-external.txt", &sp_view_gprof, true);
	golden("pairs.txt", &sp_view_pairs, false);
	golden("pairs-external.txt", &sp_view_pairs, true);
}

static void billions_are_exact(void **state)
{
	struct sp_profile *p = counted_profile(false);
	SP_FREE char *text = fixture_render(&sp_view_gprof, p, &(struct sp_view_options){0}, NULL);

	(void)state;
	assert_non_null(strstr(text, " 20000000024 "));
	assert_non_null(strstr(text, "20000000024/20000000024     git:cmd_main ["));
	sp_profile_free(p);
}

static void a_profile_without_calls_is_refused(void **state)
{
	const struct sp_view *const views[] = {&sp_view_gprof, &sp_view_gmon, &sp_view_pairs};
	struct sp_profile *p = fixture_profile();
	FILE *out = fopen("/dev/null", "we");

	(void)state;
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

	(void)state;
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
	    cmocka_unit_test(gnu_gprof_prints_the_same),   cmocka_unit_test(the_layouts),
	    cmocka_unit_test(billions_are_exact),          cmocka_unit_test(a_profile_without_calls_is_refused),
	    cmocka_unit_test(long_chains_and_long_cycles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
