/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is salvaged from a day file of some hundred windows after bits were flipped in SQLite's structures and
 * elsewhere. */
#include "store/files/salvage.h"
#include "base/error.h"
#include "base/mem.h"
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* So many windows that tables have inner pages; each of the bits costs the time of them all. */
enum { N_WINDOWS = SP_WHOLE ? 400 : 100, APART = SP_FEWER > 1 ? 5 : 1, PAGES_APART = SP_WHOLE ? 13 : 3 * APART };
enum { N_FLIPS = 120 / APART, PAGE = 1024, GARBAGE = 200 / APART };
#define T0 (UINT64_C(1763722800) * SP_NS_PER_S)

static const struct made made = {.n_files = 9, .n_funcs = 60, .n_stacks = 60, .n_keys = 9, .n_rows = 40, .n_values = 2};

struct kept {
	char *path, *file;
	uint8_t *bytes;
	size_t len;
	int64_t sums[N_WINDOWS];
	size_t n_whole, n_one, n_more, n_none, n_refused, n_silent;
};

static void keep_file(struct kept *k, int resolution)
{
	struct sp_day day = sp_day_of(T0, resolution);
	struct stat st;

	free(k->file);
	free(k->bytes);
	assert_true(asprintf(&k->file, "%s/%s", k->path, day.name) > 0);
	int fd = open(k->file, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	k->len = (size_t)st.st_size;
	k->bytes = malloc(k->len);
	assert_int_equal(read(fd, k->bytes, k->len), (ssize_t)k->len);
	close(fd);
}

static void write_file(const struct kept *k)
{
	int fd = open(k->file, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, k->bytes, k->len), (ssize_t)k->len);
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
		struct sp_store_event e = {w.wall_ns, w.wall_ns + 1, "gap", "agent", "it was stopped", ""};
		sp_profile_clear_rows(p);
		made_rows(p, &made, &seed);
		assert_int_equal(sp_store_add(s, &w, p), 0);
		assert_int_equal(i % 10 > 0 ? 0 : sp_store_event_add(s, &e), 0);
	}
	sp_store_close(s);
	sp_profile_free(p);
	keep_file(k, SP_RES_10S);
	*state = k;
	return 0;
}

static int unmake(void **state)
{
	struct kept *k = *state;

	made_directory_gone(k->path);
	free(k->file);
	free(k->bytes);
	free(k);
	return 0;
}

/* Returns the number of windows; each must have its sums. first: remember them. -1: the store is refused. */
static int look(struct kept *k, const char *place, bool first)
{
	struct sp_scan_options o = {.to_ns = UINT64_MAX, .resolution = SP_RES_10S, .source = "cpu"};
	struct sp_scan_window w;
	struct sp_store *s;
	struct sp_scan *scan;
	int n = 0, r = sp_store_open(place, &(struct sp_store_options){.read_only = true}, &s);
	uint64_t last = 0;
	size_t n_salvaged;

	assert_int_equal(r, 0);
	assert_int_equal(sp_scan_open(s, &o, &scan), 0);
	for (; (r = sp_scan_next(scan, &w)) == 1; n++) {
		uint64_t i = (w.w.wall_ns - T0) / (10 * SP_NS_PER_S);
		int64_t sum = 0;
		for (uint32_t row = 0; row < w.n_rows; row++)
			sum += w.values[0][row];
		assert_true(i < N_WINDOWS && w.w.wall_ns > last);
		last = w.w.wall_ns;
		if (first)
			k->sums[i] = sum;
		assert_int_equal(k->sums[i], sum);
		assert_int_equal(w.dict->n_lost_chunks, 0);
	}
	assert_int_equal(r, 0);
	(void)sp_scan_salvaged(scan, &n_salvaged);
	k->n_silent += n < N_WINDOWS && sp_scan_n_damaged(scan) + n_salvaged == 0;
	sp_scan_close(scan);
	sp_store_close(s);
	return n;
}

static void flip(struct kept *k, size_t at, unsigned bit)
{
	k->bytes[at] ^= (uint8_t)(1 << bit);
	write_file(k);
	int n = look(k, k->path, false);
	k->bytes[at] ^= (uint8_t)(1 << bit);
	if (n >= 0 && n < N_WINDOWS - 1)
		print_message("bit %u of byte %zu (page %zu, byte %zu) cost %d\n", bit, at, at / PAGE + 1, at % PAGE,
			      N_WINDOWS - n);
	k->n_refused += n < 0;
	k->n_whole += n == N_WINDOWS;
	k->n_one += n == N_WINDOWS - 1;
	k->n_more += n > 0 && n < N_WINDOWS - 1;
	k->n_none += n == 0;
}

static void tell(struct kept *k, const char *where)
{
	write_file(k);
	print_message("%s: no window lost %zu times, one %zu, more %zu, all %zu; of a newer version %zu\n", where,
		      k->n_whole, k->n_one, k->n_more, k->n_none, k->n_refused);
	assert_int_equal(k->n_more + k->n_none + k->n_silent, 0);
	k->n_whole = k->n_one = k->n_more = k->n_none = k->n_refused = 0;
}

static void bits_anywhere(void **state)
{
	struct kept *k = *state;
	uint64_t seed = 11;

	assert_int_equal(look(k, k->path, true), N_WINDOWS);
	for (int i = 0; i < N_FLIPS; i++)
		flip(k, made_random(&seed) % k->len, (unsigned)made_random(&seed) % 8);
	print_message("%zu bytes, ", k->len);
	tell(k, "anywhere");
}

