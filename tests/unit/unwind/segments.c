/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded tables: the unwinder's own lookup over segments (step.h) gives what sp_blob_find() gives on the blob, also
 * where rows meet the borders of segments; under a small budget tables come and go and never lie on one another.
 */
#include "unwind/segments.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/build.h"
#include "unwind/step_types.h"
#include "unwind/tables.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The environment that step.h asks for: the tables, and no stack. */
#define SP_WALK const struct sp_tables
#define sp_opaque(x) ((void)0)
static const struct sp_segment *sp_env_segment(const struct sp_tables *t, sp_u32 word)
{
	return sp_tables_segment(t, word);
}
static int sp_env_stack(const struct sp_tables *t, sp_u64 addr, sp_u64 *ret)
{
	(void)t, (void)addr, (void)ret;
	return -1;
}
static int sp_env_is_return(const struct sp_tables *t, sp_u64 addr)
{
	(void)t, (void)addr;
	return 0;
}
static int sp_env_code(const struct sp_tables *t, sp_u64 addr, sp_u8 *ret)
{
	(void)t, (void)addr, (void)ret;
	return -1;
}
static int sp_env_read(const struct sp_tables *t, sp_u64 addr, void *ret, sp_u32 n)
{
	(void)t, (void)addr, (void)ret, (void)n;
	return -1;
}
#include "unwind/step.h"

/* Of unwind/priv.h, which cannot stand beside step.h: both name the registers. */
uint64_t sp_blob_bytes(uint64_t n_groups, uint64_t n_rows, uint64_t n_rules, uint64_t *ret_rules_at);
uint64_t sp_blob_hash(const struct sp_blob *b);

#define LIB "/usr/lib/x86_64-linux-gnu/"
#define MIB (1ULL << 20)
enum { N_FILES = 48, N_OPERATIONS = 10000 / SP_FEWER, MAX_GROUP = SP_INDEX_COUNT_MASK };

static uint64_t seed = 20260101;

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* --- what is compared --- */
static struct sp_rule loaded_rule(const struct sp_tables *t, uint32_t file, uint64_t offset)
{
	sp_u32 at = sp_rule_find(t, sp_tables_get(t, file), offset);
	struct sp_rule rule = {.cfa = SP_CFA_NONE};

	if (at)
		assert_int_equal(sp_rule_get(t, at, &rule), 0);
	return rule;
}

static void same_at(const struct sp_tables *t, uint32_t file, const struct sp_blob *b, uint64_t offset)
{
	struct sp_rule rule = loaded_rule(t, file, offset);

	if (memcmp(&rule, sp_blob_find(b, offset), sizeof(rule)) != 0)
		fail_msg("file %u, offset %#llx: another rule than the blob's", file, (unsigned long long)offset);
}

/* At the start of every row, one before and one behind it, so at every row's last byte too; and outside the table. */
static void same_at_rows(const struct sp_tables *t, uint32_t file, const struct sp_blob *b)
{
	const uint32_t *index = sp_blob_index(b), *rows = sp_blob_rows(b);

	for (uint32_t g = 0; g < b->n_groups; g++) {
		uint64_t group = ((uint64_t)b->first + g) << b->shift;
		uint32_t n = index[g] & SP_INDEX_COUNT_MASK;

		for (uint32_t i = 0; i < n; i += SP_FEWER) {
			uint64_t offset = (group & ~0xffffULL) | (rows[(index[g] >> SP_INDEX_COUNT_BITS) + i] & 0xffff);

			same_at(t, file, b, offset - 1);
			same_at(t, file, b, offset);
			same_at(t, file, b, offset + 1);
		}
		same_at(t, file, b, group + (1ULL << b->shift) - 1);
	}
	same_at(t, file, b, 0);
	same_at(t, file, b, ((uint64_t)b->first + b->n_groups) << b->shift);
	same_at(t, file, b, (1ULL << 40) - 1);
	same_at(t, file, b, 1ULL << 40);
	same_at(t, file, b, UINT64_MAX);
}

