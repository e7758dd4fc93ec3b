/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to a store against another way to the same answer: the windows' profiles merged by profile/merge.h and
 * narrowed by profile/filter.h, which know nothing of call trees.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "store/store.h"

#define S UINT64_C(1000000000)
#define DAY (UINT64_C(20778) * 86400 * S) /* 2026-11-21 */

enum { N_LIBRARIES = 12, N_FUNCTIONS = 20, N_PROCESSES = 9 };

/* --- chance ------------------------------------------------------------------------------------------------------- */
static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % n;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */
static uint32_t ok(int64_t r)
{
	if (r < 0)
		fail_msg("%s", sp_error_text((int)r));
	return (uint32_t)r;
}

static uint32_t string(struct sp_profile *p, const char *format, uint32_t n)
{
	char text[64];

	snprintf(text, sizeof(text), format, n); /* NOLINT */
	return ok(sp_profile_add_string(p, text));
}

/* Library 0 is the kernel, 1 one of its modules, 2 memory without a file, 3 has no build id. */
static uint32_t add_library(struct sp_profile *p, uint32_t n)
{
	struct sp_file f = {.kind = n < 2 ? SP_FILE_KERNEL : n == 2 ? SP_FILE_ANON : SP_FILE_ELF, .tag = n + 1};

	f.name = string(p, n == 0 ? "[kernel]" : n == 1 ? "[ext4]" : n == 2 ? "[anon]" : "liblib%u.so.1", n);
	f.path = n < 3 ? 0 : string(p, "/usr/lib/liblib%u.so.1.2", n);
	if (n > 3) {
		f.build_id_len = 20;
		memset(f.build_id, (int)n, 20);
	}
	return ok(sp_profile_add_file(p, &f));
}

static uint32_t add_frame(struct sp_profile *p, bool kernel)
{
	uint32_t n = kernel ? below(2) : 2 + below(N_LIBRARIES - 2), i = below(N_FUNCTIONS);
	uint32_t home = add_library(p, n);
	struct sp_func func = {.file = home, .is_range = i % 5 == 4};

	func.name = string(p, "function_%u", n * 100 + i);
	func.linkage_name = func.is_range ? 0 : string(p, "_Zfunction_%u", n * 100 + i);
	func.start = func.vaddr = kernel || n == 2 ? 0 : 0x1000 + 0x100 * i;
	func.size = kernel || n == 2 ? 0 : 0x100;
	struct sp_frame f = {.offset = 0x1000 + 0x100 * i + below(4), .file = kernel ? add_library(p, 0) : home};
	if (kernel)
		f.offset += n << 20;
	f.flags = (kernel ? SP_FRAMEF_KERNEL : 0) | (i == 3 ? SP_FRAMEF_GUESSED : 0) | (i == 5 ? SP_FRAMEF_DERIVED : 0);
	uint32_t number = ok(sp_profile_add_frame(p, &f));
	if (i != 7) /* which has no name */
		sp_profile_frame(p, number)->func = ok(sp_profile_add_func(p, &func));
	return number;
}

static uint32_t add_stack(struct sp_profile *p, bool kernel, uint32_t depth)
{
	uint32_t frames[64];
	struct sp_stack stack = {.n_frames = below(depth + 1), .frames = frames};

	if (below(4) == 0)
		return 0;
	for (uint32_t i = 0; i < stack.n_frames; i++)
		frames[i] = add_frame(p, kernel);
	if (below(4) == 0)
		stack.stack_class = (uint16_t)below(4);
	if (stack.stack_class != SP_STACK_COMPLETE)
		stack.reason = (uint16_t)below(6);
	return ok(sp_profile_add_stack(p, &stack));
}

