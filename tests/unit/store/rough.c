/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries of long ranges that use pruned trees and charts, compared with exact answers: what is in a tree is exact,
 * what is not is counted, and nothing is missing or counted twice.
 */
#include "asked.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/totals.h"
#include "store/totals.h"

#define HOUR (3600 * S)
#define SHARE 5000

static struct sp_profile *ask(struct sp_store *s, uint64_t from_ns, uint64_t to_ns, bool rough,
			      struct sp_store_answer *a)
{
	struct sp_store_query q = {
	    .from_ns = from_ns, .to_ns = to_ns, .all_users = true, .resolution = -1, .rough = rough, .exact = !rough};
	struct sp_profile *p;

	ok(sp_profile_new(&p));
	ok(sp_store_query(s, &q, p, a));
	return p;
}

/* Many rare stacks below few frequent ones. */
static void fill(struct fixture *f, uint64_t from_ns, uint32_t n, uint64_t every_ns, uint32_t n_rows)
{
	for (uint32_t i = 0; i < n; i++)
		fixture_add(f, from_ns + i * every_ns, "cpu", window_make(n_rows, i % 3 == 0 ? 3 : 16));
}

/* --- sums below each stack prefix, by group --- */
struct under {
	struct sp_intern *paths;
	int64_t *values;
	size_t capacity;
	int64_t all, shortened;
};

static void add_under(struct under *u, const char *path, size_t len, int64_t value)
{
	uint32_t n = ok(sp_intern_add(u->paths, path, len));

	ok(sp_grow(&u->values, &u->capacity, (size_t)n + 1, sizeof(*u->values)));
	u->values[n] += value;
}

static void add_stack(struct under *u, const struct sp_profile *p, uint32_t number, FILE *out, char *const *text,
		      const size_t *len, int64_t value)
{
	struct sp_stack stack = sp_profile_stack(p, number);

	if (number != 0)
		fprintf(out, " |%u.%u", stack.stack_class, stack.reason); /* a mark in the tree */
	for (uint32_t i = stack.n_frames; i-- > 0;) {
		const struct sp_frame *f = sp_profile_frame(p, stack.frames[i]);
		const struct sp_func *func = sp_profile_func(p, f->func);
		bool elf = f->func == 0 && sp_profile_file(p, f->file)->kind == SP_FILE_ELF;
		fprintf(out, ";%s:%s+%" PRIx64 "/%x", sp_profile_string(p, sp_profile_file(p, f->file)->name),
			sp_profile_string(p, func->name), elf ? f->offset : 0, f->flags & 0xff);
		fflush(out);
		add_under(u, *text, *len, value);
	}
}

static struct under under_of(const struct sp_profile *p, uint32_t v)
{
	struct under u = {0};

	ok(sp_intern_new(&u.paths));
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		const struct sp_process *process = sp_profile_process(p, sp_profile_key(p, row->key)->process);
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);
		fprintf(out, "%u %s %s", process->uid, sp_profile_string(p, process->comm),
			sp_profile_string(p, process->cgroup_path));
		fflush(out);
		add_under(&u, text, len, row->values[v]);
		add_stack(&u, p, row->user, out, &text, &len, row->values[v]);
		add_stack(&u, p, row->kernel, out, &text, &len, row->values[v]);
		fclose(out);
		u.all += row->values[v];
		u.shortened += strstr(text, "[shortened]") != NULL ? row->values[v] : 0;
		free(text);
	}
	return u;
}

static void under_done(struct under *u)
{
	sp_intern_free(u->paths);
	free(u->values);
}

/* whole: of a single tree, whose kept nodes are kept throughout. */
static void compare_under(const struct sp_profile *rough, const struct sp_profile *exact, uint32_t v, bool whole,
			  uint64_t n_shortened)
{
	struct under r = under_of(rough, v), e = under_of(exact, v);

	assert_int_equal(r.all, e.all);
	if (v == 0)
		assert_int_equal(r.shortened, n_shortened);
	for (uint32_t i = 0; i < sp_intern_count(r.paths); i++) {
		size_t len;
		const char *path = sp_intern_get(r.paths, i, &len);
		if (strstr(path, "[shortened]") != NULL)
			continue;
		int64_t n = sp_intern_find(e.paths, path, len);
		if (n < 0)
			fail_msg("nowhere but in the tree: %s", path);
		if (r.values[i] > e.values[n] || (whole && r.values[i] != e.values[n]))
			fail_msg("%" PRId64 " instead of %" PRId64 ": %s", r.values[i], e.values[n], path);
	}
	for (uint32_t i = 0; i < sp_intern_count(e.paths) && whole && v == 0; i++) {
		size_t len;
		const char *path = sp_intern_get(e.paths, i, &len);
		if (e.values[i] >= e.all / SHARE + 1 && sp_intern_find(r.paths, path, len) < 0)
			fail_msg("not in the tree with %" PRId64 " of %" PRId64 ": %s", e.values[i], e.all, path);
	}
	under_done(&r);
	under_done(&e);
}

