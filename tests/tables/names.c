/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.c: tables of names of ELF files, measured and compared with what the files themselves say.
 *   table-names FILE...           a line for each: functions, bytes, the time to make the table and to ask it
 *   table-names --compare FILE... as many random offsets as it has spans, 500 to 100,000, and all places where a span
 *                                 begins or ends, asked of the table and of the file: exit code 1 if one answer differs
 */
#include "../unit/symbol/table.h"
#include "base/search.h"
#include <time.h>

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t random_number(void)
{
	static uint64_t x = 88172645463325252ull;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Mostly in code. */
static uint64_t random_offset(const struct sp_elf *e, uint64_t size)
{
	const struct sp_elf_segment *g = sp_elf_segment(e, random_number() % sp_elf_n_segments(e));
	for (int i = 0; i < 4 && !g->executable; i++)
		g = sp_elf_segment(e, random_number() % sp_elf_n_segments(e));
	return g->file_size ? g->offset + random_number() % g->file_size : random_number() % (size + 1);
}

/* Each random one, and where what the table says of it begins and ends. */
static size_t choose(const struct sp_elf *e, const struct sp_name_table *t, uint64_t size, uint64_t *offsets, size_t n)
{
	struct sp_name *names = calloc(n, sizeof(*names));
	size_t k = n;
	for (size_t i = 0; i < n; i++)
		offsets[i] = random_offset(e, size);
	qsort(offsets, n, sizeof(*offsets), sp_compare_u64);
	if (sp_name_table_find(t, offsets, n, names) < 0)
		exit(2);
	for (size_t i = 0; i < n; i++) {
		if (!names[i].size)
			continue;
		offsets[k++] = names[i].from;
		offsets[k++] = names[i].to - 1;
		offsets[k++] = names[i].to;
	}
	sp_names_done(names, n);
	free(names);
	qsort(offsets, k, sizeof(*offsets), sp_compare_u64);
	return k;
}

static int64_t compare(struct sp_elf *e, const struct sp_name_table *t, uint64_t size, uint64_t n_spans)
{
	size_t n = n_spans < 500 ? 500 : n_spans > 100000 ? 100000 : n_spans;
	uint64_t *offsets = calloc(4 * n, sizeof(*offsets));
	size_t k = choose(e, t, size, offsets, n);
	int64_t n_bad = table_differs(e, NULL, t, offsets, k);
	printf("  %zu offsets, %ld differ\n", k, (long)n_bad);
	free(offsets);
	return n_bad;
}

static double ask_ms(const struct sp_elf *e, const struct sp_name_table *t, uint64_t size)
{
	enum { N = 200 };
	double start = now_ms();
	for (int i = 0; i < N; i++) {
		uint64_t offset = random_offset(e, size);
		struct sp_name name;
		if (sp_name_table_find(t, &offset, 1, &name) < 0)
			exit(2);
		sp_names_done(&name, 1);
	}
	return (now_ms() - start) / N;
}

static int64_t try_file(const char *path, bool with_compare)
{
	struct sp_name_table_head head;
	struct sp_elf *e;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : sp_elf_open_fd(fd, &e);
	if (r < 0 || !sp_elf_n_segments(e) || fstat(fd, &st) < 0) {
		printf("%s: not taken: %s\n", path, sp_error_text(r));
		return 0;
	}
	double start = now_ms();
	int table_fd = table_make(e, NULL, &head);
	double ms = now_ms() - start;
	if (table_fd < 0) {
		printf("%s: %s\n", path, sp_error_text(table_fd));
		return -1;
	}
	struct sp_name_table t = table_of(table_fd, &head);
	int64_t n_bad = with_compare ? compare(e, &t, (uint64_t)st.st_size, head.n_spans) : 0;
	printf("%-50s %9ld bytes, %7lu spans, table of %8lu bytes in %6.1f ms, asked in %.3f ms\n", path,
	       (long)st.st_size, (unsigned long)head.n_spans, (unsigned long)head.bytes, ms,
	       ask_ms(e, &t, (uint64_t)st.st_size));
	close(table_fd);
	sp_elf_close(e);
	close(fd);
	return n_bad;
}

int main(int argc, char **argv)
{
	bool with_compare = argc > 1 && !strcmp(argv[1], "--compare");
	int64_t n_bad = 0;
	for (int i = 1 + with_compare; i < argc; i++)
		n_bad += try_file(argv[i], with_compare) != 0;
	if (with_compare)
		printf("%ld of %d files differ\n", (long)n_bad, argc - 2);
	return n_bad != 0;
}
