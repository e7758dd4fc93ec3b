/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of profiles with any bytes as names are made rows, and these are read back: the profile is the same. What is
 * quoted for SQL ends nowhere but at its end. Rows of random bytes harm nobody.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "base/time.h"
#include "fleet/encode.h"
#include "fleet/names.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "store/store.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 100000 / SP_FEWER, ROWS = 4000, MAX_NAME = 24, SAMPLE_BEFORE = 2 + 4 };

static uint64_t state = 1;
static uint32_t drawn(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33) % n;
}

static uint32_t number(int64_t n)
{
	assert_true(n >= 0);
	return (uint32_t)n;
}

/* Mostly of what means something to SQL and to formats. */
static const char *hostile(void)
{
	static const char marks[] = "'\"\\;,()`-/*%\n\t\r\x01\x7f\xff\xc3 ab0";
	static char name[MAX_NAME + 1];
	uint32_t n = 1 + drawn(MAX_NAME);

	for (uint32_t i = 0; i < n; i++)
		name[i] = drawn(4) ? marks[drawn(sizeof(marks) - 1)] : (char)(1 + drawn(255));
	name[n] = '\0';
	return name;
}

/* --- profiles --- */
static uint32_t add_file(struct sp_profile *p)
{
	struct sp_file f = {.kind = (uint8_t)(1 + drawn(5)), .build_id_len = (uint8_t)drawn(SP_BUILD_ID_MAX + 1)};

	for (uint32_t i = 0; i < f.build_id_len; i++)
		f.build_id[i] = (uint8_t)drawn(256);
	f.name = number(sp_profile_add_string(p, hostile()));
	f.path = number(sp_profile_add_string(p, hostile()));
	f.package = number(sp_profile_add_string(p, hostile()));
	f.package_version = number(sp_profile_add_string(p, hostile()));
	f.tag = sp_profile_n_files(p);
	return number(sp_profile_add_file(p, &f));
}

static uint32_t add_frame(struct sp_profile *p)
{
	struct sp_func func = {
	    .file = 1 + drawn(sp_profile_n_files(p) - 1), .start = 1 + drawn(1 << 20), .size = drawn(99)};
	struct sp_frame f = {.file = func.file, .flags = drawn(256)};

	func.name = number(sp_profile_add_string(p, hostile()));
	func.linkage_name = number(sp_profile_add_string(p, hostile()));
	f.func = drawn(8) ? number(sp_profile_add_func(p, &func)) : 0;
	f.offset = f.func ? func.start : 1 + drawn(1 << 20);
	return number(sp_profile_add_frame_variant(p, &f, true));
}

/* slice: of its key, 0 = none. */
static void add_row(struct sp_profile *p, uint32_t slice)
{
	struct sp_process process = {.pid = 1 + drawn(1000), .uid = drawn(3), .exec_id = sp_profile_n_processes(p)};
	struct sp_key key = {.slice = slice};
	uint32_t frames[6];
	int64_t values[2] = {1 + drawn(9), drawn(1 << 30)};

	process.exe = 1 + drawn(sp_profile_n_files(p) - 1);
	process.comm = number(sp_profile_add_string(p, hostile()));
	process.cgroup_path = number(sp_profile_add_string(p, hostile()));
	process.container = number(sp_profile_add_string(p, hostile()));
	key.process = drawn(9) ? number(sp_profile_add_process(p, &process)) : 0;
	key.comm = number(sp_profile_add_string(p, hostile()));
	for (size_t i = 0; i < SP_COUNT(frames); i++)
		frames[i] = 1 + drawn(sp_profile_n_frames(p) - 1);
	struct sp_stack user = {.stack_class = (uint16_t)drawn(4), .reason = (uint16_t)drawn(9), .frames = frames};
	struct sp_stack kernel = {.frames = frames + 3, .n_frames = drawn(4)};
	user.n_frames = drawn(4);
	uint32_t u = number(sp_profile_add_stack(p, &user)), k = number(sp_profile_add_stack(p, &kernel));
	assert_int_equal(sp_profile_add(p, number(sp_profile_add_key(p, &key)), u, k, values), 0);
}

