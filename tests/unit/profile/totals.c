/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/totals.h"
#include "base/mem.h"
#include "base/time.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sp_profile *p;
static uint32_t kernel, module, libc, liba, libb, jit;
static struct sp_totals t;

static uint32_t string(const char *s)
{
	return (uint32_t)sp_profile_add_string(p, s);
}

static uint32_t file(uint8_t kind, const char *name, const char *package)
{
	static uint64_t tag;
	struct sp_file f = {.kind = kind, .tag = ++tag, .name = string(name), .package = string(package)};

	return (uint32_t)sp_profile_add_file(p, &f);
}

/* A frame of a function; name NULL = not named. */
static uint32_t frame(uint32_t in, const char *name, uint64_t offset)
{
	struct sp_func func = {.file = in, .start = offset & ~UINT64_C(15), .size = 16};
	struct sp_frame f = {.file = in == module ? kernel : in, .offset = offset};

	if (name != NULL) {
		func.name = string(name);
		f.func = (uint32_t)sp_profile_add_func(p, &func);
	}
	return (uint32_t)sp_profile_add_frame(p, &f);
}

static uint32_t stack(uint32_t n, const uint32_t *frames)
{
	return (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = n, .frames = frames});
}
#define STACK(...) stack(SP_COUNT(((uint32_t[]){__VA_ARGS__})), (uint32_t[]){__VA_ARGS__})

static void add(uint32_t key, uint32_t user, uint32_t in_kernel, int64_t samples)
{
	int64_t values[] = {samples * 1000, samples};

	assert_int_equal(sp_profile_add(p, key, user, in_kernel, values), 0);
}

static int open_profile(void **state)
{
	if (sp_profile_new(&p) < 0 || sp_profile_add_value_type(p, "cpu", "nanoseconds") < 0 ||
	    sp_profile_add_value_type(p, "samples", "count") < 0)
		return -1;
	kernel = file(SP_FILE_KERNEL, "[kernel]", "");
	module = file(SP_FILE_KERNEL, "[ext4]", "");
	libc = file(SP_FILE_ELF, "libc.so.6", "libc6");
	liba = file(SP_FILE_ELF, "liba.so", "ab");
	libb = file(SP_FILE_ELF, "libb.so", "ab");
	jit = file(SP_FILE_ANON, "[anon]", "");
	return 0;
}

static int close_profile(void **state)
{
	sp_totals_done(&t);
	sp_profile_free(p);
	return 0;
}

static const struct sp_total *find(uint32_t id, uint32_t of)
{
	for (size_t i = 0; i < t.n_rows; i++)
		if (!t.rows[i].none && t.rows[i].id == id && t.rows[i].file == of)
			return &t.rows[i];
	return NULL;
}

static const struct sp_total *find_none(uint32_t of)
{
	for (size_t i = 0; i < t.n_rows; i++)
		if (t.rows[i].none && t.rows[i].file == of)
			return &t.rows[i];
	return NULL;
}

static void expect(const struct sp_total *row, int64_t self, int64_t total)
{
	assert_non_null(row);
	assert_int_equal(row->self, self * 1000);
	assert_int_equal(row->total, total * 1000);
	assert_int_equal(row->n_samples, total);
}

static void libraries_once_a_sample(void **state)
{
	uint32_t in_a = frame(liba, "a", 16), in_b = frame(libb, "b", 16), start = frame(libc, "start", 32);
	uint32_t vfs = frame(kernel, "vfs_read", 4096), ext4 = frame(module, "ext4_read", 8192);

	add(0, STACK(in_a, in_b, in_a, in_b, start), 0, 10); /* a and b call each other */
	add(0, STACK(in_b, start), STACK(ext4, vfs), 4);
	/* a kernel thread; foreign profiles may say that a frame lies in the module's own file */
	int64_t raw = sp_profile_add_frame(p, &(struct sp_frame){.file = module, .offset = 1});
	add(0, 0, STACK((uint32_t)raw, vfs), 2);
	add(0, 0, 0, 1); /* nothing is known */
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 0, &t), 0);
	assert_int_equal(t.n_rows, 5);
	expect(find(liba, 0), 10, 10);
	expect(find(libb, 0), 0, 14);
	expect(find(libc, 0), 0, 14);
	expect(find(kernel, 0), 6, 6);
	expect(find_none(0), 1, 1);
	assert_int_equal(t.value, 17000);
	assert_int_equal(t.n_samples, 17);
	assert_int_equal(t.rows[0].id, liba);
	assert_string_equal(sp_total_name(p, SP_TOTAL_BY_LIBRARY, &t.rows[0]), "liba.so");
}

