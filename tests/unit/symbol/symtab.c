/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols that lie about themselves: a small file made in memory, one symbol a case. */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "symbol/names.h"
#include "symbol/priv.h"
#include "test.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 0x1000, TEXT_SIZE = 0x1000, BASE = 0x400000, MAX_SYMBOLS = 16, STRINGS = 40000 };
enum { S_NULL, S_TEXT, S_DATA, S_SYMTAB, S_STRTAB, N_SECTIONS };

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[N_SECTIONS];
	Elf64_Sym symbols[MAX_SYMBOLS];
	char strings[STRINGS];
	size_t n_symbols, n_strings;
};

static struct image *image_new(void)
{
	struct image *m = calloc(1, sizeof(*m) + TEXT + TEXT_SIZE);
	assert_non_null(m);
	m->header = (Elf64_Ehdr){.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1};
	memcpy(m->header.e_ident, ELFMAG, SELFMAG);
	m->header.e_ident[EI_CLASS] = ELFCLASS64;
	m->header.e_ident[EI_DATA] = ELFDATA2LSB;
	m->header.e_ident[EI_VERSION] = 1;
	m->header.e_ehsize = sizeof(Elf64_Ehdr);
	m->header.e_phoff = offsetof(struct image, segment);
	m->header.e_phentsize = sizeof(Elf64_Phdr);
	m->header.e_phnum = 1;
	m->header.e_shoff = offsetof(struct image, sections);
	m->header.e_shentsize = sizeof(Elf64_Shdr);
	m->header.e_shnum = N_SECTIONS;
	m->segment = (Elf64_Phdr){.p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_offset = TEXT,
				  .p_vaddr = BASE,
				  .p_filesz = TEXT_SIZE,
				  .p_memsz = TEXT_SIZE,
				  .p_align = 0x1000};
	m->sections[S_TEXT] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					   .sh_addr = BASE,
					   .sh_offset = TEXT,
					   .sh_size = 0x800};
	m->sections[S_DATA] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC | SHF_WRITE,
					   .sh_addr = BASE + 0x800,
					   .sh_offset = TEXT + 0x800,
					   .sh_size = 0x800};
	m->sections[S_STRTAB] =
	    (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, strings), .sh_size = STRINGS};
	m->n_symbols = m->n_strings = 1;
	return m;
}

static Elf64_Sym *add(struct image *m, const char *name, uint64_t at, uint64_t size, int type, unsigned section)
{
	size_t n = strlen(name) + 1;
	assert_true(m->n_symbols < MAX_SYMBOLS && m->n_strings + n <= STRINGS);
	memcpy(m->strings + m->n_strings, name, n);
	Elf64_Sym *s = &m->symbols[m->n_symbols++];
	*s = (Elf64_Sym){.st_name = (uint32_t)m->n_strings,
			 .st_info = (uint8_t)ELF64_ST_INFO(STB_GLOBAL, type),
			 .st_shndx = (uint16_t)section,
			 .st_value = BASE + at,
			 .st_size = size};
	m->n_strings += n;
	return s;
}

static struct sp_elf *image_open(struct image *m)
{
	struct sp_elf *e = NULL;
	m->sections[S_SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					     .sh_offset = offsetof(struct image, symbols),
					     .sh_size = m->n_symbols * sizeof(Elf64_Sym),
					     .sh_entsize = sizeof(Elf64_Sym),
					     .sh_link = S_STRTAB};
	assert_int_equal(sp_elf_open_bytes(m, sizeof(*m) + TEXT + TEXT_SIZE, &e), 0);
	return e;
}

static void expect(struct sp_elf *e, uint64_t at, const char *name, uint64_t start, uint64_t size)
{
	struct sp_name n;
	uint64_t offset = TEXT + at;
	assert_int_equal(sp_names_find(e, NULL, &offset, 1, &n), 0);
	assert_string_equal(n.name ? n.name : "", name);
	assert_int_equal(n.start, TEXT + start);
	assert_int_equal(n.vaddr, BASE + start);
	assert_int_equal(n.size, size);
	assert_int_equal(n.is_gap, !*name);
	sp_names_done(&n, 1);
}

static void test_sections_must_agree(void **state)
{
	struct image *m SP_FREE = image_new();
	add(m, "in_data", 0x00, 16, STT_FUNC, S_DATA);
	add(m, "beyond", 0x10, 16, STT_FUNC, N_SECTIONS);
	add(m, "absolute", 0x20, 16, STT_FUNC, SHN_ABS);
	add(m, "undefined", 0x30, 16, STT_FUNC, SHN_UNDEF);
	add(m, "object", 0x40, 16, STT_OBJECT, S_TEXT);
	add(m, "outside", 0x900, 16, STT_FUNC, S_TEXT);
	add(m, "too_long", 0x700, UINT64_MAX, STT_FUNC, S_TEXT);
	add(m, "extended", 0x50, 16, STT_FUNC, SHN_XINDEX);
	add(m, "", 0x60, 16, STT_FUNC, S_TEXT);
	add(m, "nameless", 0x70, 16, STT_FUNC, S_TEXT)->st_name = STRINGS;
	struct sp_elf *e = image_open(m);
	for (uint64_t at = 0; at < 0x50; at += 16)
		expect(e, at + 1, "", 0, 0x50);
	expect(e, 0x51, "extended", 0x50, 16);
	expect(e, 0x61, "", 0x60, 16);
	expect(e, 0x71, "", 0x70, 16);
	expect(e, 0x81, "", 0x80, 0x680);
	expect(e, 0x7ff, "too_long", 0x700, 0x100);
	expect(e, 0x901, "", 0x800, 0x800);
	sp_elf_close(e);
}

