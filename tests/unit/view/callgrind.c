/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callgrind's format: golden files, and callgrind_annotate finds in it the totals that the table shows. */
#include "counted.h"
#include "fixture.h"

#include "base/mem.h"
#include "profile/totals.h"
#include "test.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct sp_view sp_view_callgrind;

static void the_layout(void **state)
{
	struct sp_profile *p = counted_profile(true);
	SP_FREE char *text = fixture_render(&sp_view_callgrind, p, &(struct sp_view_options){.title = "x"}, NULL);

	fixture_harmless(text);
	fixture_compare("callgrind-calls.txt", text);
	sp_profile_free(p);
	fixture_golden("callgrind.txt", &sp_view_callgrind, &(struct sp_view_options){.title = "a\nb"});
	fixture_golden("callgrind-U.txt", &sp_view_callgrind, &(struct sp_view_options){.user_only = true});
	fixture_golden("callgrind-K.txt", &sp_view_callgrind, &(struct sp_view_options){.kernel_only = true});
}

/* What callgrind_annotate prints; NULL if it is not installed. */
static char *annotate(const struct sp_profile *p, const char *inclusive, const char *shown)
{
	char path[] = "/tmp/soprof-callgrind-XXXXXX", show[64], sort[64], *text = NULL;
	int fd = mkstemp(path), r;
	FILE *out = fdopen(fd, "w");

	assert_non_null(out);
	assert_int_equal(sp_view_callgrind.write(p, &(struct sp_view_options){0}, out), 0);
	assert_int_equal(fclose(out), 0);
	snprintf(show, sizeof(show), "--show=%s", shown);
	snprintf(sort, sizeof(sort), "--sort=%s", shown);
	r = fixture_run((char *[]){"callgrind_annotate", (char *)(uintptr_t)inclusive, "--threshold=100", "--auto=no",
				   "--show-percs=no", show, sort, path, NULL},
			NULL, &text);
	unlink(path);
	if (r < 0) {
		free(text);
		return NULL;
	}
	if (r)
		fail_msg("callgrind_annotate: exit code %d: %s", r, text);
	return text;
}

/* The number in the line that ends in `name`, or in `name [OBJECT]`; -1 = there is none. Commas are taken out. */
static int64_t number_of(const char *text, const char *name)
{
	char wanted[256], line[1024];
	size_t n = (size_t)snprintf(wanted, sizeof(wanted), ":%s", name);

	for (const char *at = text; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n')) {
		const char *found;
		int64_t number = 0;

		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		found = strstr(line, wanted);
		if (!found || (found[n] && strncmp(found + n, " [", 2) != 0))
			continue;
		for (const char *c = line; *c && c < found && !(*c == ' ' && c[-(c > line)] != ' ' && number); c++)
			if (*c >= '0' && *c <= '9')
				number = number * 10 + *c - '0';
		return number;
	}
	return -1;
}

static void compare_totals(const struct sp_profile *p, uint32_t value, const char *event)
{
	SP_FREE char *self = annotate(p, "--inclusive=no", event);
	SP_FREE char *total = self ? annotate(p, "--inclusive=yes", event) : NULL;
	struct sp_totals totals;
	int n = 0;

	if (!total) {
		print_message("skip: no callgrind_annotate\n");
		skip();
	}
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_FUNCTION, value, &totals), 0);
	for (size_t i = 0; i < totals.n_rows; i++) {
		const char *name = sp_total_name(p, SP_TOTAL_BY_FUNCTION, &totals.rows[i]);

		if (!*name || totals.rows[i].none ||
		    strpbrk(name, "\x1b\xff \n[")) /* [anon]: it takes equal names for one function */
			continue;
		n++;
		if (totals.rows[i].self)
			assert_int_equal(number_of(self, name), totals.rows[i].self);
		if (value == 0 && !strcmp(event, "calls")) /* its total there is the calls to it */
			continue;
		/* what calls itself counts more than once there */
		assert_true(number_of(total, name) >= totals.rows[i].total);
		if (!strstr(name, "fib") && !strstr(name, "leaf") && !strstr(name, "each"))
			assert_int_equal(number_of(total, name), totals.rows[i].total);
	}
	assert_true(n >= 9);
	sp_totals_done(&totals);
}

static void annotate_finds_the_totals(void **state)
{
	struct sp_profile *p = fixture_profile();

	compare_totals(p, 0, "samples");
	compare_totals(p, 1, "cpu");
	sp_profile_free(p);
	p = counted_profile(true);
	compare_totals(p, 0, "calls");
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_layout),
	    cmocka_unit_test(annotate_finds_the_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
