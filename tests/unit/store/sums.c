/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums and pruned trees of random call trees, compared with a walk from each row to the root: equal in steps of any
 * size, with values that are multiples of the first or not, and on overflow.
 */
#include "store/format/sums.h"
#include "base/mem.h"
#include "store/format/multiples.h"
#include "store/format/pruned_tree.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "made.h"

enum { N_NODES = 3000, N_FRAMES = 90, N_FUNCS = 40, N_FILES = 12, N_GROUPS = 5, N_ROWS = 1200 };

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(made_random(&seed) >> 11) % n;
}

/* --- a call tree, and rows --- */
struct made_tree {
	struct sp_node nodes[N_NODES];
	struct sp_frame_owner places[N_FRAMES];
	uint32_t file_of[N_FUNCS];
};

static void make_tree(struct made_tree *t)
{
	*t = (struct made_tree){0};
	for (uint32_t i = 1; i < N_FUNCS; i++)
		t->file_of[i] = i % 7 == 0 ? 0 : i % N_FILES;
	t->places[0].library = SP_NO_LIBRARY;
	for (uint32_t i = 1; i < N_FRAMES; i++) {
		uint32_t func = below(3) == 0 ? 0 : 1 + below(N_FUNCS - 1);
		t->places[i] = i < 4 ? (struct sp_frame_owner){.library = SP_NO_LIBRARY}
				     : (struct sp_frame_owner){func, func == 0 ? below(N_FILES) : func % N_FILES};
	}
	for (uint32_t i = 1; i < N_NODES; i++)
		t->nodes[i] = (struct sp_node){below(4) > 0 ? i - 1 : below(i), 1 + below(N_FRAMES - 1)};
}

static struct sp_dict_view shape_of(const struct made_tree *t)
{
	return (struct sp_dict_view){.nodes = t->nodes,
				     .owners = t->places,
				     .file_of = t->file_of,
				     .n_nodes = N_NODES,
				     .n_frames = N_FRAMES,
				     .n_groups = N_GROUPS,
				     .n_files = N_FILES,
				     .n_funcs = N_FUNCS};
}

/* How the values of a row are related. */
enum kind { ALONE, MULTIPLES, MOSTLY, SIGNED, LARGE, LARGE_MULTIPLES, NOTHING, N_KINDS };

static void make_values(enum kind kind, int64_t *v)
{
	int64_t n = 1 + below(50);

	v[0] = kind == SIGNED ? n - 25 : kind == LARGE ? INT64_MAX / 3 + n : kind == NOTHING ? 0 : n;
	v[1] = kind == LARGE_MULTIPLES ? n * (INT64_MAX / 51)
	       : kind == SIGNED        ? -3 * v[0]
	       : kind == LARGE         ? n
				       : v[0] * 52631579;
	v[2] = kind == MULTIPLES || kind == LARGE_MULTIPLES ? 0 : (int64_t)below(1000);
	if (kind == MOSTLY && below(N_ROWS / 2) == 0)
		v[1]++;
}

static struct sp_window_rows make_rows(enum kind kind, uint32_t n)
{
	struct sp_window_rows rows = {.n_values = kind == ALONE ? 1 : 3};

	assert_int_equal(sp_window_rows_reserve(&rows, n + 1), 0);
	for (uint32_t i = 0; i < n; i++) {
		int64_t v[3];
		make_values(kind, v);
		rows.who[i] = below(N_GROUPS);
		rows.node[i] = below(20) == 0 ? 0 : below(N_NODES);
		for (uint32_t k = 0; k < rows.n_values; k++)
			rows.values[k][i] = v[k];
	}
	rows.n = n;
	assert_int_equal(sp_window_rows_sort(&rows), 0);
	return rows;
}

/* --- row by row --- */
struct walked {
	__int128 files[N_FILES][6], funcs[N_FUNCS][6]; /* self and total of each value */
};