static void same_at_random(const struct sp_tables *t, uint32_t file, const struct sp_blob *b, int n)
{
	uint64_t start = (uint64_t)b->first << b->shift, bytes = (uint64_t)b->n_groups << b->shift;

	while (n--)
		same_at(t, file, b, start + draw(bytes));
}

/* --- blobs --- */
static struct sp_blob *blob_of_file(const char *path)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sp_blob *b = NULL;
	struct sp_elf *e = NULL;

	if (fd < 0)
		return NULL;
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(sp_blob_build(e, &b), 0);
	sp_elf_close(e);
	return b;
}

static struct sp_blob *blob_alloc(uint32_t n_groups, uint32_t n_rows, uint32_t n_rules)
{
	uint64_t rules_at, bytes = sp_blob_bytes(n_groups, n_rows, n_rules, &rules_at);
	struct sp_blob *b = calloc(1, bytes);

	assert_non_null(b);
	*b = (struct sp_blob){.magic = SP_BLOB_MAGIC,
			      .version = SP_BLOB_VERSION,
			      .shift = 12,
			      .first = (uint32_t)draw(1000),
			      .n_groups = n_groups,
			      .n_rows = n_rows,
			      .n_rules = n_rules,
			      .bytes = bytes};
	return b;
}

/* A blob whose groups have these numbers of rows. Its rules tell it from every other: `mark` is in all of them. */
static struct sp_blob *blob_made(const uint32_t *counts, uint32_t n_groups, uint32_t n_rules, int32_t mark)
{
	uint32_t n_rows = 0, at = 0;

	for (uint32_t g = 0; g < n_groups; g++)
		n_rows += counts[g];
	struct sp_blob *b = blob_alloc(n_groups, n_rows, n_rules);
	uint32_t *index = (uint32_t *)sp_blob_index(b), *rows = (uint32_t *)sp_blob_rows(b);
	struct sp_rule *rules = (struct sp_rule *)sp_blob_rules(b);

	for (uint32_t i = 1; i < n_rules; i++)
		rules[i] = (struct sp_rule){.cfa = SP_CFA_REG, .reg = SP_REG_SP, .off = 8 * (int32_t)i, .add = mark};
	for (uint32_t g = 0; g < n_groups; g++) {
		uint32_t low = (uint32_t)(((uint64_t)b->first + g) << b->shift) & 0xffff, n = counts[g];

		index[g] = at << SP_INDEX_COUNT_BITS | n;
		for (uint32_t i = 0; i < n; i++)
			rows[at++] = (low + (i << b->shift) / n) | (uint32_t)draw(n_rules) << 16;
	}
	b->check = sp_blob_hash(b);
	assert_int_equal(sp_blob_validate(b, b->bytes), 0);
	return b;
}

/* n rows in groups of `each`. */
static struct sp_blob *blob_even(uint32_t n, uint32_t each, int32_t mark)
{
	uint32_t n_groups = (n + each - 1) / each;
	SP_FREE uint32_t *counts = calloc(n_groups, sizeof(*counts));

	assert_non_null(counts);
	for (uint32_t g = 0; g < n_groups; g++)
		counts[g] = SP_MIN(each, n - g * each);
	return blob_made(counts, n_groups, 200, mark);
}

static struct sp_blob *blob_random(uint32_t max_rows, int32_t mark)
{
	uint32_t n_groups = 1 + (uint32_t)draw(SP_MAX(max_rows / 24, 1));
	SP_FREE uint32_t *counts = calloc(n_groups, sizeof(*counts));

	assert_non_null(counts);
	for (uint32_t g = 0; g < n_groups; g++)
		counts[g] = draw(8) ? 1 + (uint32_t)draw(draw(50) ? 32 : MAX_GROUP) : 0;
	return blob_made(counts, n_groups, 200, mark);
}

/* --- where tables lie --- */
struct extent {
	uint32_t from, to, file;
};

static struct extent extent_of(const struct sp_tables *t, uint32_t file)
{
	const struct sp_table *table = sp_tables_get(t, file);
	sp_u32 last = sp_table_word(t, table->index + table->n_groups - 1);