static void functions_and_frames_without_a_name(void **state)
{
	uint32_t x1 = frame(liba, "x", 16), x2 = frame(liba, "x", 20), y = frame(libb, "x", 16);
	uint32_t bare1 = frame(libb, NULL, 64), bare2 = frame(libb, NULL, 96), lost = frame(0, NULL, 5);
	uint32_t ext4 = frame(module, "ext4_read", 8192);

	add(0, STACK(x1, x2, y), 0, 1);
	add(0, STACK(x2, bare1), STACK(ext4), 2);
	add(0, STACK(bare2, bare1, lost), 0, 4);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_FUNCTION, 0, &t), 0);
	assert_int_equal(t.n_rows, 5);
	expect(find(sp_profile_frame(p, x1)->func, liba), 1, 3);
	expect(find(sp_profile_frame(p, y)->func, libb), 0, 1);
	expect(find(sp_profile_frame(p, ext4)->func, module), 2, 2);
	expect(find(0, libb), 4, 6);
	expect(find_none(0), 0, 4);
	const struct sp_total *row = find(sp_profile_frame(p, ext4)->func, module);
	assert_string_equal(sp_total_name(p, SP_TOTAL_BY_FUNCTION, row), "ext4_read");
	assert_string_equal(sp_total_library(p, SP_TOTAL_BY_FUNCTION, row), "[ext4]");
}

static void callers_are_the_nearest_other_library(void **state)
{
	uint32_t a = frame(liba, "a", 16), a2 = frame(liba, "a2", 32), b = frame(libb, "b", 16),
		 lost = frame(0, NULL, 5);
	uint32_t start = frame(libc, "start", 32), vfs = frame(kernel, "vfs", 4096);

	add(0, STACK(a, a2, b, start), 0, 1);
	add(0, STACK(a, a2, start), 0, 2);
	add(0, STACK(a, b, a, b, start), 0, 4); /* a from b twice: once in the total */
	add(0, STACK(b, start), STACK(vfs), 8);
	add(0, STACK(start), 0, 16); /* called by nobody */
	add(0, STACK(a, lost, a, lost, start), 0, 32);
	add(0, 0, 0, 64);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_CALLER, 0, &t), 0);
	expect(find(libb, liba), 5, 5);
	expect(find(libc, liba), 34, 34);
	expect(find(liba, libb), 0, 4);
	expect(find(libc, libb), 0, 13);
	expect(find(libb, kernel), 8, 8);
	expect(find_none(libc), 16, 16);
	expect(find_none(0), 64, 64);
	assert_int_equal(t.n_rows, 7);
	assert_string_equal(sp_total_name(p, SP_TOTAL_BY_CALLER, find(libb, kernel)), "libb.so");
	assert_string_equal(sp_total_library(p, SP_TOTAL_BY_CALLER, find(libb, kernel)), "[kernel]");
	assert_string_equal(sp_total_name(p, SP_TOTAL_BY_CALLER, find_none(libc)), "");
}

