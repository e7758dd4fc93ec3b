/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows whose dictionary was read in two goes, nodes first and then what they need, are those of a dictionary that was
 * read whole: of random stores with all three files of a day, damaged ones, and one that changes in between.
 */
#include "base/mem.h"
#include "base/time.h"
#include "made.h"
#include "profile/window.h"
#include "store/format/dict.h"
#include "store/priv.h"
#include "store/query/gather.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 (UINT64_C(1763722800) * SP_NS_PER_S) /* the beginning of an hour */
enum { N_WINDOWS = 150, EVERY_S = 60, AGAIN = 10, N_STORES = SP_FEWER > 1 ? 1 : 2, N_RANGES = 12, N_FLIPS = 40 };

static void fill(const char *path, uint64_t seed)
{
	struct made m = {.n_files = 8, .n_funcs = 40, .n_stacks = 50, .n_keys = 12, .n_rows = 15, .n_values = 2};
	struct sp_store *s = made_store(path, &(struct sp_store_options){0});
	struct sp_profile *p = NULL;

	for (uint64_t i = 0; i < N_WINDOWS; i++) {
		if (i % AGAIN == 0) { /* other things, which become parts of the dictionary */
			sp_profile_free(p);
			p = made_profile();
			made_things(p, &m, &seed);
		}
		sp_profile_clear_rows(p);
		made_rows(p, &m, &seed);
		made_add(s, T0 + i * EVERY_S * SP_NS_PER_S, p, "cpu");
	}
	sp_profile_free(p);
	sp_store_close(s);
}

/* --- reading --- */
struct got {
	struct sums sums;
	struct sp_scan_window w; /* the rows at hand */
	uint32_t *who, *node;
	int64_t *values[SP_MAX_VALUES];
	size_t who_capacity, node_capacity, value_capacity[SP_MAX_VALUES];
	uint64_t n_picked, n_whole, n_frames; /* windows by how their dictionary was read; frames of the last one */
	uint64_t n_damaged, n_incomplete;
	size_t n_salvaged;
	int error;
};

static void rows_sum(struct got *r)
{
	r->w.who = r->who;
	r->w.node = r->node;
	for (uint32_t v = 0; v < r->w.n_values; v++)
		r->w.values[v] = r->values[v];
	if (r->w.n_rows > 0)
		sums_of_window(&r->sums, &r->w, false);
	r->w.n_rows = 0;
}

static int types_take(void *got, const struct sp_stored_type *types, uint32_t n)
{
	struct got *r = got;

	assert_true(n == 0 || n == 2);
	r->w.n_values = 2;
	return types && n > 2;
}

static uint32_t count_frames(const struct sp_dict *d)
{
	uint8_t *seen = calloc(d->n_frames + 1, 1);
	uint32_t n = 0;

	seen[0] = 1;
	for (uint32_t i = 0; i < d->n_nodes; i++)
		seen[d->frame[i]] = 1;
	for (uint32_t i = 0; i < d->n_frames; i++)
		n += seen[i];
	free(seen);
	return n;
}

static int window_take(void *got, const struct sp_stored_window *w)
{
	struct got *r = got;
	bool is_picked = ((const struct sp_dict_arrays *)w->dict)->nodes_first;

	rows_sum(r);
	r->w.dict = (struct sp_dict *)(uintptr_t)w->dict;
	r->w.resolution = SP_RES_10S;
	r->n_picked += is_picked;
	r->n_whole += !is_picked;
	r->n_frames = w->dict->n_frames;
	if (is_picked)
		assert_int_equal(count_frames(w->dict), w->dict->n_frames);
	return 0;
}

