/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/search.h"
#include "base/sum.h"
#include "store/write/dict_builder.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/format/pack.h"
#include "store/format/window.h"

#include "made.h"

/* Kinds of rows: each takes another path through the sort. */
struct kind {
	uint64_t n_who, n_nodes, first_most;
	int64_t factors[3]; /* factor of the other values; -1: random numbers */
	uint32_t n, n_values;
};
static const struct kind kinds[] = {
    {300, 1 << 21, 9, {52631579}, 4000, 2},                  /* as in windows */
    {5, 40, 9, {52631579, 0, 7}, 4000, 4},                   /* many equal */
    {1, 1, 9, {3}, 50, 2},                                   /* all equal */
    {1 << 18, 1 << 24, 1 << 22, {INT64_MAX >> 22}, 4000, 2}, /* the largest that fit into 8 bytes */
    {3, 5, 1 << 22, {INT64_MAX >> 22}, 4000, 2},             /* sums that overflow */
    {1 << 20, 100, 9, {2}, 4000, 2},
    {100, 1 << 26, 9, {2}, 4000, 2},
    {100, 100, 1 << 24, {2}, 4000, 2},
    {UINT32_MAX, UINT32_MAX, 9, {2}, 4000, 2},
    {10, 50, 9, {-1, 4, -1}, 4000, 4},
    {300, 1000, 9, {0}, 1, 1},
};

static int64_t any_number(uint64_t *seed)
{
	return (int64_t)(made_random(seed) << 32 ^ made_random(seed));
}

static struct sp_window_rows rows_of(const struct kind *k, uint64_t *seed)
{
	struct sp_window_rows r = {.n_values = k->n_values};

	assert_int_equal(sp_window_rows_reserve(&r, k->n), 0);
	for (r.n = 0; r.n < k->n; r.n++) {
		r.who[r.n] = (uint32_t)(made_random(seed) % k->n_who);
		r.node[r.n] = (uint32_t)(made_random(seed) % k->n_nodes);
		r.values[0][r.n] = (int64_t)(made_random(seed) % k->first_most) + (r.n == 0);
		for (uint32_t v = 1; v < k->n_values; v++)
			r.values[v][r.n] =
			    k->factors[v - 1] < 0 ? any_number(seed) : r.values[0][r.n] * k->factors[v - 1];
	}
	return r;
}

struct line {
	uint32_t who, node, at;
	int64_t values[SP_MAX_VALUES];
};

static int by_place(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return SP_RISING(x->who, y->who) ?: SP_RISING(x->node, y->node) ?: SP_RISING(x->at, y->at);
}

/* Sums in the order of the rows. */
static struct line *expected(const struct sp_window_rows *r, uint32_t *ret_n)
{
	struct line *lines = calloc(r->n, sizeof(*lines));
	uint32_t n = 0;

	assert_non_null(lines);
	for (uint32_t i = 0; i < r->n; i++) {
		lines[i] = (struct line){.who = r->who[i], .node = r->node[i], .at = i};
		for (uint32_t v = 0; v < r->n_values; v++)
			lines[i].values[v] = r->values[v][i];
	}
	qsort(lines, r->n, sizeof(*lines), by_place);
	for (uint32_t i = 0; i < r->n; i++) {
		if (n == 0 || lines[n - 1].who != lines[i].who || lines[n - 1].node != lines[i].node) {
			lines[n++] = lines[i];
			continue;
		}
		for (uint32_t v = 0; v < r->n_values; v++)
			sp_saturating_add(&lines[n - 1].values[v], lines[i].values[v]);
	}
	*ret_n = n;
	return lines;
}

static void are_lines(const struct sp_window_rows *r, const struct line *lines, uint32_t n)
{
	assert_int_equal(r->n, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(r->who[i], lines[i].who);
		assert_int_equal(r->node[i], lines[i].node);
		for (uint32_t v = 0; v < r->n_values; v++)
			assert_int_equal(r->values[v][i], lines[i].values[v]);
	}
}

static void test_rows_are_sorted_and_summed(void **state)
{
	uint64_t seed = 4711;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct sp_window_rows r = rows_of(&kinds[i], &seed);
		uint32_t n;
		struct line *lines = expected(&r, &n);
		assert_int_equal(sp_window_rows_sort(&r), 0);
		are_lines(&r, lines, n);
		free(lines);
		sp_window_rows_done(&r);
	}
}