	return (struct extent){.from = table->rules,
			       .to = table->rows + (last >> SP_INDEX_COUNT_BITS) + (last & SP_INDEX_COUNT_MASK),
			       .file = file};
}

SP_ORDER_BY(by_from, struct extent, from);

/* No table lies on another, or outside the segments. Returns how many are loaded. */
static uint32_t check_layout(const struct sp_tables *t, uint32_t n_files)
{
	struct sp_tables_stats stats = sp_tables_stats(t);
	struct extent e[N_FILES + 1];
	uint32_t n = 0;

	for (uint32_t file = 1; file <= n_files; file++)
		if (sp_tables_state(t, file) == SP_TABLE_LOADED)
			e[n++] = extent_of(t, file);
	qsort(e, n, sizeof(*e), by_from);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t limit = i + 1 < n ? e[i + 1].from : (uint32_t)(stats.bytes / 4);

		if (e[i].from >= e[i].to || e[i].to > limit)
			fail_msg("the table of file %u ends at %u, above %u", e[i].file, e[i].to, limit);
	}
	assert_int_equal(stats.n_loaded, n);
	assert_true(stats.used_bytes <= stats.bytes);
	return n;
}

/* No group's rows cross a border. Returns how many groups begin on one because the group before it left a rest. */
static uint32_t check_borders(const struct sp_tables *t, uint32_t file)
{
	const struct sp_table *table = sp_tables_get(t, file);
	uint32_t n_padded = 0, end = table->rows;

	for (uint32_t g = 0; g < table->n_groups; g++) {
		sp_u32 word = sp_table_word(t, table->index + g), n = word & SP_INDEX_COUNT_MASK;
		sp_u32 at = table->rows + (word >> SP_INDEX_COUNT_BITS);

		assert_true(at >= end && (!n || at >> SP_SEG_SHIFT == (at + n - 1) >> SP_SEG_SHIFT));
		n_padded += at != end;
		end = at + n;
	}
	return n_padded;
}

/* --- tests --- */
static void real_files(void **state)
{
	static const char *const paths[] = {LIB "libc.so.6", LIB "libcrypto.so.3", LIB "libstdc++.so.6",
					    LIB "libLLVM-14.so.1"};
	struct sp_blob *blobs[SP_COUNT(paths)] = {0};
	struct sp_tables *t = NULL;
	uint32_t n_padded = 0;

	assert_int_equal(sp_tables_new(NULL, -1, 24 * MIB, &t), 0);
	for (uint32_t i = 0; i < SP_COUNT(paths); i++) {
		blobs[i] = blob_of_file(paths[i]);
		if (blobs[i])
			assert_int_equal(sp_tables_load(t, i + 1, blobs[i]), 0);
	}
	assert_true(blobs[0] && blobs[1] && blobs[2]);
	for (uint32_t i = 0; i < SP_COUNT(paths); i++) {
		if (!blobs[i])
			continue;
		same_at_rows(t, i + 1, blobs[i]);
		same_at_random(t, i + 1, blobs[i], 100000 / SP_FEWER);
		n_padded += check_borders(t, i + 1);
		free(blobs[i]);
	}
	check_layout(t, SP_COUNT(paths));
	assert_int_equal(sp_tables_stats(t).n_evicted, 0);
	print_message("%u groups moved behind a border\n", n_padded);
	sp_tables_free(t);
}

/* first, big and last are loaded one behind the other; none of them may reach into the next. */
static uint32_t load_three(struct sp_blob *first, struct sp_blob *big, struct sp_blob *last)
{
	struct sp_tables *t = NULL;
	uint32_t n_padded;

	assert_int_equal(sp_tables_new(NULL, -1, 16 * MIB, &t), 0);
	assert_int_equal(sp_tables_load(t, 1, first), 0);
	assert_int_equal(sp_tables_load(t, 2, big), 0);
	assert_int_equal(sp_tables_load(t, 3, last), 0);
	assert_int_equal(check_layout(t, 3), 3);
	assert_true(sp_tables_get(t, 1)->rules < sp_tables_get(t, 2)->rules);
	assert_true(sp_tables_get(t, 2)->rules < sp_tables_get(t, 3)->rules);
	n_padded = check_borders(t, 2);
	same_at_rows(t, 1, first);
	same_at_random(t, 2, big, 5000);
	same_at_rows(t, 3, last);
	sp_tables_free(t);
	return n_padded;
}