static int row_take(void *got, const struct sp_stored_row *row)
{
	struct got *r = got;
	uint32_t n = r->w.n_rows++;

	assert_int_equal(sp_grow(&r->who, &r->who_capacity, n + 1, sizeof(*r->who)), 0);
	assert_int_equal(sp_grow(&r->node, &r->node_capacity, n + 1, sizeof(*r->node)), 0);
	assert_true(row->who < r->w.dict->n_keys && row->node < r->w.dict->n_nodes);
	r->who[n] = row->who;
	r->node[n] = row->node;
	for (uint32_t v = 0; v < r->w.n_values; v++) {
		assert_int_equal(sp_grow(&r->values[v], &r->value_capacity[v], n + 1, sizeof(**r->values)), 0);
		r->values[v][n] = row->values[v];
	}
	return 0;
}

static void read_done(struct got *r)
{
	sums_done(&r->sums);
	free(r->who);
	free(r->node);
	for (uint32_t v = 0; v < SP_MAX_VALUES; v++)
		free(r->values[v]);
}

/* between: done to the store after its nodes were read, after which the rest must not be taken. */
static struct got read_rows(const char *path, uint64_t from_ns, uint64_t to_ns, bool nodes_first,
			    void (*between)(const char *path))
{
	struct sp_store_query q = sp_store_query_of_all("cpu", from_ns, to_ns);
	struct got got = {.sums = sums_new(2)};
	struct sp_stored_reader reader = {.types = types_take, .window = window_take, .row = row_take, .arg = &got};
	struct sp_store *s = made_store(path, &(struct sp_store_options){.read_only = true});
	struct sp_gathered g = {0};
	struct sp_store_answer answer = {0};
	struct sp_plan plan = {0};

	got.error = sp_plan_make(s, &q, sp_plan_coarsest(&q), &plan, &answer);
	sp_gather_begin(&g, &q, &plan);
	g.nodes_first = g.one_dict = nodes_first;
	for (size_t at = 0; at < plan.n_windows && got.error == 0;) {
		bool both = nodes_first && !between;
		got.error = both ? sp_gather_narrowed(&g, s, &q, &plan, &at) : sp_gather(&g, s, &q, &plan, &at);
		if (got.error == 0 && between) {
			between(path);
			assert_int_equal(sp_gathered_narrow(&g, s), -ESTALE);
			sp_gathered_release(&g);
			g.n_incomplete = g.n_damaged = 0;
			g.nodes_first = nodes_first = false;
			between = NULL;
			at = 0;
			continue;
		}
		if (got.error == 0 && !both)
			got.error = sp_gathered_narrow(&g, s);
		if (got.error == 0)
			got.error = sp_gathered_visit(&g, 0, &reader);
		rows_sum(&got);
		sp_gathered_release(&g);
	}
	got.n_damaged = g.n_damaged;
	got.n_incomplete = g.n_incomplete;
	got.n_salvaged = g.n_salvaged;
	sp_gathered_done(&g);
	sp_plan_done(&plan);
	sp_store_close(s);
	return got;
}

/* Returns how many windows were read in two goes. */
static uint64_t both_ways(const char *path, uint64_t from_ns, uint64_t to_ns, bool *ret_fewer)
{
	struct got whole = read_rows(path, from_ns, to_ns, false, NULL);
	struct got picked = read_rows(path, from_ns, to_ns, true, NULL);
	uint64_t n = picked.n_picked;

	assert_int_equal(whole.error, picked.error);
	assert_int_equal(whole.n_picked, 0);
	assert_int_equal(whole.n_damaged, picked.n_damaged);
	assert_int_equal(whole.n_incomplete, picked.n_incomplete);
	assert_int_equal(whole.n_salvaged, picked.n_salvaged);
	assert_int_equal(whole.n_whole, picked.n_whole + picked.n_picked);
	if (whole.n_whole > 0)
		sums_equal(&whole.sums, &picked.sums);
	*ret_fewer = n > 0 && picked.n_frames < whole.n_frames;
	read_done(&whole);
	read_done(&picked);
	return n;
}

