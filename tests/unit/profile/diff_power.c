/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often a difference finds a library that went from 8 to 12 % in ten seconds at 99 Hz on two CPUs, and how often it
 * takes noise for a change: of made recordings (made.h), with fixed seeds. tests/bench/noise.py has the figures; here
 * stand what no mistake in the statistics would keep. And a picture's frames are judged as the rows are.
 */
#include "made.h"
#include "profile/diff.h"
#include "profile/diff_significance.h"
#include "profile/identity.h"
#include "profile/tree.h"
#include "profile/window.h"
#include "test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N_PAIRS = 100 / SP_FEWER, WITH_TIMES = 48 };

struct tally {
	size_t found, rows, outside, doubtless; /* doubtless: by q */
};

static struct sp_diff *compare(const struct sp_made *made, size_t number, double new_share)
{
	struct sp_diff_options o = {.scale = SP_DIFF_SHARES};
	struct sp_made sides[] = {*made, *made};
	struct sp_profile *p[2];
	struct sp_diff *d;

	for (size_t side = 0; side < 2; side++) {
		sides[side].program = number + 1;
		sides[side].seed = 2 * number + side + 1;
		sides[side].share = side == 0 ? made->share : new_share;
		p[side] = sp_made_record(&sides[side]);
		assert_non_null(p[side]);
	}
	assert_int_equal(sp_diff_new(p[0], p[1], &o, &d), 0);
	sp_profile_free(p[0]);
	sp_profile_free(p[1]);
	return d;
}

static bool is_target(const struct sp_diff *d, const struct sp_diff_row *row)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "lib%d.so.1", SP_MADE_TARGET);
	return strcmp(sp_profile_string(d->joined, sp_profile_file(d->joined, row->id)->name), name) == 0;
}

static struct tally measure(const struct sp_made_kind *kind, unsigned n_slices, double new_share)
{
	struct sp_made made = {.kind = kind, .seconds = 10, .hz = 99, .n_cpus = 2, .n_slices = n_slices, .share = 0.08};
	struct tally t = {0};

	for (size_t i = 0; i < N_PAIRS; i++) {
		struct sp_diff *d = compare(&made, i, new_share);
		struct sp_diff_rows rows;
		assert_int_equal(d->method, n_slices > 0 ? SP_DIFF_FROM_SLICES : SP_DIFF_FROM_COUNTS);
		assert_int_equal(sp_diff_rows_new(d, SP_DIFF_BY_LIBRARY, &rows), 0);
		for (size_t k = 0; k < rows.n_rows; k++) {
			const struct sp_change *c = &rows.rows[k].self;
			t.found += is_target(d, &rows.rows[k]) && !c->within_noise && c->delta > 0;
			t.rows++;
			t.outside += !c->within_noise;
			t.doubtless += c->q <= 0.05;
		}
		sp_diff_rows_done(&rows);
		sp_diff_free(d);
	}
	print_message("%s, %s, 8 to %.0f %%: found in %zu of %d; of %zu rows %zu outside, %zu by q\n", kind->name,
		      n_slices > 0 ? "slices" : "counts", 100 * new_share, t.found, N_PAIRS, t.rows, t.outside,
		      t.doubtless);
	return t;
}

static const struct sp_made_kind even = {"even", 0.0005, 0, 0}, phases = {"phases of 1 s", 0.05, 1, 0.6};

static void a_change_is_found(void **state)
{
	assert_true(10 * measure(&even, WITH_TIMES, 0.12).found >= 9 * (size_t)N_PAIRS);
	/* the more changes, the easier: what differs is not taken for noise */
	assert_true(10 * measure(&phases, WITH_TIMES, 0.3).found >= 7 * (size_t)N_PAIRS);
	assert_true(10 * measure(&even, 0, 0.2).found >= 9 * (size_t)N_PAIRS);
}

static void what_did_not_change_is_noise(void **state)
{
	const struct tally all[] = {measure(&even, WITH_TIMES, 0.08), measure(&phases, WITH_TIMES, 0.08),
				    measure(&even, 0, 0.08), measure(&phases, 0, 0.08)};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_true(100 * all[i].outside <= (SP_FEWER > 1 ? 10U : 6U) * all[i].rows);
		assert_true(100 * all[i].doubtless <= 3 * all[i].rows);
	}
}

/* --- frames of pictures --- */
static void expect_equal(const struct sp_change *a, const struct sp_change *b)
{
	assert_true(fabs(a->delta - b->delta) < 1e-12);
	assert_true(fabs(a->low - b->low) < 1e-9 && fabs(a->high - b->high) < 1e-9);
	assert_int_equal(a->within_noise, b->within_noise);
}

/* With all of its function's samples a frame is its row: so are callers' roots, which are functions. */
static void a_frame_that_is_its_row_is_judged_as_it(void **state)
{
	struct sp_made made = {.kind = &even, .seconds = 10, .hz = 99, .n_cpus = 2, .share = 0.08};

	for (unsigned n_slices = 0; n_slices <= WITH_TIMES; n_slices += WITH_TIMES) {
		made.n_slices = n_slices;
		struct sp_diff *d = compare(&made, 3, 0.4);
		struct sp_tree_options o = {
		    .value = SP_DIFF_NEW, .has_second = true, .second = SP_DIFF_OLD, .direction = SP_TREE_CALLERS};
		struct sp_significance *j;
		struct sp_tree t = {0};
		size_t n = 0, n_beyond = 0;
		assert_int_equal(sp_significance_new(d, &j), 0);
		assert_int_equal(sp_tree_new(d->joined, &o, &t), 0);
		for (uint32_t i = t.nodes[0].first; i != 0; i = t.nodes[i].next, n++) {
			const struct sp_tree_node *it = &t.nodes[i];
			const struct sp_diff_row *row = sp_significance_label_row(j, &t.labels[it->label]);
			assert_non_null(row);
			struct sp_change c =
			    sp_significance_of_part(d, &row->self, (double)it->second_total, (double)it->total);
			expect_equal(&c, &row->self);
			n_beyond += !c.within_noise;
		}
		assert_true(n > 50 && n_beyond > 0);
		sp_tree_done(&t);
		sp_significance_free(j);
		sp_diff_free(d);
	}
}

/* --- slices --- */
static void sum_slices(const struct sp_profile *p, int64_t sums[WITH_TIMES + 1])
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		sums[sp_profile_key(p, row->key)->slice] += row->values[0];
	}
}

static void slices_become_wider(void **state)
{
	struct sp_made made = {
	    .kind = &even, .seconds = 10, .hz = 99, .n_cpus = 2, .n_slices = WITH_TIMES, .share = 0.08, .seed = 1};
	struct sp_profile *p = sp_made_record(&made);
	int64_t before[WITH_TIMES + 1] = {0}, after[WITH_TIMES + 1] = {0};

	assert_non_null(p);
	sum_slices(p, before);
	assert_int_equal(sp_profile_widen_slices(p, 2), 0);
	sum_slices(p, after);
	for (size_t i = 1; i <= WITH_TIMES / 4; i++)
		assert_int_equal(after[i], before[4 * i - 3] + before[4 * i - 2] + before[4 * i - 1] + before[4 * i]);
	for (size_t i = WITH_TIMES / 4 + 1; i <= WITH_TIMES; i++)
		assert_int_equal(after[i], 0);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_change_is_found),
	    cmocka_unit_test(what_did_not_change_is_noise),
	    cmocka_unit_test(a_frame_that_is_its_row_is_judged_as_it),
	    cmocka_unit_test(slices_become_wider),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
