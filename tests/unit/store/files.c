/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/time.h"
#include "made.h"
#include "profile/merge.h"
#include "profile/totals.h"
#include "profile/window.h"
#include "store/priv.h"

#define T0 (UINT64_C(1763722800) * SP_NS_PER_S) /* an hour's beginning */

static struct sp_store *store_at(const char *path, const struct sp_store_options *o)
{
	struct sp_store *s = NULL;
	int r = sp_store_open(path, o, &s);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	return s;
}

static void add(struct sp_store *s, uint64_t wall_ns, const struct sp_profile *p, const char *source)
{
	struct sp_store_window w = {.wall_ns = wall_ns,
				    .boot_ns = wall_ns / 7,
				    .duration_ns = 9 * SP_NS_PER_S,
				    .rate_mhz = 19000,
				    .n_cpus = 2,
				    .n_lost = 3,
				    .source = source};
	int r = sp_store_add(s, &w, p);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
}

static struct sp_profile *new_profile(void)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	return p;
}

/* Windows of one profile that grows, over some minutes: what the agent does but for the clearing of rows. */
static void what_goes_in_comes_out(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct made m = {
		    .n_files = 12, .n_funcs = 200, .n_stacks = 300, .n_keys = 30, .n_rows = 150, .n_values = 1 + seed};
		struct sums in = sums_new(m.n_values), in_groups = sums_new(m.n_values);
		struct sums out = sums_new(m.n_values), minutes = sums_new(m.n_values), hours = sums_new(m.n_values);
		struct sp_store_options o = {0};
		struct sp_profile *p = new_profile();
		char *path = made_directory();
		struct sp_store *s = store_at(path, &o);
		uint64_t random = seed;

		made_things(p, &m, &random);
		for (uint64_t i = 0; i < 40; i++) {
			made_rows(p, &m, &random);
			add(s, T0 + (i * 10 + i / 20 * 3600) * SP_NS_PER_S, p, "cpu");
			sums_of_profile(&in, p, false);
			sums_of_profile(&in_groups, p, true);
		}
		assert_int_equal(sums_of_store(&out, s, SP_RES_10S, false), 40);
		sums_equal(&in, &out);
		sp_store_close(s); /* what was not over is rolled up */
		s = store_at(path, &(struct sp_store_options){.read_only = true});
		assert_int_equal(sums_of_store(&minutes, s, SP_RES_1M, true), 8);
		sums_equal(&in_groups, &minutes);
		assert_int_equal(sums_of_store(&hours, s, SP_RES_1H, true), 2);
		sums_equal(&in_groups, &hours);
		sp_store_close(s);
		sums_done(&in), sums_done(&in_groups), sums_done(&out), sums_done(&minutes), sums_done(&hours);
		sp_profile_free(p);
		made_directory_gone(path);
	}
}

/* --- totals ------------------------------------------------------------------------------------------------------ */
struct wanted {
	const char *library, *function; /* function NULL: the library's */
	int64_t self[SP_MAX_VALUES], total[SP_MAX_VALUES];
	uint64_t n, duration_ns;
};

static int sum_total(void *arg, const struct sp_store_total *t)
{
	struct wanted *w = arg;

	w->duration_ns += t->duration_ns;
	if (strcmp(t->file, w->library) != 0 || strcmp(t->function, w->function != NULL ? w->function : "") != 0)
		return 0;
	w->n++;
	for (uint32_t v = 0; v < t->n_values; v++) {
		w->self[v] += t->self[v];
		w->total[v] += t->total[v];
	}
	return 0;
}

/* What profile/totals.h makes of all windows' rows in one profile. */
static void compare_totals(struct sp_store *s, const struct sp_profile *p, enum sp_total_by by, int step,
			   uint64_t n_times)
{
	struct sp_totals all;

	assert_int_equal(sp_totals_by(p, by, 0, &all), 0);
	assert_true(all.n_rows > 10);
	for (size_t i = 0; i < all.n_rows && i < 40; i++) {
		const struct sp_total *row = &all.rows[i];
		struct wanted w = {.library = sp_total_name(p, by, row)};
		if (row->none || (by == SP_TOTAL_BY_FUNCTION && row->id == 0))
			continue;
		if (by == SP_TOTAL_BY_FUNCTION) {
			w.function = w.library;
			w.library = sp_total_of(p, by, row);
		}
		assert_int_equal(sp_store_totals(s, "cpu", 0, UINT64_MAX, step, sum_total, &w), 0);
		if (w.self[0] != row->self || w.total[0] != row->total)
			fail_msg("%s %s: self %lld %lld total %lld %lld", w.library, w.function ? w.function : "",
				 (long long)w.self[0], (long long)row->self, (long long)w.total[0],
				 (long long)row->total);
		assert_true(w.n >= 1 && w.n <= n_times);
		assert_int_equal(w.self[1], w.self[0] * 52631578);
	}
	sp_totals_done(&all);
}

static void totals_are_exact(void **state)
{
	(void)state;
	struct made m = {.n_files = 30, .n_funcs = 200, .n_stacks = 300, .n_keys = 30, .n_rows = 150, .n_values = 2};
	struct sp_profile *p = new_profile(), *sum = new_profile();
	char *path = made_directory();
	struct sp_store *s = store_at(path, &(struct sp_store_options){0});
	uint64_t random = 99;

	made_things(p, &m, &random);
	for (uint64_t i = 0; i < 30; i++) {
		made_rows(p, &m, &random);
		add(s, T0 + i * 400 * SP_NS_PER_S, p, "cpu"); /* more than three hours */
		assert_int_equal(sp_profile_merge(sum, p), 0);
		sp_profile_clear_rows(p);
	}
	sp_store_close(s);
	s = store_at(path, &(struct sp_store_options){.read_only = true});
	compare_totals(s, sum, SP_TOTAL_BY_LIBRARY, SP_RES_1M, 30);
	compare_totals(s, sum, SP_TOTAL_BY_LIBRARY, SP_RES_1H, 4);
	compare_totals(s, sum, SP_TOTAL_BY_FUNCTION, SP_RES_1H, 4);
	compare_totals(s, sum, SP_TOTAL_BY_LIBRARY, SP_N_RESOLUTIONS, 1);
	compare_totals(s, sum, SP_TOTAL_BY_FUNCTION, SP_N_RESOLUTIONS, 1);
	sp_store_close(s);
	sp_profile_free(p);
	sp_profile_free(sum);
	made_directory_gone(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_goes_in_comes_out),
	    cmocka_unit_test(totals_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
