/* SPDX-License-Identifier: GPL-2.0-or-later */
/* After bits of a store's files were flipped, or their ends cut off, it returns less, but never anything else. */
#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "made.h"
#include "profile/window.h"
#include "store/priv.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_WINDOWS = 14, STEP = SP_FEWER > 1 ? 127 : 41, CUT = SP_FEWER > 1 ? 3 : 1 };
#define T0 (UINT64_C(1763722800) * SP_NS_PER_S)

static const struct made made = {.n_files = 9, .n_funcs = 60, .n_stacks = 60, .n_keys = 9, .n_rows = 40, .n_values = 2};

struct kept {
	char *path, *file; /* the directory; the day file of 10s in it */
	uint8_t *bytes;
	size_t len;
	struct sums windows[N_WINDOWS];
};

static void name_file(struct kept *k, int resolution)
{
	struct sp_day day = sp_day_of(T0, resolution);

	free(k->file);
	assert_true(asprintf(&k->file, "%s/%s", k->path, day.name) > 0);
}

static void read_file(struct kept *k)
{
	struct stat st;
	int fd = open(k->file, O_RDONLY);

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	k->len = (size_t)st.st_size;
	k->bytes = malloc(k->len);
	assert_int_equal(read(fd, k->bytes, k->len), (ssize_t)k->len);
	close(fd);
}

static void write_file(const struct kept *k, size_t len)
{
	int fd = open(k->file, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, k->bytes, len), (ssize_t)len);
	close(fd);
}

static int make(void **state)
{
	struct kept *k = calloc(1, sizeof(*k));
	struct sp_profile *p;
	struct sp_store *s;
	uint64_t seed = 5;

	k->path = made_directory();
	assert_int_equal(sp_store_open(k->path, &(struct sp_store_options){0}, &s), 0);
	assert_int_equal(sp_profile_new(&p), 0);
	made_things(p, &made, &seed);
	for (uint64_t i = 0; i < N_WINDOWS; i++) {
		struct sp_store_window w = {
		    .wall_ns = T0 + i * 10 * SP_NS_PER_S, .duration_ns = 10 * SP_NS_PER_S, .source = "cpu"};
		sp_profile_clear_rows(p);
		made_rows(p, &made, &seed);
		assert_int_equal(sp_store_add(s, &w, p), 0);
		k->windows[i] = sums_new(made.n_values);
		sums_of_profile(&k->windows[i], p, false);
	}
	sp_store_close(s);
	sp_profile_free(p);
	name_file(k, SP_RES_10S);
	read_file(k);
	*state = k;
	return 0;
}

static int unmake(void **state)
{
	struct kept *k = *state;

	for (int i = 0; i < N_WINDOWS; i++)
		sums_done(&k->windows[i]);
	made_directory_gone(k->path);
	free(k->file);
	free(k->bytes);
	free(k);
	return 0;
}

static int64_t sum(const struct sums *s, uint32_t v)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < sp_intern_count(s->texts); i++)
		n += s->values[(size_t)i * s->n_values + v];
	return n;
}

/* Returns the number of windows. Each must be unchanged; if a chunk was lost, at least the sum of its rows. */
static size_t look(const struct kept *k, const char *place, uint64_t *ret_n_lost_chunks)
{
	struct sp_scan_options o = {.to_ns = UINT64_MAX, .resolution = SP_RES_10S};
	struct sp_scan_window w;
	struct sp_store *s;
	struct sp_scan *scan;
	size_t n = 0;
	int r;

	*ret_n_lost_chunks = 0;
	if (sp_store_open(place, &(struct sp_store_options){.read_only = true}, &s) < 0)
		return 0;
	r = sp_scan_open(s, &o, &scan);
	while (r == 0 && (r = sp_scan_next(scan, &w)) == 1) {
		uint64_t i = (w.w.wall_ns - T0) / (10 * SP_NS_PER_S);
		struct sums out = sums_new(made.n_values);
		assert_true(i < N_WINDOWS);
		sums_of_window(&out, &w, false);
		*ret_n_lost_chunks = w.dict->n_lost_chunks;
		if (w.dict->n_lost_chunks == 0)
			sums_equal(&k->windows[i], &out);
		else
			assert_int_equal(sum(&k->windows[i], 0), sum(&out, 0));
		sums_done(&out);
		n++;
		r = 0;
	}
	if (r == 0)
		sp_scan_close(scan);
	sp_store_close(s);
	return n;
}

