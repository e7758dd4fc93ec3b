/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions have no return probe: those of some names, in a file that is made for it (returns.s) and in the C
 * library; those that call others, in files of languages with exceptions. That it breaks these, and no others, is shown
 * by running them: tests/cmd/probe_pairs.sh.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/find.h"
#include "probe/point.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNIT SP_BUILD_ROOT "/tests/unit/probe/"
#define VICTIMS SP_VICTIMS "/"

static void points(const char *path, bool return_probe, const char *glob, struct sp_probe_set *ret_set)
{
	struct sp_probe_what what = {
	    .globs = &glob, .n_globs = glob != NULL, .inner = true, .returns = true, .return_probe = return_probe};
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sp_elf *e;
	int r;

	assert_true(fd >= 0);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	r = sp_probe_points(e, &what, ret_set);
	sp_elf_close(e);
	if (r < 0)
		fail_msg("%s: %s", path, sp_error_text(r));
}

static bool is_probed(const struct sp_probe_set *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < s->points[i].n_names; k++)
			if (!strcmp(s->points[i].names[k], name))
				return true;
	return false;
}

static void expect_probed(const struct sp_probe_set *s, const char *const *names, bool want)
{
	for (size_t i = 0; names[i]; i++)
		if (is_probed(s, names[i]) != want)
			fail_msg("%s: %s", names[i], want ? "refused" : "not refused");
}

static const char *const astray[] = {
    "_setjmp",  "swapcontext",         "vfork",     "dlsym",     "backtrace", "qsort", "pthread_exit",
    "unw_step", "_dl_runtime_resolve", "sigsetjmp", "two_names", NULL};
static const char *const harmless[] = {"leaf", "setjmp_count", "my_dlsym", "dlerror", "qsorted", NULL};
static const char *const calling[] = {"calls", NULL};

static void names_are_refused(void **state)
{
	struct sp_probe_set entries, returns;

	points(UNIT "returns.so", false, NULL, &entries);
	points(UNIT "returns.so", true, NULL, &returns);
	expect_probed(&entries, astray, true);
	expect_probed(&entries, harmless, true);
	expect_probed(&returns, astray, false);
	expect_probed(&returns, harmless, true);
	expect_probed(&returns, calling, true);                                   /* there are no exceptions here */
	assert_int_equal(returns.refused[SP_PROBE_ASTRAY], SP_COUNT(astray) - 2); /* two names of one function */
	assert_int_equal(returns.refused[SP_PROBE_UNWOUND], 0);
	assert_int_equal(entries.n, returns.n + returns.refused[SP_PROBE_ASTRAY]);
	sp_probe_set_done(&entries);
	sp_probe_set_done(&returns);
}

static void only_astray(const char *name)
{
	struct sp_probe_what what = {.globs = &name, .n_globs = 1, .returns = true, .return_probe = true};
	SP_CLOSE int fd = open(UNIT "returns.so", O_RDONLY | O_CLOEXEC);
	struct sp_probe_set s;
	struct sp_elf *e;
	int r;

	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	r = sp_probe_points(e, &what, &s);
	sp_elf_close(e);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(sp_error_text(r), sp_probe_refusal_text(SP_PROBE_ASTRAY)));
	sp_error_clear();
}

static void one_alone_tells_why(void **state)
{
	only_astray("_setjmp");
	only_astray("two_names");
}

/* What calls nothing cannot be left by an exception. */
static void where_there_are_exceptions(void **state)
{
	static const char *const files[] = {UNIT "returns-throws.so", UNIT "returns-table"};
	struct sp_probe_set entries, returns;

	for (size_t i = 0; i < SP_COUNT(files); i++) {
		points(files[i], false, NULL, &entries);
		points(files[i], true, NULL, &returns);
		expect_probed(&entries, calling, true);
		expect_probed(&returns, calling, false);
		expect_probed(&returns, harmless, true);
		expect_probed(&returns, astray, false);
		assert_true(returns.refused[SP_PROBE_UNWOUND] >= 1);
		sp_probe_set_done(&entries);
		sp_probe_set_done(&returns);
	}
}

/* Programs and libraries that compilers made: of C, C++ and Rust. */
static void real_files(void **state)
{
	static const struct {
		const char *path;
		bool unwinds;
	} files[] = {{VICTIMS "plain/recursion", false},
		     {VICTIMS "plain/exception", true},
		     {VICTIMS "stripped/exception", true},
		     {VICTIMS "plain/cxx", true}};
	SP_FREE char *libc = sp_probe_find("libc.so.6"), *cxx = sp_probe_find("libstdc++.so.6");
	struct sp_probe_set s;

	for (size_t i = 0; i < SP_COUNT(files); i++) {
		points(files[i].path, true, NULL, &s);
		if ((s.refused[SP_PROBE_UNWOUND] > 0) != files[i].unwinds)
			fail_msg("%s: %zu functions are refused", files[i].path, s.refused[SP_PROBE_UNWOUND]);
		sp_probe_set_done(&s);
	}
	assert_non_null(libc);
	points(libc, true, NULL, &s);
	assert_true(s.refused[SP_PROBE_ASTRAY] > 10);
	assert_false(is_probed(&s, "_setjmp") || is_probed(&s, "swapcontext") || is_probed(&s, "qsort"));
	sp_probe_set_done(&s);
	if (!cxx)
		return;
	points(cxx, true, NULL, &s);
	assert_true(s.refused[SP_PROBE_UNWOUND] > 100);
	sp_probe_set_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_refused),
	    cmocka_unit_test(one_alone_tells_why),
	    cmocka_unit_test(where_there_are_exceptions),
	    cmocka_unit_test(real_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