static void packages_threads_and_users(void **state)
{
	uint32_t a = frame(liba, "a", 16), b = frame(libb, "b", 16), start = frame(libc, "start", 32),
		 j = frame(jit, "j", 1);
	struct sp_process one = {.pid = 1, .start_ns = 1, .uid = 0, .comm = string("one"), .cgroup_path = string("/x")};
	struct sp_process two = {
	    .pid = 2, .start_ns = 1, .uid = 1000, .comm = string("two"), .cgroup_path = string("/x")};
	uint32_t p1 = (uint32_t)sp_profile_add_process(p, &one), p2 = (uint32_t)sp_profile_add_process(p, &two);
	uint32_t k1 = (uint32_t)sp_profile_add_key(p, &(struct sp_key){.process = p1, .comm = string("one")});
	uint32_t k2 = (uint32_t)sp_profile_add_key(p, &(struct sp_key){.process = p2, .comm = string("worker")});
	uint32_t k3 = (uint32_t)sp_profile_add_key(p, &(struct sp_key){.process = p2, .comm = string("one")});

	add(k1, STACK(a, b, start), 0, 1);
	add(k2, STACK(j, start), 0, 2);
	add(k3, STACK(start), 0, 4);
	add(0, STACK(b), 0, 8);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_PACKAGE, 0, &t), 0);
	assert_int_equal(t.n_rows, 3);
	expect(find(string("ab"), 0), 9, 9);
	expect(find(string("libc6"), 0), 4, 7);
	expect(find_none(0), 2, 2);
	sp_totals_done(&t);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_PROCESS, 0, &t), 0);
	assert_int_equal(t.n_rows, 3);
	expect(find(p1, 0), 1, 1);
	expect(find(p2, 0), 6, 6);
	expect(find_none(0), 8, 8);
	assert_string_equal(sp_total_name(p, SP_TOTAL_BY_PROCESS, find(p2, 0)), "two");
	sp_totals_done(&t);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_COMM, 0, &t), 0);
	assert_int_equal(t.n_rows, 3);
	expect(find(string("one"), 0), 5, 5);
	expect(find(string("worker"), 0), 2, 2);
	sp_totals_done(&t);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_CGROUP, 0, &t), 0);
	assert_int_equal(t.n_rows, 2);
	expect(find(string("/x"), 0), 7, 7);
	sp_totals_done(&t);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_USER, 0, &t), 0);
	assert_int_equal(t.n_rows, 3);
	expect(find(0, 0), 1, 1); /* root, who is not "none" */
	expect(find(1000, 0), 6, 6);
	expect(find_none(0), 8, 8);
}

/* A copy of a file with the same build id, under another path, is the same library; its functions are the same, too. */
static void one_build_id_is_one_row(void **state)
{
	struct sp_file f = {.kind = SP_FILE_ELF, .tag = 1000, .name = string("libz.so.1"), .build_id_len = 2};
	uint32_t z1, z2;

	f.path = string("/usr/lib/libz.so.1");
	z1 = (uint32_t)sp_profile_add_file(p, &f);
	f.path = string("/snap/lib/libz.so.1");
	f.tag++;
	z2 = (uint32_t)sp_profile_add_file(p, &f);
	uint32_t one = frame(z1, "inflate", 16), two = frame(z2, "inflate", 16), other = frame(z2, "crc32", 64);
	uint32_t bare = frame(z1, NULL, 96), start = frame(libc, "start", 32), ext4 = frame(module, "ext4_read", 8192);
	(void)frame(z1, "never_seen", 4096);
	add(0, STACK(one, start), 0, 1);
	add(0, STACK(two, one, start), STACK(ext4), 2);
	add(0, STACK(other, two, start), 0, 4);
	add(0, STACK(bare, two, start), 0, 8);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 0, &t), 0);
	assert_int_equal(t.n_rows, 3);
	expect(find(z1, 0), 13, 15);
	assert_int_equal(find(z1, 0)->n_functions, 2);
	assert_int_equal(find(libc, 0)->n_functions, 1);
	assert_int_equal(find(kernel, 0)->n_functions, 1);
	sp_totals_done(&t);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_FUNCTION, 0, &t), 0);
	expect(find(sp_profile_frame(p, one)->func, z1), 1, 15);
	expect(find(0, z1), 8, 8);
	sp_totals_done(&t);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_CALLER, 0, &t), 0);
	expect(find(libc, z1), 13, 15);
	assert_int_equal(t.n_rows, 2);
}

