/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Past hours and days that are rolled up a part with each window. Between whichever parts the writer is killed: after
 * the store is opened again everything is there once.
 */
#include "base/time.h"
#include "made.h"
#include "profile/window.h"
#include "store/priv.h"
#include "store/totals.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define T0 (UINT64_C(1763722800) * SP_NS_PER_S) /* the beginning of an hour */
/* Windows before and after the end of a period; after it more than there are steps, so that all get done. */
struct moment {
	uint64_t at_ns, n_before, every_s, n_hours; /* hours that have windows */
};
enum { N_STEPS = 50 };
#define HOUR (3600 * SP_NS_PER_S)
#define DAY (SP_DAY_S * SP_NS_PER_S)
/* Closing a day does a step with each window but one a minute; an hour is rolled up with four of six windows. */
static const struct moment midnight = {(T0 / DAY + 1) * DAY, 130, 30, 3}, an_hour = {T0 + 2 * HOUR, 42, 10, 2};

/* The sums of the windows before the end of the period and of some after it, by key and by group. */
static void write_over(struct sp_store *s, const struct moment *at, uint64_t n_after, struct sums *in,
		       struct sums *in_groups)
{
	struct made m = {.n_files = 12, .n_funcs = 60, .n_stacks = 80, .n_keys = 10, .n_rows = 12, .n_values = 2};
	uint64_t seed = 5;
	struct sp_profile *p = made_profile();

	made_things(p, &m, &seed);
	for (uint64_t i = 0; i < at->n_before + n_after; i++) {
		made_rows(p, &m, &seed);
		if (s != NULL)
			made_add(s, at->at_ns + (i - at->n_before) * at->every_s * SP_NS_PER_S, p, "cpu");
		if (in != NULL)
			sums_of_profile(in, p, false);
		if (in_groups != NULL)
			sums_of_profile(in_groups, p, true);
		sp_profile_clear_rows(p);
	}
	sp_profile_free(p);
}

struct all {
	int64_t self, total; /* of the first and the second value */
};

static int sum_libraries(void *arg, const struct sp_store_total *t)
{
	struct all *a = arg;

	a->self += *t->function == '\0' ? t->self[0] : 0;
	a->total += *t->function == '\0' ? t->total[1] : 0;
	return 0;
}

/* Everything is rolled up: hours and days have the sums of the minutes, each library once. */
static void compare_steps(struct sp_store *s)
{
	struct sp_store_query q = {.to_ns = UINT64_MAX / 2, .all_users = true};
	struct all w[SP_N_RESOLUTIONS + 1] = {0};
	struct sp_store_answer answer;

	for (int step = SP_RES_1M; step <= SP_N_RESOLUTIONS; step++) { /* the last one: days */
		q.resolution = step < SP_N_RESOLUTIONS ? step : -1;
		assert_int_equal(sp_store_totals(s, &q, false, sum_libraries, &w[step], &answer), 0);
		assert_true(w[step].self > 0);
		assert_int_equal(w[step].self, w[SP_RES_1M].self);
		assert_int_equal(w[step].total, w[SP_RES_1M].total);
	}
	for (int rough = 0; rough < 2; rough++) { /* by windows, and by trees of hours and days */
		struct sp_profile *p = made_profile();
		int64_t sum = 0;
		q.rough = rough != 0;
		assert_int_equal(sp_store_query(s, &q, p, &answer), 0);
		for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
			sum += sp_profile_row(p, i)->values[0];
		assert_int_equal(sum, w[SP_RES_1M].self);
		sp_profile_free(p);
	}
}

static void compare_after(const char *path, const struct moment *at, uint64_t n_after)
{
	struct sums in = sums_new(2), in_groups = sums_new(2), out = sums_new(2), minutes = sums_new(2),
		    hours = sums_new(2);
	struct sp_store *s = made_store(path, &(struct sp_store_options){.read_only = true});

	write_over(NULL, at, n_after, &in, &in_groups);
	assert_int_equal(sums_of_store(&out, s, SP_RES_10S, false), at->n_before + n_after);
	sums_equal(&in, &out);
	uint64_t each = 60 / at->every_s; /* minute */
	assert_int_equal(sums_of_store(&minutes, s, SP_RES_1M, true), (at->n_before + n_after + each - 1) / each);
	sums_equal(&in_groups, &minutes);
	assert_int_equal(sums_of_store(&hours, s, SP_RES_1H, true), at->n_hours);
	sums_equal(&in_groups, &hours);
	compare_steps(s);
	sp_store_close(s);
	sums_done(&in), sums_done(&in_groups), sums_done(&out), sums_done(&minutes), sums_done(&hours);
}

static bool has_journal(const char *path)
{
	char *journal = NULL;

	assert_true(asprintf(&journal, "%s/%s-wal", path, sp_day_of(T0, SP_RES_1H).name) > 0);
	bool has = access(journal, F_OK) == 0;
	free(journal);
	return has;
}