static bool is_same(const struct sp_profile *p, const struct sp_total *a, const struct sp_profile *q,
		    const struct sp_total *b, enum sp_total_by by)
{
	return a->none == b->none && (by != SP_TOTAL_BY_USER || a->id == b->id) &&
	       strcmp(sp_total_name(p, by, a), sp_total_name(q, by, b)) == 0;
}

static void compare_totals(const struct sp_profile *rough, const struct sp_profile *exact, enum sp_total_by by)
{
	for (uint32_t v = 0; v < 2; v++) {
		struct sp_totals x, y;
		ok(sp_totals_by(rough, by, v, &x));
		ok(sp_totals_by(exact, by, v, &y));
		assert_int_equal(x.value, y.value);
		assert_int_equal(x.n_rows, y.n_rows);
		for (size_t i = 0; i < x.n_rows; i++) {
			size_t k = 0;
			while (k < y.n_rows && !is_same(rough, &x.rows[i], exact, &y.rows[k], by))
				k++;
			assert_true(k < y.n_rows);
			if (x.rows[i].self != y.rows[k].self)
				fail_msg("%d %s: %" PRId64 " instead of %" PRId64, (int)by,
					 sp_total_name(rough, by, &x.rows[i]), x.rows[i].self, y.rows[k].self);
		}
		sp_totals_done(&x);
		sp_totals_done(&y);
	}
}

static void compare(struct sp_store *s, uint64_t from_ns, uint64_t to_ns, bool whole, struct sp_store_answer *ret_rough)
{
	struct sp_store_answer e;
	struct sp_profile *rough = ask(s, from_ns, to_ns, true, ret_rough), *exact = ask(s, from_ns, to_ns, false, &e);

	assert_int_equal(e.n_shortened, 0);
	assert_int_equal(ret_rough->covered_ns, e.covered_ns);
	assert_int_equal(ret_rough->n_lost, e.n_lost);
	assert_int_equal(ret_rough->from_ns, e.from_ns);
	assert_int_equal(ret_rough->to_ns, e.to_ns);
	assert_int_equal(ret_rough->n_damaged, 0);
	for (uint32_t v = 0; v < 2; v++)
		compare_under(rough, exact, v, whole, ret_rough->n_shortened);
	compare_totals(rough, exact, SP_TOTAL_BY_COMM);
	compare_totals(rough, exact, SP_TOTAL_BY_CGROUP);
	compare_totals(rough, exact, SP_TOTAL_BY_USER);
	sp_profile_free(rough);
	sp_profile_free(exact);
}

/* --- tests --- */
static void one_hour(void **state)
{
	struct sp_store_answer a;
	struct fixture f = {0};

	seed = 21;
	fixture_open(&f, 0);
	fill(&f, DAY + 3 * HOUR, SP_FEWER > 1 ? 60 : 240, 10 * S, 60);
	fill(&f, DAY + 10 * HOUR, 12, 10 * S, 1); /* so that the hour is rolled up */
	compare(f.store, DAY, DAY + 7 * HOUR, true, &a);
	assert_true(a.n_shortened > 0);
	assert_int_equal(a.n_windows, 1);
	fixture_done(&f);
}

/* Hours, a past day, edges; and a store with several dictionaries. */
static void many_hours(void **state)
{
	static const uint64_t ranges[][2] = {{0, 8}, {1, 23}, {0, 24}, {4, 30}, {0, 30}, {2, 27}};

	for (uint64_t memory = 0; memory <= 1 << 20; memory += 1 << 20) {
		struct sp_store_answer a;
		struct fixture f = {0};
		seed = 22 + memory;
		fixture_open(&f, memory);
		fill(&f, DAY, 31 * (SP_FEWER > 1 ? 3 : 10), (SP_FEWER > 1 ? 1200 : 360) * S, 12);
		for (size_t i = 0; i<SP_COUNT(ranges); i += SP_FEWER> 1 ? 2 : 1) {
			uint64_t from = DAY + ranges[i][0] * HOUR, to = DAY + ranges[i][1] * HOUR;
			compare(f.store, from, to, false, &a);
			assert_int_equal(a.resolution, SP_RES_1H); /* days replace them */
		}
		/* a writer reopens it and finds everything */
		sp_store_close(f.store);
		ok(sp_store_open(f.place, &(struct sp_store_options){0}, &f.store));
		compare(f.store, DAY, DAY + 30 * HOUR, false, &a);
		fixture_done(&f);
	}
}