static struct sp_profile *made(uint32_t n_slices)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
	for (uint32_t i = 0; i < 300; i++)
		add_file(p);
	for (uint32_t i = 0; i < NAMES / 2; i++)
		add_frame(p);
	for (uint32_t i = 0; i < ROWS; i++)
		add_row(p, n_slices ? i % n_slices + 1 : 0);
	return p;
}

/* --- as lines --- */
static void put_stack(FILE *out, const struct sp_profile *p, uint32_t number_of)
{
	struct sp_stack s = sp_profile_stack(p, number_of);

	fprintf(out, "|%u %u", s.stack_class, s.reason);
	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, s.frames[i]);
		const struct sp_func *func = sp_profile_func(p, f->func);
		const struct sp_file *file = sp_profile_file(p, f->file);
		fprintf(out, ";%s!%s!%llx!%x!%s!%s!%s!%u", sp_profile_string(p, func->name),
			sp_profile_string(p, func->linkage_name), (unsigned long long)f->offset,
			f->flags & ((1U << SP_FRAME_VARIANT_SHIFT) - 1), sp_profile_string(p, file->name),
			sp_profile_string(p, file->path), sp_profile_string(p, file->package), file->build_id_len);
	}
}

static char *line_of(const struct sp_profile *p, uint32_t i)
{
	const struct sp_row *row = sp_profile_row(p, i);
	const struct sp_key *key = sp_profile_key(p, row->key);
	const struct sp_process *process = sp_profile_process(p, key->process);
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	fprintf(out, "%s!%s!%u!%s!%s!%s", sp_profile_string(p, process->comm), sp_profile_string(p, key->comm),
		process->uid, sp_profile_string(p, process->cgroup_path), sp_profile_string(p, process->container),
		sp_profile_string(p, sp_profile_file(p, process->exe)->name));
	put_stack(out, p, row->user);
	put_stack(out, p, row->kernel);
	fprintf(out, " %lld %lld", (long long)row->values[0], (long long)row->values[1]);
	assert_int_equal(fclose(out), 0);
	return text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **lines_of(const struct sp_profile *p)
{
	uint32_t n = sp_profile_n_rows(p);
	char **lines = calloc(n, sizeof(*lines));

	assert_non_null(lines);
	for (uint32_t i = 0; i < n; i++)
		lines[i] = line_of(p, i);
	qsort(lines, n, sizeof(*lines), by_text);
	return lines;
}

static void assert_same(const struct sp_profile *a, const struct sp_profile *b)
{
	char **x = lines_of(a), **y = lines_of(b);

	assert_int_equal(sp_profile_n_rows(a), sp_profile_n_rows(b));
	for (uint32_t i = 0; i < sp_profile_n_rows(a); i++) {
		assert_string_equal(x[i], y[i]);
		free(x[i]);
		free(y[i]);
	}
	free(x);
	free(y);
}

/* --- a store of them --- */
static char place[] = "/tmp/soprof-encode-XXXXXX";
enum { WINDOWS = 5, NOT_SAMPLED = 3, FIRST_S = 1795815000 };

static bool is_of_slice(const struct sp_profile *p, const struct sp_row *row, void *slice)
{
	return sp_profile_key(p, row->key)->slice == *(uint32_t *)slice;
}

/* A window in each minute that a slice has rows for; slice 0 is the first minute's. */
static struct sp_store *stored(const struct sp_profile *p, uint32_t n_slices)
{
	struct sp_store_window w = {
	    .duration_ns = 10 * SP_NS_PER_S, .rate_millihertz = 19000, .n_cpus = 1, .source = "cpu"};
	struct sp_filter_result result;
	struct sp_profile *of;
	struct sp_store *s;

	assert_non_null(mkdtemp(place));
	assert_int_equal(sp_store_open(place, &(struct sp_store_options){0}, &s), 0);
	for (uint32_t slice = n_slices ? 1 : 0; slice <= n_slices; slice++) {
		assert_int_equal(sp_profile_filter(p, is_of_slice, &slice, &of, &result), 0);
		w.wall_ns = (FIRST_S + (slice ? slice - 1 : 0) * 60) * SP_NS_PER_S;
		w.boot_ns = w.wall_ns - (FIRST_S - 1) * SP_NS_PER_S;
		if (sp_profile_n_rows(of))
			assert_int_equal(sp_store_add(s, &w, of), 0);
		sp_profile_free(of);
	}
	return s;
}

static void stored_remove(struct sp_store *s)
{
	DIR *d = opendir(place);

	sp_store_close(s);
	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		if (*e->d_name != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	assert_int_equal(rmdir(place), 0);
	memset(place + sizeof(place) - 7, 'X', 6);
}

static struct sp_store_query asked(uint32_t n_windows)
{
	return sp_store_query_of_all("cpu", FIRST_S * SP_NS_PER_S, (FIRST_S + 60 * n_windows) * SP_NS_PER_S);
}

/* The way that makes a profile of a store, of which the encoder has nothing. */
static struct sp_profile *profile_of(struct sp_store *s, uint32_t n_windows)
{
	struct sp_store_interval intervals[WINDOWS];
	struct sp_store_query q = asked(n_windows);
	struct sp_store_answer answer;
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_store_intervals(s, &q, 60 * SP_NS_PER_S, p, intervals, &answer), 0);
	return p;
}

/* max_rows at once; 0: all. Returns the samples of the first *ret_n intervals. */
static uint64_t encode_some(struct sp_store *s, const struct sp_fleet_windows *w, struct sp_sent *sent,
			    struct sp_fleet_rows *rows, uint64_t max_rows, size_t *ret_n)
{
	struct sp_store_interval intervals[WINDOWS];
	struct sp_store_query q = asked(WINDOWS);
	struct sp_stored_reader reader;
	struct sp_store_answer answer;
	struct sp_fleet_encoder *e;
	uint64_t n_samples;

	assert_int_equal(sp_fleet_encoder_new(w, 42, sent, rows, &e), 0);
	reader = sp_fleet_encoder_reader(e);
	reader.max_rows = max_rows;
	q.from_ns = w->all[0].from_ns;
	q.to_ns = q.from_ns + 60 * w->n * SP_NS_PER_S;
	assert_int_equal(sp_stored_intervals(s, &q, 60 * SP_NS_PER_S, &reader, intervals, ret_n, &answer), 0);
	assert_in_range(*ret_n, 1, w->n);
	for (size_t i = *ret_n; i < w->n; i++)
		assert_int_equal(intervals[i].n_windows, 0);
	assert_int_equal(sp_fleet_encoder_end(e, &n_samples), 0);
	assert_int_equal(reader.window(reader.arg, &(struct sp_stored_window){.interval = w->n}), -EINVAL);
	sp_fleet_encoder_free(e);
	return n_samples;
}

static uint64_t encode(struct sp_store *s, const struct sp_fleet_windows *w, struct sp_sent *sent,
		       struct sp_fleet_rows *rows)
{
	size_t n;
	uint64_t n_samples = encode_some(s, w, sent, rows, 0, &n);

	assert_int_equal(n, w->n);
	return n_samples;
}

/* Read an interval with rows at a time, each has the rows that it has when all are read at once. */
static void encode_by_one(struct sp_store *s, struct sp_fleet_windows w, struct sp_sent *sent, uint64_t n_samples,
			  struct sp_fleet_rows *rows)
{
	size_t n, n_readings = 0;

	for (; w.n; w.all += n, w.n -= (uint32_t)n, n_readings++)
		n_samples -= encode_some(s, &w, sent, rows, 1, &n);
	assert_int_equal(n_samples, 0);
	assert_int_equal(n_readings, WINDOWS - 1);
}

/* --- tests --- */
static void read_table(struct sp_fleet_names *n, const struct sp_bytes *table,
		       int (*take)(struct sp_fleet_names *n, struct sp_row_reader *row))
{
	struct sp_row_reader row = {.at = table->bytes, .end = table->bytes + table->n};

	while (sp_row_is_there(&row)) {
		sp_row_u16(&row); /* the day, which a question leaves out */
		assert_int_equal(take(n, &row), 0);
	}
	assert_false(row.bad);
}

static struct sp_profile *read_back(const struct sp_fleet_rows *rows)
{
	const struct sp_bytes *samples = &rows->tables[SP_FLEET_SAMPLE];
	struct sp_row_reader row = {.at = samples->bytes, .end = samples->bytes + samples->n};
	struct sp_fleet_names *n;
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
	assert_int_equal(sp_fleet_names_new(p, "cpu", &n), 0);
	read_table(n, &rows->tables[SP_FLEET_FILE], sp_fleet_names_file);
	read_table(n, &rows->tables[SP_FLEET_FRAME], sp_fleet_names_frame);
	read_table(n, &rows->tables[SP_FLEET_STACK], sp_fleet_names_stack);
	read_table(n, &rows->tables[SP_FLEET_WHO], sp_fleet_names_who);
	while (sp_row_is_there(&row)) {
		row.at += SAMPLE_BEFORE; /* day, hour */
		uint64_t who = sp_row_u64(&row), stack = sp_row_u64(&row);
		assert_int_equal(sp_row_u64(&row), 77);
		assert_int_equal(sp_row_u32(&row), 1795815000);
		assert_int_equal(sp_row_u32(&row), 5);
		int64_t values[2], key = sp_fleet_names_key(n, who, 0, 0);
		values[0] = (int64_t)sp_row_u64(&row);
		values[1] = (int64_t)sp_row_u64(&row);
		struct sp_fleet_stacks stacks = sp_fleet_names_stacks(n, stack);
		assert_int_equal(sp_profile_add(p, number(key), stacks.user, stacks.kernel, values), 0);
	}
	assert_false(row.bad);
	assert_int_equal(sp_fleet_names_unknown(n), 0);
	sp_fleet_names_free(n);
	return p;
}

static void test_roundtrip(void **unused)
{
	struct sp_fleet_window window = {.from_ns = FIRST_S * SP_NS_PER_S, .seconds = 60};
	struct sp_fleet_windows w = {.all = &window, .n = 1, .host = 77, .run = 5, .source = "cpu", .name = "a'b"};
	struct sp_fleet_rows rows = {0};
	struct sp_profile *made_first = made(0), *p, *again;
	struct sp_store *s = stored(made_first, 0);
	struct sp_sent *sent;

	p = profile_of(s, 1);
	assert_int_equal(sp_sent_open(NULL, 1, &sent), 0);
	encode(s, &w, sent, &rows);
	assert_int_equal(rows.n_rows[SP_FLEET_WINDOW], 1);
	again = read_back(&rows);
	assert_same(p, again);
	assert_int_equal(sp_sent_keep(sent, 1), 0);

	/* what was sent is not sent again, but for what the table has forgotten, which is seldom much */
	uint64_t n = rows.n_rows[SP_FLEET_STACK];
	for (int i = 0; i < SP_FLEET_N_TABLES; i++)
		sp_fleet_rows_clear(&rows, (enum sp_fleet_table)i);
	encode(s, &w, sent, &rows);
	assert_true(rows.n_rows[SP_FLEET_STACK] < n / 50);
	assert_true(rows.n_rows[SP_FLEET_SAMPLE] >= ROWS / 2);
	stored_remove(s);
	sp_profile_free(made_first);
	sp_profile_free(p);
	sp_profile_free(again);
	sp_fleet_rows_done(&rows);
	sp_sent_close(sent);
}

/* --- several windows of one reading --- */
struct sums {
	uint64_t n_rows;
	int64_t samples, cost;
};

static void samples_add(const struct sp_bytes *table, struct sums *sums)
{
	struct sp_row_reader row = {.at = table->bytes, .end = table->bytes + table->n};

	while (sp_row_is_there(&row)) {
		row.at += SAMPLE_BEFORE + 3 * sizeof(uint64_t); /* who, stack, host */
		uint32_t n = (sp_row_u32(&row) - FIRST_S) / 60;
		assert_true(n < WINDOWS && n != NOT_SAMPLED);
		assert_int_equal(sp_row_u32(&row), 5);
		sums[n].n_rows++;
		sums[n].samples += (int64_t)sp_row_u64(&row);
		sums[n].cost += (int64_t)sp_row_u64(&row);
	}
	assert_false(row.bad);
}

static void windows_compare(const struct sp_bytes *table, const struct sums *sums)
{
	struct sp_row_reader row = {.at = table->bytes, .end = table->bytes + table->n};
	uint32_t n = 0, n_found = 0;
	size_t len;

	for (; sp_row_is_there(&row); n_found++) {
		row.at += 2 + sizeof(uint64_t);
		sp_row_text(&row, &len);
		n = (sp_row_u32(&row) - FIRST_S) / 60;
		assert_true(n < WINDOWS && n != NOT_SAMPLED);
		assert_int_equal(sp_row_u32(&row), 5);
		sp_row_text(&row, &len);
		assert_int_equal(sp_row_length(&row, 1), 0);
		assert_int_equal(sp_row_u32(&row), 60);
		assert_int_equal(sp_row_u64(&row), n);       /* covered */
		assert_int_equal(sp_row_u64(&row), 10 + n);  /* lost */
		assert_int_equal(sp_row_u64(&row), 100 + n); /* left out */
		assert_int_equal(sp_row_u64(&row), sums[n].n_rows);
		assert_int_equal((int64_t)sp_row_u64(&row), sums[n].samples);
		assert_int_equal((int64_t)sp_row_u64(&row), sums[n].cost);
		sp_row_text(&row, &len);
		sp_row_text(&row, &len);
	}
	assert_false(row.bad);
	assert_int_equal(n_found, WINDOWS - 1);
}

/* --- libraries --- */
/* The value `which` of all rows in which a library is anywhere, or at the leaf, looked for frame by frame. */
static int64_t cost_of(const struct sp_profile *p, uint32_t slice, uint64_t library, bool at_leaf, uint32_t which)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		const struct sp_stack stacks[] = {sp_profile_stack(p, row->kernel), sp_profile_stack(p, row->user)};
		bool found = false, is_leaf = true;
		for (size_t k = 0; k < 2; k++)
			for (uint32_t n = 0; n < stacks[k].n_frames; n++, is_leaf = false) {
				const struct sp_frame *f = sp_profile_frame(p, stacks[k].frames[n]);
				const struct sp_file *file = sp_profile_file(p, f->file);
				char build_id[2 * SP_BUILD_ID_MAX + 1];
				sp_hex(file->build_id, file->build_id_len, build_id);
				found = found || ((is_leaf || !at_leaf) &&
						  sp_fleet_library(42, sp_profile_string(p, file->name), build_id,
								   sp_profile_string(p, file->path)) == library);
			}
		if (found && (sp_profile_key(p, row->key)->slice == slice))
			sum += row->values[which];
	}
	return sum;
}

