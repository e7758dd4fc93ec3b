/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the files of the elf layer share.
 *
 * A struct sp_elf owns copies of the program headers and, as far as they are valid, of the section headers and their
 * names; the descriptor or bytes are the caller's. Segments are clipped to the size of the file, so whatever is
 * inside a segment can be read. n_read counts towards SP_ELF_MAX_READ.
 * Errors: -ENODATA past the end of the file, -EFBIG over a limit, -ENOENT for what the file does not have.
 */
#ifndef SP_ELF_PRIV_H
#define SP_ELF_PRIV_H

#include "elf/elf.h"
#include <elf.h>

struct sp_elf {
	int fd; /* -1: bytes */
	const uint8_t *bytes;
	uint64_t size, n_read;
	Elf64_Ehdr header;
	Elf64_Phdr *phdrs;
	size_t n_phdrs;
	struct sp_elf_segment *segments;
	size_t n_segments;
	struct sp_elf_section *sections;
	size_t n_sections, sections_capacity;
	char *names; /* of the sections */
};

/* Reads the section headers; a file with invalid ones has none. Only fails with -ENOMEM. */
int sp_elf_load_sections(struct sp_elf *e);
/* Adds .dynsym and .dynstr from PT_DYNAMIC, for files without these sections. Only fails with -ENOMEM. */
int sp_elf_add_dynamic_sections(struct sp_elf *e);
/* The first program header of this type, or NULL. */
const Elf64_Phdr *sp_elf_phdr(const struct sp_elf *e, uint32_t type);

#endif
