/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jit dumps: what lay where and when, what was moved, records over the edges of chunks, and absurd ones. */
#include "base/error.h"
#include "base/mem.h"
#include "symbol/jit_names.h"
#include "test.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOAD, MOVE, DEBUG, CLOSE };

static void put32(FILE *f, uint32_t n)
{
	fwrite(&n, sizeof(n), 1, f);
}

static void put64(FILE *f, uint64_t n)
{
	fwrite(&n, sizeof(n), 1, f);
}

static void head(FILE *f, uint64_t flags)
{
	put32(f, 0x4a695444);
	put32(f, 1);
	put32(f, 40);
	put32(f, 62);
	put32(f, 0);
	put32(f, 1);
	put64(f, 1);
	put64(f, flags);
}

static void load(FILE *f, uint64_t time, uint64_t at, uint64_t size, uint64_t index, const char *name, size_t n_code)
{
	put32(f, LOAD);
	put32(f, (uint32_t)(56 + strlen(name) + 1 + n_code));
	put64(f, time);
	put64(f, 0); /* process, thread */
	put64(f, at);
	put64(f, at);
	put64(f, size);
	put64(f, index);
	fwrite(name, strlen(name) + 1, 1, f);
	for (size_t i = 0; i < n_code; i++)
		fputc(0x90, f);
}

static void move(FILE *f, uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	put32(f, MOVE);
	put32(f, 64);
	put64(f, time);
	put64(f, 0);
	put64(f, to);
	put64(f, from);
	put64(f, to);
	put64(f, size);
	put64(f, index);
}

struct made {
	char *bytes;
	size_t size;
	FILE *f;
};

static struct made *begin(uint64_t flags)
{
	struct made *m = calloc(1, sizeof(*m));
	m->f = open_memstream(&m->bytes, &m->size);
	head(m->f, flags);
	return m;
}

static int file_of(struct made *m)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	fclose(m->f);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, m->bytes, m->size), m->size);
	free(m->bytes);
	free(m);
	return fd;
}

static void ask(int fd, uint64_t since, uint64_t address, const char *name, uint64_t start, uint64_t size)
{
	struct sp_name found;
	struct sp_jit_counts c;
	assert_int_equal(sp_jit_dump_find(fd, since, &address, 1, &found, &c), 0);
	if (!name) {
		assert_null(found.name);
		assert_int_equal(found.size, 0);
		assert_int_equal(found.start, address);
		return;
	}
	assert_non_null(found.name);
	assert_string_equal(found.name, name);
	assert_int_equal(found.start, start);
	assert_int_equal(found.size, size);
	sp_names_done(&found, 1);
}

static void test_times(void **state)
{
	struct made *m = begin(0);
	load(m->f, 10, 0x1000, 0x100, 1, "first", 3);
	load(m->f, 20, 0x1080, 0x100, 2, "second", 0);
	load(m->f, 30, 0x1000, 0x100, 3, "_ZN1a1bEv", 100);
	SP_CLOSE int fd = file_of(m);
	ask(fd, 5, 0x1000, "first or a::b()", 0x1000, 0x100);
	ask(fd, 5, 0x1090, "first or second or a::b()", 0x1000, 0x100);
	ask(fd, 15, 0x1090, "first or second or a::b()", 0x1000, 0x100);
	ask(fd, 20, 0x1090, "second or a::b()", 0x1000, 0x100);
	ask(fd, 30, 0x1090, "a::b()", 0x1000, 0x100);
	ask(fd, 30, 0x1100, "second", 0x1080, 0x100);
	ask(fd, 5, 0x1180, NULL, 0, 0);
	ask(fd, 5, 0xfff, NULL, 0, 0);
}

static void test_other_clock(void **state)
{
	struct made *m = begin(1);
	load(m->f, UINT64_MAX, 0x1000, 0x100, 1, "first", 3);
	load(m->f, 20, 0x1000, 0x100, 2, "last", 0);
	SP_CLOSE int fd = file_of(m);
	ask(fd, 5, 0x1000, "last", 0x1000, 0x100);
}

static void test_many(void **state)
{
	struct made *m = begin(0);
	for (uint64_t i = 0; i < 100; i++) {
		char name[32];
		snprintf(name, sizeof(name), "f%" PRIu64, i);
		load(m->f, 10 + i, 0x1000, 0x100, i, name, 0);
	}
	SP_CLOSE int fd = file_of(m);
	ask(fd, 5, 0x1000, "f0 or f1 or f99 or others", 0x1000, 0x100);
	ask(fd, 107, 0x1000, "f97 or f98 or f99", 0x1000, 0x100);
}

/* Records that hold all addresses are a hole in the budget: what takes too long ends the file, and is told. */
static void test_cost(void **state)
{
	enum { N = 1 << 14, ENOUGH = SP_JIT_STEPS_MAX / N + 2 };
	SP_FREE uint64_t *at = calloc(N, sizeof(*at));
	SP_FREE struct sp_name *names = calloc(N, sizeof(*names));
	struct sp_jit_counts c;
	for (uint64_t i = 0; i < N; i++)
		at[i] = 0x1000 + i;
	for (unsigned more = 0; more < 2; more++) {
		struct made *m = begin(0);
		for (uint64_t i = 0; i < (more ? 2 * ENOUGH : ENOUGH / 2); i++)
			load(m->f, 10 + i, 0x1000, N, i, "f", 0);
		SP_CLOSE int fd = file_of(m);
		assert_int_equal(sp_jit_dump_find(fd, UINT64_MAX, at, N, names, &c), 0);
		assert_int_equal(c.is_cut, more);
		assert_int_equal(c.n, more ? ENOUGH - 2 : ENOUGH / 2);
		assert_string_equal(names[N - 1].name, "f");
		sp_names_done(names, N);
	}
}

