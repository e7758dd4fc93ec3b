/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries compared with another way to the same answer: the windows' profiles merged by profile/merge.h and filtered
 * by profile/filter.h, which do not use call trees.
 */
#include "asked.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "store/intervals.h"
#include "store/totals.h"

static struct sp_profile *narrowed(struct sp_profile *p, enum sp_filter_by by, const char *glob)
{
	struct sp_glob_filter filter = {.by = by, .globs = &glob, .n_globs = 1};
	struct sp_filter_result result;
	struct sp_profile *kept;

	if (glob == NULL)
		return p;
	ok(sp_profile_filter_by(p, &filter, &kept, &result));
	sp_profile_free(p);
	return kept;
}

static bool is_of_user(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	const struct sp_store_query *q = arg;

	return sp_profile_process(p, sp_profile_key(p, row->key)->process)->uid == q->uid;
}

/* The expected answer: of the windows that begin in the range, or whose minute or hour does, which is when its first
 * window begins. */
static struct sp_profile *merged(const struct fixture *f, const struct sp_store_query *q, uint64_t length_ns)
{
	struct sp_profile *p;
	struct sp_filter_result result;

	ok(sp_profile_new(&p));
	for (size_t i = 0; i < f->n; i++) {
		uint64_t from = f->times[i];
		for (size_t k = 0; k < f->n; k++)
			if (f->times[k] / length_ns == f->times[i] / length_ns)
				from = SP_MIN(from, f->times[k]);
		if (from >= q->from_ns && from < q->to_ns)
			ok(sp_profile_merge(p, f->windows[i]));
	}
	p = narrowed(p, SP_FILTER_LIBRARY, q->library);
	p = narrowed(p, SP_FILTER_FUNCTION, q->function);
	p = narrowed(p, SP_FILTER_PROCESS, q->process);
	p = narrowed(p, SP_FILTER_CGROUP, q->cgroup);
	if (!q->all_users) {
		struct sp_profile *kept;
		ok(sp_profile_filter(p, is_of_user, (void *)q, &kept, &result));
		sp_profile_free(p);
		p = kept;
	}
	return p;
}

static void compare(struct fixture *f, const struct sp_store_query *q, uint64_t length_ns,
		    struct sp_store_answer *ret_answer)
{
	struct sp_profile *got, *wanted = merged(f, q, length_ns);
	static const struct sp_store_options only_read = {.read_only = true};
	struct sp_store *reader;

	ok(sp_store_open(f->place, &only_read, &reader)); /* a reader takes dictionaries from coarser files */
	ok(sp_profile_new(&got));
	ok(sp_store_query(reader, q, got, ret_answer));
	assert_same(got, wanted, ret_answer->resolution != SP_RES_10S);
	sp_profile_free(got);
	sp_store_close(reader);
	ok(sp_profile_new(&got));
	ok(sp_store_query(f->store, q, got, ret_answer));
	assert_same(got, wanted, ret_answer->resolution != SP_RES_10S);
	sp_profile_free(got);
	sp_profile_free(wanted);
}

enum { SMALL = 1 << 20 };

/* --- tests --- */
static void fill(struct fixture *f, uint64_t from_ns, uint32_t n_windows, uint32_t n_rows)
{
	for (uint32_t i = 0; i < n_windows; i++) {
		fixture_add(f, from_ns + i * 10 * S, "cpu", window_make(n_rows, 12));
		if (i % 7 == 0)
			fixture_add(f, from_ns + i * 10 * S, "offcpu", window_make(n_rows / 4, 5));
	}
}

static const struct sp_store_query filters[] = {
    {.all_users = true},
    {.all_users = true, .library = "liblib5.so*"},
    {.all_users = true, .library = "/usr/lib/liblib3*"},
    {.all_users = true, .library = "[kernel]"},
    {.all_users = true, .library = "[ext4]", .function = "function_1*"},
    {.all_users = true, .function = "_Zfunction_40?"},
    {.all_users = true, .process = "prog1"},
    {.all_users = true, .process = "103"},
    {.all_users = true, .process = "liblib5*", .library = "liblib8*"},
    {.all_users = true, .cgroup = "/system.slice"},
    {.all_users = true, .cgroup = "user.*", .process = "prog[0-2]"},
    {.uid = 1000},
    {.uid = 12345},
    {.all_users = true, .library = "nobody"},
};