/* Keys that differ in their slice only are one process, one thread's name. */
static void slices_are_folded(void **state)
{
	struct sp_process process = {.pid = 1, .comm = string("app"), .uid = 7, .cgroup_path = string("/x")};
	uint32_t number = (uint32_t)sp_profile_add_process(p, &process), a = frame(liba, "a", 16);

	for (uint32_t slice = 0; slice < 4; slice++) {
		struct sp_key key = {.process = number, .comm = string("app"), .slice = slice};
		add((uint32_t)sp_profile_add_key(p, &key), STACK(a), 0, 1 << slice);
	}
	assert_int_equal(sp_profile_n_rows(p), 4);
	for (enum sp_total_by by = SP_TOTAL_BY_LIBRARY; by <= SP_TOTAL_BY_CONTAINER; by++) {
		assert_int_equal(sp_totals_by(p, by, 0, &t), 0);
		assert_int_equal(t.n_rows, 1);
		expect(&t.rows[0], 15, 15);
		sp_totals_done(&t);
	}
}

static void a_value_that_is_not_there(void **state)
{
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 2, &t), -EINVAL);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 1, &t), 0);
	assert_int_equal(t.n_rows, 0);
}

/* --- a large profile against the plain definition, counted without any of the above's machinery --- */
enum { N_ROWS = 100000, DEPTH = 60, N_FRAMES = 5000, N_LIBS = 50 };
static uint32_t lib_of[N_FRAMES], rows[N_ROWS][DEPTH];
static int64_t want_self[N_LIBS], want_total[N_LIBS];

static void make_large(void)
{
	static uint32_t files[N_LIBS], frames[N_FRAMES], numbers[DEPTH];
	char name[32];

	for (uint32_t i = 0; i < N_LIBS; i++)
		files[i] = file(SP_FILE_ELF, "lib", "");
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		lib_of[i] = (uint32_t)random() % N_LIBS;
		(void)snprintf(name, sizeof(name), "function_%u", i);
		frames[i] = frame(files[lib_of[i]], name, 16 + 16 * i);
	}
	for (uint32_t i = 0; i < N_ROWS; i++) {
		for (uint32_t k = 0; k < DEPTH; k++)
			numbers[k] = frames[rows[i][k] = (uint32_t)random() % N_FRAMES];
		add(0, stack(DEPTH, numbers), 0, i % 7 + 1);
	}
}

static void count_large(void)
{
	for (uint32_t i = 0; i < N_ROWS; i++) {
		uint64_t seen = 0;
		for (uint32_t k = 0; k < DEPTH; k++)
			seen |= UINT64_C(1) << lib_of[rows[i][k]];
		want_self[lib_of[rows[i][0]]] += i % 7 + 1;
		for (uint32_t l = 0; l < N_LIBS; l++)
			want_total[l] += (seen >> l & 1) != 0 ? i % 7 + 1 : 0;
	}
}

static void a_large_profile(void **state)
{
	static const char *const names[] = {"library", "function", "process", "caller", "package", "comm"};

	srandom(9);
	make_large();
	count_large();
	for (enum sp_total_by by = 0; by < SP_COUNT(names); by++) {
		uint64_t before = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID);
		assert_int_equal(sp_totals_by(p, by, 0, &t), 0);
		print_message("by %s: %zu groups, %.1f ms\n", names[by], t.n_rows,
			      (double)(sp_time_ns(CLOCK_PROCESS_CPUTIME_ID) - before) / 1e6);
		sp_totals_done(&t);
	}
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 0, &t), 0);
	assert_int_equal(t.n_rows, N_LIBS);
	for (uint32_t l = 0; l < N_LIBS; l++)
		expect(find(jit + 1 + l, 0), want_self[l], want_total[l]);
	for (size_t i = 1; i < t.n_rows; i++)
		assert_true(t.rows[i - 1].self >= t.rows[i].self);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_profile, close_profile)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(libraries_once_a_sample),
	    TEST(functions_and_frames_without_a_name),
	    TEST(callers_are_the_nearest_other_library),
	    TEST(packages_threads_and_users),
	    TEST(one_build_id_is_one_row),
	    TEST(slices_are_folded),
	    TEST(a_value_that_is_not_there),
	    TEST(a_large_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