static void test_moved(void **state)
{
	struct made *m = begin(0);
	load(m->f, 10, 0x1000, 0x100, 7, "mover", 0);
	load(m->f, 11, 0x9000, 0x100, 8, "stays", 0);
	move(m->f, 20, 0x1000, 0x2000, 0x100, 7);
	move(m->f, 30, 0x2000, 0x3000, 0x100, 7);
	move(m->f, 31, 0x5000, 0x6000, 0x100, 99); /* of nothing that was loaded */
	SP_CLOSE int fd = file_of(m);
	ask(fd, 15, 0x1010, "mover", 0x1000, 0x100);
	ask(fd, 25, 0x1010, NULL, 0, 0);
	ask(fd, 25, 0x2010, "mover", 0x2000, 0x100);
	ask(fd, 40, 0x2010, NULL, 0, 0);
	ask(fd, 40, 0x30ff, "mover", 0x3000, 0x100);
	ask(fd, 40, 0x9000, "stays", 0x9000, 0x100);
	ask(fd, 40, 0x6000, NULL, 0, 0);
}

/* Code of all lengths, so that the chunks' edges fall everywhere; every name tells its own address. */
static void test_chunks(void **state)
{
	enum { N = 20000 };
	SP_FREE uint64_t *at = calloc(N, sizeof(*at));
	SP_FREE struct sp_name *names = calloc(N, sizeof(*names));
	struct made *m = begin(0);
	for (uint64_t i = 0; i < N; i++) {
		char name[32];
		at[i] = 0x10000 + i * 16 + i % 16;
		snprintf(name, sizeof(name), "f%" PRIu64, i);
		load(m->f, 10, 0x10000 + i * 16, 16, i, name, i % 1000 ? i * 7 % 300 : 600000);
	}
	SP_CLOSE int fd = file_of(m);
	struct sp_jit_counts c;
	assert_int_equal(sp_jit_dump_find(fd, 10, at, N, names, &c), 0);
	assert_int_equal(c.n, N);
	assert_int_equal(c.n_bad, 0);
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(strtoull(names[i].name + 1, NULL, 10), i);
		assert_int_equal(names[i].start, 0x10000 + i * 16);
	}
	sp_names_done(names, N);
}

static void count(struct made *m, uint64_t n_records, uint64_t n_bad)
{
	SP_CLOSE int fd = file_of(m);
	const uint64_t address = 0x1000;
	struct sp_name found;
	struct sp_jit_counts c;
	assert_int_equal(sp_jit_dump_find(fd, 0, &address, 1, &found, &c), 0);
	assert_int_equal(c.n, n_records);
	assert_int_equal(c.n_bad, n_bad);
	assert_null(found.name);
	sp_names_done(&found, 1);
}

static void record(FILE *f, uint32_t kind, uint32_t bytes)
{
	put32(f, kind);
	put32(f, bytes);
	put64(f, 1);
}

static void test_absurd(void **state)
{
	struct made *m = begin(0);
	load(m->f, 1, 0x1000, 0, 1, "empty", 0);
	load(m->f, 1, 0x1000, 0x40000001, 1, "too large", 0);
	load(m->f, 1, UINT64_MAX - 15, 0x10, 1, "wraps", 0);
	move(m->f, 1, 0x1000, UINT64_MAX, 0x100, 1);
	count(m, 4, 4);
	m = begin(0);
	load(m->f, 1, 0x1000, 0x100, 1, "", 0); /* no name */
	count(m, 1, 0);
	for (uint32_t bytes = 0; bytes < 16; bytes++) { /* a length that leads nowhere */
		m = begin(0);
		record(m->f, 77, 16);
		record(m->f, LOAD, bytes);
		load(m->f, 1, 0x1000, 0x100, 1, "behind", 0);
		count(m, 2, 1);
	}
	m = begin(0);
	record(m->f, LOAD, 20); /* shorter than its kind */
	put32(m->f, 0);
	record(m->f, CLOSE, 16);
	count(m, 2, 1);
	m = begin(0);
	record(m->f, DEBUG, UINT32_MAX); /* leads out of the file, as one does that is just written */
	count(m, 1, 0);
	m = begin(0);
	put32(m->f, LOAD); /* the same, cut in its head */
	count(m, 1, 1);
}

static void test_none(void **state)
{
	static const char *const texts[] = {"", "1000 10 f\n", "DTiJ",
					    "not a dump, but longer than the head of one would be"};
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		SP_CLOSE int fd = memfd_create("dump", MFD_CLOEXEC);
		const uint64_t address = 0x1000;
		struct sp_name found;
		struct sp_jit_counts c;
		assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
		assert_int_equal(sp_jit_dump_find(fd, 0, &address, 1, &found, &c), -EBADMSG);
		sp_error_clear();
	}
}

/* 4 GiB of nothing cost no time, since nothing leads nowhere. */
static void test_hole(void **state)
{
	struct made *m = begin(0);
	SP_CLOSE int fd = file_of(m);
	const uint64_t address = 0x1000;
	struct sp_name found;
	struct sp_jit_counts c;
	assert_int_equal(ftruncate(fd, INT64_C(5) << 30), 0);
	assert_int_equal(sp_jit_dump_find(fd, 0, &address, 1, &found, &c), 0);
	assert_int_equal(c.n_bad, 1);
	assert_null(found.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times),  cmocka_unit_test(test_other_clock), cmocka_unit_test(test_cost),
	    cmocka_unit_test(test_many),   cmocka_unit_test(test_moved),       cmocka_unit_test(test_chunks),
	    cmocka_unit_test(test_absurd), cmocka_unit_test(test_none),        cmocka_unit_test(test_hole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