static void a_bit_costs_a_window(void **state)
{
	struct kept *k = *state;
	size_t n_flips = 0, n_whole = 0, n_one = 0, n_more = 0, n_none = 0;
	uint64_t n_lost;

	assert_int_equal(look(k, k->path, &n_lost), N_WINDOWS);
	for (size_t at = 0; at < k->len; at += STEP, n_flips++) {
		k->bytes[at] ^= (uint8_t)(1 << at % 8);
		write_file(k, k->len);
		size_t n = look(k, k->path, &n_lost);
		assert_int_equal(n_lost, 0); /* the file of minutes has it, too */
		n_whole += n == N_WINDOWS;
		n_one += n == N_WINDOWS - 1;
		n_more += n < N_WINDOWS - 1 && n > 0;
		n_none += n == 0;
		k->bytes[at] ^= (uint8_t)(1 << at % 8);
	}
	write_file(k, k->len);
	print_message("%zu bytes, %zu bits turned: no window lost %zu times, one %zu, more %zu, all %zu\n", k->len,
		      n_flips, n_whole, n_one, n_more, n_none);
	assert_true(n_more + n_none < n_flips / 5); /* SQLite's own structures */
}

/* What a query says of damage: windows that were skipped, and files that were salvaged, are counted apart. */
static struct sp_store_answer answer_of(const char *place)
{
	struct sp_store_query q = {.to_ns = INT64_MAX, .all_users = true, .resolution = SP_RES_10S, .exact = true};
	struct sp_store_answer answer;
	struct sp_profile *p;
	struct sp_store *s;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_store_open(place, &(struct sp_store_options){.read_only = true}, &s), 0);
	assert_int_equal(sp_store_query(s, &q, p, &answer), 0);
	sp_store_close(s);
	sp_profile_free(p);
	return answer;
}

static void windows_and_files_are_counted_apart(void **state)
{
	struct kept *k = *state;
	struct sp_store_answer a = answer_of(k->path);
	size_t n_rows_only = 0, n_files_only = 0;

	assert_true(a.n_windows == N_WINDOWS && a.n_damaged == 0 && a.n_salvaged == 0);
	for (size_t at = 0; at < k->len; at += 3 * STEP) {
		k->bytes[at] ^= (uint8_t)(1 << at % 8);
		write_file(k, k->len);
		a = answer_of(k->path);
		assert_true(a.n_salvaged <= 1 && a.n_damaged <= N_WINDOWS);
		n_rows_only += a.n_damaged > 0 && a.n_salvaged == 0;
		n_files_only += a.n_damaged == 0 && a.n_salvaged == 1;
		k->bytes[at] ^= (uint8_t)(1 << at % 8);
	}
	write_file(k, k->len);
	print_message("one bit: %zu times windows alone were damaged, %zu times a file was salvaged whole\n",
		      n_rows_only, n_files_only);
	assert_true(n_rows_only > 0 && n_files_only > 0);
	memset(k->bytes, 'x', 4096); /* the header and the schema: no window is in them */
	write_file(k, k->len);
	a = answer_of(k->path);
	assert_int_equal(a.n_windows, N_WINDOWS);
	assert_int_equal(a.n_damaged, 0);
	assert_int_equal(a.n_salvaged, 1);
}

/* Without the other files of the day a file cannot be completed. */
static void alone(void **state)
{
	struct kept *k = *state;
	char *away = made_directory(), *only, *file = k->file;
	uint64_t n_lost, n_with_loss = 0;

	assert_true(asprintf(&only, "%s/copy", away) > 0);
	k->file = only;
	for (size_t at = 4096; at < k->len; at += 10 * STEP) {
		k->bytes[at] ^= 4;
		write_file(k, k->len);
		(void)look(k, only, &n_lost);
		n_with_loss += n_lost > 0;
		if (n_lost > 0)
			assert_true(answer_of(only).n_incomplete > 0);
		k->bytes[at] ^= 4;
	}
	assert_true(n_with_loss > 0);
	k->file = file;
	free(only);
	made_directory_gone(away);
}

