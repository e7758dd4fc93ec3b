/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What keys do, without a terminal. */
#include "cmd/top/top_keys.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct sp_top_state s;

static int begin(void **state)
{
	s = (struct sp_top_state){.interval_ms = 2000, .n_rows = 100, .n_fit = 10};
	return 0;
}

static size_t cursor(void)
{
	return sp_top_level(&s)->cursor;
}
static size_t first(void)
{
	return sp_top_level(&s)->first;
}

static void test_cursor(void **state)
{
	int i;

	assert_int_equal(sp_top_key(&s, SP_KEY_UP), SP_TOP_DRAW);
	assert_int_equal(cursor(), 0);
	for (i = 0; i < 12; i++)
		sp_top_key(&s, i % 2 ? 'j' : SP_KEY_DOWN);
	assert_int_equal(cursor(), 12);
	assert_int_equal(first(), 3); /* the cursor is the last line that fits */
	sp_top_key(&s, SP_KEY_PAGE_DOWN);
	assert_int_equal(cursor(), 21);
	assert_int_equal(first(), 12);
	sp_top_key(&s, SP_KEY_END);
	assert_int_equal(cursor(), 99);
	assert_int_equal(first(), 90);
	sp_top_key(&s, SP_KEY_PAGE_DOWN);
	assert_int_equal(cursor(), 99);
	sp_top_key(&s, SP_KEY_PAGE_UP);
	assert_int_equal(cursor(), 90);
	sp_top_key(&s, SP_KEY_HOME);
	assert_int_equal(cursor() + first(), 0);
	s.n_rows = 0;
	sp_top_key(&s, SP_KEY_DOWN);
	assert_int_equal(cursor() + first(), 0);
}

/* Fewer rows, a lower terminal: the cursor stays in sight. */
static void test_scroll(void **state)
{
	sp_top_key(&s, SP_KEY_END);
	s.n_rows = 20;
	sp_top_scroll(&s);
	assert_int_equal(cursor(), 19);
	assert_int_equal(first(), 10);
	s.n_fit = 3;
	sp_top_scroll(&s);
	assert_int_equal(first(), 17);
	s.n_fit = 50;
	sp_top_scroll(&s);
	assert_int_equal(first(), 0);
	s.n_fit = 0;
	sp_top_scroll(&s);
	assert_int_equal(first(), 19);
}

static void test_sort_and_views(void **state)
{
	assert_int_equal(sp_top_key(&s, 't'), SP_TOP_DRAW | SP_TOP_BUILD);
	assert_int_equal(s.sort, SP_TOP_TOTAL);
	sp_top_key(&s, 'n');
	assert_int_equal(s.sort, SP_TOP_NAME);
	sp_top_key(&s, 's');
	assert_int_equal(s.sort, SP_TOP_SELF);
	assert_int_equal(sp_top_key(&s, '3'), SP_TOP_DRAW | SP_TOP_BUILD);
	assert_int_equal(sp_top_level(&s)->by, SP_TOTAL_BY_PROCESS);
	sp_top_key(&s, SP_KEY_BACK_TAB);
	assert_int_equal(sp_top_level(&s)->by, SP_TOTAL_BY_FUNCTION);
	sp_top_key(&s, SP_KEY_BACK_TAB);
	sp_top_key(&s, SP_KEY_BACK_TAB);
	assert_int_equal(sp_top_level(&s)->by, SP_TOTAL_BY_PACKAGE); /* round */
	sp_top_key(&s, SP_KEY_TAB);
	assert_int_equal(sp_top_level(&s)->by, SP_TOTAL_BY_LIBRARY);
	assert_int_equal(sp_top_key(&s, '9'), 0);
}

static void type(const char *text)
{
	for (; *text; text++)
		sp_top_key(&s, (unsigned char)*text);
}

static void test_filter(void **state)
{
	int i;

	sp_top_key(&s, SP_KEY_END);
	assert_int_equal(sp_top_key(&s, '/'), SP_TOP_DRAW);
	type("libq3"); /* letters and digits that would be keys */
	assert_string_equal(s.filter, "libq3");
	assert_int_equal(cursor(), 0);
	sp_top_key(&s, SP_KEY_BACK);
	sp_top_key(&s, 0xe4);
	sp_top_key(&s, 0x56fe);
	sp_top_key(&s, 0x1f600);
	assert_string_equal(s.filter, "libqä图😀");
	sp_top_key(&s, SP_KEY_BACK);
	sp_top_key(&s, SP_KEY_BACK);
	assert_string_equal(s.filter, "libqä");
	sp_top_key(&s, 7);
	sp_top_key(&s, 0xd800); /* no character */
	assert_string_equal(s.filter, "libqä");
	assert_int_equal(sp_top_key(&s, SP_KEY_ENTER), SP_TOP_DRAW);
	assert_false(s.is_editing);
	sp_top_key(&s, '/');
	type("x");
	sp_top_key(&s, SP_KEY_ESCAPE); /* as it was */
	assert_string_equal(s.filter, "libqä");
	sp_top_key(&s, '/');
	for (i = 0; i < 1000; i++)
		sp_top_key(&s, 0x1f600);
	assert_true(strlen(s.filter) < sizeof(s.filter));
	assert_int_equal((strlen(s.filter) - strlen("libqä")) % 4, 0); /* whole characters only */
	sp_top_key(&s, 'U' - '@');
	assert_string_equal(s.filter, "");
	sp_top_key(&s, SP_KEY_BACK);
	assert_string_equal(s.filter, "");
}

