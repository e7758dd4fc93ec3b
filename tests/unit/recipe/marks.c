/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the places of a mark's arguments are numbered, and that no user takes others' room for them. */
#include "recipe/marks.h"

#include "base/error.h"
#include "base/mem.h"
#include "event/mark.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = SP_MARKS, N_FILES = 32 };

static struct sp_recipe_probe probe;
static struct sp_probe_file files[N_FILES];
static struct places places[N_FILES];
static struct sp_usdt at[N_FILES][MOST];
static char texts[N_FILES][MOST][32];
static long next;

/* A file that the user maps, with so many places, whose arguments are at addresses from `first` on. */
static int file_come(uint64_t user, long first, size_t n)
{
	size_t i = probe.files.n;

	assert_true(i < N_FILES && n <= MOST);
	files[i].user = user;
	for (size_t k = 0; k < n; k++) {
		snprintf(texts[i][k], sizeof(texts[i][k]), "8@%ld(%%rbp)", first + 8 * (long)k);
		at[i][k] = (struct sp_usdt){.provider = "made", .name = "mark", .arguments = texts[i][k]};
	}
	places[i].marks = (struct sp_usdts){.at = at[i], .n = n};
	probe.files.n++;
	return sp_recipe_marks_number(&probe, i);
}

static int more_come(uint64_t user, size_t n)
{
	long first = next;

	next += 8 * (long)n;
	return file_come(user, first, n);
}

static int begin(void **state)
{
	(void)state;
	probe = (struct sp_recipe_probe){.wanted = 1, .front = -1, .files.files = files, .places = places};
	next = 0;
	return 0;
}

static int finish(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_FILES; i++)
		free(places[i].cookies);
	memset(places, 0, sizeof(places));
	sp_intern_free(probe.marks);
	free(probe.mark_users);
	sp_error_clear();
	return 0;
}

static void numbers(void **state)
{
	(void)state;
	assert_int_equal(file_come(0, 0, 3), 0);
	assert_int_equal(file_come(1000, 8, 3), 0); /* two of the first's, and one more */
	assert_int_equal(sp_intern_count(probe.marks), 4);
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(places[0].cookies[k], k);
		assert_int_equal(places[1].cookies[k], k + 1);
	}
	assert_int_equal(probe.mark_users[2], 0);
	assert_int_equal(probe.mark_users[3], 1000);
}

static void one_user(void **state)
{
	(void)state;
	assert_int_equal(more_come(1000, MOST / 2), 0);
	assert_int_equal(more_come(1000, 1), -E2BIG);
	assert_non_null(strstr(sp_error_text(-E2BIG), "512 different places that one user"));
	assert_int_equal(file_come(1000, 0, 9), 0); /* what he has */
	assert_int_equal(more_come(1001, MOST / 4), 0);
	assert_int_equal(more_come(1001, 1), -E2BIG);
	assert_int_equal(more_come(0, MOST / 4), 0); /* root has no share */
	assert_int_equal(more_come(0, 1), -E2BIG);
	assert_non_null(strstr(sp_error_text(-E2BIG), "more than 1024 different places"));
}

static void many_users(void **state)
{
	(void)state;
	for (uint64_t user = 1; user < N_FILES; user++)
		more_come(user, MOST);
	assert_int_equal(sp_intern_count(probe.marks), MOST - 1);
	assert_int_equal(more_come(0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(numbers, begin, finish),
	    cmocka_unit_test_setup_teardown(one_user, begin, finish),
	    cmocka_unit_test_setup_teardown(many_users, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