static void bits_of_sqlites_own(void **state)
{
	struct kept *k = *state;
	size_t inner = 0;

	assert_int_equal(look(k, k->path, true), N_WINDOWS);
	for (size_t at = 0; at < PAGE; at += at < 112 ? APART : 23)
		flip(k, at, at % 8);
	assert_true(k->n_refused <= 1); /* a version of 2 to 999 cannot be told from a newer one */
	tell(k, "page 1");
	for (size_t at = PAGE; at < 4 * PAGE; at += APART) /* about, source and its index */
		if (k->bytes[at] != 0)
			flip(k, at, at % 8);
	tell(k, "the smallest tables");
	for (size_t page = 1; page < k->len / PAGE && inner == 0; page++)
		inner = k->bytes[page * PAGE] == 5 ? page * PAGE : 0;
	assert_true(inner > 0);
	for (size_t at = inner; at < inner + PAGE; at += at < inner + 24 ? APART : 23)
		flip(k, at, at % 8);
	tell(k, "an inner page");
	for (size_t page = 1; page < k->len / PAGE; page += PAGES_APART)
		for (size_t at = 0; at < 12 && k->bytes[page * PAGE] == 13; at += page % 4 + 1)
			flip(k, page * PAGE + at, (unsigned)(at + page) % 8);
	tell(k, "heads of leaves");
}

/* A checksum of a table. */
static uLong check_of(sqlite3 *db, const char *table)
{
	SP_STATEMENT *s = NULL;
	char sql[64];
	uLong crc = 0;

	(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	while (sqlite3_step(s) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			const Bytef *bytes = sqlite3_column_blob(s, i);
			crc = crc32_z(crc, bytes, (size_t)sqlite3_column_bytes(s, i));
		}
	return crc;
}

static void is_sound(sqlite3 *db)
{
	SP_STATEMENT *s = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
}

/* Without its first page and all page headers, a file of each resolution still gives every row. */
static void all_tables(void **state)
{
	static const char *const tables[] = {"about",  "source", "generation", "chunk",
					     "window", "totals", "day",        "event"};
	static const size_t pages[] = {1024, 1024, 4096};
	struct kept *k = *state;

	for (int r = 0; r < SP_N_RESOLUTIONS; r++) {
		struct sp_directory d;
		struct sp_day_file f, out;
		uLong sums[SP_COUNT(tables)];
		keep_file(k, r);
		assert_int_equal(sp_directory_open(k->file, false, true, &d), 0);
		assert_int_equal(sp_file_open(&d, &(struct sp_day){.resolution = -1}, false, &f), 0);
		for (size_t i = 0; i < SP_COUNT(tables); i++)
			sums[i] = check_of(f.db, tables[i]);
		sp_file_close(&f);
		memset(k->bytes, 'x', pages[r]);
		for (size_t at = pages[r]; at < k->len; at += pages[r])
			if (k->bytes[at] == 13 || k->bytes[at] == 10)
				memset(k->bytes + at, 'x', 8);
		write_file(k);
		assert_int_equal(sp_salvage_open(&d, &(struct sp_day){.resolution = -1}, &out), 0);
		for (size_t i = 0; i < SP_COUNT(tables); i++) {
			assert_int_equal(sums[i], check_of(out.db, tables[i]));
		}
		assert_int_equal(out.day.resolution, r);
		is_sound(out.db);
		sp_file_close(&out);
		sp_directory_close(&d);
	}
}

/* A writer goes on with all of it, in an intact file. */
static void a_writer_goes_on(void **state)
{
	struct kept *k = *state;
	struct sp_store *s;

	assert_int_equal(look(k, k->path, true), N_WINDOWS);
	memset(k->bytes, 'x', 100);
	write_file(k);
	assert_int_equal(sp_store_open(k->path, &(struct sp_store_options){0}, &s), 0);
	assert_int_equal(s->n_damaged_files, 1);
	sp_store_close(s);
	keep_file(k, SP_RES_10S);
	assert_memory_equal(k->bytes, "SQLite format 3", 16);
	assert_int_equal(look(k, k->path, false), N_WINDOWS);
}

static void garbage(void **state)
{
	struct kept *k = *state;
	struct sp_day day = sp_day_of(T0, SP_RES_1H);
	uint64_t seed = 3;

	for (int i = 0; i < GARBAGE; i++) {
		struct sp_day_file f;
		int fd = memfd_create("garbage", MFD_CLOEXEC);
		size_t len = made_random(&seed) % SP_MIN(k->len, 20000);
		size_t from = made_random(&seed) % (k->len - len);
		for (size_t at = 0, n = made_random(&seed) % 200; at < n && len > 0; at++)
			k->bytes[from + made_random(&seed) % len] = (uint8_t)made_random(&seed);
		assert_int_equal(write(fd, k->bytes + from, len), (ssize_t)len);
		assert_int_equal(sp_file_open_memory(&day, &f), 0);
		(void)sp_salvage(NULL, fd, &f);
		is_sound(f.db);
		sp_file_close(&f);
		close(fd);
	}
	sp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(bits_anywhere, make, unmake),
	    cmocka_unit_test_setup_teardown(bits_of_sqlites_own, make, unmake),
	    cmocka_unit_test_setup_teardown(all_tables, make, unmake),
	    cmocka_unit_test_setup_teardown(a_writer_goes_on, make, unmake),
	    cmocka_unit_test_setup_teardown(garbage, make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
