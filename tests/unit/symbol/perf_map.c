/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf maps: lines over the edges of chunks, overlapping and absurd ones. */
#include "base/error.h"
#include "base/mem.h"
#include "symbol/jit_names.h"
#include "test.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int map_of(const char *text, size_t len)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	return fd;
}

static void check(const char *text, uint64_t address, const char *name, uint64_t start, uint64_t size, uint64_t n_bad)
{
	SP_CLOSE int fd = map_of(text, strlen(text));
	struct sp_name found;
	struct sp_jit_counts c;
	assert_int_equal(sp_perf_map_find(fd, 0, &address, 1, &found, &c), 0);
	assert_int_equal(c.n_bad, n_bad);
	if (!name) {
		assert_null(found.name);
		assert_int_equal(found.size, 0);
		return;
	}
	assert_string_equal(found.name, name);
	assert_int_equal(found.start, start);
	assert_int_equal(found.size, size);
	sp_names_done(&found, 1);
}

static void test_lines(void **state)
{
	check("1000 10 f\n", 0x100f, "f", 0x1000, 0x10, 0);
	check("1000 10 f\n", 0x1010, NULL, 0, 0, 0);
	check("0x1000 0x10 f g  h\n", 0x1000, "f g  h", 0x1000, 0x10, 0);
	check("ABCDEF1000 1F f\r\n", 0xabcdef1000, "f\r", 0xabcdef1000, 0x1f, 0);
	check("1000 10 f\n1008 10 g\n", 0x1008, "g", 0x1008, 0x10, 0); /* the last line counts */
	check("1008 10 g\n1000 10 f\n", 0x1008, "f", 0x1000, 0x10, 0);
	check("1000 10 _ZN1a1bEv\n", 0x1000, "a::b()", 0x1000, 0x10, 0);
	check("fffffffffffffff0 f f\n", 0xfffffffffffffff0, "f", 0xfffffffffffffff0, 0xf, 0);
}

static void test_absurd(void **state)
{
	static const char *const bad[] = {"1000 10 f",
					  "1000 10 \n",
					  "1000 10\n",
					  "1000\n",
					  "\n",
					  " 1000 10 f\n",
					  "1000 0 f\n",
					  "1000 40000001 f\n",
					  "1000 ffffffffffffffff f\n",
					  "fffffffffffffff0 10 f\n",
					  "00000000000001000 10 f\n",
					  "g000 10 f\n",
					  "-1000 10 f\n",
					  "+1000 10 f\n",
					  "0x 10 f\n",
					  "1000\t10 f\n"};
	for (size_t i = 0; i < SP_COUNT(bad); i++)
		check(bad[i], 0x1000, NULL, 0, 0, 1);
	check("", 0x1000, NULL, 0, 0, 0);
}

/* Lines of all lengths, so that the chunks' edges fall everywhere; every name tells its own address. */
static void test_chunks(void **state)
{
	enum { N = 20000 };
	SP_FREE char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	SP_FREE uint64_t *at = calloc(N, sizeof(*at));
	SP_FREE struct sp_name *names = calloc(N, sizeof(*names));
	for (uint64_t i = 0; i < N; i++) {
		at[i] = 0x10000 + i * 16 + i % 16;
		fprintf(f, "%" PRIx64 " 10 f%" PRIu64 "%*s\n", 0x10000 + i * 16, i, (int)(i * 7 % 300), "");
	}
	fprintf(f, "1 10 ");
	for (size_t i = 0; i < 1000000; i++)
		fputc('x', f);
	fprintf(f, "\n%x 10 behind the long one\n", 0x10000);
	fclose(f);
	SP_CLOSE int fd = map_of(text, len);
	struct sp_jit_counts c;
	assert_int_equal(sp_perf_map_find(fd, 0, at, N, names, &c), 0);
	assert_int_equal(c.n, N + 2);
	assert_int_equal(c.n_bad, 1);
	assert_string_equal(names[0].name, "behind the long one");
	for (uint64_t i = 1; i < N; i++) {
		assert_int_equal(strtoull(names[i].name + 1, NULL, 10), i);
		assert_int_equal(names[i].start, 0x10000 + i * 16);
	}
	sp_names_done(names, N);
}

static uint64_t drawn(uint64_t below)
{
	static uint64_t seed = 1;
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

/* Ranges over each other, against the last line that holds the address. */
static void test_overlapping(void **state)
{
	enum { MAX = 40, LINES = 60, SPACE = 300, ROUNDS = 300 };
	for (size_t n = 1, round = 0; round < ROUNDS; round++, n = n % MAX + 1) {
		SP_FREE char *text = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&text, &len);
		uint64_t at[MAX], last[SPACE + 1] = {0}, next = 0;
		struct sp_name names[MAX];
		struct sp_jit_counts c;
		for (size_t i = 0; i < n; i++)
			at[i] = next = next + 1 + drawn(SPACE / MAX);
		for (uint64_t i = 1; i <= LINES; i++) {
			uint64_t from = drawn(SPACE), size = 1 + drawn(SPACE - from);
			fprintf(f, "%" PRIx64 " %" PRIx64 " f%" PRIu64 "\n", from, size, i);
			for (uint64_t k = from; k < from + size; k++)
				last[k] = i;
		}
		fclose(f);
		SP_CLOSE int fd = map_of(text, len);
		assert_int_equal(sp_perf_map_find(fd, 0, at, n, names, &c), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(names[i].name ? strtoull(names[i].name + 1, NULL, 10) : 0, last[at[i]]);
		sp_names_done(names, n);
	}
}

/* Lines that hold all addresses cost no more than others: else some MiB of them would take a parser all its time. */
static void test_cost(void **state)
{
	enum { N = 16384, LINES = 400000, MOST_S = 5 }; /* some hundredths of a second; by each address 40 s */
	SP_FREE char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	SP_FREE uint64_t *at = calloc(N, sizeof(*at));
	SP_FREE struct sp_name *names = calloc(N, sizeof(*names));
	struct timespec before, after;
	struct sp_jit_counts c;
	for (uint64_t i = 0; i < LINES; i++)
		fprintf(f, "0 %x f%u\n", 2 * N, (unsigned)(i % 10));
	for (uint64_t i = 0; i < N; i++)
		at[i] = 2 * i;
	fclose(f);
	SP_CLOSE int fd = map_of(text, len);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	assert_int_equal(sp_perf_map_find(fd, 0, at, N, names, &c), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	assert_true(after.tv_sec - before.tv_sec < MOST_S);
	assert_int_equal(c.n, LINES);
	assert_string_equal(names[N - 1].name, "f9");
	sp_names_done(names, N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines),       cmocka_unit_test(test_absurd), cmocka_unit_test(test_chunks),
	    cmocka_unit_test(test_overlapping), cmocka_unit_test(test_cost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