static uint32_t add_key(struct sp_profile *p)
{
	uint32_t n = below(N_PROCESSES), program = n / 2;
	struct sp_process process = {.pid = 100 + n, .ns_pid = n, .uid = n / 3 * 1000, .start_ns = 7 * n, .exec_id = n};

	process.exe = add_library(p, 4 + program);
	process.comm = string(p, "prog%u", program);
	process.cgroup_path = string(p, n % 2 != 0 ? "/system.slice/a%u.service/sub" : "/user.slice", n / 4);
	struct sp_key key = {.process = below(20) == 0 ? 0 : ok(sp_profile_add_process(p, &process))};
	key.comm = string(p, "thread%u", below(3));
	key.recipe = string(p, "cpu", 0);
	return ok(sp_profile_add_key(p, &key));
}

/* A row of a window is mostly one of few stacks, as it is in life. */
static struct sp_profile *window_make(uint32_t n_rows, uint32_t depth)
{
	struct sp_profile *p;

	ok(sp_profile_new(&p));
	ok(sp_profile_add_value_type(p, "samples", "count"));
	ok(sp_profile_add_value_type(p, "cpu", "nanoseconds"));
	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t key = add_key(p), user = add_stack(p, false, depth), kernel = add_stack(p, true, depth / 3);
		int64_t n = 1 + below(9), values[2] = {n, n * 10000000 + (below(5) == 0 ? below(1000) : 0)};
		ok(sp_profile_add(p, key, user, kernel, values));
	}
	return p;
}

/* --- rows as lines ------------------------------------------------------------------------------------------------ */
struct lines {
	struct sp_intern *texts;
	int64_t (*sums)[2];
	size_t capacity;
};

static void put_stack(FILE *out, const struct sp_profile *p, uint32_t number)
{
	struct sp_stack stack = sp_profile_stack(p, number);

	fprintf(out, " | %u.%u", stack.stack_class, stack.reason);
	for (uint32_t i = 0; i < stack.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, stack.frames[i]);
		const struct sp_func *func = sp_profile_func(p, f->func);
		fprintf(out, " %s:%s[%s]%x", sp_profile_string(p, sp_profile_file(p, f->file)->name),
			sp_profile_string(p, func->name), sp_profile_string(p, sp_profile_file(p, func->file)->name),
			f->flags & 0xff);
		if (f->func == 0 && sp_profile_file(p, f->file)->kind == SP_FILE_ELF) /* others move */
			fprintf(out, "+%" PRIx64, f->offset);
	}
}

static char *line_of(const struct sp_profile *p, const struct sp_row *row, bool by_group)
{
	const struct sp_key *key = sp_profile_key(p, row->key);
	const struct sp_process *process = sp_profile_process(p, key->process);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!by_group)
		fprintf(out, "%u %u %" PRIu64 " %s ", process->pid, process->exec_id, process->start_ns,
			sp_profile_string(p, key->comm));
	fprintf(out, "%u %s %s %s", process->uid, sp_profile_string(p, process->comm),
		sp_profile_string(p, process->cgroup_path),
		sp_profile_string(p, sp_profile_file(p, process->exe)->name));
	put_stack(out, p, row->user);
	put_stack(out, p, row->kernel);
	fclose(out);
	return text;
}

static void lines_make(const struct sp_profile *p, bool by_group, struct lines *l)
{
	ok(sp_intern_new(&l->texts));
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		SP_FREE char *text = line_of(p, row, by_group);
		uint32_t n = ok(sp_intern_add(l->texts, text, strlen(text)));
		ok(sp_grow(&l->sums, &l->capacity, (size_t)n + 1, sizeof(*l->sums)));
		l->sums[n][0] += row->values[0];
		l->sums[n][1] += row->values[1];
	}
}

static void lines_done(struct lines *l)
{
	sp_intern_free(l->texts);
	free(l->sums);
}