static void test_labels(void **state)
{
	struct image *m SP_FREE = image_new();
	add(m, "first", 0x10, 0, STT_NOTYPE, S_TEXT);
	add(m, ".L1", 0x18, 0, STT_NOTYPE, S_TEXT);
	add(m, "$x", 0x19, 0, STT_NOTYPE, S_TEXT);
	add(m, ".text", 0x1a, 0, STT_SECTION, S_TEXT);
	add(m, "second", 0x20, 0, STT_NOTYPE, S_TEXT);
	add(m, "sized", 0x40, 8, STT_FUNC, S_TEXT);
	add(m, "inside", 0x44, 0, STT_NOTYPE, S_TEXT);
	add(m, "nested", 0x46, 1, STT_FUNC, S_TEXT);
	add(m, "last", 0x100, 0, STT_NOTYPE, S_TEXT);
	struct sp_elf *e = image_open(m);
	expect(e, 0x0f, "", 0, 16);
	expect(e, 0x1f, "first", 0x10, 16);
	expect(e, 0x3f, "second", 0x20, 32);
	expect(e, 0x45, "sized", 0x40, 8);
	expect(e, 0x46, "nested", 0x46, 1);
	expect(e, 0x47, "sized", 0x40, 8);
	expect(e, 0x48, "", 0x48, 0xb8);
	expect(e, 0x7ff, "last", 0x100, 0x700);
	expect(e, 0x800, "", 0x800, 0x800);
	sp_elf_close(e);
}

static void test_many_offsets_at_once(void **state)
{
	struct image *m SP_FREE = image_new();
	add(m, "b", 0x20, 0, STT_NOTYPE, S_TEXT);
	add(m, "c", 0x30, 16, STT_FUNC, S_TEXT);
	add(m, "a", 0x10, 0, STT_NOTYPE, S_TEXT);
	struct sp_elf *e = image_open(m);
	static const char expected[] = {0, 'a', 'b', 'c', 0, 0, 0};
	uint64_t offsets[7 * 16];
	struct sp_name names[7 * 16];
	for (size_t i = 0; i < SP_COUNT(offsets); i++)
		offsets[i] = TEXT + i;
	assert_int_equal(sp_names_find(e, NULL, offsets, SP_COUNT(offsets), names), 0);
	for (size_t i = 0; i < SP_COUNT(offsets); i++) {
		assert_int_equal(names[i].name ? *names[i].name : 0, expected[i / 16]);
		assert_int_equal(names[i].start, TEXT + (i < 64 ? i / 16 * 16 : 64));
		assert_int_equal(names[i].size, i < 64 ? 16 : 0x800 - 64);
	}
	sp_names_done(names, SP_COUNT(names));
	sp_elf_close(e);
}

static void test_versions(void **state)
{
	struct image *m SP_FREE = image_new();
	add(m, "old@V_1", 0x00, 16, STT_FUNC, S_TEXT);
	add(m, "new@@V_2", 0x10, 16, STT_FUNC, S_TEXT);
	add(m, "@odd", 0x20, 16, STT_FUNC, S_TEXT);
	add(m, "a@b@c", 0x30, 16, STT_FUNC, S_TEXT);
	add(m, "end@", 0x40, 16, STT_FUNC, S_TEXT);
	struct sp_elf *e = image_open(m);
	expect(e, 0x00, "old", 0x00, 16);
	expect(e, 0x10, "new", 0x10, 16);
	expect(e, 0x20, "@odd", 0x20, 16);
	expect(e, 0x30, "a@b@c", 0x30, 16);
	expect(e, 0x40, "end@", 0x40, 16);
	sp_elf_close(e);
}

/* Names across pages of the string table, one that never ends, and one that is too long. */
static void test_strings(void **state)
{
	struct image *m SP_FREE = image_new();
	char *name SP_FREE = calloc(1, 6001);
	memset(name, 'n', 6000);
	add(m, name, 0x00, 16, STT_FUNC, S_TEXT);
	name[3000] = 0;
	add(m, name, 0x10, 16, STT_FUNC, S_TEXT);
	memset(m->strings + STRINGS - 5, 'z', 5);
	add(m, "x", 0x20, 16, STT_FUNC, S_TEXT)->st_name = STRINGS - 5;
	struct sp_elf *e = image_open(m);
	struct sp_name n;
	uint64_t offset = TEXT;
	expect(e, 0x10, name, 0x10, 16);
	expect(e, 0x20, "zzzzz", 0x20, 16);
	assert_int_equal(sp_names_find(e, NULL, &offset, 1, &n), 0);
	assert_int_equal(strlen(n.name), SP_NAME_MAX - 1);
	assert_string_equal(n.name + SP_NAME_MAX - 4, "...");
	assert_null(n.linkage_name);
	sp_names_done(&n, 1);
	sp_elf_close(e);
}

