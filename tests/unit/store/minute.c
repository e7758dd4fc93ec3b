/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rollup/minute.h"
#include "profile/window.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "made.h"

enum { N_WINDOWS = 6, FIRST_MS = 3 * 60000 };

static const struct made many = {
    .seed = 77, .n_files = 40, .n_funcs = 300, .n_stacks = 900, .n_keys = 30, .n_rows = 1500, .n_values = 2};

static struct sp_profile *profile_of(const struct made *m, uint64_t *seed)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	*seed = m->seed;
	made_things(p, m, seed);
	return p;
}

static void append(struct sp_window_rows *all, const struct sp_window_rows *rows)
{
	all->n_values = rows->n_values;
	assert_int_equal(sp_window_rows_reserve(all, (size_t)all->n + rows->n), 0);
	memcpy(all->who + all->n, rows->who, rows->n * sizeof(*rows->who));
	memcpy(all->node + all->n, rows->node, rows->n * sizeof(*rows->node));
	for (uint32_t v = 0; v < rows->n_values; v++)
		memcpy(all->values[v] + all->n, rows->values[v], rows->n * sizeof(**rows->values));
	all->n += rows->n;
}

static void same_sums(const struct sp_sums *a, const struct sp_sums *b)
{
	assert_true(a->n > 2);
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->n_values, b->n_values);
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->accounts[i].file, b->accounts[i].file);
		assert_int_equal(a->accounts[i].func, 0);
		assert_int_equal(b->accounts[i].func, 0);
		assert_memory_equal(sp_sums_at(a, i), sp_sums_at(b, i), 2 * a->n_values * sizeof(int64_t));
	}
}

/* A row whose second value is no multiple of the first. */
static void add_smallest(struct sp_profile *p)
{
	assert_int_equal(sp_profile_add(p, 1, 1, 0, (int64_t[]){-1, INT64_MIN}), 0);
}

/* Adds two rows, for which a sum of the second value overflows: in a minute, or in each window. */
static void add_large(struct sp_profile *p, int64_t value)
{
	for (uint32_t stack = 1; stack <= 2 && value > 0; stack++)
		assert_int_equal(sp_profile_add(p, 1, stack, 0, (int64_t[]){value, value * 52631578, -5, value}), 0);
}

/* Sums added up window by window equal those made on the tree from all rows. */
static void test_a_minute_is_what_the_tree_says(void **state)
{
	static const int64_t large[] = {0, INT64_C(1) << 36, INT64_C(1) << 37};

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct made m = many;
		uint64_t draw;
		m.seed = seed * 101;
		m.n_values = seed % 2 == 0 ? 2 : 4;
		struct sp_profile *p = profile_of(&m, &draw);
		struct sp_dict_builder *n;
		struct sp_window_rows rows = {0}, all = {0};
		struct sp_minute minute = {0};
		struct sp_sums by_tree = {0}, as_they_came = {0};

		assert_int_equal(sp_dict_builder_new(&n), 0);
		for (size_t w = 0; w < N_WINDOWS; w++) {
			sp_profile_clear_rows(p);
			made_rows(p, &m, &draw);
			add_large(p, large[seed % 3]);
			assert_int_equal(sp_dict_builder_add_rows(n, p, &rows), 0);
			append(&all, &rows);
			assert_int_equal(sp_minute_add(&minute, FIRST_MS + w * 10000, n, p), 0);
		}
		struct sp_dict_view view = sp_dict_builder_view(n);
		assert_int_equal(sp_sums_of_rows(&all, &view, SP_SUMS_LIBRARIES, &by_tree), 0);
		assert_int_equal(sp_minute_sums(&minute, FIRST_MS, N_WINDOWS, &as_they_came), 0);
		same_sums(&by_tree, &as_they_came);
		sp_sums_done(&by_tree);
		sp_sums_done(&as_they_came);
		sp_window_rows_done(&rows);
		sp_window_rows_done(&all);
		sp_minute_done(&minute);
		sp_dict_builder_free(n);
		sp_profile_free(p);
	}
}