static void windows_of_ten_seconds(void **state)
{
	for (uint32_t round = 0; round < (SP_FEWER > 1 ? 2 : 4); round++) {
		struct fixture f = {0};
		struct sp_store_answer a;
		seed = 1000 + round;
		fixture_open(&f, round % 2 == 0 ? 0 : SMALL);
		fill(&f, DAY + 43200 * S, 40, round == 0 ? 3 : 60);
		for (size_t i = 0; i < SP_COUNT(filters); i++) {
			struct sp_store_query q = filters[i];
			q.from_ns = DAY + 43200 * S + below(300) * S;
			q.to_ns = q.from_ns + (1 + below(200)) * S;
			q.resolution = below(2) ? -1 : SP_RES_10S;
			compare(&f, &q, 10 * S, &a);
			assert_int_equal(a.resolution, SP_RES_10S);
			assert_int_equal(a.n_shortened, 0);
			assert_int_equal(a.covered_ns, a.n_windows * 10 * S);
			assert_int_equal(a.n_lost, a.n_windows * 3);
		}
		fixture_done(&f);
	}
}

/* A night across midnight, with a gap: hours, minutes at the edges, 10 s where minutes are incomplete. */
static void roll_up(uint64_t max_memory_bytes)
{
	const uint64_t from = DAY - 2 * 3600 * S;
	bool whole = max_memory_bytes != 0; /* a minute may have two dictionaries, and so two windows */
	struct fixture f = {0};
	struct sp_store_answer a;

	seed = 5;
	fixture_open(&f, max_memory_bytes);
	fill(&f, from, 700, 10);
	fill(&f, from + 7600 * S, 800, 10);
	for (size_t i = 0; i < SP_COUNT(filters); i += whole || SP_FEWER > 1 ? 5 : 1) {
		struct sp_store_query q = filters[i];
		if (q.process != NULL && strcmp(q.process, "103") == 0)
			continue; /* no process ids there */
		q.resolution = SP_RES_1M;
		q.from_ns = from + 1200 * S + (whole ? 0 : below(60) * S);
		q.to_ns = q.from_ns + 900 * S;
		compare(&f, &q, 60 * S, &a);
		assert_int_equal(a.resolution, SP_RES_1M);
		q.resolution = SP_RES_10S; /* its names are in the file of hours by now */
		compare(&f, &q, 10 * S, &a);
		assert_int_equal(a.resolution, SP_RES_10S);
		q.resolution = SP_RES_1H;
		q.from_ns = whole ? from : q.from_ns;
		q.to_ns = from + 10800 * S - (whole ? 0 : below(3000) * S);
		compare(&f, &q, 3600 * S, &a);
		assert_int_equal(a.resolution, SP_RES_1H);
		q.resolution = -1; /* where no minute or hour is complete, finer windows are used */
		q.from_ns = from + 630 * S;
		q.to_ns = q.from_ns + 12300 * S;
		compare(&f, &q, 10 * S, &a);
		assert_int_equal(a.resolution, SP_RES_1H);
		assert_true(a.n_windows < 200);
	}
	struct sp_store_stats stats;
	ok(sp_store_stats(f.store, &stats));
	assert_int_equal(stats.n_outgrown != 0, max_memory_bytes != 0);
	fixture_done(&f);
}

static void rolled_up(void **state)
{
	roll_up(0);
}

static void rolled_up_with_many_dictionaries(void **state)
{
	roll_up(SMALL);
}

/* Slices have equal lengths, consist of whole windows, and add up. */
static void slices(void **state)
{
	struct sp_store_query q = {.all_users = true, .resolution = -1, .n_slices = 20};
	struct sp_profile *p, *whole;
	struct sp_store_answer a;
	struct fixture f = {0};
	uint32_t last = 0;

	seed = 9;
	fixture_open(&f, 0);
	fill(&f, DAY + 3600 * S, 90, 20);
	q.from_ns = DAY + 3600 * S;
	q.to_ns = q.from_ns + 900 * S;
	whole = merged(&f, &q, 10 * S);
	ok(sp_profile_new(&p));
	ok(sp_store_query(f.store, &q, p, &a));
	assert_same(p, whole, false);
	assert_int_equal(a.slice_ns, 50 * S);
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		uint32_t slice = sp_profile_key(p, sp_profile_row(p, i)->key)->slice;
		assert_in_range(slice, 1, 18);
		last = SP_MAX(last, slice);
	}
	assert_int_equal(last, 18);
	sp_profile_free(whole);
	sp_profile_free(p);
	fixture_done(&f);
}

static bool is_of_slice(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	return sp_profile_key(p, row->key)->slice == *(uint32_t *)arg;
}