/* Tables that are not there cost the names, not the call. */
static void test_lost_tables(void **state)
{
	struct image *m SP_FREE = image_new();
	add(m, "f", 0x00, 16, STT_FUNC, S_TEXT);
	m->sections[S_STRTAB].sh_offset = 1ull << 62;
	struct sp_elf *e = image_open(m);
	expect(e, 0, "", 0, 16);
	sp_elf_close(e);
	m->sections[S_STRTAB].sh_type = SHT_NOBITS;
	e = image_open(m);
	struct sp_symtab *t = NULL;
	assert_int_equal(sp_symtab_open(e, false, &t), -ENOENT);
	assert_int_equal(sp_symtab_open(e, true, &t), -ENOENT);
	expect(e, 0, "", 0, 0x800);
	sp_elf_close(e);
	sp_error_clear();
}

/* --- between functions --- */

static int walk_two(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg)
{
	int r = cb(arg, TEXT + 0x200, 0x20);
	return r ? r : cb(arg, TEXT + 0x100, UINT64_MAX - 0x10); /* wraps around: only its start counts */
}

static void expect_gap(struct sp_elf *e, uint64_t at, uint64_t start, uint64_t end)
{
	struct sp_name n;
	uint64_t offset = TEXT + at;
	assert_int_equal(sp_names_find(e, walk_two, &offset, 1, &n), 0);
	assert_null(n.name);
	assert_int_equal(n.is_gap, at < 0x100);
	assert_int_equal(n.start, TEXT + start);
	assert_int_equal(n.size, end - start);
	assert_int_equal(n.vaddr, BASE + start);
}

static void test_gaps_end_at_ranges(void **state)
{
	struct image *m SP_FREE = image_new();
	add(m, "f", 0x40, 16, STT_FUNC, S_TEXT);
	struct sp_elf *e = image_open(m);
	expect_gap(e, 0x00, 0, 0x40);
	expect_gap(e, 0x3f, 0, 0x40);
	expect_gap(e, 0x50, 0x50, 0x100);
	expect_gap(e, 0xff, 0x50, 0x100);
	expect_gap(e, 0x21f, 0x200, 0x220);
	sp_elf_close(e);
}

/* Sections may lie or be missing; the segment bounds the gap in any case. */
static void test_gaps_end_at_segments(void **state)
{
	struct image *m SP_FREE = image_new();
	m->sections[S_TEXT].sh_addr = BASE - 0x100;
	m->sections[S_TEXT].sh_size = 0x10000;
	struct sp_elf *e = image_open(m);
	expect(e, 0x123, "", 0, TEXT_SIZE);
	sp_elf_close(e);
	m->sections[S_TEXT].sh_addr = UINT64_MAX - 0x100;
	e = image_open(m);
	expect(e, 0x123, "", 0, TEXT_SIZE);
	sp_elf_close(e);
	m->sections[S_TEXT].sh_flags = SHF_ALLOC;
	e = image_open(m);
	expect(e, 0xfff, "", 0, TEXT_SIZE);
	sp_elf_close(e);
	m->segment.p_flags = PF_R;
	e = image_open(m);
	expect(e, 0x10, "", 0, TEXT_SIZE);
	sp_elf_close(e);
}

static void test_preference(void **state)
{
	assert_true(sp_symbol_prefer("__a", SP_BIND_WEAK, "a", SP_BIND_LOCAL));
	assert_true(sp_symbol_prefer("a", SP_BIND_WEAK, "_a", SP_BIND_GLOBAL));
	assert_true(sp_symbol_prefer("abc", SP_BIND_GLOBAL, "a", SP_BIND_WEAK));
	assert_true(sp_symbol_prefer("b", SP_BIND_LOCAL, "ab", SP_BIND_LOCAL));
	assert_true(sp_symbol_prefer("a", SP_BIND_LOCAL, "b", SP_BIND_LOCAL));
	assert_false(sp_symbol_prefer("a", SP_BIND_LOCAL, "a", SP_BIND_LOCAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sections_must_agree),
	    cmocka_unit_test(test_labels),
	    cmocka_unit_test(test_many_offsets_at_once),
	    cmocka_unit_test(test_versions),
	    cmocka_unit_test(test_strings),
	    cmocka_unit_test(test_lost_tables),
	    cmocka_unit_test(test_gaps_end_at_ranges),
	    cmocka_unit_test(test_gaps_end_at_segments),
	    cmocka_unit_test(test_preference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