/* Tables of the largest groups, with sizes near one and two segments, behind tables of several sizes. */
static void borders(void **state)
{
	uint32_t n_padded = 0;

	for (uint32_t i = 0; i < 40; i++) {
		uint32_t n = (1 + i % 2) * SP_SEG_WORDS - 5000 + 509 * (i / 2);
		struct sp_blob *first = blob_even(1 + (uint32_t)draw(3000), 1, 1), *big = blob_even(n, MAX_GROUP, 2),
			       *last = blob_even(3000, 7, 3);

		n_padded += load_three(first, big, last);
		free(first), free(big), free(last);
	}
	assert_true(n_padded > 20);
}

/*
 * The most that borders can cost: every one of them cuts a group of the largest size off before its last row, and the
 * table has two rules only. It is tried at many distances of its first row from the first border.
 */
static void worst_borders(void **state)
{
	enum { SEGMENTS = 9, A_SEGMENT = 256, SHORT = SP_SEG_WORDS - (A_SEGMENT - 1) * MAX_GROUP - (MAX_GROUP - 1) };
	uint32_t counts[SEGMENTS * A_SEGMENT + 2], n = 0, most = 0;
	struct sp_blob *big, *last = blob_even(3000, 7, 3);

	counts[n++] = MAX_GROUP;
	while (n < SP_COUNT(counts)) { /* ends with a group behind the last border */
		counts[n] = n % A_SEGMENT == 0 ? SHORT : MAX_GROUP;
		n++;
	}
	big = blob_made(counts, n, 2, 2);
	for (uint32_t before = SP_SEG_WORDS - 6000; before < SP_SEG_WORDS - 1000; before += 97) {
		struct sp_blob *first = blob_even(before - before / 64 - 800, 64, 1);

		most = SP_MAX(most, load_three(first, big, last));
		free(first);
	}
	assert_int_equal(most, SEGMENTS + 1);
	free(big), free(last);
}

struct world { /* what must be true of a set of tables */
	struct sp_tables *t;
	struct sp_blob *blobs[N_FILES + 1];
	bool loaded[N_FILES + 1];
	uint32_t used[N_FILES + 1];
	uint64_t n_evicted;
};

static void use(struct world *w, uint32_t file, uint32_t now)
{
	((struct sp_table *)sp_tables_get(w->t, file))->used = w->used[file] = now; /* as the kernel half does */
}

/* After a load: the evicted are absent, were counted, and had been used no later than any that stayed. */
static void check_eviction(struct world *w, uint32_t loaded)
{
	uint32_t latest_gone = 0, earliest_kept = UINT32_MAX;

	for (uint32_t file = 1; file <= N_FILES; file++) {
		bool is = sp_tables_state(w->t, file) == SP_TABLE_LOADED;

		if (w->loaded[file] && !is) {
			assert_int_equal(sp_tables_state(w->t, file), SP_TABLE_ABSENT);
			latest_gone = SP_MAX(latest_gone, w->used[file]);
			w->n_evicted++;
		} else if (is && file != loaded) {
			assert_true(w->loaded[file]);
			earliest_kept = SP_MIN(earliest_kept, w->used[file]);
		}
		w->loaded[file] = is;
	}
	assert_true(w->loaded[loaded]);
	assert_true(latest_gone <= earliest_kept);
	assert_int_equal(sp_tables_stats(w->t).n_evicted, w->n_evicted);
}