static void test_levels(void **state)
{
	char endless[SP_TOP_WORD + 1];

	assert_int_equal(sp_top_key(&s, SP_KEY_ESCAPE), 0);
	sp_top_key(&s, '6');
	sp_top_key(&s, SP_KEY_DOWN);
	assert_int_equal(sp_top_key(&s, SP_KEY_ENTER), SP_TOP_OPEN);
	assert_true(sp_top_push(&s, "1000", "1000")); /* a user: its libraries */
	assert_int_equal(s.level, 1);
	assert_false(sp_top_level(&s)->is_tree);
	assert_int_equal(sp_top_level(&s)->by, SP_TOTAL_BY_LIBRARY);
	assert_int_equal(sp_top_level(&s)->of, SP_TOTAL_BY_USER);
	assert_true(sp_top_push(&s, "libz.so.1\t00", "libz.so.1")); /* a library: its callers */
	assert_true(sp_top_level(&s)->is_tree);
	assert_int_equal(sp_top_key(&s, SP_KEY_ENTER), 0); /* leads nowhere */
	assert_false(sp_top_push(&s, "x", "x"));
	sp_top_key(&s, 'c');
	assert_true(sp_top_level(&s)->calls);
	sp_top_key(&s, 'c');
	assert_false(sp_top_level(&s)->calls);
	s.filter[0] = 'x';
	sp_top_key(&s, SP_KEY_ESCAPE); /* first the filter goes, then the level */
	assert_int_equal(s.level, 2);
	sp_top_key(&s, '2'); /* a table of the same user */
	assert_int_equal(s.level, 1);
	assert_int_equal(sp_top_level(&s)->by, SP_TOTAL_BY_FUNCTION);
	assert_int_equal(sp_top_key(&s, SP_KEY_LEFT), SP_TOP_DRAW | SP_TOP_BUILD);
	assert_int_equal(s.level, 0);
	assert_int_equal(cursor(), 1); /* where it was */
	memset(endless, 'x', sizeof(endless));
	endless[SP_TOP_WORD] = '\0';
	assert_false(sp_top_push(&s, endless, "too long to be known by"));
	while (!sp_top_level(&s)->is_tree && sp_top_push(&s, "y", "y"))
		sp_top_key(&s, '3');
	assert_in_range(s.level, 1, SP_TOP_MAX_LEVELS - 1);
	s.n_rows = 0;
	assert_int_equal(sp_top_key(&s, SP_KEY_ENTER), 0);
}

static void test_rest(void **state)
{
	sp_top_key(&s, '+');
	assert_int_equal(s.interval_ms, 3000);
	sp_top_key(&s, '-');
	sp_top_key(&s, '-');
	sp_top_key(&s, '-');
	assert_int_equal(s.interval_ms, 1000);
	s.interval_ms = 7000; /* as an option may say */
	sp_top_key(&s, '+');
	assert_int_equal(s.interval_ms, 10000);
	sp_top_key(&s, ' ');
	assert_true(s.is_paused);
	sp_top_key(&s, 'p');
	assert_false(s.is_paused);
	assert_int_equal(sp_top_key(&s, SP_KEY_RESIZE), SP_TOP_DRAW | SP_TOP_CLEAR);
	sp_top_key(&s, '?');
	assert_true(s.is_help);
	assert_int_equal(sp_top_key(&s, 't'), SP_TOP_DRAW); /* any key ends it, and does nothing else */
	assert_false(s.is_help);
	assert_int_equal(s.sort, SP_TOP_SELF);
	assert_int_equal(sp_top_key(&s, SP_KEY_SPECIAL), 0);
	assert_int_equal(sp_top_key(&s, 0x56fe), 0);
	assert_int_equal(sp_top_key(&s, 'q'), SP_TOP_QUIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_cursor, begin),         cmocka_unit_test_setup(test_scroll, begin),
	    cmocka_unit_test_setup(test_sort_and_views, begin), cmocka_unit_test_setup(test_filter, begin),
	    cmocka_unit_test_setup(test_levels, begin),         cmocka_unit_test_setup(test_rest, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