static void test_no_rows_are_sorted(void **state)
{
	struct sp_window_rows r = {.n_values = 2};

	assert_int_equal(sp_window_rows_sort(&r), 0);
	assert_int_equal(r.n, 0);
	sp_window_rows_done(&r);
}

/* INT64_MIN is no multiple of -1: the quotient would overflow. */
static void test_the_smallest_number_is_no_multiple(void **state)
{
	int64_t first[] = {-1, -1}, second[] = {INT64_MIN, INT64_MIN}, factor;
	struct sp_window_rows r = {.n = 2, .n_values = 2, .values = {first, second}};

	assert_false(sp_window_rows_find_factor(&r, 1, &factor));
	second[0] = second[1] = -7;
	assert_true(sp_window_rows_find_factor(&r, 1, &factor));
	assert_int_equal(factor, 7);
}

/* Appends windows whose who is mapped to another. */
static void test_packed_rows_are_of_whom_they_are_said_to_be(void **state)
{
	struct sp_packed_rows packed = {0};
	struct sp_window_rows all = {0}, got = {0};
	uint64_t seed = 99;
	uint32_t who_of[300], n;

	for (uint32_t i = 0; i < 300; i++)
		who_of[i] = i * 7 % 40;
	all = rows_of(&(struct kind){300, 2000, 9, {52631579}, 9000, 2}, &seed);
	for (uint32_t from = 0; from < all.n; from += 3000) {
		struct sp_window_rows part = {.who = all.who + from, .node = all.node + from, .n = 3000, .n_values = 2};
		part.values[0] = all.values[0] + from;
		part.values[1] = all.values[1] + from;
		assert_int_equal(sp_packed_rows_add(&packed, &part, who_of), 0);
	}
	for (uint32_t i = 0; i < all.n; i++)
		all.who[i] = who_of[all.who[i]];
	struct line *lines = expected(&all, &n);
	assert_int_equal(sp_packed_rows_unpack(&packed, &got), 0);
	are_lines(&got, lines, n);
	free(lines);
	sp_window_rows_done(&all);
	sp_window_rows_done(&got);
	sp_packed_rows_done(&packed);
}

static void test_rows_that_do_not_fit_are_refused(void **state)
{
	struct sp_packed_rows packed = {0};
	uint64_t seed = 5;
	int64_t factor;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];
		struct sp_window_rows r = rows_of(k, &seed);
		bool fits = k->n_who <= 1 << 18 && k->n_nodes <= 1 << 24 && k->first_most <= 1 << 22;
		for (uint32_t v = 1; v < k->n_values; v++)
			fits &= k->factors[v - 1] >= 0 && sp_window_rows_find_factor(&r, v, &factor);
		assert_int_equal(sp_packed_rows_add(&packed, &r, NULL), fits ? 0 : -ERANGE);
		sp_window_rows_done(&r);
		sp_packed_rows_done(&packed);
	}
	/* another factor than before */
	struct sp_window_rows a = rows_of(&(struct kind){5, 5, 9, {2}, 10, 2}, &seed),
			      b = rows_of(&(struct kind){5, 5, 9, {3}, 10, 2}, &seed);
	assert_int_equal(sp_packed_rows_add(&packed, &a, NULL), 0);
	assert_int_equal(sp_packed_rows_add(&packed, &b, NULL), -ERANGE);
	assert_int_equal(packed.n, 10);
	sp_window_rows_done(&a);
	sp_window_rows_done(&b);
	sp_packed_rows_done(&packed);
}

/* A crafted record: rows without any data. */
static void test_rows_without_values_are_damaged(void **state)
{
	const struct sp_window_id id = {60000, 1};
	uint32_t zero = 0;
	struct sp_window_rows none = {.who = &zero, .node = &zero, .n = 1}, got = {0};
	struct sp_packer *p;
	const void *record;
	size_t len;

	assert_int_equal(sp_packer_new(&p), 0);
	assert_int_equal(sp_window_rows_pack(&none, id, p, &record, &len), 0);
	assert_int_equal(sp_window_rows_unpack(&got, id, record, len), -EBADMSG);
	assert_int_equal(got.n, 0);
	sp_window_rows_done(&got);
	sp_packer_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows_are_sorted_and_summed),
	    cmocka_unit_test(test_no_rows_are_sorted),
	    cmocka_unit_test(test_the_smallest_number_is_no_multiple),
	    cmocka_unit_test(test_packed_rows_are_of_whom_they_are_said_to_be),
	    cmocka_unit_test(test_rows_that_do_not_fit_are_refused),
	    cmocka_unit_test(test_rows_without_values_are_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
