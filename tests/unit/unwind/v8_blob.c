/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v8_blob.c: where V8's builtins are: in the libraries that are made of v8_made.s, in what is nearly one of them, and
 * in the chromium that is installed, where V8's own checksum says whether that is right.
 */
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/build.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive.h"
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MADE SP_BUILD_ROOT "/tests/unit/unwind/v8-made"

enum { N = 1100, LAYOUT = 12, END = 8 };

struct image { /* of a file, that may be changed */
	uint8_t *bytes;
	size_t size;
	struct sp_elf *elf;
};

static struct image image_of(const char *path)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct image m = {0};
	struct stat st;

	if (fd < 0)
		return m;
	assert_int_equal(fstat(fd, &st), 0);
	m.size = (size_t)st.st_size;
	m.bytes = mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(m.bytes, MAP_FAILED);
	assert_int_equal(sp_elf_open_bytes(m.bytes, m.size, &m.elf), 0);
	return m;
}

static void image_done(struct image *m)
{
	sp_elf_close(m->elf);
	munmap(m->bytes, m->size);
}

/* The offset of a symbol in the file. */
static uint64_t offset_of(const struct image *m, const char *name)
{
	struct sp_elf_section table, strings;
	uint64_t offset = 0;

	assert_int_equal(sp_elf_section(m->elf, ".symtab", &table), 0);
	assert_int_equal(sp_elf_section(m->elf, ".strtab", &strings), 0);
	for (size_t i = 0; i < table.size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *y = (const Elf64_Sym *)(m->bytes + table.offset) + i;

		if (!strcmp((const char *)m->bytes + strings.offset + y->st_name, name))
			assert_int_equal(sp_elf_offset_of(m->elf, y->st_value, &offset), 0);
	}
	assert_true(offset);
	return offset;
}

static int add_fde(void *arg, uint64_t start, uint64_t size)
{
	return sp_code_spans_add(arg, start, start + size);
}

static struct sp_code_span builtins_of(const struct image *m)
{
	struct sp_code_spans covered = {0};
	struct sp_code_span found;

	assert_int_equal(sp_fde_walk(m->elf, add_fde, &covered), 0);
	sp_code_spans_sort(&covered);
	assert_int_equal(sp_v8_find(m->elf, covered.at, covered.n, &found), 0);
	free(covered.at);
	return found;
}

static void are_found(const struct image *m)
{
	struct sp_code_span found = builtins_of(m);

	assert_int_equal(found.start, offset_of(m, "code"));
	assert_int_equal(found.end, offset_of(m, "code_end"));
}

/* One bit less, and nothing is believed. */
static void is_needed(const struct image *m, uint64_t at)
{
	m->bytes[at] ^= 1;
	assert_int_equal(builtins_of(m).end, 0);
	m->bytes[at] ^= 1;
}

static void in_made(void **state)
{
	static const char *const paths[] = {MADE ".so", MADE "-fde.so"};

	for (size_t i = 0; i < SP_COUNT(paths); i++) {
		struct image m = image_of(paths[i]);
		uint64_t layouts = offset_of(&m, "layouts"), ends = offset_of(&m, "ends"), code = offset_of(&m, "code");

		are_found(&m);
		is_needed(&m, layouts);
		is_needed(&m, layouts + (N - 1) * LAYOUT);
		is_needed(&m, ends);
		is_needed(&m, ends + N / 2 * END + 4);
		is_needed(&m, ends + (N - 1) * END + 4);
		is_needed(&m, code + 512 - 1);
		is_needed(&m, code + N * 512 - 16);
		are_found(&m);
		image_done(&m);
	}
}

/* Only what lies in them gets V8's rule. */
static void rows_of_made(void **state)
{
	struct image m = image_of(MADE ".so");
	uint64_t start = offset_of(&m, "code"), end = offset_of(&m, "code_end");
	struct sp_blob *b = NULL;

	assert_int_equal(sp_blob_build(m.elf, &b), 0);
	assert_int_equal(b->runtime.kind, SP_RUNTIME_V8);
	assert_int_not_equal(sp_blob_find(b, start - 1)->cfa, SP_CFA_V8);
	assert_int_equal(sp_blob_find(b, start)->cfa, SP_CFA_V8);
	assert_int_equal(sp_blob_find(b, end - 1)->cfa, SP_CFA_V8);
	assert_int_not_equal(sp_blob_find(b, end)->cfa, SP_CFA_V8);
	free(b);
	image_done(&m);
}

/* V8 keeps checksums in front of its tables, the second of them of the code. */
static bool has_checksum(const struct image *m, const struct sp_code_span *builtins)
{
	uint32_t sum = (uint32_t)adler32(0, m->bytes + builtins->start, (uInt)(builtins->end - builtins->start));
	uint8_t word[8] = {0};
	struct sp_elf_section s;

	memcpy(word, &sum, sizeof(sum));
	assert_int_equal(sp_elf_section(m->elf, ".rodata", &s), 0);
	return memmem(m->bytes + s.offset, s.size, word, sizeof(word)) != NULL;
}

static void in_chromium(void **state)
{
	struct image m = image_of("/usr/lib/chromium/chromium");
	struct sp_code_span found;

	if (!m.elf) {
		print_message("skip: chromium is not here\n");
		skip();
	}
	found = builtins_of(&m);
	assert_true(found.end > found.start);
	assert_true(has_checksum(&m, &found));
	found.start += 4096;
	assert_false(has_checksum(&m, &found));
	image_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_made), cmocka_unit_test(rows_of_made),
					   cmocka_unit_test(in_chromium)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