static void one_operation(struct world *w, uint32_t now)
{
	uint32_t file = 1 + (uint32_t)draw(N_FILES);

	if (!w->loaded[file]) {
		assert_int_equal(sp_tables_load(w->t, file, w->blobs[file]), 0);
		check_eviction(w, file);
	}
	use(w, file, now);
	check_layout(w->t, N_FILES);
	for (file = 1; file <= N_FILES; file++)
		if (w->loaded[file])
			same_at_random(w->t, file, w->blobs[file], 8);
}

static void loads_and_evictions(void **state)
{
	struct world w = {0};

	assert_int_equal(sp_tables_new(NULL, -1, 4 * MIB, &w.t), 0);
	for (uint32_t file = 1; file <= N_FILES; file++)
		w.blobs[file] = blob_random(file % 8 ? 1U << (6 + draw(11)) : 600000, (int32_t)file);
	for (uint32_t i = 1; i <= N_OPERATIONS; i++) {
		one_operation(&w, i / 16); /* several in a window: ties */
		for (uint32_t file = 1; i % (N_OPERATIONS / 5) == 0 && file <= N_FILES; file++)
			if (w.loaded[file])
				same_at_rows(w.t, file, w.blobs[file]);
	}
	assert_true(w.n_evicted > N_OPERATIONS / 10);
	assert_int_equal(sp_tables_stats(w.t).bytes, 4 * MIB);
	print_message("%llu evictions in %d operations\n", (unsigned long long)w.n_evicted, N_OPERATIONS);
	for (uint32_t file = 1; file <= N_FILES; file++)
		free(w.blobs[file]);
	sp_tables_free(w.t);
}

/* A table that can never fit is refused, and nothing else suffers. */
static void over_budget(void **state)
{
	struct sp_blob *small = blob_even(1000, 16, 1), *big = blob_even(SP_SEG_WORDS, 16, 2);
	struct sp_tables *t = NULL;

	assert_int_equal(sp_tables_new(NULL, -1, MIB, &t), 0);
	assert_int_equal(sp_tables_load(t, 1, small), 0);
	assert_int_equal(sp_tables_load(t, 2, big), -E2BIG);
	assert_int_equal(sp_tables_state(t, 2), SP_TABLE_ABSENT);
	assert_int_equal(sp_tables_state(t, 1), SP_TABLE_LOADED);
	assert_int_equal(check_layout(t, 2), 1);
	same_at_rows(t, 1, small);
	assert_int_equal(sp_tables_load(t, 0, small), -EINVAL);
	assert_int_equal(sp_tables_load(t, SP_MAX_FILES, small), -EINVAL);
	sp_tables_free(t);
	free(small), free(big);
}

/* A file may be said to have no table before or after it had one; what it took is room again. */
static void without_table(void **state)
{
	struct sp_blob *half = blob_even(SP_SEG_WORDS / 2, 16, 1);
	struct sp_tables *t = NULL;

	assert_int_equal(sp_tables_new(NULL, -1, MIB, &t), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(sp_tables_load(t, 1, half), 0);
		sp_tables_set_code(t, 1, SP_TABLE_FP);
		assert_int_equal(sp_tables_state(t, 1), SP_TABLE_FP);
		assert_int_equal(sp_tables_stats(t).n_loaded, 0);
		assert_int_equal(sp_tables_stats(t).used_bytes, 0);
	}
	assert_int_equal(sp_tables_load(t, 2, half), 0);
	assert_int_equal(check_layout(t, 2), 1);
	same_at_rows(t, 2, half);
	assert_int_equal(sp_tables_stats(t).n_evicted, 0);
	sp_tables_set_code(t, SP_MAX_FILES, SP_TABLE_FP);
	assert_int_equal(sp_tables_state(t, SP_MAX_FILES), SP_TABLE_FP);
	assert_null(sp_tables_get(t, SP_MAX_FILES));
	assert_null(sp_tables_segment(t, UINT32_MAX));
	sp_tables_free(t);
	free(half);
}

