/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sum that slides: of exactly the windows in the span, whatever the profile has beside them, renewed or not. */
#include "cmd/top/top_slide.h"
#include "profile/profile.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { N_WINDOWS = 12 };

/* A window's rows: those of the random profile whose number leaves this rest, times weight. */
static int64_t rows_add(struct sp_profile *p, const struct sp_profile *from, uint32_t rest, int64_t weight)
{
	int64_t sum = 0;
	uint32_t i;

	for (i = rest; i < sp_profile_n_rows(from); i += N_WINDOWS) {
		const struct sp_row *row = sp_profile_row(from, i);
		int64_t values[SP_MAX_VALUES] = {row->values[0] * weight, row->values[1] * weight};

		assert_int_equal(sp_profile_add(p, row->key, row->user, row->kernel, values), 0);
		sum += values[0];
	}
	return sum;
}

static int64_t sum_of(const struct sp_profile *p)
{
	int64_t sum = 0;
	uint32_t i;

	for (i = 0; i < sp_profile_n_rows(p); i++)
		sum += sp_profile_row(p, i)->values[0];
	return sum;
}

/* The same numbers everywhere: `live` is the random profile once more, without its rows. */
static struct sp_profile *live_new(unsigned seed)
{
	struct sp_profile *p = random_profile(seed);

	sp_profile_clear_rows(p);
	return p;
}

static void check_sum(const struct sp_slide *s, struct sp_profile *live, int64_t wanted)
{
	int64_t before = sum_of(live);
	struct sp_profile *sum;

	assert_int_equal(sp_slide_sum(s, live, &sum), 0);
	assert_int_equal(sum_of(sum), wanted);
	assert_int_equal(sum_of(live), before); /* what is in no window yet stays where it is */
	sp_profile_free(sum);
}

static void test_slides(void **state)
{
	struct sp_profile *from = random_profile(7), *live = live_new(7);
	struct sp_slide s = {.span_ns = 10};
	int64_t of[N_WINDOWS];
	uint32_t i;

	for (i = 0; i < N_WINDOWS; i++) {
		const struct sp_slide_time time = {.duration_ns = 4, .n_lost = i, .own_ns = 2};
		uint32_t k, first = i < 3 ? 0 : i - 2; /* three windows of 4 reach over 10 */
		int64_t wanted = 0;

		of[i] = rows_add(live, from, i, 1 + i);
		assert_int_equal(sp_slide_push(&s, live, &time), 0);
		assert_int_equal(sp_profile_n_rows(live), 0);
		for (k = first; k <= i; k++)
			wanted += of[k];
		assert_int_equal(s.sum.duration_ns, 4 * (i - first + 1));
		assert_int_equal(s.sum.own_ns, 2 * (i - first + 1));
		assert_int_equal(s.sum.n_lost, i < 3 ? i * (i + 1) / 2 : 3 * i - 3);
		check_sum(&s, live, wanted);
		rows_add(live, from, (i + 1) % N_WINDOWS, 100); /* sampled since: not in it */
		check_sum(&s, live, wanted);
		sp_profile_clear_rows(live);
	}
	sp_slide_done(&s);
	sp_profile_free(live);
	sp_profile_free(from);
}

/* One window longer than the span is the whole sum, and so it stays until the next. */
static void test_long_window(void **state)
{
	struct sp_profile *from = random_profile(3), *live = live_new(3);
	const struct sp_slide_time little = {.duration_ns = 1}, much = {.duration_ns = 50};
	struct sp_slide s = {.span_ns = 10};
	int64_t last;

	rows_add(live, from, 0, 1);
	assert_int_equal(sp_slide_push(&s, live, &little), 0);
	last = rows_add(live, from, 1, 1);
	assert_int_equal(sp_slide_push(&s, live, &much), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.sum.duration_ns, 50);
	check_sum(&s, live, last);
	sp_slide_done(&s);
	sp_profile_free(live);
	sp_profile_free(from);
}

/* Another profile, with other numbers, takes the place of the first: the windows of both are in the sum. */
static void test_settles(void **state)
{
	struct sp_profile *from = random_profile(5), *old = live_new(5), *other = random_profile(6),
			  *fresh = live_new(6);
	const struct sp_slide_time time = {.duration_ns = 4};
	struct sp_slide s = {.span_ns = 10};
	int64_t first, second, third, fourth;

	first = rows_add(old, from, 0, 1);
	assert_int_equal(sp_slide_push(&s, old, &time), 0);
	second = rows_add(old, from, 1, 1);
	assert_int_equal(sp_slide_push(&s, old, &time), 0);
	assert_int_equal(sp_slide_settle(&s, old), 0);
	sp_profile_free(old);
	check_sum(&s, fresh, first + second);
	third = rows_add(fresh, other, 2, 1);
	assert_int_equal(sp_slide_push(&s, fresh, &time), 0);
	check_sum(&s, fresh, first + second + third);
	fourth = rows_add(fresh, other, 3, 1);
	assert_int_equal(sp_slide_push(&s, fresh, &time), 0);
	check_sum(&s, fresh, second + third + fourth);
	sp_slide_done(&s);
	sp_profile_free(fresh);
	sp_profile_free(other);
	sp_profile_free(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_slides),
	    cmocka_unit_test(test_long_window),
	    cmocka_unit_test(test_settles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