static void walk_row(struct walked *to, const struct made_tree *t, const struct sp_window_rows *rows, uint32_t row)
{
	bool files[N_FILES] = {false}, funcs[N_FUNCS] = {false}, has_leaf = false;

	for (uint32_t node = rows->node[row]; node != 0; node = t->nodes[node].parent) {
		struct sp_frame_owner at = t->places[t->nodes[node].frame];
		if (at.library == SP_NO_LIBRARY)
			continue;
		for (uint32_t v = 0; v < rows->n_values; v++) {
			__int128 value = rows->values[v][row];
			to->files[at.library][2 * v] += has_leaf ? 0 : value;
			to->files[at.library][2 * v + 1] += files[at.library] ? 0 : value;
			to->funcs[at.func][2 * v] += has_leaf ? 0 : value;
			to->funcs[at.func][2 * v + 1] += funcs[at.func] ? 0 : value;
		}
		has_leaf = files[at.library] = funcs[at.func] = true;
	}
	for (uint32_t v = 0; v < 2 * rows->n_values && !has_leaf; v++)
		to->files[0][v] += rows->values[v / 2][row];
}

static void same(const struct sp_sums *s, size_t *at, uint32_t file, uint32_t func, const __int128 *sums)
{
	bool any = false;

	for (uint32_t i = 0; i < 2 * s->n_values; i++)
		any |= sums[i] != 0;
	if (!any)
		return;
	assert_true(*at < s->n);
	assert_int_equal(s->accounts[*at].file, file);
	assert_int_equal(s->accounts[*at].func, func);
	for (uint32_t i = 0; i < 2 * s->n_values; i++)
		assert_int_equal(sp_sums_at(s, *at)[i], (int64_t)SP_MIN(sums[i], INT64_MAX));
	++*at;
}

static void compare(const struct sp_sums *s, const struct made_tree *t, const struct sp_window_rows *rows, int what)
{
	struct walked w = {0};
	size_t at = 0;

	for (uint32_t i = 0; i < rows->n; i++)
		walk_row(&w, t, rows, i);
	for (uint32_t i = 0; i < N_FILES && (what & SP_SUMS_LIBRARIES) != 0; i++)
		same(s, &at, i, 0, w.files[i]);
	for (uint32_t i = 1; i < N_FUNCS && (what & SP_SUMS_FUNCTIONS) != 0; i++)
		same(s, &at, t->file_of[i] != 0 ? t->file_of[i] : i % N_FILES, i, w.funcs[i]);
	assert_int_equal(s->n, at);
}

/* In steps of n; the tree is moved in between. */
static struct sp_sums_steps *sum_in_steps(struct made_tree *t, const struct sp_window_rows *rows, int what, uint32_t n)
{
	struct sp_dict_view view = shape_of(t);
	struct sp_sums_steps *sum;
	int r;

	assert_int_equal(sp_sums_steps_new(rows, &view, what, &sum), 0);
	do {
		struct made_tree *moved = malloc(sizeof(*moved));
		assert_non_null(moved);
		memcpy(moved, t, sizeof(*moved));
		view = shape_of(moved);
		r = sp_sums_steps_run(sum, rows, &view, n);
		free(moved);
	} while (r == 1);
	assert_int_equal(r, 0);
	return sum;
}

static void same_tree(const struct sp_pruned_tree *a, const struct sp_pruned_tree *b)
{
	assert_int_equal(a->n_nodes, b->n_nodes);
	assert_memory_equal(a->nodes, b->nodes, a->n_nodes * sizeof(*a->nodes));
	assert_int_equal(a->rows.n, b->rows.n);
	assert_int_equal(a->rows.n_values, b->rows.n_values);
	assert_memory_equal(a->rows.who, b->rows.who, a->rows.n * sizeof(*a->rows.who));
	assert_memory_equal(a->rows.node, b->rows.node, a->rows.n * sizeof(*a->rows.node));
	for (uint32_t v = 0; v < a->rows.n_values; v++)
		assert_memory_equal(a->rows.values[v], b->rows.values[v], a->rows.n * sizeof(int64_t));
}

/* The sums of a pruned tree are those of all rows, value by value. */
static void is_whole(const struct sp_pruned_tree *b, const struct sp_window_rows *rows)
{
	for (uint32_t v = 0; v < rows->n_values; v++) {
		__int128 in = 0, out = 0;
		for (uint32_t i = 0; i < rows->n; i++)
			in += rows->values[v][i];
		for (uint32_t i = 0; i < b->rows.n; i++)
			out += b->rows.values[v][i];
		assert_true(in == out);
	}
}