/* Copies of a file share its table, whatever their numbers; what only claims to be equal does not. */
static void copies(void **state)
{
	enum { N_COPIES = 20 };
	struct sp_blob *blob = blob_even(20000, 13, 1), *liar = blob_even(20000, 13, 2), *big = NULL;
	struct sp_tables *t = NULL;
	uint64_t one;

	assert_int_equal(sp_tables_new(NULL, -1, MIB, &t), 0);
	assert_int_equal(sp_tables_load(t, 1, blob), 0);
	one = sp_tables_stats(t).used_bytes;
	for (uint32_t file = 2; file <= N_COPIES; file++)
		assert_int_equal(sp_tables_load(t, file, blob), 0);
	assert_int_equal(sp_tables_stats(t).used_bytes, one);
	assert_int_equal(sp_tables_stats(t).n_loaded, N_COPIES);
	assert_int_equal(sp_tables_stats(t).n_shared, N_COPIES - 1);
	liar->first = blob->first;
	liar->check = blob->check;
	assert_int_equal(sp_tables_load(t, 30, liar), 0);
	assert_int_equal(sp_tables_stats(t).used_bytes, 2 * one);
	same_at_rows(t, 30, liar);

	/* the first and one in the middle leave; the others keep it */
	sp_tables_set_code(t, 1, SP_TABLE_FP);
	sp_tables_set_code(t, 7, SP_TABLE_FP);
	assert_int_equal(sp_tables_stats(t).used_bytes, 2 * one);
	for (uint32_t file = 2; file <= N_COPIES; file++)
		if (file != 7)
			same_at_rows(t, file, blob);

	/* used by one of them in the newest window: the other table goes first, then this one, whole */
	sp_tables_begin_drain(t, 5);
	sp_tables_use(t, 11);
	big = blob_even(225000, 500, 3);
	assert_int_equal(sp_tables_load(t, 31, big), 0);
	assert_int_equal(sp_tables_state(t, 30), SP_TABLE_ABSENT);
	assert_int_equal(sp_tables_state(t, 11), SP_TABLE_LOADED);
	free(big);
	big = blob_even(240000, 500, 4);
	assert_int_equal(sp_tables_load(t, 32, big), 0);
	for (uint32_t file = 2; file <= N_COPIES; file++)
		assert_int_equal(sp_tables_state(t, file), file == 7 ? SP_TABLE_FP : SP_TABLE_ABSENT);
	assert_int_equal(sp_tables_stats(t).n_loaded, 1);
	same_at_random(t, 32, big, 5000);
	/* and comes back for one, then for others */
	assert_int_equal(sp_tables_load(t, 3, blob), 0);
	assert_int_equal(sp_tables_load(t, 11, blob), 0);
	same_at_rows(t, 11, blob);
	assert_int_equal(sp_tables_stats(t).used_bytes, one);
	sp_tables_free(t);
	free(blob), free(liar), free(big);
}

/* The kernel says which map is in place; what was written through the mapping is in that map. Needs root. */
static void first_of_the_kernel(void **state)
{
	struct sp_segments s;
	struct bpf_map_info info = {0};
	uint32_t zero = 0, id = 0, size = sizeof(info);
	int fd = -1;

	if (geteuid()) {
		print_message("skip: needs root\n");
		skip();
	}
	assert_int_equal(sp_segments_begin(&s, SP_SEG_BYTES), 0);
	assert_int_equal(sp_segments_first(&s, &fd), 0);
	assert_int_equal(s.first_fd, -1);
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	assert_int_equal(info.value_size, SP_SEG_BYTES);
	assert_int_equal(bpf_map_lookup_elem(s.maps_fd, &zero, &id), 0);
	assert_int_equal(id, info.id);
	close(fd);
	sp_segments_done(&s);
	assert_int_equal(sp_segments_begin(&s, SP_SEG_BYTES), 0); /* one that nobody takes */
	sp_segments_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(real_files),    cmocka_unit_test(borders),
	    cmocka_unit_test(worst_borders), cmocka_unit_test(loads_and_evictions),
	    cmocka_unit_test(over_budget),   cmocka_unit_test(without_table),
	    cmocka_unit_test(copies),        cmocka_unit_test(first_of_the_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
