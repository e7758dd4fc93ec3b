/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the files of the elf layer share.
 *
 * A struct sp_elf owns copies of the program headers and, as far as they make sense, of the section headers and their
 * names; the descriptor or the bytes stay the caller's. Segments are clipped to the bytes that the file has, so that
 * whatever lies inside a segment can also be read. n_read counts towards SP_ELF_MAX_READ.
 * Errors: -ENODATA past the end of the file, -EFBIG over a cap, -ENOENT for what the file does not have.
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

struct sp_elf_note { /* lives while it is visited; len is not 0 */
	uint32_t type;
	const uint8_t *owner, *data;
	size_t owner_len, len; /* the owner's with its NUL */
};

/*
 * Shows the notes of all PT_NOTE segments, else those of the section of this name, until a visit returns anything but
 * 0, which is returned. Itself fails for -ENOMEM only.
 */
int sp_elf_walk_notes(struct sp_elf *e, const char *section, int (*visit)(void *arg, const struct sp_elf_note *note),
		      void *arg);

/* Reads what section headers there are; a file whose headers make no sense has none. Fails for -ENOMEM only. */
int sp_elf_load_sections(struct sp_elf *e);
/* Adds .dynsym and .dynstr as PT_DYNAMIC tells them, for files without these sections. Fails for -ENOMEM only. */
int sp_elf_add_dynamic_sections(struct sp_elf *e);
/* The first program header of this type, or NULL. */
const Elf64_Phdr *sp_elf_phdr(const struct sp_elf *e, uint32_t type);

#endif
