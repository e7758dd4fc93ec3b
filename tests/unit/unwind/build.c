/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of made-up files: overlaps, gaps, padding, the entry point, malformed entries, and the caps. */
#include "unwind/build.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/priv.h"
#include <elf.h>
#include <string.h>

/* The code is a hole of TEXT_BYTES at offset 0x1000, .eh_frame the rest, found through PT_GNU_EH_FRAME. */
enum { TEXT = 0x1000, TEXT_BYTES = 0x800000, HDR = TEXT + TEXT_BYTES, EH = HDR + 16, ENTRY = TEXT + 0x700000 };

struct file {
	uint8_t *bytes;
	size_t n, capacity;
};

static void append(struct file *f, const void *bytes, size_t n)
{
	assert_int_equal(sp_grow(&f->bytes, &f->capacity, f->n + n, 1), 0);
	memcpy(f->bytes + f->n, bytes, n);
	f->n += n;
}

static void append_u32(struct file *f, uint32_t n)
{
	append(f, &n, sizeof(n));
}

/* The usual CIE, pointers as 4 absolute bytes, at the start of .eh_frame. */
static void begin(struct file *f)
{
	static const uint8_t cie[] = {20, 0,    0,  0, 0, 0,    0, 0, 1,    'z', 'R', 0,
				      1,  0x78, 16, 1, 3, 0x0c, 7, 8, 0x90, 1,   0,   0};
	const uint8_t hdr[] = {1, 3, 0xff, 0xff, EH & 0xff, EH >> 8 & 0xff, EH >> 16 & 0xff, EH >> 24};
	*f = (struct file){0};
	assert_int_equal(sp_grow(&f->bytes, &f->capacity, EH, 1), 0);
	memcpy(f->bytes + HDR, hdr, sizeof(hdr));
	f->n = EH;
	append(f, cie, sizeof(cie));
}

static void append_fde(struct file *f, uint32_t start, uint32_t size, const void *program, size_t n)
{
	append_u32(f, (uint32_t)(13 + n));
	append_u32(f, (uint32_t)(f->n - EH));
	append_u32(f, TEXT + start);
	append_u32(f, size);
	append(f, "", 1);
	append(f, program, n);
}

#define FDE(f, start, size, ...)                                                                                       \
	append_fde(f, start, size, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static uint64_t entry_bytes; /* that the last file's walk says of the entry point; 0: an FDE covers it */

static int note_entry(void *arg, uint64_t start, uint64_t size)
{
	(void)arg;
	if (start == ENTRY)
		entry_bytes = size;
	return 0;
}

static struct sp_blob *finish_with(struct file *f, uint32_t text_bytes)
{
	struct sp_elf *e = NULL;
	struct sp_blob *b = NULL;
	append_u32(f, 0);
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_entry = ENTRY,
			.e_phoff = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3};
	const Elf64_Phdr p[] = {
	    {.p_type = PT_LOAD,
	     .p_flags = PF_X,
	     .p_offset = TEXT,
	     .p_vaddr = TEXT,
	     .p_filesz = text_bytes,
	     .p_memsz = text_bytes},
	    {.p_type = PT_LOAD, .p_offset = HDR, .p_vaddr = HDR, .p_filesz = f->n - HDR, .p_memsz = f->n - HDR},
	    {.p_type = PT_GNU_EH_FRAME, .p_offset = HDR, .p_vaddr = HDR, .p_filesz = 16, .p_memsz = 16},
	};
	memcpy(f->bytes, &h, sizeof(h));
	memcpy(f->bytes + sizeof(h), p, sizeof(p));
	assert_int_equal(sp_elf_open_bytes(f->bytes, f->n, &e), 0);
	assert_int_equal(sp_blob_build(e, &b), 0);
	assert_int_equal(sp_blob_validate(b, b->bytes), 0);
	entry_bytes = 0;
	assert_int_equal(sp_fde_walk(e, note_entry, NULL), 0);
	sp_elf_close(e);
	free(f->bytes);
	return b;
}

static struct sp_blob *finish(struct file *f)
{
	return finish_with(f, TEXT_BYTES);
}

static void assert_cfa(const struct sp_blob *b, uint64_t at, enum sp_cfa_kind kind, int32_t off)
{
	const struct sp_rule *r = sp_blob_find(b, TEXT + at);
	assert_int_equal(r->cfa, kind);
	assert_int_equal(r->off, off);
}