/* --- tests --- */
static void rows_are_the_same(void **state)
{
	uint64_t seed = 11, n_fewer = 0, n_with_hours = 0;

	for (int i = 0; i < N_STORES; i++) {
		char *path = made_directory();
		fill(path, made_random(&seed));
		for (int k = 0; k < N_RANGES; k++) {
			uint64_t from = T0 + made_random(&seed) % N_WINDOWS * EVERY_S * SP_NS_PER_S;
			uint64_t to = from + (1 + made_random(&seed) % 20) * EVERY_S * SP_NS_PER_S;
			bool fewer;
			assert_true(both_ways(path, from, to, &fewer) > 0);
			n_fewer += fewer;
			n_with_hours += from > T0 + 2 * 3600 * SP_NS_PER_S;
		}
		made_directory_gone(path);
	}
	print_message("%llu of %d had fewer frames, %llu are after an hour's end\n", (unsigned long long)n_fewer,
		      N_STORES * N_RANGES, (unsigned long long)n_with_hours);
	assert_true(n_fewer > 0 && n_with_hours > 0);
}

/* Flips a bit of a day's file; again: as it was. */
static void flip(const char *path, int resolution, uint64_t number)
{
	struct sp_day day = sp_day_of(T0, resolution);
	char *file = NULL;
	uint8_t byte;
	struct stat st;

	assert_true(asprintf(&file, "%s/%s", path, day.name) > 0);
	int fd = open(file, O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	off_t at = (off_t)(number % (uint64_t)st.st_size);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= (uint8_t)(1 << number % 8);
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	free(file);
}

static void damaged_ones_are_the_same(void **state)
{
	char *path = made_directory();
	uint64_t seed = 5, n_picked = 0, n_whole = 0, from = T0 + 8400 * SP_NS_PER_S, to = from + 600 * SP_NS_PER_S;
	bool fewer;

	fill(path, 77);
	for (int i = 0; i < N_FLIPS / SP_FEWER; i++)
		for (int resolution = SP_RES_10S; resolution < SP_N_RESOLUTIONS; resolution++) {
			uint64_t number = made_random(&seed);
			flip(path, resolution, number);
			uint64_t n = both_ways(path, from, to, &fewer);
			n_picked += n > 0;
			n_whole += n == 0;
			flip(path, resolution, number);
		}
	print_message("%llu read nodes first, %llu whole\n", (unsigned long long)n_picked, (unsigned long long)n_whole);
	assert_true(n_picked > 0 && n_whole > 0);
	made_directory_gone(path);
}

/* Of all files; from which the nodes were read is not known here. */
static void chunks_remove(const char *path)
{
	for (int resolution = SP_RES_10S; resolution < SP_N_RESOLUTIONS; resolution++) {
		struct sp_day day = sp_day_of(T0, resolution);
		char *file = NULL;
		sqlite3 *db;
		assert_true(asprintf(&file, "%s/%s", path, day.name) > 0);
		assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
		assert_int_equal(
		    sqlite3_exec(db, "DELETE FROM chunk WHERE id = (SELECT min(id) FROM chunk)", NULL, NULL, NULL),
		    SQLITE_OK);
		sqlite3_close(db);
		free(file);
	}
}

static void a_change_is_noticed(void **state)
{
	char *path = made_directory();
	uint64_t from = T0 + 8400 * SP_NS_PER_S, to = from + 600 * SP_NS_PER_S;

	fill(path, 3);
	struct got changed = read_rows(path, from, to, true, chunks_remove);
	struct got whole = read_rows(path, from, to, false, NULL);
	assert_true(changed.error == 0 && changed.n_picked == 0 && changed.n_whole > 0);
	assert_int_equal(changed.n_incomplete, whole.n_incomplete);
	sums_equal(&whole.sums, &changed.sums);
	read_done(&changed);
	read_done(&whole);
	made_directory_gone(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_the_same),
	    cmocka_unit_test(damaged_ones_are_the_same),
	    cmocka_unit_test(a_change_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