/* While windows of the next day are added, the last hour is rolled up and the day's files are finished. */
static void a_day_is_left_in_steps(void **state)
{
	for (uint64_t n_after = 1; n_after <= 1 + N_STEPS; n_after += N_STEPS) {
		char *path = made_directory();
		struct sp_store *s = made_store(path, &(struct sp_store_options){0});
		write_over(s, &midnight, n_after, NULL, NULL);
		assert_int_equal(has_journal(path), n_after == 1);
		sp_store_close(s);
		compare_after(path, &midnight, n_after);
		made_directory_gone(path);
	}
}

/* The number of hours in the day's row, and of windows in the file of hours. */
static void count_hours(struct sp_store *s, uint64_t *ret_hours, uint64_t *ret_summed_ns)
{
	struct sp_scan_options o = {.to_ns = UINT64_MAX, .resolution = SP_RES_1H, .no_rows = true};
	struct sp_scan_window w;
	struct sp_scan *scan;

	*ret_hours = *ret_summed_ns = 0;
	assert_int_equal(sp_scan_open(s, &o, &scan), 0);
	while (sp_scan_next(scan, &w) == 1)
		++*ret_hours;
	sp_scan_close(scan);
	o.resolution = SP_N_RESOLUTIONS;
	assert_int_equal(sp_scan_open(s, &o, &scan), 0);
	while (sp_scan_next(scan, &w) == 1)
		*ret_summed_ns += w.w.duration_ns;
	sp_scan_close(scan);
}

/* While windows of the next hour are added, the hour is rolled up and added to its day. */
static void an_hour_is_rolled_up_in_steps(void **state)
{
	struct sp_store *s;
	uint64_t hours, summed_ns;
	char *path = made_directory();

	s = made_store(path, &(struct sp_store_options){0});
	write_over(s, &an_hour, N_STEPS, NULL, NULL);
	count_hours(s, &hours, &summed_ns);
	assert_int_equal(hours, 1);
	assert_int_equal(summed_ns, an_hour.n_before * 9 * SP_NS_PER_S); /* each window has the same time sampled */
	sp_store_close(s);
	compare_after(path, &an_hour, N_STEPS);
	made_directory_gone(path);
}

/* If the writer is killed between two steps of an hour or a day, nothing is lost: the next one goes on. */
static void crash(const struct moment *at, uint64_t n_after)
{
	char *path = made_directory();
	int status;
	pid_t child = fork();

	if (child == 0) {
		write_over(made_store(path, &(struct sp_store_options){0}), at, n_after, NULL, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	sp_store_close(made_store(path, &(struct sp_store_options){0}));
	compare_after(path, at, n_after);
	assert_false(has_journal(path));
	made_directory_gone(path);
}

static void after_each_step(void end(const struct moment *at, uint64_t n_after))
{
	for (uint64_t n_after = 1; n_after < N_STEPS; n_after += SP_FEWER == 1 ? 1 : 7) {
		end(&an_hour, n_after);
		if (n_after % 2 != 0)
			end(&midnight, n_after);
	}
}

static void nothing_is_lost_between_steps(void **state)
{
	after_each_step(crash);
}

/* Closed when there is no time, the store does none of what is left; the next writer does all of it. */
static void close_late(const struct moment *at, uint64_t n_after)
{
	char *path = made_directory();
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	bool was_done;

	write_over(s, at, n_after, NULL, NULL);
	was_done = !has_journal(path);
	sp_store_close_by(s, 1);
	assert_true(at != &midnight || was_done || has_journal(path));
	s = made_store(path, &(struct sp_store_options){.read_only = true});
	struct sums out = sums_new(2);
	assert_int_equal(sums_of_store(&out, s, SP_RES_10S, false), at->n_before + n_after);
	sums_done(&out);
	sp_store_close(s);
	sp_store_close(made_store(path, &(struct sp_store_options){0}));
	compare_after(path, at, n_after);
	assert_false(has_journal(path));
	made_directory_gone(path);
}

static void the_next_writer_does_what_had_no_time(void **state)
{
	after_each_step(close_late);
}

/* Sources do not wait for one that has nothing left. */
static void a_day_of_two_sources_is_left(void **state)
{
	struct made m = {.n_files = 12, .n_funcs = 60, .n_stacks = 80, .n_keys = 10, .n_rows = 12, .n_values = 2};
	struct sp_profile *p = made_profile();
	char *path = made_directory();
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	uint64_t seed = 6;

	made_things(p, &m, &seed);
	made_rows(p, &m, &seed);
	for (uint64_t i = 0; i < midnight.n_before + 2 * N_STEPS; i++) {
		uint64_t at_ns = midnight.at_ns + (i - midnight.n_before) * midnight.every_s * SP_NS_PER_S;
		made_add(s, at_ns, p, "cpu");
		made_add(s, at_ns, p, "off-cpu");
	}
	assert_false(has_journal(path));
	sp_store_close(s);
	sp_profile_free(p);
	made_directory_gone(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_day_is_left_in_steps),        cmocka_unit_test(an_hour_is_rolled_up_in_steps),
	    cmocka_unit_test(nothing_is_lost_between_steps), cmocka_unit_test(the_next_writer_does_what_had_no_time),
	    cmocka_unit_test(a_day_of_two_sources_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