static void first_by_start_keeps_its_bytes(void **state)
{
	struct file f;
	begin(&f);
	FDE(&f, 0x180, 0x100, 0x0e, 24, 0x02, 0x90, 0x0e, 32); /* its first 0x80 bytes are the next one's */
	FDE(&f, 0x100, 0x100, 0x0e, 16);
	FDE(&f, 0x110, 0x20, 0x0e, 40);  /* hidden */
	FDE(&f, 0x100, 0x200, 0x0e, 48); /* the same start, but later: keeps its end */
	SP_FREE struct sp_blob *b = finish(&f);
	assert_int_equal(b->n_fdes, 4);
	assert_int_equal(b->n_bad_fdes, 2); /* hidden; and of the one at 0x180, nothing is left */
	assert_cfa(b, 0xff, SP_CFA_NONE, 0);
	assert_cfa(b, 0x100, SP_CFA_REG, 16);
	assert_cfa(b, 0x110, SP_CFA_REG, 16);
	assert_cfa(b, 0x1ff, SP_CFA_REG, 16);
	assert_cfa(b, 0x200, SP_CFA_REG, 48);
	assert_cfa(b, 0x2ff, SP_CFA_REG, 48);
	assert_cfa(b, 0x300, SP_CFA_NONE, 0);
}

static void overlap_in_the_middle_of_a_program(void **state)
{
	struct file f;
	begin(&f);
	FDE(&f, 0x100, 0x100, 0x0e, 16);
	FDE(&f, 0x180, 0x100, 0x0e, 24, 0x02, 0x90, 0x0e, 32);
	SP_FREE struct sp_blob *b = finish(&f);
	assert_cfa(b, 0x1ff, SP_CFA_REG, 16);
	assert_cfa(b, 0x200, SP_CFA_REG, 24);
	assert_cfa(b, 0x20f, SP_CFA_REG, 24);
	assert_cfa(b, 0x210, SP_CFA_REG, 32);
	assert_cfa(b, 0x27f, SP_CFA_REG, 32);
}

/* What GCC writes of a function that realigns its stack, as 0x40 bytes from `at` on: behind its `pop %rbp` no more. */
static void append_realigned(struct file *f, uint32_t at, const char *end)
{
	memcpy(f->bytes + TEXT + at + 0x3a, end, 6);
	FDE(f, at, 0x40, 0x0c, 7, 8, 0x45, 0x0c, 10, 0, 0x47, 0x10, 6, 2, 0x76, 0, 0x40 + 0x33, 0x0c, 7, 8);
}

static void assert_fp(const struct sp_blob *b, uint64_t at, enum sp_fp_kind kind)
{
	assert_int_equal(sp_blob_find(b, TEXT + at)->fp, kind);
}

static void end_of_a_realigned_frame(void **state)
{
	struct file f;
	begin(&f);
	append_realigned(&f, 0x100, "\x5d\x49\x8d\x62\xf8\xc3");               /* pop %rbp; lea -8(%r10),%rsp; ret */
	append_realigned(&f, 0x140, "\x5e\x49\x8d\x62\xf8\xc3");               /* pop %rsi */
	append_realigned(&f, 0x1c0, "\xc9\x49\x8d\x62\xf8\xc3");               /* leave */
	memcpy(f.bytes + TEXT + 0x1b8, "\x5d\x49\x8d\x65\xf0\x41\x5d\xc3", 8); /* lea -16(%r13),%rsp; pop %r13; ret */
	FDE(&f, 0x180, 0x40, 0x0c, 13, 0, 0x10, 6, 2, 0x76, 0, 0x40 + 0x3d, 0x0c, 7, 16, 0x42, 0x0e, 8);
	SP_FREE struct sp_blob *b = finish(&f);
	assert_fp(b, 0x1b8, SP_FP_FP);
	for (uint64_t at = 0x1b9; at < 0x1c0; at++)
		assert_fp(b, at, SP_FP_SAME);
	assert_cfa(b, 0x1bc, SP_CFA_REG, 0);
	assert_cfa(b, 0x1be, SP_CFA_REG, 16);
	assert_cfa(b, 0x1bf, SP_CFA_REG, 8);
	assert_fp(b, 0x10b, SP_FP_SAME);
	assert_fp(b, 0x10c, SP_FP_FP);
	assert_fp(b, 0x13a, SP_FP_FP);
	assert_fp(b, 0x13b, SP_FP_SAME);
	assert_fp(b, 0x13f, SP_FP_SAME);
	assert_cfa(b, 0x13e, SP_CFA_REG, 0);
	assert_cfa(b, 0x13f, SP_CFA_REG, 8);
	assert_fp(b, 0x1fa, SP_FP_FP);
	assert_fp(b, 0x1fb, SP_FP_SAME);
	assert_fp(b, 0x1ff, SP_FP_SAME);
	assert_fp(b, 0x17e, SP_FP_FP);
	assert_fp(b, 0x17f, SP_FP_FP);
}