static void same_rows(const struct sp_window_rows *a, const struct sp_window_rows *b)
{
	assert_true(a->n > 100);
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->n_values, b->n_values);
	assert_memory_equal(a->who, b->who, a->n * sizeof(*a->who));
	assert_memory_equal(a->node, b->node, a->n * sizeof(*a->node));
	for (uint32_t v = 0; v < a->n_values; v++)
		assert_memory_equal(a->values[v], b->values[v], a->n * sizeof(**a->values));
}

/* Rows collected in memory equal all windows sorted together, by group; repeatedly. */
static void test_a_minute_has_the_rows_of_its_windows(void **state)
{
	uint64_t draw;
	struct sp_profile *p = profile_of(&many, &draw);
	struct sp_window_rows rows = {0}, all = {0}, got = {0};
	struct sp_minute minute = {0};
	struct sp_dict_builder *n;
	struct sp_head head;
	uint64_t sum_ms = 0;

	assert_int_equal(sp_dict_builder_new(&n), 0);
	for (size_t w = 0; w < N_WINDOWS; w++) {
		uint64_t t_ms = FIRST_MS + w * 10000;
		struct sp_head h = {.wall_ns = t_ms * 1000000, .length_ns = 7, .n_lost = w, .last_chunk = w + 5};
		sp_profile_clear_rows(p);
		made_rows(p, &many, &draw);
		assert_int_equal(sp_dict_builder_add_rows(n, p, &rows), 0);
		append(&all, &rows);
		assert_int_equal(sp_minute_add(&minute, t_ms, n, p), 0);
		const uint32_t *group_of = sp_dict_builder_view(n).group_of;
		assert_int_equal(sp_minute_add_rows(&minute, t_ms + 1, &h, &rows, group_of), 0);
		sum_ms += t_ms + 1;
	}
	for (uint32_t i = 0; i < all.n; i++)
		all.who[i] = sp_dict_builder_view(n).group_of[all.who[i]];
	assert_int_equal(sp_window_rows_sort(&all), 0);
	assert_int_equal(sp_minute_rows(&minute, N_WINDOWS - 1, sum_ms, &head, &got), -ENODATA);
	assert_int_equal(sp_minute_rows(&minute, N_WINDOWS, sum_ms - 1, &head, &got), -ENODATA); /* it was moved out */
	for (int again = 0; again < 2; again++) {
		assert_int_equal(sp_minute_rows(&minute, N_WINDOWS, sum_ms, &head, &got), 0);
		same_rows(&all, &got);
	}
	assert_int_equal(head.wall_ns, FIRST_MS * UINT64_C(1000000));
	assert_int_equal(head.length_ns, (N_WINDOWS - 1) * UINT64_C(10000000000) + 7);
	assert_int_equal(head.n_lost, 0 + 1 + 2 + 3 + 4 + 5);
	assert_int_equal(head.last_chunk, N_WINDOWS - 1 + 5);
	sp_minute_drop_rows(&minute);
	assert_int_equal(sp_minute_rows(&minute, N_WINDOWS, sum_ms, &head, &got), -ENODATA);
	/* a later window alone is not the whole minute */
	assert_int_equal(sp_minute_add(&minute, FIRST_MS, n, p), 0);
	assert_int_equal(sp_minute_add_rows(&minute, FIRST_MS, &head, &rows, sp_dict_builder_view(n).group_of),
			 -ENODATA);
	assert_int_equal(sp_minute_rows(&minute, N_WINDOWS + 1, sum_ms, &head, &got), -ENODATA);
	sp_window_rows_done(&rows);
	sp_window_rows_done(&all);
	sp_window_rows_done(&got);
	sp_minute_done(&minute);
	sp_dict_builder_free(n);
	sp_profile_free(p);
}

