/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What there is to name code by, counted: a file made here, byte by byte, and real ones against a map of all bytes. */
#include "symbol/count.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "symbol/priv.h"
#include "test.h"
#include "unwind/build.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CODE_AT = 0x200, CODE_BYTES = 0x300, FILE_BYTES = 0x500 };

/* One executable segment, no sections, no symbols. */
static void made(uint8_t *bytes)
{
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1};
	Elf64_Phdr p = {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = CODE_AT,
			.p_vaddr = 0x1200,
			.p_filesz = CODE_BYTES,
			.p_memsz = CODE_BYTES};

	memset(bytes, 0, FILE_BYTES);
	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), &p, sizeof(p));
}

struct ranges {
	const uint64_t (*at)[2]; /* start, size */
	size_t n;
};
static struct ranges told;

static int walk_told(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg)
{
	int r = 0;

	for (size_t i = 0; i < told.n && r == 0; i++)
		r = cb(arg, told.at[i][0], told.at[i][1]);
	return r;
}

static struct sp_symbol_counts counts_of(const uint64_t (*ranges)[2], size_t n)
{
	uint8_t bytes[FILE_BYTES];
	struct sp_symbol_counts c;
	struct sp_elf *e;

	made(bytes);
	told = (struct ranges){ranges, n};
	assert_int_equal(sp_elf_open_bytes(bytes, sizeof(bytes), &e), 0);
	assert_int_equal(sp_symbols_count(e, walk_told, &c), 0);
	sp_elf_close(e);
	return c;
}

static void gaps_between_ranges(void **state)
{
	/* Out of order, overlapping, with padding of 15 and of 16 bytes, outside of the code, and around the end of
	 * all. */
	const uint64_t ranges[][2] = {{0x300, 0x40}, {0x200, 0x20}, {0x210, 0x20},  {0x240, 0x11},
				      {0x260, 0xa0}, {0, 0x10},     {0x4f0, 0x100}, {UINT64_MAX - 3, 9}};
	struct sp_symbol_counts c = counts_of(ranges, SP_COUNT(ranges));

	assert_int_equal(c.code_bytes, CODE_BYTES);
	assert_int_equal(c.n_ranges, SP_COUNT(ranges));
	assert_int_equal(c.n_unnamed, SP_COUNT(ranges) - 1); /* one wraps around: it is nowhere */
	assert_int_equal(c.n_symtab + c.n_dynsym + c.n_debugdata, 0);
	assert_int_equal(c.n_gaps, 2); /* 0x230 to 0x240, and 0x340 to 0x4f0; not 0x251 to 0x260 */
	assert_int_equal(c.gap_bytes, 0x10 + (0x4f0 - 0x340));
	assert_false(c.is_cut);
}

static void nothing_told(void **state)
{
	struct sp_symbol_counts c = counts_of(NULL, 0);

	assert_int_equal(c.n_gaps, 1);
	assert_int_equal(c.gap_bytes, CODE_BYTES);
	assert_int_equal(c.n_ranges, 0);
}

/* --- real files: a byte of a map for each byte of the file
 * ------------------------------------------------------------ */
struct map {
	uint8_t *is_code, *is_function;
	uint8_t *starts; /* a symbol begins here */
	uint64_t size, n_unnamed, n_symbols;
	struct sp_elf *elf;
};

static void mark(uint8_t *map, uint64_t size, uint64_t start, uint64_t len)
{
	for (uint64_t i = start; i < size && i < start + len; i++)
		map[i] = 1;
}

static int mark_symbol(void *arg, const struct sp_symbol *s)
{
	struct map *m = arg;
	uint64_t offset;

	m->n_symbols++;
	if (sp_elf_offset_of(m->elf, s->vaddr, &offset) == 0) {
		m->starts[offset] = 1;
		mark(m->is_function, m->size, offset, s->size);
	}
	return 0;
}

static int mark_range(void *arg, uint64_t start, uint64_t size)
{
	struct map *m = arg;

	mark(m->is_function, m->size, start, size);
	m->n_unnamed += memchr(m->starts + start, 1, size) == NULL;
	return 0;
}

static uint64_t mark_symbols(struct map *m, bool dynamic)
{
	struct sp_symtab *t;

	m->n_symbols = 0;
	if (sp_symtab_open(m->elf, dynamic, &t) < 0)
		return 0;
	assert_int_equal(sp_symtab_walk(t, mark_symbol, m), 0);
	sp_symtab_close(t);
	return m->n_symbols;
}

static void mark_code(struct map *m)
{
	struct sp_elf_section s;

	for (size_t i = 0; sp_elf_section_at(m->elf, i, &s) == 0; i++)
		if (s.flags & SHF_ALLOC && s.flags & SHF_EXECINSTR)
			mark(m->is_code, m->size, s.offset, s.size);
}

static void check_gaps(const struct map *m, const struct sp_symbol_counts *c)
{
	uint64_t n = 0, bytes = 0, code = 0, run = 0;

	for (uint64_t i = 0; i <= m->size; i++) {
		if (i < m->size && m->is_code[i] && !m->is_function[i]) {
			run++;
		} else {
			n += run >= SP_GAP_BYTES;
			bytes += run >= SP_GAP_BYTES ? run : 0;
			run = 0;
		}
		code += i < m->size && m->is_code[i];
	}
	assert_int_equal(c->code_bytes, code);
	assert_int_equal(c->gap_bytes, bytes);
	/* Sections that touch part a gap, which is one run of the map's bytes. */
	assert_in_range(c->n_gaps, n, n + 8);
}

static void check_file(const char *path)
{
	struct map m = {0};
	struct sp_symbol_counts c;
	struct stat st;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	m.size = (uint64_t)st.st_size;
	m.is_code = calloc(1, m.size);
	m.is_function = calloc(1, m.size);
	m.starts = calloc(1, m.size);
	assert_int_equal(sp_elf_open_fd(fd, &m.elf), 0);
	assert_int_equal(sp_symbols_count(m.elf, sp_function_walk, &c), 0);
	mark_code(&m);
	assert_int_equal(c.n_symtab, mark_symbols(&m, false));
	assert_int_equal(c.n_dynsym, mark_symbols(&m, true));
	assert_int_equal(sp_function_walk(m.elf, mark_range, &m), 0);
	assert_int_equal(c.n_unnamed, m.n_unnamed);
	check_gaps(&m, &c);
	sp_elf_close(m.elf);
	free(m.is_code);
	free(m.is_function);
	free(m.starts);
}

static void real_files(void **state)
{
	check_file("/proc/self/exe");
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
	check_file("/lib64/ld-linux-x86-64.so.2");
	check_file("/bin/bash");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gaps_between_ranges),
	    cmocka_unit_test(nothing_told),
	    cmocka_unit_test(real_files),
	};

	return cmocka_run_group_tests_name("symbol-count", tests, NULL, NULL);
}