static void cut_anywhere(void **state)
{
	struct kept *k = *state;
	uint64_t n_lost;

	for (size_t len = 0; len < k->len; len += CUT * (len < 2048 ? 61U : 509U)) {
		write_file(k, len);
		assert_true(look(k, k->path, &n_lost) <= N_WINDOWS);
	}
	write_file(k, k->len);
	assert_int_equal(look(k, k->path, &n_lost), N_WINDOWS);
}

/* A writer renames a refused file, logs it, and continues. */
static void a_refused_file_is_set_aside(void **state)
{
	struct kept *k = *state;
	struct sp_store_window w = {
	    .wall_ns = T0 + 1000 * SP_NS_PER_S, .duration_ns = 10 * SP_NS_PER_S, .source = "cpu"};
	struct sp_store_stats stats;
	struct sp_profile *p;
	struct sp_store *s;
	uint64_t seed = 5;

	memset(k->bytes, 'x', 4096);
	write_file(k, k->len);
	assert_int_equal(sp_store_open(k->path, &(struct sp_store_options){0}, &s), 0);
	assert_int_equal(sp_profile_new(&p), 0);
	made_things(p, &made, &seed);
	made_rows(p, &made, &seed);
	assert_int_equal(sp_store_add(s, &w, p), 0);
	assert_int_equal(sp_store_stats(s, &stats), 0);
	assert_int_equal(stats.n_windows, N_WINDOWS + 1);
	assert_int_equal(stats.n_damaged_files, 1);
	sp_store_close(s);
	sp_profile_free(p);
}

/* Turns a bit in the last chunk of the file of 10 s, as if its disk had done so. */
static void damage_last_chunk(const struct kept *k)
{
	sqlite3 *db;
	uint8_t record[4096];
	sqlite3_stmt *q;

	assert_int_equal(sqlite3_open(k->file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT record FROM chunk ORDER BY id DESC LIMIT 1", -1, &q, NULL), 0);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	int len = sqlite3_column_bytes(q, 0);
	assert_in_range(len, 1, sizeof(record));
	memcpy(record, sqlite3_column_blob(q, 0), (size_t)len);
	sqlite3_finalize(q);
	record[len / 2] ^= 4;
	assert_int_equal(
	    sqlite3_prepare_v2(db, "UPDATE chunk SET record = ?1 WHERE id = (SELECT max(id) FROM chunk)", -1, &q, NULL),
	    0);
	sqlite3_bind_blob(q, 1, record, len, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(q), SQLITE_DONE);
	sqlite3_finalize(q);
	sqlite3_close(db);
}

/* A minute is rolled up whose dictionary lost a part: no window is lost by that, and none is counted. */
static void a_damaged_chunk_is_no_window(void **state)
{
	struct kept *k = *state;
	struct sp_store_stats stats;
	struct sp_profile *p;
	struct sp_store *s;
	uint64_t seed = 8;

	assert_int_equal(sp_store_open(k->path, &(struct sp_store_options){0}, &s), 0);
	assert_int_equal(sp_profile_new(&p), 0);
	made_things(p, &made, &seed);
	for (uint64_t i = 0; i < 12; i++) { /* two minutes */
		struct sp_store_window w = {
		    .wall_ns = T0 + (1200 + i * 10) * SP_NS_PER_S, .duration_ns = 10 * SP_NS_PER_S, .source = "cpu"};
		sp_profile_clear_rows(p);
		made_rows(p, &made, &seed);
		assert_int_equal(sp_store_add(s, &w, p), 0);
		if (i == 0)
			damage_last_chunk(k);
	}
	assert_int_equal(sp_store_stats(s, &stats), 0);
	assert_int_equal(stats.n_windows, N_WINDOWS + 12);
	assert_int_equal(stats.n_damaged_windows, 0);
	assert_int_equal(stats.n_damaged_chunks, 1);
	sp_store_close(s);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_bit_costs_a_window, make, unmake),
	    cmocka_unit_test_setup_teardown(windows_and_files_are_counted_apart, make, unmake),
	    cmocka_unit_test_setup_teardown(alone, make, unmake),
	    cmocka_unit_test_setup_teardown(cut_anywhere, make, unmake),
	    cmocka_unit_test_setup_teardown(a_refused_file_is_set_aside, make, unmake),
	    cmocka_unit_test_setup_teardown(a_damaged_chunk_is_no_window, make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