/* Values that are no multiples are summed one by one. */
static void test_a_row_of_the_smallest_number(void **state)
{
	uint64_t draw;
	struct sp_profile *p = profile_of(&many, &draw);
	struct sp_window_rows rows = {0};
	struct sp_minute minute = {0};
	struct sp_sums by_tree = {0}, as_it_came = {0};
	struct sp_dict_builder *n;

	assert_int_equal(sp_dict_builder_new(&n), 0);
	add_smallest(p); /* the first row, from which the factor is derived */
	made_rows(p, &many, &draw);
	assert_int_equal(sp_dict_builder_add_rows(n, p, &rows), 0);
	assert_int_equal(sp_minute_add(&minute, FIRST_MS, n, p), 0);
	struct sp_dict_view view = sp_dict_builder_view(n);
	assert_int_equal(sp_sums_of_rows(&rows, &view, SP_SUMS_LIBRARIES, &by_tree), 0);
	assert_int_equal(sp_minute_sums(&minute, FIRST_MS, 1, &as_it_came), 0);
	same_sums(&by_tree, &as_it_came);
	sp_sums_done(&by_tree);
	sp_sums_done(&as_it_came);
	sp_window_rows_done(&rows);
	sp_minute_done(&minute);
	sp_dict_builder_free(n);
	sp_profile_free(p);
}

static void test_a_minute_that_is_not_whole_is_refused(void **state)
{
	uint64_t draw;
	struct sp_profile *p = profile_of(&many, &draw);
	struct sp_window_rows rows = {0};
	struct sp_minute minute = {0};
	struct sp_sums sums = {0};
	struct sp_dict_builder *n;

	assert_int_equal(sp_dict_builder_new(&n), 0);
	made_rows(p, &many, &draw);
	assert_int_equal(sp_dict_builder_add_rows(n, p, &rows), 0);
	assert_int_equal(sp_minute_sums(&minute, FIRST_MS, 0, &sums), -ENODATA);
	assert_int_equal(sp_minute_add(&minute, FIRST_MS + 20000, n, p), 0);
	assert_int_equal(sp_minute_sums(&minute, FIRST_MS, 2, &sums), -ENODATA); /* the file has one window more */
	assert_int_equal(sp_minute_sums(&minute, FIRST_MS + 60000, 1, &sums), -ENODATA);
	assert_int_equal(sp_minute_sums(&minute, FIRST_MS, 1, &sums), 0);
	assert_true(sums.n > 0);
	int64_t before = sp_sums_at(&sums, 0)[1];
	sp_sums_done(&sums);
	sums = (struct sp_sums){0};
	assert_int_equal(sp_minute_add(&minute, FIRST_MS + 120000, n, p), 0); /* another minute begins */
	assert_int_equal(sp_minute_sums(&minute, FIRST_MS, 1, &sums), -ENODATA);
	assert_int_equal(sp_minute_sums(&minute, FIRST_MS + 120000, 1, &sums), 0);
	assert_int_equal(sp_sums_at(&sums, 0)[1], before);
	sp_sums_done(&sums);
	sp_window_rows_done(&rows);
	sp_minute_done(&minute);
	sp_dict_builder_free(n);
	sp_profile_free(p);
}

/* A new profile with the same content gets the same nodes; none is added. */
static void test_a_fresh_profile_keeps_its_nodes(void **state)
{
	struct sp_window_rows first = {0}, again = {0};
	struct sp_dict_builder *n;
	uint32_t n_nodes = 0;

	assert_int_equal(sp_dict_builder_new(&n), 0);
	for (int round = 0; round < 5; round++) {
		uint64_t draw;
		struct sp_profile *p = profile_of(&many, &draw);
		made_rows(p, &many, &draw);
		assert_int_equal(sp_dict_builder_add_rows(n, p, round == 0 ? &first : &again), 0);
		if (round == 0)
			n_nodes = sp_dict_builder_view(n).n_nodes;
		sp_profile_free(p);
		if (round == 0)
			continue;
		assert_int_equal(sp_dict_builder_view(n).n_nodes, n_nodes);
		assert_int_equal(again.n, first.n);
		assert_memory_equal(again.node, first.node, first.n * sizeof(*first.node));
		assert_memory_equal(again.who, first.who, first.n * sizeof(*first.who));
	}
	assert_true(n_nodes > 1000);
	sp_window_rows_done(&first);
	sp_window_rows_done(&again);
	sp_dict_builder_free(n);
}