/* The interval of the range that begins at `from_ns` is what a query about it alone finds. */
static void assert_interval(struct sp_store *s, const struct sp_profile *all, uint32_t slice, uint64_t from_ns,
			    uint64_t to_ns, const struct sp_store_interval *interval)
{
	struct sp_store_query q = {
	    .from_ns = from_ns, .to_ns = to_ns, .all_users = true, .resolution = -1, .exact = true};
	struct sp_filter_result result;
	struct sp_profile *p, *of;
	struct sp_store_answer a;

	ok(sp_profile_new(&p));
	ok(sp_store_query(s, &q, p, &a));
	ok(sp_profile_filter(all, is_of_slice, &slice, &of, &result));
	assert_same(of, p, false);
	assert_int_equal(interval->n_windows, a.n_windows);
	assert_int_equal(interval->covered_ns, a.covered_ns);
	assert_int_equal(interval->n_lost, a.n_lost);
	sp_profile_free(p);
	sp_profile_free(of);
}

/* Several intervals at one reading, also where the range begins and ends within one, and over a gap. */
static void intervals(void **state)
{
	static const uint64_t length_ns = 60 * S;
	struct sp_store_query q = {.all_users = true, .resolution = -1, .exact = true};
	struct sp_store_interval found[121], alone;
	struct sp_store_answer a;
	struct sp_store_span span;
	struct sp_store_stats stats;
	struct fixture f = {0};
	struct sp_profile *p;
	size_t n;

	seed = 10;
	fixture_open(&f, SMALL);
	fill(&f, DAY + 3600 * S, 40, 20);
	fill(&f, DAY + 4600 * S, 20, 20);
	for (int i = 0; i < 2; i++) {
		q.from_ns = DAY + 3590 * S + (uint64_t)i * 25 * S;
		q.to_ns = DAY + 4785 * S;
		n = sp_store_n_intervals(&q, length_ns);
		ok(sp_profile_new(&p));
		ok(sp_store_intervals(f.store, &q, length_ns, p, found, &a));
		for (size_t k = 0; k < n; k++) {
			uint64_t begin = (q.from_ns / length_ns + k) * length_ns;
			assert_interval(f.store, p, (uint32_t)k + 1, SP_MAX(begin, q.from_ns),
					SP_MIN(begin + length_ns, q.to_ns), &found[k]);
		}
		sp_profile_free(p);
	}
	ok(sp_store_span(f.store, &span));
	ok(sp_store_stats(f.store, &stats));
	assert_true(span.first_ns == stats.first_ns && span.last_ns == stats.last_ns);
	assert_int_equal(span.last_end_ns, stats.last_end_ns);
	assert_int_equal(span.last_ns, DAY + 4790 * S);
	ok(sp_profile_new(&p));
	q.to_ns = q.from_ns + SP_STORE_INTERVALS_NS + 1;
	assert_int_equal(sp_store_intervals(f.store, &q, q.to_ns, p, &alone, &a), -EINVAL);
	sp_error_clear();
	sp_profile_free(p);
	fixture_done(&f);
}

/* Sums by library, function and process do not change, however many stacks are shortened. */
static void assert_totals(const struct sp_profile *a, const struct sp_profile *b, enum sp_total_by by, uint32_t value)
{
	struct sp_totals x, y;
	size_t k = 0;

	ok(sp_totals_by(a, by, value, &x));
	ok(sp_totals_by(b, by, value, &y));
	assert_true(x.value == y.value && x.n_samples == y.n_samples);
	for (size_t i = 0; i < y.n_rows; i++) {
		const char *name = sp_total_name(b, by, &y.rows[i]), *of = sp_total_library(b, by, &y.rows[i]);
		for (k = 0; k < x.n_rows; k++)
			if (strcmp(sp_total_name(a, by, &x.rows[k]), name) == 0 &&
			    strcmp(sp_total_library(a, by, &x.rows[k]), of) == 0 && x.rows[k].none == y.rows[i].none)
				break;
		if (y.rows[i].self != 0 && (k == x.n_rows || x.rows[k].self != y.rows[i].self))
			fail_msg("%s of %s: %" PRId64 " instead of %" PRId64, name, of,
				 k == x.n_rows ? -1 : x.rows[k].self, y.rows[i].self);
		assert_true(k == x.n_rows || x.rows[k].total <= y.rows[i].total);
	}
	sp_totals_done(&x);
	sp_totals_done(&y);
}

