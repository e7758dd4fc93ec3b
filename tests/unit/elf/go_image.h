/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_image.h: an ELF file in memory around a table of Go's functions: for the fuzzer and for the unit test.
 *
 * One executable segment of all before the table, at GO_IMAGE_TEXT less GO_IMAGE_CODE bytes, so that the code is
 * GO_IMAGE_CODE bytes into the file, and is padding (int3). The caller frees it. NULL: out of memory.
 */
#ifndef TEST_GO_IMAGE_H
#define TEST_GO_IMAGE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GO_IMAGE_TEXT = 0x1000, GO_IMAGE_CODE = 0x200, GO_IMAGE_CODE_BYTES = 0x400 };

static inline uint8_t *go_image(const void *table, size_t size, size_t *ret_size)
{
	static const char names[] = "\0.gopclntab";
	size_t at = GO_IMAGE_CODE + GO_IMAGE_CODE_BYTES, names_at = at + size, headers = names_at + sizeof(names);
	size_t total = headers + 3 * sizeof(Elf64_Shdr);
	uint8_t *image = calloc(1, total);
	if (!image)
		return NULL;
	Elf64_Ehdr h = {.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(h),
			.e_phnum = 1,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shoff = headers,
			.e_ehsize = sizeof(h),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 1};
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	Elf64_Phdr p = {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = GO_IMAGE_TEXT - GO_IMAGE_CODE,
			.p_filesz = at,
			.p_memsz = at};
	Elf64_Shdr s[3] = {{0},
			   {.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names)},
			   {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = size}};
	memcpy(image, &h, sizeof(h));
	memcpy(image + sizeof(h), &p, sizeof(p));
	memset(image + GO_IMAGE_CODE, 0xcc, GO_IMAGE_CODE_BYTES);
	if (size)
		memcpy(image + at, table, size);
	memcpy(image + names_at, names, sizeof(names));
	memcpy(image + headers, s, sizeof(s));
	*ret_size = total;
	return image;
}

#endif