static void gaps_and_padding(void **state)
{
	struct file f;
	begin(&f);
	FDE(&f, 0x100, 0x10, 0x0e, 16);
	FDE(&f, 0x11f, 0x10, 0x0e, 24); /* 15 bytes of padding before */
	FDE(&f, 0x13f, 0x10, 0x0e, 32); /* a gap of 16 */
	SP_FREE struct sp_blob *b = finish(&f);
	assert_cfa(b, 0x11e, SP_CFA_REG, 16);
	assert_cfa(b, 0x11f, SP_CFA_REG, 24);
	assert_cfa(b, 0x12f, SP_CFA_NONE, 0);
	assert_cfa(b, 0x13e, SP_CFA_NONE, 0);
	assert_cfa(b, 0x13f, SP_CFA_REG, 32);
	assert_cfa(b, 0x14f, SP_CFA_NONE, 0);
}

static void entry_is_the_root(void **state)
{
	struct file f;
	const uint32_t entry = ENTRY - TEXT;
	begin(&f);
	FDE(&f, entry - 0x100, 0xff, 0x0e, 16);
	SP_FREE struct sp_blob *alone = finish(&f);
	assert_cfa(alone, entry - 1, SP_CFA_REG, 16); /* padding */
	assert_cfa(alone, entry, SP_CFA_ROOT, 0);
	assert_cfa(alone, entry + 255, SP_CFA_ROOT, 0);
	assert_cfa(alone, entry + 256, SP_CFA_NONE, 0);
	assert_int_equal(entry_bytes, 256);
	begin(&f);
	FDE(&f, entry - 0x100, 0x40, 0x0e, 16);
	SP_FREE struct sp_blob *at_end = finish_with(&f, entry + 0x30);
	assert_cfa(at_end, entry + 0x2f, SP_CFA_ROOT, 0);
	assert_int_equal(entry_bytes, 0x30); /* no code behind it */
	begin(&f);
	FDE(&f, entry - 0x100, 0x40, 0x0e, 16);
	FDE(&f, entry + 0x20, 0x40, 0x0e, 24);
	SP_FREE struct sp_blob *between = finish(&f);
	assert_cfa(between, entry - 1, SP_CFA_NONE, 0);
	assert_cfa(between, entry, SP_CFA_ROOT, 0);
	assert_cfa(between, entry + 0x1f, SP_CFA_ROOT, 0);
	assert_cfa(between, entry + 0x20, SP_CFA_REG, 24);
	begin(&f);
	FDE(&f, entry - 0x100, 0x200, 0x0e, 16);
	SP_FREE struct sp_blob *covered = finish(&f);
	assert_cfa(covered, entry, SP_CFA_REG, 16);
	assert_int_equal(entry_bytes, 0);
}

static void malformed_entries(void **state)
{
	struct file f;
	begin(&f);
	FDE(&f, 0x100, 0x100, 0x0e, 16);
	FDE(&f, 0x200, 0x100, 0x0e, 24, 0x48, 0x3f); /* no such instruction */
	FDE(&f, 0x300, 0x100, 0x0e, 32);
	FDE(&f, 0x10000000, 0x100, 0x0e, 40);  /* outside the code */
	FDE(&f, TEXT_BYTES - 8, 16, 0x0e, 40); /* beyond its end */
	append_u32(&f, 8);
	append_u32(&f, 0x7fffffff); /* a CIE in front of everything */
	append_u32(&f, 0);
	FDE(&f, 0x400, 0, 0x0e, 40); /* of no bytes: nothing to leave out */
	SP_FREE struct sp_blob *b = finish(&f);
	assert_int_equal(b->n_bad_fdes, 4);
	assert_int_equal(b->n_bad_rows, 1);
	assert_int_equal(b->flags, 0);
	assert_cfa(b, 0x1ff, SP_CFA_REG, 16);
	assert_cfa(b, 0x200, SP_CFA_BAD, 0);
	assert_cfa(b, 0x2ff, SP_CFA_BAD, 0);
	assert_cfa(b, 0x300, SP_CFA_REG, 32);
	assert_cfa(b, 0x400, SP_CFA_NONE, 0);
}

/* A row for each byte, with more different rules, and then more rows, than a table holds. */
static void caps_make_a_partial_table(void **state)
{
	enum { RULES = 70000, ROWS = 5000000, ROW_BYTES = 5 };
	struct file f;
	begin(&f);
	append_u32(&f, 13 + ROWS * ROW_BYTES);
	append_u32(&f, (uint32_t)(f.n - EH));
	append_u32(&f, TEXT);
	append_u32(&f, TEXT_BYTES);
	append(&f, "", 1);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t off = i < RULES ? i : i % 2;
		const uint8_t row[ROW_BYTES] = {0x0e, (off & 0x7f) | 0x80, (off >> 7 & 0x7f) | 0x80, off >> 14 & 0x7f,
						0x41};
		append(&f, row, sizeof(row));
	}
	SP_FREE struct sp_blob *b = finish(&f);
	assert_int_equal(b->flags, SP_BLOB_PARTIAL);
	assert_int_equal(b->n_rules, 65536);
	assert_true(b->n_rows <= SP_MAX_ROWS && b->n_rows > SP_MAX_ROWS - 2048);
	assert_cfa(b, 60000, SP_CFA_REG, 60000);
	assert_cfa(b, 66000, SP_CFA_BAD, 0);
	assert_cfa(b, RULES + 1, SP_CFA_REG, 1);
	assert_cfa(b, 3000000, SP_CFA_REG, 0);
	assert_cfa(b, ROWS, SP_CFA_NONE, 0);
	assert_cfa(b, TEXT_BYTES - 1, SP_CFA_NONE, 0);
}