/* A renewed profile has new stacks of the same names: nothing is added to the dictionary. */
static void test_a_renewal_keeps_names(void **state)
{
	struct sp_window_rows first = {0}, again = {0};
	struct sp_dict_builder *n;
	uint64_t draw;
	struct sp_profile *p = profile_of(&many, &draw);

	assert_int_equal(sp_dict_builder_new(&n), 0);
	made_rows(p, &many, &draw);
	assert_int_equal(sp_dict_builder_add_rows(n, p, &first), 0);
	sp_dict_builder_commit(n);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(sp_profile_renew(p), 0);
		draw = many.seed;
		made_things(p, &many, &draw);
		made_rows(p, &many, &draw);
		assert_int_equal(sp_dict_builder_add_rows(n, p, &again), 0);
		assert_true(sp_chunk_is_empty(sp_dict_builder_pending(n)));
		assert_int_equal(again.n, first.n);
		assert_memory_equal(again.node, first.node, first.n * sizeof(*first.node));
		assert_memory_equal(again.who, first.who, first.n * sizeof(*first.who));
	}
	sp_window_rows_done(&first);
	sp_window_rows_done(&again);
	sp_dict_builder_free(n);
	sp_profile_free(p);
}

static uint32_t func_of_only_row(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t *ret_node)
{
	struct sp_window_rows rows = {0};

	assert_int_equal(sp_dict_builder_add_rows(n, p, &rows), 0);
	assert_int_equal(rows.n, 1);
	struct sp_dict_view view = sp_dict_builder_view(n);
	*ret_node = rows.node[0];
	uint32_t func = view.owners[view.nodes[rows.node[0]].frame].func;
	sp_window_rows_done(&rows);
	return func;
}

/* The same within one profile and after a renewal. */
static void test_a_frame_that_is_named_late(void **state)
{
	for (int renewed = 0; renewed < 2; renewed++) {
		uint64_t draw;
		struct sp_profile *p = profile_of(&many, &draw);
		struct sp_frame f = {.offset = 0x123456789, .file = 1};
		uint32_t frame = (uint32_t)sp_profile_add_frame(p, &f), nodes[4];
		struct sp_stack stack = {.n_frames = 1, .frames = &frame};
		int64_t values[2] = {1, 10};
		struct sp_dict_builder *n;

		assert_int_equal(sp_dict_builder_new(&n), 0);
		assert_int_equal(sp_profile_add(p, 0, (uint32_t)sp_profile_add_stack(p, &stack), 0, values), 0);
		assert_int_equal(func_of_only_row(n, p, &nodes[0]), 0);
		assert_int_equal(func_of_only_row(n, p, &nodes[1]), 0);
		assert_int_equal(nodes[1], nodes[0]);
		sp_profile_frame(p, frame)->func = 3;
		if (renewed) {
			assert_int_equal(sp_profile_renew(p), 0);
			assert_int_equal(sp_profile_add(p, 0, (uint32_t)sp_profile_add_stack(p, &stack), 0, values), 0);
		}
		assert_int_not_equal(func_of_only_row(n, p, &nodes[2]), 0);
		assert_int_not_equal(nodes[2], nodes[0]);
		assert_int_not_equal(func_of_only_row(n, p, &nodes[3]), 0);
		assert_int_equal(nodes[3], nodes[2]);
		sp_dict_builder_free(n);
		sp_profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_minute_is_what_the_tree_says),
	    cmocka_unit_test(test_a_minute_has_the_rows_of_its_windows),
	    cmocka_unit_test(test_a_row_of_the_smallest_number),
	    cmocka_unit_test(test_a_minute_that_is_not_whole_is_refused),
	    cmocka_unit_test(test_a_fresh_profile_keeps_its_nodes),
	    cmocka_unit_test(test_a_renewal_keeps_names),
	    cmocka_unit_test(test_a_frame_that_is_named_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
