/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/tables.h"
#include "base/error.h"
#include "base/mem.h"
#include "unwind/build.h"
#include "unwind/hotspots.h"
#include "unwind/segments.h"
#include "unwind/step_types.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SP_GRAIN = 64 }; /* words: tables begin on cache lines, and the list of runs stays short */

struct sp_run { /* a run of words; together the runs cover all segments without a gap, in order */
	uint32_t at, n;
	uint32_t file;  /* the file whose table it holds, 0 = free; copies of that file follow in next[] */
	uint64_t check; /* of the blob */
};

struct sp_tables {
	int segments_fd;
	struct sp_table *table; /* [SP_MAX_FILES] */
	bool is_mapped;
	uint32_t max_segments, n_segments;
	struct sp_segment *segment[SP_MAX_SEGS];
	int segment_fd[SP_MAX_SEGS];
	struct sp_run *runs;
	size_t n_runs, runs_capacity;
	uint32_t *next;                         /* [SP_MAX_FILES]: the next file that shares the table, 0 = none */
	int (*make)(void *arg, uint32_t bytes); /* makes the array of a segment; NULL: sp_segment_make() */
	void *make_arg;
	sp_u32 drain;     /* the kernel half's current one: `used` is set to it */
	bool needs_grace; /* free words may still be read by programs that began before they were freed */
	struct sp_tables_stats stats;
	struct sp_hotspots hotspots;
};

static int map_tables(struct sp_tables *t, int tables_fd)
{
	size_t bytes = (size_t)SP_MAX_FILES * sizeof(struct sp_table);

	if (tables_fd < 0) {
		t->table = calloc(SP_MAX_FILES, sizeof(struct sp_table));
		return t->table ? 0 : -ENOMEM;
	}
	t->table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, tables_fd, 0);
	if (t->table == MAP_FAILED) {
		t->table = NULL;
		return sp_fail(-errno, "map the unwind tables");
	}
	t->is_mapped = true;
	return 0;
}

void sp_tables_free(struct sp_tables *t)
{
	uint32_t i;

	if (!t)
		return;
	for (i = 0; i < t->n_segments; i++) {
		if (!t->is_mapped) {
			free(t->segment[i]);
			continue;
		}
		munmap(t->segment[i], SP_SEG_BYTES);
		close(t->segment_fd[i]);
	}
	if (t->is_mapped)
		munmap(t->table, (size_t)SP_MAX_FILES * sizeof(struct sp_table));
	else
		free(t->table);
	free(t->next);
	sp_hotspots_done(&t->hotspots);
	free(t->runs);
	free(t);
}