static void compare_steps(struct made_tree *t, const struct sp_window_rows *rows, enum kind kind, int what, uint32_t n)
{
	struct sp_sums_steps *sum = sum_in_steps(t, rows, what, n);
	struct sp_sums sums = {0};
	struct sp_pruned_tree cut = {0}, made = {0};

	assert_int_equal(sp_sums_steps_end(sum, t->file_of, &sums), 0);
	compare(&sums, t, rows, what);
	assert_int_equal(sp_pruned_tree_make_from_sums(sp_sums_steps_subtree(sum), rows, &cut), 0);
	assert_int_equal(sp_pruned_tree_make(t->nodes, N_NODES, rows, &made), 0);
	same_tree(&cut, &made);
	if (kind != LARGE && kind != LARGE_MULTIPLES)
		is_whole(&cut, rows);
	sp_pruned_tree_done(&cut);
	sp_pruned_tree_done(&made);
	sp_sums_done(&sums);
	sp_sums_steps_free(sum);
}

static void sums_are_what_a_walk_says(void **state)
{
	static const uint32_t steps[] = {UINT32_MAX, 1000, 77};
	struct made_tree *t = malloc(sizeof(*t));

	assert_non_null(t);
	for (uint32_t i = 0; i < 10 * N_KINDS; i++) {
		enum kind kind = i % N_KINDS;
		seed = 1 + i;
		make_tree(t);
		struct sp_window_rows rows = make_rows(kind, i < N_KINDS ? i % 3 : N_ROWS);
		for (size_t k = 0; k < SP_COUNT(steps); k++)
			compare_steps(t, &rows, kind, 1 + (int)(i + k) % 3, steps[k]);
		sp_window_rows_done(&rows);
	}
	free(t);
}

/* --- multiples --- */
static struct sp_multiples multiples_of(uint32_t n, const int64_t *first, const int64_t *second)
{
	struct sp_window_rows rows = {.n = n, .n_values = 2, .values = {(int64_t *)first, (int64_t *)second}};

	return sp_multiples_of(&rows);
}

static void is_own(uint32_t n, const int64_t *first, const int64_t *second)
{
	assert_int_equal(multiples_of(n, first, second).n_base, 2);
}

static void is_times(uint32_t n, const int64_t *first, const int64_t *second, int64_t factor)
{
	struct sp_multiples m = multiples_of(n, first, second);

	assert_int_equal(m.n_base, 1);
	assert_int_equal(m.base_of[1], 0);
	assert_int_equal(m.factor[1], factor);
}

#define ROWS(...) ((int64_t[]){__VA_ARGS__})
static void only_what_stays_in_64_bits_is_a_multiple(void **state)
{
	is_times(3, ROWS(0, 2, 3), ROWS(0, 10, 15), 5);
	is_times(2, ROWS(2, -3), ROWS(-2, 3), -1);
	is_times(2, ROWS(2, 3), ROWS(0, 0), 0);
	is_own(2, ROWS(0, 0), ROWS(0, 0));
	is_own(2, ROWS(0, 2), ROWS(1, 4));
	is_own(2, ROWS(2, 3), ROWS(3, 4));
	is_own(2, ROWS(2, 3), ROWS(5, 7));
	is_times(2, ROWS(1, 2), ROWS(INT64_MAX / 3, INT64_MAX / 3 * 2), INT64_MAX / 3);
	is_own(3, ROWS(1, 2, 1), ROWS(INT64_MAX / 3, INT64_MAX / 3 * 2, INT64_MAX / 3)); /* their sum overflows */
	is_own(2, ROWS(INT64_MAX, 1), ROWS(INT64_MAX, 1));
	is_times(2, ROWS(INT64_MAX - 1, 1), ROWS(INT64_MAX - 1, 1), 1);
	is_times(2, ROWS(1 - INT64_MAX, 1), ROWS(1 - INT64_MAX, 1), 1);
	is_own(1, ROWS(INT64_MIN), ROWS(INT64_MIN));
	is_own(1, ROWS(-1), ROWS(INT64_MIN));
	is_own(1, ROWS(1), ROWS(INT64_MIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_are_what_a_walk_says),
	    cmocka_unit_test(only_what_stays_in_64_bits_is_a_multiple),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