static void libraries_compare(const struct sp_bytes *table, const struct sp_profile *p, uint32_t n_slices)
{
	struct sp_row_reader row = {.at = table->bytes, .end = table->bytes + table->n};
	uint32_t n = 0;

	for (; sp_row_is_there(&row); n++) {
		uint32_t slice;
		uint64_t library;
		sp_row_u16(&row);
		library = sp_row_u64(&row);
		assert_int_equal(sp_row_u64(&row), 77);
		slice = (sp_row_u32(&row) - FIRST_S) / 60 + 1;
		assert_true(slice <= n_slices);
		assert_int_equal(sp_row_u32(&row), 5);
		int64_t samples = (int64_t)sp_row_u64(&row), self = (int64_t)sp_row_u64(&row);
		int64_t total = (int64_t)sp_row_u64(&row);
		if (n % 97) /* looking for them takes long */
			continue;
		assert_int_equal(samples, cost_of(p, slice, library, false, 0));
		assert_int_equal(self, cost_of(p, slice, library, true, 1));
		assert_int_equal(total, cost_of(p, slice, library, false, 1));
	}
	assert_false(row.bad);
	assert_true(n > 97);
}

/* Each window's rows are those of its slice, and its own sums. */
static void test_windows(void **unused)
{
	struct sp_fleet_window windows[WINDOWS];
	struct sp_fleet_windows w = {.all = windows, .n = WINDOWS, .host = 77, .run = 5, .source = "cpu", .name = "x"};
	struct sums expected[WINDOWS] = {0}, sums[WINDOWS] = {0}, by_one[WINDOWS] = {0};
	struct sp_fleet_rows rows = {0}, rows_by_one = {0};
	struct sp_profile *made_first = made(NOT_SAMPLED), *p;
	struct sp_sent *sent;
	struct sp_store *s;

	for (uint32_t i = 0; i < ROWS; i++) /* the one that is not sampled has none */
		add_row(made_first, WINDOWS);
	s = stored(made_first, WINDOWS);
	p = profile_of(s, WINDOWS);
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		uint32_t slice = sp_profile_key(p, row->key)->slice;
		expected[slice ? slice - 1 : 0].samples += row->values[0];
		expected[slice ? slice - 1 : 0].cost += row->values[1];
	}
	for (uint32_t i = 0; i < WINDOWS; i++)
		windows[i] = (struct sp_fleet_window){.from_ns = (FIRST_S + 60 * i) * UINT64_C(1000000000),
						      .seconds = i == NOT_SAMPLED ? 0 : 60,
						      .covered_ns = i,
						      .n_lost = 10 + i,
						      .n_left_out = 100 + i};
	assert_int_equal(sp_sent_open(NULL, 1, &sent), 0);
	uint64_t n_samples = encode(s, &w, sent, &rows);
	samples_add(&rows.tables[SP_FLEET_SAMPLE], sums);
	encode_by_one(s, w, sent, n_samples, &rows_by_one);
	samples_add(&rows_by_one.tables[SP_FLEET_SAMPLE], by_one);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		assert_int_equal(by_one[i].cost, sums[i].cost);
		n_samples -= (uint64_t)sums[i].samples;
		assert_int_equal(sums[i].samples, expected[i].samples);
		assert_int_equal(sums[i].cost, expected[i].cost);
		assert_true(i == NOT_SAMPLED || sums[i].samples > 0);
	}
	assert_int_equal(n_samples, 0);
	windows_compare(&rows.tables[SP_FLEET_WINDOW], sums);
	libraries_compare(&rows.tables[SP_FLEET_LIBRARY], p, WINDOWS);
	stored_remove(s);
	sp_profile_free(made_first);
	sp_profile_free(p);
	sp_fleet_rows_done(&rows);
	sp_fleet_rows_done(&rows_by_one);
	sp_sent_close(sent);
}