static void assert_same(const struct sp_profile *got, const struct sp_profile *wanted, bool by_group)
{
	struct lines a = {0}, b = {0};

	lines_make(got, by_group, &a);
	lines_make(wanted, by_group, &b);
	for (uint32_t i = 0; i < sp_intern_count(b.texts); i++) {
		size_t len;
		const char *text = sp_intern_get(b.texts, i, &len);
		int64_t n = sp_intern_find(a.texts, text, len);
		if (n < 0)
			fail_msg("not in the answer: %s", text);
		if (a.sums[n][0] != b.sums[i][0] || a.sums[n][1] != b.sums[i][1])
			fail_msg("%" PRId64 " instead of %" PRId64 ": %s", a.sums[n][0], b.sums[i][0], text);
	}
	assert_int_equal(sp_intern_count(a.texts), sp_intern_count(b.texts));
	lines_done(&a);
	lines_done(&b);
}

/* --- stores ------------------------------------------------------------------------------------------------------- */
struct fixture {
	char place[64];
	struct sp_store *store;
	struct sp_profile **windows;
	uint64_t *times;
	size_t n, capacity, time_capacity;
};

static void fixture_open(struct fixture *f)
{
	struct sp_store_options o = {0};

	/* nothing here is about disks, and they may be slow */
	snprintf(f->place, sizeof(f->place), "%s/soprof-query.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(f->place));
	ok(sp_store_open(f->place, &o, &f->store));
}

static void fixture_done(struct fixture *f)
{
	DIR *d = opendir(f->place);

	sp_store_close(f->store);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(f->place);
	for (size_t i = 0; i < f->n; i++)
		sp_profile_free(f->windows[i]);
	free(f->windows);
	free(f->times);
}

static void fixture_add(struct fixture *f, uint64_t at_ns, const char *source, struct sp_profile *p)
{
	struct sp_store_window w = {.wall_ns = at_ns,
				    .boot_ns = at_ns - DAY + 1000 * S,
				    .duration_ns = 10 * S,
				    .rate_mhz = 19000,
				    .n_cpus = 2,
				    .n_lost = 3,
				    .source = source};

	ok(sp_store_add(f->store, &w, p));
	if (strcmp(source, "cpu") != 0) {
		sp_profile_free(p);
		return;
	}
	ok(sp_grow(&f->windows, &f->capacity, f->n + 1, sizeof(struct sp_profile *)));
	ok(sp_grow(&f->times, &f->time_capacity, f->n + 1, sizeof(*f->times)));
	f->windows[f->n] = p;
	f->times[f->n++] = at_ns;
}

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

/* The answer by the other way: of the windows that overlap the range, or of all of these minutes or hours. */
static struct sp_profile *merged(const struct fixture *f, const struct sp_store_query *q, uint64_t length_ns)
{
	struct sp_profile *p;
	struct sp_filter_result result;

	ok(sp_profile_new(&p));
	for (size_t i = 0; i < f->n; i++) {
		uint64_t from = f->times[i] - f->times[i] % length_ns;
		if (from < q->to_ns && from + length_ns > q->from_ns)
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

	ok(sp_profile_new(&got));
	ok(sp_store_query(f->store, q, got, ret_answer));
	assert_same(got, wanted, ret_answer->resolution != SP_RES_10S);
	sp_profile_free(got);
	sp_profile_free(wanted);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */
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
	(void)state;
	for (uint32_t round = 0; round < 4; round++) {
		struct fixture f = {0};
		struct sp_store_answer a;
		seed = 1000 + round;
		fixture_open(&f);
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

/* A night on both sides of midnight, with a hole: hours, minutes at the edges, seconds where they are not full. */
static void rolled_up(void **state)
{
	const uint64_t from = DAY - 2 * 3600 * S;
	struct fixture f = {0};
	struct sp_store_answer a;

	(void)state;
	seed = 5;
	fixture_open(&f);
	fill(&f, from, 700, 20);
	fill(&f, from + 7600 * S, 800, 20);
	for (size_t i = 0; i < SP_COUNT(filters); i++) {
		struct sp_store_query q = filters[i];
		if (q.process != NULL && strcmp(q.process, "103") == 0)
			continue; /* no process is known by a number there */
		q.resolution = SP_RES_1M;
		q.from_ns = from + 1200 * S + below(60) * S;
		q.to_ns = q.from_ns + 900 * S;
		compare(&f, &q, 60 * S, &a);
		assert_int_equal(a.resolution, SP_RES_1M);
		q.resolution = SP_RES_1H;
		q.to_ns = from + 10000 * S;
		compare(&f, &q, 3600 * S, &a);
		assert_int_equal(a.resolution, SP_RES_1H);
		q.resolution = -1; /* what no full minute or hour has comes from finer ones */
		q.from_ns = from + 630 * S;
		q.to_ns = q.from_ns + 12300 * S;
		compare(&f, &q, 10 * S, &a);
		assert_int_equal(a.resolution, SP_RES_1H);
		assert_true(a.n_windows < 200);
	}
	fixture_done(&f);
}

/* Slices are equally long, of whole windows, and add up. */
static void slices(void **state)
{
	struct sp_store_query q = {.all_users = true, .resolution = -1, .n_slices = 20};
	struct sp_profile *p, *whole;
	struct sp_store_answer a;
	struct fixture f = {0};
	uint32_t last = 0;

	(void)state;
	seed = 9;
	fixture_open(&f);
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

/* By library, by function, by process: what there is of each is the same, however many stacks were shortened. */
static void assert_totals(const struct sp_profile *a, const struct sp_profile *b, enum sp_total_by by, uint32_t value)
{
	struct sp_totals x, y;
	size_t k = 0;

	ok(sp_totals_by(a, by, value, &x));
	ok(sp_totals_by(b, by, value, &y));
	assert_true(x.value == y.value && x.n_samples == y.n_samples);
	for (size_t i = 0; i < y.n_rows; i++) {
		const char *name = sp_total_name(b, by, &y.rows[i]), *of = sp_total_of(b, by, &y.rows[i]);
		for (k = 0; k < x.n_rows; k++)
			if (strcmp(sp_total_name(a, by, &x.rows[k]), name) == 0 &&
			    strcmp(sp_total_of(a, by, &x.rows[k]), of) == 0 && x.rows[k].none == y.rows[i].none)
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

	(void)state;
	seed = 77;
	fixture_open(&f);
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
		if (with_filter) { /* what was asked for is still in each stack */
			struct sp_filter_result result;
			struct sp_profile *again;
			ok(sp_profile_filter_library(p, q.library, &again, &result));
			assert_int_equal(result.n_left_out, 0);
			sp_profile_free(again);
		}
		assert_true(a.n_shortened > 0);
		assert_true(sp_profile_n_stacks(p) < sp_profile_n_stacks(exact) / 2);
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

static void bad_questions(void **state)
{
	struct sp_store_query q = {.all_users = true, .resolution = -1, .from_ns = 5, .to_ns = 5};
	struct sp_store_answer a;
	struct fixture f = {0};
	struct sp_profile *p;

	(void)state;
	ok(sp_profile_new(&p));
	fixture_open(&f);
	assert_int_equal(sp_store_query(f.store, &q, p, &a), -EINVAL);
	q.to_ns = DAY;
	q.resolution = 7;
	assert_int_equal(sp_store_query(f.store, &q, p, &a), -EINVAL);
	q.resolution = -1;
	ok(sp_store_query(f.store, &q, p, &a)); /* of a store without a window */
	assert_true(a.n_windows == 0 && a.from_ns == 0 && a.to_ns == 0 && sp_profile_n_rows(p) == 0);
	sp_profile_free(p);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(windows_of_ten_seconds),
	    cmocka_unit_test(rolled_up),
	    cmocka_unit_test(slices),
	    cmocka_unit_test(shortened),
	    cmocka_unit_test(bad_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