static int64_t samples_of(const struct sp_profile *p, bool shortened_only)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		bool shortened = false;
		for (int half = 0; half < 2; half++) {
			struct sp_stack stack = sp_profile_stack(p, half == 0 ? row->user : row->kernel);
			for (uint32_t k = 0; k < stack.n_frames; k++)
				shortened |=
				    strcmp(sp_profile_string(
					       p, sp_profile_func(p, sp_profile_frame(p, stack.frames[k])->func)->name),
					   "[shortened]") == 0;
		}
		n += shortened || !shortened_only ? row->values[0] : 0;
	}
	return n;
}

static void class_counts(const struct sp_profile *p, int64_t *counts)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		counts[sp_profile_stack(p, row->user).stack_class] += row->values[0];
		counts[4 + sp_profile_stack(p, row->kernel).stack_class] += row->values[0];
	}
}

static void shortened(void **state)
{
	struct sp_store_query q = {.all_users = true, .resolution = -1, .from_ns = DAY, .to_ns = DAY + 6000 * S};
	struct sp_profile *p, *exact;
	struct sp_store_answer a, b;
	struct fixture f = {0};

	seed = 77;
	fixture_open(&f, 4 * SMALL);
	fill(&f, DAY + 100 * S, 60, 900);
	for (int with_filter = 0; with_filter < 2; with_filter++) {
		int64_t counts[8] = {0}, exact_counts[8] = {0};
		q.library = with_filter ? "liblib[4-9]*" : NULL;
		ok(sp_profile_new(&p));
		ok(sp_profile_new(&exact));
		q.exact = false;
		ok(sp_store_query(f.store, &q, p, &a));
		q.exact = true;
		ok(sp_store_query(f.store, &q, exact, &b));
		struct sp_profile *wanted = merged(&f, &q, 10 * S);
		assert_same(exact, wanted, false);
		assert_int_equal(b.n_shortened, 0);
		if (with_filter) { /* the frame asked for is still in each stack */
			struct sp_glob_filter filter = {.by = SP_FILTER_LIBRARY, .globs = &q.library, .n_globs = 1};
			struct sp_filter_result result;
			struct sp_profile *again;
			ok(sp_profile_filter_by(p, &filter, &again, &result));
			assert_int_equal(result.n_left_out, 0);
			sp_profile_free(again);
		}
		assert_true(a.n_shortened > 0);
		assert_true(sp_profile_n_stacks(p) < sp_profile_n_stacks(exact) * 3 / 4);
		assert_true((int64_t)a.n_shortened >= samples_of(p, true) && samples_of(p, true) > 0);
		assert_int_equal(samples_of(p, false), samples_of(exact, false));
		for (uint32_t value = 0; value < 2; value++) {
			assert_totals(p, exact, SP_TOTAL_BY_LIBRARY, value);
			assert_totals(p, exact, SP_TOTAL_BY_FUNCTION, value);
			assert_totals(p, exact, SP_TOTAL_BY_COMM, value);
			assert_totals(p, exact, SP_TOTAL_BY_CGROUP, value);
		}
		class_counts(p, counts);
		class_counts(exact, exact_counts);
		assert_memory_equal(counts, exact_counts, sizeof(counts));
		sp_profile_free(wanted);
		sp_profile_free(p);
		sp_profile_free(exact);
	}
	fixture_done(&f);
}

/* Exact totals, against those of the merged windows. */
struct total_check {
	struct sp_profile *wanted;
	struct sp_totals libraries, functions;
	size_t n_libraries, n_functions;
	int64_t sum;
};

static int check_total(void *arg, const struct sp_store_total *t)
{
	struct total_check *c = arg;
	bool is_library = *t->function == '\0';
	const struct sp_totals *all = is_library ? &c->libraries : &c->functions;
	enum sp_total_by by = is_library ? SP_TOTAL_BY_LIBRARY : SP_TOTAL_BY_FUNCTION;

	for (size_t i = 0; i < all->n_rows; i++) {
		const struct sp_total *row = &all->rows[i];
		const char *name = sp_total_name(c->wanted, by, row), *of = sp_total_library(c->wanted, by, row);
		if (row->none || strcmp(name, is_library ? t->file : t->function) != 0 ||
		    (!is_library && strcmp(of, t->file) != 0))
			continue;
		if (t->self[0] != row->self || t->total[0] != row->total)
			fail_msg("%s of %s: %" PRId64 "/%" PRId64 " instead of %" PRId64 "/%" PRId64, name, of,
				 t->self[0], t->total[0], row->self, row->total);
		c->n_libraries += is_library;
		c->n_functions += !is_library;
		c->sum += is_library ? t->self[0] : 0;
		return 0;
	}
	return 0;
}