/* --- segments --- */
/* Takes the descriptor. */
static int segment_map(struct sp_tables *t, uint32_t number, int fd)
{
	void *mapped = mmap(NULL, SP_SEG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int r;

	if (mapped == MAP_FAILED) {
		r = sp_fail(-errno, "map a segment of unwind tables");
		close(fd);
		return r;
	}
	t->segment[number] = mapped;
	t->segment_fd[number] = fd;
	return 0;
}

static int segment_create(struct sp_tables *t, uint32_t number)
{
	int fd = t->make ? t->make(t->make_arg, SP_SEG_BYTES) : sp_segment_make(SP_SEG_BYTES), r;

	if (fd < 0)
		return sp_fail(fd, "make a segment of unwind tables");
	r = segment_map(t, number, fd);
	if (r < 0)
		return r;
	if (!bpf_map_update_elem(t->segments_fd, &number, &fd, BPF_ANY))
		return 0;
	r = sp_fail(-errno, "put a segment of unwind tables in place");
	munmap(t->segment[number], SP_SEG_BYTES);
	close(fd);
	return r;
}

static int runs_insert(struct sp_tables *t, size_t i, struct sp_run run)
{
	int r = sp_grow(&t->runs, &t->runs_capacity, t->n_runs + 1, sizeof(*t->runs));

	if (r < 0)
		return r;
	memmove(t->runs + i + 1, t->runs + i, (t->n_runs - i) * sizeof(*t->runs));
	t->runs[i] = run;
	t->n_runs++;
	return 0;
}

static void runs_join(struct sp_tables *t)
{
	size_t from, to = 0;

	for (from = 1; from < t->n_runs; from++) {
		if (!t->runs[from].file && !t->runs[to].file)
			t->runs[to].n += t->runs[from].n;
		else
			t->runs[++to] = t->runs[from];
	}
	t->n_runs = t->n_runs ? to + 1 : 0;
}

/* It is there and mapped. */
static int segment_note(struct sp_tables *t)
{
	uint32_t number = t->n_segments;
	int r = runs_insert(t, t->n_runs, (struct sp_run){.at = number << SP_SEG_SHIFT, .n = SP_SEG_WORDS});

	if (r < 0)
		return r;
	t->n_segments++;
	t->stats.bytes += SP_SEG_BYTES;
	runs_join(t);
	return 0;
}

static int segment_add(struct sp_tables *t)
{
	uint32_t number = t->n_segments;
	int r;

	if (t->is_mapped) {
		r = segment_create(t, number);
	} else {
		t->segment[number] = calloc(1, SP_SEG_BYTES);
		r = t->segment[number] ? 0 : -ENOMEM;
	}
	return r < 0 ? r : segment_note(t);
}

/* At least one always exists: sp_tables_grace() writes it again. */
static int segment_first(struct sp_tables *t, struct sp_segments *segments)
{
	int fd, r;

	if (!segments)
		return segment_add(t);
	r = sp_segments_first(segments, &fd);
	if (r >= 0)
		r = segment_map(t, 0, fd);
	return r < 0 ? r : segment_note(t);
}

int sp_tables_new(struct sp_segments *segments, int tables_fd, uint64_t budget_bytes, struct sp_tables **ret_tables)
{
	struct sp_tables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->segments_fd = segments ? segments->maps_fd : -1;
	t->hotspots.map_fd = -1;
	t->max_segments = sp_segments_most(budget_bytes);
	t->next = calloc(SP_MAX_FILES, sizeof(*t->next));
	r = t->next ? map_tables(t, tables_fd) : -ENOMEM;
	if (!r)
		r = segment_first(t, segments);
	if (r < 0) {
		sp_tables_free(t);
		return r;
	}
	*ret_tables = t;
	return 0;
}

void sp_tables_from(struct sp_tables *t, int (*make)(void *arg, uint32_t bytes), void *arg)
{
	t->make = make;
	t->make_arg = arg;
}

/* Updating an array of maps waits for all running programs to end (not for sleepable ones). */
int sp_tables_grace(struct sp_tables *t)
{
	uint32_t zero = 0;

	if (t->is_mapped && bpf_map_update_elem(t->segments_fd, &zero, &t->segment_fd[0], BPF_ANY))
		return sp_fail(-errno, "wait for the BPF programs that run");
	t->needs_grace = false;
	return 0;
}

/* --- allocation and eviction --- */
static ssize_t runs_first_fit(const struct sp_tables *t, uint32_t n)
{
	size_t i;

	for (i = 0; i < t->n_runs; i++)
		if (!t->runs[i].file && t->runs[i].n >= n)
			return (ssize_t)i;
	return -1;
}

static void table_state_set(struct sp_table *table, enum sp_table_state state)
{
	__atomic_store_n(&table->state, state, __ATOMIC_RELEASE);
}

/* Frees the words; programs that found the table before its state changed may still read them. */
static void run_release(struct sp_tables *t, struct sp_run *run)
{
	t->stats.used_bytes -= 4ULL * run->n;
	t->needs_grace = true;
	run->file = 0;
	runs_join(t);
}

static struct sp_run *run_at(struct sp_tables *t, uint32_t at)
{
	size_t i;

	for (i = 0; i < t->n_runs; i++)
		if (t->runs[i].file && t->runs[i].at == at)
			return &t->runs[i];
	return NULL;
}

/* Takes a file's table away; other files that share it keep it. */
static void run_leave(struct sp_tables *t, struct sp_run *run, uint32_t file)
{
	uint32_t *at = &run->file;

	while (*at && *at != file)
		at = &t->next[*at];
	if (*at) {
		*at = t->next[file];
		t->stats.n_loaded--;
	}
	t->next[file] = 0;
	if (!run->file)
		run_release(t, run);
}

static uint32_t run_used(const struct sp_tables *t, const struct sp_run *run)
{
	uint32_t file, used = 0;

	for (file = run->file; file; file = t->next[file])
		used = SP_MAX(used, t->table[file].used);
	return used;
}

static void run_evict(struct sp_tables *t, struct sp_run *run)
{
	uint32_t file, next;

	for (file = run->file; file; file = next) {
		next = t->next[file];
		t->next[file] = 0;
		table_state_set(&t->table[file], SP_TABLE_ABSENT);
		t->stats.n_loaded--;
	}
	t->stats.n_evicted++;
	run_release(t, run);
}

/* Evicts the least recently used table. False: there is none. */
static bool evict_one(struct sp_tables *t)
{
	struct sp_run *oldest = NULL;
	uint32_t oldest_used = 0;
	size_t i;

	for (i = 0; i < t->n_runs; i++) {
		struct sp_run *run = &t->runs[i];
		uint32_t used = run->file ? run_used(t, run) : 0;

		if (!run->file || (oldest && used >= oldest_used))
			continue;
		oldest = run;
		oldest_used = used;
	}
	if (oldest)
		run_evict(t, oldest);
	return oldest != NULL;
}

/* A free run of at least n words: an existing one, in a new segment, or by eviction; nobody reads it any more. */
static ssize_t room_find(struct sp_tables *t, uint32_t n)
{
	ssize_t i = runs_first_fit(t, n);
	int r;

	while (i < 0 && t->n_segments < t->max_segments) {
		r = segment_add(t);
		if (r < 0)
			return r;
		i = runs_first_fit(t, n);
	}
	while (i < 0) {
		if (!evict_one(t))
			return sp_fail_said(-E2BIG,
					    "the unwind table is larger than the memory allowed (--max-memory)");
		i = runs_first_fit(t, n);
	}
	r = t->needs_grace ? sp_tables_grace(t) : 0;
	return r < 0 ? r : i;
}

static int room_take(struct sp_tables *t, uint32_t n, uint32_t file, uint64_t check, uint32_t *ret_at)
{
	ssize_t i = room_find(t, n);
	int r;

	if (i < 0)
		return (int)i;
	if (t->runs[i].n > n) {
		r = runs_insert(t, i + 1, (struct sp_run){.at = t->runs[i].at + n, .n = t->runs[i].n - n});
		if (r < 0)
			return r;
	}
	t->runs[i].n = n;
	t->runs[i].file = file;
	t->runs[i].check = check;
	t->next[file] = 0;
	t->stats.n_loaded++;
	t->stats.used_bytes += 4ULL * n;
	*ret_at = t->runs[i].at;
	return 0;
}

/* --- writing a table, and comparing one --- */
/* For groups_each(): both return false where the table and the words differ. */
static bool words_write(const struct sp_tables *t, uint32_t at, const uint32_t *words, uint32_t n)
{
	while (n) {
		uint32_t in = at & (SP_SEG_WORDS - 1), some = SP_MIN(n, SP_SEG_WORDS - in);

		memcpy(&t->segment[at >> SP_SEG_SHIFT]->word[in], words, 4UL * some);
		at += some;
		words += some;
		n -= some;
	}
	return true;
}

static bool words_equal(const struct sp_tables *t, uint32_t at, const uint32_t *words, uint32_t n)
{
	while (n) {
		uint32_t in = at & (SP_SEG_WORDS - 1), some = SP_MIN(n, SP_SEG_WORDS - in);

		if (memcmp(&t->segment[at >> SP_SEG_SHIFT]->word[in], words, 4UL * some))
			return false;
		at += some;
		words += some;
		n -= some;
	}
	return true;
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

/*
 * Words that a table needs wherever it begins. At a segment's border up to one group less one row stays empty. A run of
 * n words meets at most n / SP_SEG_WORDS + 1 borders, and one more because of these empty words, which together are
 * less than a segment.
 */
static uint32_t words_wanted(const struct sp_blob *b)
{
	const uint32_t *index = sp_blob_index(b);
	uint32_t n = 4 * b->n_rules + b->n_groups + b->n_rows, largest = 1, i;

	for (i = 0; i < b->n_groups; i++)
		largest = SP_MAX(largest, index[i] & SP_INDEX_COUNT_MASK);
	return round_up(n + (n / SP_SEG_WORDS + 2) * (largest - 1), SP_GRAIN);
}

/*
 * Writes or compares the rows group by group, passing over segment borders, and the matching index. 1: all is equal; 0:
 * something differs; or a negative errno.
 */
static int groups_each(const struct sp_tables *t, const struct sp_table *table, const struct sp_blob *b,
		       bool words(const struct sp_tables *t, uint32_t at, const uint32_t *words, uint32_t n))
{
	const uint32_t *index = sp_blob_index(b), *rows = sp_blob_rows(b);
	uint32_t at = table->rows, i;

	for (i = 0; i < b->n_groups; i++) {
		uint32_t n = index[i] & SP_INDEX_COUNT_MASK, entry;

		if ((at & (SP_SEG_WORDS - 1)) + n > SP_SEG_WORDS)
			at = (at | (SP_SEG_WORDS - 1)) + 1;
		if (at - table->rows >= SP_MAX_ROWS)
			return sp_fail_said(-E2BIG, "the unwind table has too many rows");
		entry = (at - table->rows) << SP_INDEX_COUNT_BITS | n;
		if (!words(t, table->index + i, &entry, 1) ||
		    !words(t, at, rows + (index[i] >> SP_INDEX_COUNT_BITS), n))
			return 0;
		at += n;
	}
	return 1;
}

static int table_write(struct sp_tables *t, struct sp_table *table, const struct sp_blob *b, uint32_t at)
{
	int r;

	table->rules = at;
	table->index = at + 4 * b->n_rules;
	table->rows = table->index + b->n_groups;
	table->first = b->first;
	table->n_groups = b->n_groups;
	table->shift = b->shift;
	words_write(t, table->rules, (const uint32_t *)sp_blob_rules(b), 4 * b->n_rules);
	r = groups_each(t, table, b, words_write);
	if (r < 0)
		return r;
	table_state_set(table, SP_TABLE_LOADED);
	return 0;
}

/* --- one table for all copies of a file --- */
/* A build id is only a label, and `check` only a hash: every word is compared. */
static bool table_equals(const struct sp_tables *t, const struct sp_table *table, const struct sp_blob *b)
{
	return table->first == b->first && table->shift == b->shift && table->n_groups == b->n_groups &&
	       table->index - table->rules == 4 * b->n_rules &&
	       words_equal(t, table->rules, (const uint32_t *)sp_blob_rules(b), 4 * b->n_rules) &&
	       groups_each(t, table, b, words_equal) == 1;
}

static struct sp_run *run_with(struct sp_tables *t, const struct sp_blob *b)
{
	size_t i;

	for (i = 0; i < t->n_runs; i++)
		if (t->runs[i].file && t->runs[i].check == b->check && table_equals(t, &t->table[t->runs[i].file], b))
			return &t->runs[i];
	return NULL;
}

/* Gives the file the table of another one with the same content. 1; 0: there is none; or a negative errno. */
static int table_share(struct sp_tables *t, uint32_t file, const struct sp_blob *b)
{
	struct sp_run *run = run_with(t, b);
	struct sp_table *table = &t->table[file], other;
	int r = run && t->needs_grace ? sp_tables_grace(t) : 0; /* the file's old table may still be in use */

	if (!run || r < 0)
		return r;
	other = t->table[run->file];
	table->rules = other.rules;
	table->index = other.index;
	table->rows = other.rows;
	table->first = other.first;
	table->n_groups = other.n_groups;
	table->shift = other.shift;
	t->next[file] = t->next[run->file];
	t->next[run->file] = file;
	t->stats.n_loaded++;
	t->stats.n_shared++;
	table_state_set(table, SP_TABLE_LOADED);
	return 1;
}

int sp_tables_load(struct sp_tables *t, uint32_t file, const struct sp_blob *b)
{
	uint32_t n = words_wanted(b), at;
	struct sp_table *table;
	int r;

	if (!file || file >= SP_MAX_FILES)
		return sp_fail_said(-EINVAL, "file number %u out of range", file);
	table = &t->table[file];
	if (table->state == SP_TABLE_LOADED)
		return 0;
	r = table_share(t, file, b);
	if (r)
		return r < 0 ? r : 0;
	if (n > (uint64_t)t->max_segments << SP_SEG_SHIFT)
		return sp_fail_said(-E2BIG, "the unwind table is larger than the memory allowed (--max-memory)");
	r = room_take(t, n, file, b->check, &at);
	if (r < 0)
		return r;
	r = table_write(t, table, b, at);
	if (r < 0)
		run_leave(t, run_at(t, at), file);
	return r;
}

void sp_tables_set_code(struct sp_tables *t, uint32_t file, enum sp_table_state state)
{
	struct sp_run *run;

	if (!file || file >= SP_MAX_FILES)
		return;
	if (t->table[file].state == SP_TABLE_HOTSPOT)
		sp_hotspots_forget(&t->hotspots, file);
	/* Copies share a table, so their rules begin at the same word. */
	run = t->table[file].state == SP_TABLE_LOADED ? run_at(t, t->table[file].rules) : NULL;
	table_state_set(&t->table[file], state);
	if (run)
		run_leave(t, run, file);
}

struct sp_hotspots *sp_tables_hotspots(struct sp_tables *t)
{
	return &t->hotspots;
}

int sp_tables_set_hotspot(struct sp_tables *t, uint32_t file, const struct sp_hotspot *h)
{
	int r;

	if (!file || file >= SP_MAX_FILES)
		return -ENOSPC;
	sp_tables_set_code(t, file, SP_TABLE_ABSENT);
	r = sp_hotspots_put(&t->hotspots, file, h);
	if (!r)
		table_state_set(&t->table[file], SP_TABLE_HOTSPOT);
	return r;
}

void sp_tables_forget(struct sp_tables *t, uint32_t file)
{
	sp_tables_set_code(t, file, SP_TABLE_ABSENT);
	if (file < SP_MAX_FILES)
		t->table[file].used = 0;
}

enum sp_table_state sp_tables_state(const struct sp_tables *t, uint32_t file)
{
	return file < SP_MAX_FILES ? t->table[file].state : SP_TABLE_FP;
}

const struct sp_table *sp_tables_get(const struct sp_tables *t, uint32_t file)
{
	return file < SP_MAX_FILES ? &t->table[file] : NULL;
}

void sp_tables_begin_drain(struct sp_tables *t, sp_u32 drain)
{
	t->drain = drain;
}

const struct sp_table *sp_tables_use(struct sp_tables *t, uint32_t file)
{
	if (file >= SP_MAX_FILES)
		return NULL;
	t->table[file].used = t->drain;
	return &t->table[file];
}

const struct sp_segment *sp_tables_segment(const struct sp_tables *t, uint32_t word)
{
	uint32_t number = word >> SP_SEG_SHIFT;

	return number < t->n_segments ? t->segment[number] : NULL;
}

struct sp_tables_stats sp_tables_stats(const struct sp_tables *t)
{
	return t->stats;
}
