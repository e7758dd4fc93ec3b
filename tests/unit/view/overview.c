/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The overview: golden files, and its widths: nothing is wider than the terminal, and a stack's frames are all there.
 */
#include "fixture.h"
#include "stacks.h"

#include "base/mem.h"
#include "profile/profile.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_overview;

enum { FRAMES = 40 };

static void equal_to_the_golden_files(void **state)
{
	fixture_golden("overview.txt", &sp_view_overview, &(struct sp_view_options){.value = 1});
	fixture_golden("overview-user.txt", &sp_view_overview,
		       &(struct sp_view_options){.value = 1, .user_only = true});
	fixture_golden("overview-colour.txt", &sp_view_overview, &(struct sp_view_options){.value = 1, .colour = true});
}

static size_t columns_of(const char *line, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += (line[i] & 0xc0) != 0x80;
	return n;
}

static void fits_the_terminal(void **state)
{
	struct sp_profile *p = fixture_profile();

	for (unsigned width = 80; width <= 160; width += 20) {
		char *text SP_FREE =
		    fixture_render(&sp_view_overview, p, &(struct sp_view_options){.value = 1, .width = width}, NULL);

		/* the packages of libraries stand last, and are shown whole */
		for (const char *at = strstr(text, "\n self %  function"); at && *at; at += strcspn(at, "\n") + 1)
			assert_true(columns_of(at, strcspn(at, "\n")) <= width);
	}
	sp_profile_free(p);
}

/* One thread in one stack of so many functions, f1 at the leaf. */
static struct sp_profile *one_stack(unsigned n)
{
	struct sp_profile *p = stacks_profile("samples", "count");
	char line[32 * FRAMES];
	size_t at = (size_t)snprintf(line, sizeof(line), "7\tdeep\t");

	for (; n; n--)
		at += (size_t)snprintf(line + at, sizeof(line) - at, "deep`f%u%s", n, n > 1 ? ";" : "\t");
	stacks_line(p, line);
	return p;
}

static void deep_stacks_lose_their_middle(void **state)
{
	static const struct {
		unsigned n;
		const char *says;
	} stacks[] = {{13, NULL}, {14, "f12 > [2 more] > f9 "}, {FRAMES, "f38 > [28 more] > f9 "}};

	for (size_t i = 0; i < SP_COUNT(stacks); i++) {
		struct sp_profile *p = one_stack(stacks[i].n);
		char *text SP_FREE =
		    fixture_render(&sp_view_overview, p, &(struct sp_view_options){.width = 200}, NULL);

		assert_non_null(strstr(text, "> f2 > f1 [deep]\n"));
		if (stacks[i].says)
			assert_non_null(strstr(text, stacks[i].says));
		else
			assert_null(strstr(text, " more]"));
		sp_profile_free(p);
	}
}

static void recursion_is_one_frame(void **state)
{
	struct sp_profile *p = stacks_profile("samples", "count");
	char line[32 * FRAMES], *text;
	size_t at = (size_t)snprintf(line, sizeof(line), "7\tdeep\tdeep`main");

	for (unsigned i = 0; i < FRAMES; i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, ";deep`visit");
	snprintf(line + at, sizeof(line) - at, ";libc`qsort;deep`visit;deep`leaf\t");
	stacks_line(p, line);
	text = fixture_render(&sp_view_overview, p, &(struct sp_view_options){.width = 200}, NULL);
	assert_non_null(strstr(text, "deep > main > visit [deep] (40 times) > qsort [libc] > visit > leaf [deep]\n"));
	free(text);
	sp_profile_free(p);
}

/* Of waits the functions and stacks are those outside of the kernel; the libraries are all. */
static void waits_are_shown_without_the_kernel(void **state)
{
	static const char *const values[] = {"offcpu", "wall", "locks", "cpu"};

	for (size_t i = 0; i < SP_COUNT(values); i++) {
		struct sp_profile *p = stacks_profile(values[i], "nanoseconds");
		char *text, *kernel;

		stacks_line(p, "9\tone\tprogram`main;libc`poll\t[kernel]`do_poll;[kernel]`schedule");
		text = fixture_render(&sp_view_overview, p, &(struct sp_view_options){.width = 100}, NULL);
		kernel = fixture_render(&sp_view_overview, p, &(struct sp_view_options){.kernel_only = true}, NULL);
		assert_non_null(strstr(text, " 100.00   100.00  [kernel]"));
		assert_true(!strstr(text, "100.00  poll [libc] <- main [program] (100 %)\n") ==
			    !strcmp(values[i], "cpu"));
		assert_true(!strstr(text, "one > main [program] > poll [libc]\n") == !strcmp(values[i], "cpu"));
		assert_true(!strstr(text, "schedule [kernel]") == !!strcmp(values[i], "cpu"));
		assert_non_null(strstr(kernel, "schedule [kernel]"));
		free(text);
		free(kernel);
		sp_profile_free(p);
	}
}

static void a_share_is_never_cut(void **state)
{
	struct sp_profile *p = stacks_profile("samples", "count");
	char *text;

	stacks_line(p, "7\tone\tlibsomething_of_a_long_name.so.1`a_caller_of_a_long_name;libanother_of_a_long_name.so."
		       "2`a_callee_of_"
		       "a_long_name\t");
	text = fixture_render(&sp_view_overview, p, &(struct sp_view_options){.width = 80}, NULL);
	assert_non_null(strstr(text, "a_callee_of_a_long_name [libanother_of_a_long_name.so.2] <- a_"));
	assert_non_null(strstr(text, "… (100 %)\n"));
	free(text);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files),          cmocka_unit_test(fits_the_terminal),
	    cmocka_unit_test(deep_stacks_lose_their_middle),      cmocka_unit_test(recursion_is_one_frame),
	    cmocka_unit_test(waits_are_shown_without_the_kernel), cmocka_unit_test(a_share_is_never_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
