/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_elf.c: any bytes as an ELF file, everything asked of it.
 *
 * Whatever the file says: segments lie inside it, addresses go to offsets and back, what is told of .eh_frame can be
 * read, names end.
 */
#include "elf/elf.h"
#include "elf/package.h"
#include "require.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 16 };

static void check_addresses(const struct sp_elf *e, size_t size)
{
	uint64_t offset, vaddr;
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(e, i);
		require(s->offset <= size && s->file_size <= size - s->offset && s->file_size <= s->mem_size);
		if (s->file_size == 0)
			continue;
		require(sp_elf_offset_of(e, s->vaddr + s->file_size - 1, &offset) == 0 && offset < size);
		require(sp_elf_vaddr_of(e, s->offset, &vaddr) == 0);
	}
	if (sp_elf_offset_of(e, sp_elf_entry(e), &offset) == 0)
		require(offset < size);
}

static void check_sections(struct sp_elf *e, size_t size)
{
	struct sp_elf_section s, same;
	void *bytes;
	require(sp_elf_n_sections(e) <= SP_ELF_MAX_SHDRS + 2);
	for (size_t i = 0; i < sp_elf_n_sections(e); i++) {
		require(sp_elf_section_at(e, i, &s) == 0 && strlen(s.name) <= size);
		require(sp_elf_section(e, s.name, &same) == 0);
		if (i < 8 && sp_elf_read(e, s.offset, s.size, &bytes) == 0) {
			require(s.offset <= size && s.size <= size - s.offset);
			free(bytes);
		}
		if (i == 256)
			break; /* looking a name up is linear */
	}
}

static void check_eh_frame(struct sp_elf *e)
{
	struct sp_elf_eh_frame eh;
	void *bytes;
	if (sp_elf_eh_frame(e, &eh) < 0)
		return;
	require(sp_elf_read(e, eh.offset, eh.size, &bytes) == 0);
	free(bytes);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	struct sp_elf *e;
	struct sp_elf_package package;
	uint8_t id[20];
	char *soname = NULL;
	uint64_t sample;
	if (size > MAX_BYTES || sp_elf_open_bytes(data, size, &e) < 0)
		return 0;
	check_addresses(e, size);
	check_sections(e, size);
	check_eh_frame(e);
	int n = sp_elf_build_id(e, id, sizeof(id));
	require(n == -ENOENT || (n > 0 && n <= (int)sizeof(id)));
	n = sp_elf_package(e, &package);
	require(n == -ENOENT || (n == 0 && sp_elf_package_valid(&package)));
	n = sp_elf_sample(e, &sample);
	require(n == 0 || n == -EFBIG || n == -ENODATA);
	if (sp_elf_soname(e, &soname) == 0)
		require(soname[0] != '\0');
	free(soname);
	sp_elf_close(e);
	return 0;
}