static void totals(void **state)
{
	struct sp_store_query q = {.all_users = true, .from_ns = DAY + 3600 * S, .to_ns = DAY + 7200 * S};
	struct total_check c = {0};
	struct sp_store_answer answer;
	struct fixture f = {0};

	seed = 31;
	fixture_open(&f, 0);
	fill(&f, q.from_ns, 390, 20); /* an hour is rolled up during the minutes after it */
	c.wanted = merged(&f, &q, 10 * S);
	ok(sp_totals_by(c.wanted, SP_TOTAL_BY_LIBRARY, 0, &c.libraries));
	ok(sp_totals_by(c.wanted, SP_TOTAL_BY_FUNCTION, 0, &c.functions));
	q.resolution = SP_RES_1H;
	ok(sp_store_totals(f.store, &q, true, check_total, &c, &answer));
	assert_int_equal(answer.n_windows, 1);
	assert_true(c.n_libraries >= N_LIBRARIES - 3 && c.n_functions > 100);
	sp_totals_done(&c.libraries);
	sp_totals_done(&c.functions);
	sp_profile_free(c.wanted);
	fixture_done(&f);
}

/* With less of "who": fewer rows, the same sums. */
static void whom(struct fixture *f, struct sp_store_query q, enum sp_store_who who, const struct sp_profile *whole)
{
	struct sp_store_answer a;
	struct sp_profile *p;

	q.who = who;
	ok(sp_profile_new(&p));
	ok(sp_store_query(f->store, &q, p, &a));
	assert_true(sp_profile_n_rows(p) < sp_profile_n_rows(whole));
	assert_in_range(sp_profile_n_keys(p), 2, who == SP_WHO_NOTHING ? 2 : sp_profile_n_keys(whole) - 1);
	for (uint32_t v = 0; v < sp_profile_n_value_types(whole); v++) {
		assert_totals(p, whole, SP_TOTAL_BY_LIBRARY, v);
		assert_totals(p, whole, SP_TOTAL_BY_FUNCTION, v);
		if (who == SP_WHO_THREAD)
			assert_totals(p, whole, SP_TOTAL_BY_COMM, v);
	}
	sp_profile_free(p);
}

static void of_whom(void **state)
{
	struct sp_store_query q = {.all_users = true, .from_ns = DAY + 3600 * S, .to_ns = DAY + 3960 * S};
	struct sp_profile *whole;
	struct sp_store_answer a;
	struct fixture f = {0};

	seed = 77;
	fixture_open(&f, 0);
	fill(&f, DAY + 3600 * S, 42, 60);
	for (q.resolution = SP_RES_10S; q.resolution <= SP_RES_1M; q.resolution++) {
		ok(sp_profile_new(&whole));
		ok(sp_store_query(f.store, &q, whole, &a));
		whom(&f, q, SP_WHO_THREAD, whole);
		whom(&f, q, SP_WHO_NOTHING, whole);
		sp_profile_free(whole);
	}
	/* a filter by who needs who: it is not dropped */
	q.resolution = SP_RES_10S;
	q.process = "prog1";
	q.who = SP_WHO_NOTHING;
	compare(&f, &q, 10 * S, &a);
	fixture_done(&f);
}

static void bad_questions(void **state)
{
	struct sp_store_query q = {.all_users = true, .resolution = -1, .from_ns = 5, .to_ns = 5};
	struct sp_store_answer a;
	struct fixture f = {0};
	struct sp_profile *p;

	ok(sp_profile_new(&p));
	fixture_open(&f, 0);
	assert_int_equal(sp_store_query(f.store, &q, p, &a), -EINVAL);
	q.to_ns = DAY;
	q.resolution = 7;
	assert_int_equal(sp_store_query(f.store, &q, p, &a), -EINVAL);
	q.resolution = -1;
	ok(sp_store_query(f.store, &q, p, &a)); /* of an empty store */
	assert_true(a.n_windows == 0 && a.from_ns == 0 && a.to_ns == 0 && sp_profile_n_rows(p) == 0);
	sp_profile_free(p);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(windows_of_ten_seconds),
	    cmocka_unit_test(rolled_up),
	    cmocka_unit_test(rolled_up_with_many_dictionaries),
	    cmocka_unit_test(slices),
	    cmocka_unit_test(intervals),
	    cmocka_unit_test(shortened),
	    cmocka_unit_test(totals),
	    cmocka_unit_test(of_whom),
	    cmocka_unit_test(bad_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
