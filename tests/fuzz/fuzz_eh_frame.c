/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_eh_frame.c: any bytes as .eh_frame, built into a table.
 *
 * The bytes stand behind code of 3 KiB, so that the functions of small programs (whose code lies in front of their
 * .eh_frame) are inside; all code is functions that only return, with padding between, and the entry point near its
 * end, since it is not code that is fuzzed here. Bit 0 of the first byte: whether a section header tells the size.
 * The table must be valid, every lookup must name one of its rules, and what it says at its rows must be what it says
 * when they are walked one after the other.
 */
#include "elf/elf.h"
#include "require.h"
#include "unwind/build.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { EH_AT = 1 << 12, MAX_BYTES = 1 << 13, END_BYTES = 16, HEADERS_BYTES = 1024 };
enum {
	IMAGE_BYTES = EH_AT + MAX_BYTES + END_BYTES,
	HDR_AT = EH_AT - 16,
	SHDRS_AT = 512,
	NAMES_AT = 768,
	RET = 0xc3,
	INT3 = 0xcc
};

static void make_headers(uint8_t *image, size_t size, bool sections)
{
	const size_t eh_bytes = size + END_BYTES;
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_entry = EH_AT - 128,
			.e_phoff = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3};
	const Elf64_Phdr p[3] = {
	    {.p_type = PT_LOAD,
	     .p_flags = PF_R | PF_X,
	     .p_offset = HEADERS_BYTES,
	     .p_vaddr = HEADERS_BYTES,
	     .p_filesz = EH_AT - HEADERS_BYTES,
	     .p_memsz = EH_AT - HEADERS_BYTES},
	    {.p_type = PT_LOAD,
	     .p_flags = PF_R,
	     .p_offset = EH_AT,
	     .p_vaddr = EH_AT,
	     .p_filesz = eh_bytes,
	     .p_memsz = eh_bytes},
	    {.p_type = PT_GNU_EH_FRAME, .p_offset = HDR_AT, .p_vaddr = HDR_AT, .p_filesz = 16, .p_memsz = 16},
	};
	const Elf64_Shdr s[2] = {
	    {.sh_name = 1,
	     .sh_type = SHT_PROGBITS,
	     .sh_flags = SHF_ALLOC,
	     .sh_addr = EH_AT,
	     .sh_offset = EH_AT,
	     .sh_size = size},
	    {.sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = 16},
	};
	if (sections) {
		h.e_shoff = SHDRS_AT;
		h.e_shentsize = sizeof(*s);
		h.e_shnum = 2;
		h.e_shstrndx = 1;
	}
	memcpy(image, &h, sizeof(h));
	memcpy(image + sizeof(h), p, sizeof(p));
	memcpy(image + SHDRS_AT, s, sizeof(s));
	memcpy(image + NAMES_AT, "\0.eh_frame", 11);
	const uint8_t hdr[] = {1, 0x03, 0xff, 0xff, EH_AT & 0xff, EH_AT >> 8 & 0xff, EH_AT >> 16 & 0xff, 0};
	memcpy(image + HDR_AT, hdr, sizeof(hdr));
}

static bool same_rule(const struct sp_blob *b, uint64_t offset, uint32_t rule)
{
	return sp_blob_find(b, offset) == &sp_blob_rules(b)[rule];
}

static void check_rows(const struct sp_blob *b)
{
	const uint32_t *row = sp_blob_rows(b);
	for (uint32_t g = 0; g < b->n_groups; g++) {
		uint64_t start = ((uint64_t)b->first + g) << b->shift, end = start + (1ULL << b->shift);
		for (uint32_t n = sp_blob_index(b)[g] & SP_INDEX_COUNT_MASK; n > 0; n--, row++) {
			uint64_t at = start + ((*row - start) & 0xffff);
			uint64_t next = n > 1 ? start + ((row[1] - start) & 0xffff) : end;
			require(at < next && next <= end);
			require(same_rule(b, at, *row >> 16) && same_rule(b, next - 1, *row >> 16));
		}
	}
	require(sp_blob_find(b, UINT64_MAX) == sp_blob_rules(b));
}

static int check_range(void *arg, uint64_t start, uint64_t size)
{
	(void)arg;
	require(start >= HEADERS_BYTES && start < EH_AT && size > 0 && size <= EH_AT - start);
	return 0;
}

/* The code of 3 KiB is looked through whatever the input is, and the table has room for each byte of it. */
const struct fuzz_cost fuzz_cost = {2 << 20, 400, 150000, 20000};

int fuzz_one(const uint8_t *data, size_t size)
{
	static uint8_t image[IMAGE_BYTES];
	struct sp_elf *e;
	struct sp_blob *b;
	if (size < 1 || size - 1 > MAX_BYTES)
		return 0;
	for (size_t i = HDR_AT; image[HEADERS_BYTES] != RET && i-- > HEADERS_BYTES;) /* once */
		image[i] = i % 256 == 0 ? RET : INT3;
	make_headers(image, size - 1, data[0] & 1);
	memcpy(image + EH_AT, data + 1, size - 1);
	memset(image + EH_AT + size - 1, 0, END_BYTES);
	require(sp_elf_open_bytes(image, EH_AT + size - 1 + END_BYTES, &e) == 0);
	require(sp_blob_build(e, &b) == 0);
	require(sp_blob_validate(b, b->bytes) == 0);
	check_rows(b);
	require(sp_fde_walk(e, check_range, NULL) == 0);
	free(b);
	sp_elf_close(e);
	return 0;
}