/* A file with one segment, of a PLT as lld makes it, of two stubs, and more code than is looked at. No FDE. */
struct large {
	Elf64_Ehdr h;
	Elf64_Phdr p;
	Elf64_Shdr s[4];
	char names[32];
};
enum { PLT = 0x800, LARGE_TEXT = 33 << 20 };

static void make_large(uint8_t *bytes)
{
	static const uint8_t plt[] = {0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4,    0x90, 0x90, 0x90, 0x90,
				      0xff, 0x25, 1, 2, 3, 4, 0x68, 0,    0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
				      0xff, 0x25, 1, 2, 3, 4, 0x68, 1,    0, 0, 0, 0xe9, 0xd0, 0xff, 0xff, 0xff};
	struct large f = {.names = "\0.plt\0.text\0.shstrtab"};
	f.h = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_phoff = offsetof(struct large, p),
			   .e_phentsize = sizeof(f.p),
			   .e_phnum = 1,
			   .e_shoff = offsetof(struct large, s),
			   .e_shentsize = sizeof(f.s[0]),
			   .e_shnum = SP_COUNT(f.s),
			   .e_shstrndx = 3};
	const Elf64_Xword code = SHF_ALLOC | SHF_EXECINSTR;
	f.p = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = LARGE_TEXT, .p_memsz = LARGE_TEXT};
	f.s[1] = (Elf64_Shdr){1, SHT_PROGBITS, code, PLT, PLT, sizeof(plt), 0, 0, 16, 0};
	f.s[2] = (Elf64_Shdr){6, SHT_PROGBITS, code, TEXT, TEXT, LARGE_TEXT - TEXT, 0, 0, 16, 0};
	f.s[3] = (Elf64_Shdr){12, SHT_STRTAB, 0, 0, offsetof(struct large, names), sizeof(f.names), 0, 0, 1, 0};
	memset(bytes + TEXT, 0xc3, LARGE_TEXT - TEXT);
	memcpy(bytes, &f, sizeof(f));
	memcpy(bytes + PLT, plt, sizeof(plt));
}

static void of_too_much_code_the_plt(void **state)
{
	uint8_t *bytes = calloc(1, LARGE_TEXT);
	struct sp_elf *e = NULL;
	SP_FREE struct sp_blob *b = NULL;
	assert_non_null(bytes);
	make_large(bytes);
	assert_int_equal(sp_elf_open_bytes(bytes, LARGE_TEXT, &e), 0);
	assert_int_equal(sp_blob_build(e, &b), 0);
	assert_true(b->flags & SP_BLOB_DERIVED_PART);
	assert_true(b->left_out_bytes > 32 << 20);
	for (uint64_t at = 16; at < 48; at++) {
		const struct sp_rule *r = sp_blob_find(b, PLT + at);
		assert_int_equal(r->cfa, SP_CFA_PLT); /* one row for all stubs */
		assert_int_equal(r->off, 8);
		assert_int_equal(r->add, 27 - 16);
		assert_int_equal(r->ra, SP_RA_CFA | SP_RULE_DERIVED);
		assert_ptr_equal(r, sp_blob_find(b, PLT + 16));
	}
	assert_int_equal(b->n_derived_rows, 3); /* two are of the common part, to which they jump */
	assert_int_equal(sp_blob_find(b, TEXT)->cfa, SP_CFA_NONE);
	assert_int_equal(sp_blob_find(b, LARGE_TEXT - 1)->cfa, SP_CFA_NONE);
	assert_true(b->n_groups == 1 && b->n_rows == 4); /* and the gap behind the stubs */
	sp_elf_close(e);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_by_start_keeps_its_bytes),
	    cmocka_unit_test(overlap_in_the_middle_of_a_program),
	    cmocka_unit_test(end_of_a_realigned_frame),
	    cmocka_unit_test(gaps_and_padding),
	    cmocka_unit_test(entry_is_the_root),
	    cmocka_unit_test(malformed_entries),
	    cmocka_unit_test(caps_make_a_partial_table),
	    cmocka_unit_test(of_too_much_code_the_plt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