static void sql(const struct fixture *f, const char *words)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/2026-11-21.1h.db", f->place);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, words, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Without trees, as in older versions; with damaged trees; a day that lacks an hour. */
static void without_trees(void **state)
{
	static const char *const harms[] = {
	    "UPDATE tree SET record = zeroblob(100) WHERE t % 7 = 0",
	    "UPDATE day_tree SET record = zeroblob(100)",
	    "DELETE FROM tree WHERE t > (SELECT min(t) FROM tree)",
	    "DROP TABLE tree",
	    "DROP TABLE day_tree; DROP TABLE chart",
	};
	struct sp_store_answer a;
	struct fixture f = {0};

	seed = 23;
	fixture_open(&f, 0);
	fill(&f, DAY, 26 * 4, 900 * S, 12);
	sp_store_close(f.store);
	for (size_t i = 0; i < SP_COUNT(harms); i++) {
		sql(&f, harms[i]);
		ok(sp_store_open(f.place, &(struct sp_store_options){.read_only = true}, &f.store));
		compare(f.store, DAY, DAY + 24 * HOUR, false, &a);
		compare(f.store, DAY + HOUR, DAY + 26 * HOUR, false, &a);
		sp_store_close(f.store);
	}
	ok(sp_store_open(f.place, &(struct sp_store_options){0}, &f.store));
	compare(f.store, DAY, DAY + 24 * HOUR, false, &a);
	fixture_done(&f);
}

/* Queries that trees cannot answer do not use them. */
static void not_rough(void **state)
{
	struct sp_store_query q = {.from_ns = DAY, .to_ns = DAY + 7 * HOUR, .all_users = true, .resolution = -1};
	struct fixture f = {0};

	seed = 24;
	fixture_open(&f, 0);
	fill(&f, DAY, 8 * 20, 180 * S, 30);
	for (uint32_t i = 0; i < 7; i++) {
		struct sp_store_query plain = q, rough;
		struct sp_store_answer a, b;
		struct sp_profile *x, *y;
		plain.library = i == 0 ? "liblib5*" : NULL;
		plain.function = i == 1 ? "function_4*" : NULL;
		plain.process = i == 2 ? "prog1" : NULL;
		plain.cgroup = i == 3 ? "/user.slice" : NULL;
		plain.all_users = i != 4;
		plain.n_slices = i == 5 ? 4 : 0;
		plain.to_ns = i == 6 ? DAY + 5 * HOUR : q.to_ns;
		rough = plain;
		rough.rough = true;
		ok(sp_profile_new(&x));
		ok(sp_profile_new(&y));
		ok(sp_store_query(f.store, &plain, x, &a));
		ok(sp_store_query(f.store, &rough, y, &b));
		assert_same(y, x, true);
		assert_int_equal(a.n_windows, b.n_windows);
		sp_profile_free(x);
		sp_profile_free(y);
	}
	fixture_done(&f);
}

/* --- charts --- */
struct wanted {
	const struct sp_store_chart *c;
	int64_t *self, *total;
	uint32_t value;
};

static int take_total(void *arg, const struct sp_store_total *t)
{
	const struct wanted *w = arg;
	const struct sp_store_chart *c = w->c;
	uint64_t slice = (t->wall_ns - c->from_ns) / c->slice_ns;
	uint32_t i = 0;

	if (*t->function != '\0')
		return 0;
	while (i < c->n_libraries && strcmp(c->libraries[i].name, t->file) != 0)
		i++;
	assert_true(i < c->n_libraries && slice < c->n_slices);
	w->self[slice * c->n_libraries + i] += t->self[w->value];
	w->total[slice * c->n_libraries + i] += t->total[w->value];
	return 0;
}

