/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has many long names of functions gets them cut, and nobody else. */
#include "naming/name_share.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALICE = 12345, BOB, LONG = 512, SHARE = 100 * (LONG - SP_NAME_CUT) };

/* The length of the name that a function of the user is left with; they differ at their ends. */
static size_t take(struct sp_name_share *s, uint32_t uid, size_t len, unsigned number, char ret_name[LONG + 1])
{
	struct sp_name name = {.name = malloc(len + 1)};

	assert_non_null(name.name);
	memset(name.name, 'n', len);
	snprintf(name.name + len - 4, 5, "%04u", number % 10000);
	sp_name_share_take(s, uid, &name, 1);
	snprintf(ret_name, LONG + 1, "%s", name.name);
	sp_names_done(&name, 1);
	return strlen(ret_name);
}

static void those_above_are_cut(void **state)
{
	struct sp_name_share s = {.bytes = SHARE};
	char one[LONG + 1], other[LONG + 1];

	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(take(&s, ALICE, SP_NAME_CUT, i, one), SP_NAME_CUT); /* free */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(take(&s, ALICE, LONG, i, one), LONG);
	assert_int_equal(s.n_cut, 0);
	assert_int_equal(take(&s, ALICE, LONG, 100, one), SP_NAME_CUT);
	assert_int_equal(take(&s, ALICE, LONG, 101, other), SP_NAME_CUT);
	assert_non_null(strstr(one, "nnn...#"));
	assert_string_not_equal(one, other);
	assert_int_equal(take(&s, BOB, LONG, 1, one), LONG);
	assert_int_equal(s.n_cut, 2);
	assert_int_equal(s.n_cut_users, 1);
	assert_int_equal(s.last_uid, ALICE);
}

static void a_fresh_profile_has_whole_shares(void **state)
{
	struct sp_name_share s = {.bytes = SHARE};
	char name[LONG + 1];

	for (unsigned round = 1; round <= 3; round++) {
		for (unsigned i = 0; i < 100; i++)
			assert_int_equal(take(&s, ALICE, LONG, i, name), LONG);
		assert_int_equal(take(&s, ALICE, LONG, 100, name), SP_NAME_CUT);
		assert_int_equal(s.n_cut, round);
		assert_int_equal(s.n_cut_users, 1);
		take(&s, BOB, LONG, 1, name);
		sp_name_share_renew(&s);
		assert_int_equal(s.n, 1); /* BOB is forgotten */
	}
}

/* However many numbers an attacker has, what all of them may take is bounded. */
static void many_users(void **state)
{
	struct sp_name_share s = {.bytes = LONG};
	char name[LONG + 1];
	size_t bytes = 0;

	for (unsigned i = 0; i < 10000; i++)
		bytes += take(&s, i, LONG, i, name) - SP_NAME_CUT;
	assert_true(bytes <= SP_NAME_SHARE_USERS * s.bytes);
	assert_true(bytes >= (SP_NAME_SHARE_USERS - 1) * (LONG - SP_NAME_CUT));
	assert_int_equal(s.n_cut_users, 1);
}

static void no_limit(void **state)
{
	struct sp_name_share s = {0};
	char name[LONG + 1];

	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(take(&s, ALICE, LONG, i, name), LONG);
	assert_int_equal(s.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(those_above_are_cut),
	    cmocka_unit_test(a_fresh_profile_has_whole_shares),
	    cmocka_unit_test(many_users),
	    cmocka_unit_test(no_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