/* As ClickHouse reads a string: \xNN is a byte; a quote, a backslash or a control byte would be something else. */
static void test_quote(void **unused)
{
	struct sp_bytes sql = {0};

	for (uint32_t i = 0; i < NAMES; i++) {
		const char *name = hostile(), *at;
		char back[MAX_NAME + 1];
		size_t n = 0;
		sql.n = 0;
		sp_fleet_quote(&sql, name);
		sp_bytes_put_u8(&sql, '\0');
		assert_false(sql.failed);
		assert_int_equal(sql.bytes[0], '\'');
		for (at = sql.bytes + 1; *at != '\''; at++) {
			unsigned byte = (unsigned char)*at;
			assert_true(byte >= ' ' && byte < 0x7f);
			if (*at == '\\') {
				assert_int_equal(sscanf(at, "\\x%2x", &byte), 1);
				at += 3;
			}
			back[n++] = (char)byte;
		}
		back[n] = '\0';
		assert_string_equal(back, name);
		assert_ptr_equal(at + 1, sql.bytes + sql.n - 1);
	}
	sp_bytes_done(&sql);
}

static void test_random(void **unused)
{
	int (*const take[])(struct sp_fleet_names * n, struct sp_row_reader * row) = {
	    sp_fleet_names_file, sp_fleet_names_frame, sp_fleet_names_stack, sp_fleet_names_who};
	struct sp_fleet_names *n;
	struct sp_profile *p;
	char bytes[200];

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_fleet_names_new(p, "cpu", &n), 0);
	for (uint32_t i = 0; i < NAMES; i++) {
		struct sp_row_reader row = {.at = bytes, .end = bytes + drawn(sizeof(bytes))};
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (char)(drawn(3) ? drawn(4) : drawn(256));
		assert_int_equal(take[drawn(SP_COUNT(take))](n, &row), 0);
		assert_true(row.bad || row.at <= row.end);
	}
	sp_fleet_names_free(n);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_roundtrip),
	    cmocka_unit_test(test_windows),
	    cmocka_unit_test(test_quote),
	    cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