static void compare_chart(struct sp_store *s, uint64_t from_ns, uint64_t to_ns, uint64_t slice_ns, uint32_t value)
{
	struct sp_store_chart *c;
	uint64_t covered = 0;

	struct sp_store_query q = {.from_ns = from_ns, .to_ns = to_ns, .all_users = true, .resolution = -1};
	const struct sp_store_query moved = q;
	struct sp_store_answer a;

	ok(sp_store_chart(s, &q, value == 0 ? NULL : "cpu", slice_ns, &c, &a));
	assert_string_equal(c->value, value == 0 ? "samples" : "cpu");
	assert_string_equal(c->unit, value == 0 ? "count" : "nanoseconds");
	assert_true(c->from_ns <= from_ns && from_ns - c->from_ns < slice_ns);
	assert_true(c->from_ns + c->n_slices * slice_ns >= to_ns && c->n_libraries > 5);
	size_t n = (size_t)c->n_slices * c->n_libraries;
	struct wanted w = {c, calloc(n, sizeof(int64_t)), calloc(n, sizeof(int64_t)), value};
	q.resolution = SP_RES_1M;
	q.from_ns = sp_store_end(&moved, from_ns);
	q.to_ns = sp_store_end(&moved, to_ns);
	ok(sp_store_totals(s, &q, false, take_total, &w, &a));
	for (size_t i = 0; i < n; i++) {
		if (c->self[i] != w.self[i])
			fail_msg("%s at %zu of %u: %" PRId64 " instead of %" PRId64,
				 c->libraries[i % c->n_libraries].name, i / c->n_libraries, c->n_slices, c->self[i],
				 w.self[i]);
		assert_int_equal(c->total[i], w.total[i]);
	}
	for (uint32_t i = 0; i < c->n_slices; i++)
		covered += c->covered_ns[i];
	for (uint32_t i = 0; i < c->n_libraries; i++) {
		int64_t sum = 0;
		for (uint32_t slice = 0; slice < c->n_slices; slice++)
			sum += c->self[(size_t)slice * c->n_libraries + i];
		assert_int_equal(sum, c->libraries[i].self);
		assert_true(i == 0 || c->libraries[i - 1].self >= c->libraries[i].self);
	}
	assert_true(covered > 0 && covered % (10 * S) == 0);
	free(w.self);
	free(w.total);
	sp_store_chart_free(c);
}

static int chart(struct sp_store *s, uint64_t from_ns, uint64_t to_ns, uint64_t slice_ns, struct sp_store_chart **c)
{
	struct sp_store_query q = {.from_ns = from_ns, .to_ns = to_ns, .all_users = true, .resolution = -1};
	struct sp_store_answer a;

	return sp_store_chart(s, &q, NULL, slice_ns, c, &a);
}

static void charts(void **state)
{
	struct sp_store_chart *c;
	struct sp_store_answer a;
	struct fixture f = {0};

	seed = 25;
	fixture_open(&f, 0);
	fill(&f, DAY, 27 * 12, 300 * S, 8);
	sp_store_close(f.store); /* so that the last minute is complete */
	ok(sp_store_open(f.place, &(struct sp_store_options){0}, &f.store));
	for (uint32_t value = 0; value < 2; value++) {
		compare_chart(f.store, DAY, DAY + 24 * HOUR, 600 * S, value);
		compare_chart(f.store, DAY + 2 * HOUR, DAY + 26 * HOUR, HOUR, value);
		compare_chart(f.store, DAY + 5 * HOUR, DAY + 6 * HOUR, 60 * S, value);
		compare_chart(f.store, DAY + 1500 * S, DAY + 26 * HOUR + 900 * S, 300 * S, value);
	}
	sp_store_close(f.store);
	sql(&f, "DELETE FROM chart WHERE t % 7 = 1; UPDATE chart SET record = zeroblob(9) WHERE t % 5 = 0");
	ok(sp_store_open(f.place, &(struct sp_store_options){.read_only = true}, &f.store));
	compare_chart(f.store, DAY, DAY + 24 * HOUR, 600 * S, 0);
	assert_int_equal(chart(f.store, DAY, DAY, 60 * S, &c), -EINVAL);
	assert_int_equal(chart(f.store, DAY, DAY + S, 0, &c), -EINVAL);
	assert_int_equal(chart(f.store, DAY, DAY + S, 61 * S, &c), -EINVAL);
	assert_int_equal(chart(f.store, 0, DAY, 60 * S, &c), -E2BIG);
	struct sp_store_query q = {
	    .from_ns = DAY, .to_ns = DAY + HOUR, .all_users = true, .resolution = -1, .source = "nobody"};
	ok(sp_store_chart(f.store, &q, NULL, 60 * S, &c, &a));
	assert_int_equal(c->n_libraries, 0);
	sp_store_chart_free(c);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_hour),  cmocka_unit_test(many_hours), cmocka_unit_test(without_trees),
	    cmocka_unit_test(not_rough), cmocka_unit_test(charts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
