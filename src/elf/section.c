/* SPDX-License-Identifier: GPL-2.0-or-later */
/* section.c: section headers, which may be missing or invalid. */
#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES_BYTES = 16 << 20 };

/* The number of sections, and the section of names; section 0 has them if they do not fit the header. */
static int count_sections(struct sp_elf *e, size_t *ret_n, size_t *ret_names)
{
	const Elf64_Ehdr *h = &e->header;
	Elf64_Shdr zero = {0};
	if (h->e_shoff == 0 || h->e_shentsize != sizeof(Elf64_Shdr))
		return -ENOENT;
	int r = sp_elf_read_into(e, h->e_shoff, &zero, sizeof(zero));
	if (r < 0)
		return r;
	uint64_t n = h->e_shnum ? h->e_shnum : zero.sh_size;
	if (n == 0 || n > SP_ELF_MAX_SHDRS)
		return -ENOENT;
	*ret_n = (size_t)n;
	*ret_names = h->e_shstrndx == SHN_XINDEX ? zero.sh_link : h->e_shstrndx;
	return 0;
}

/* Of a size that the file does not have nothing is allocated: it costs the one who wrote it nothing. */
static size_t names_bytes(const struct sp_elf *e, const Elf64_Shdr *s)
{
	bool is_inside = s->sh_offset <= e->size && s->sh_size <= e->size - s->sh_offset;

	return s->sh_type != SHT_NOBITS && is_inside && s->sh_size <= MAX_NAMES_BYTES ? (size_t)s->sh_size : 0;
}

/* Reads the names, NUL-terminated; if that fails, all sections are nameless. */
static int load_names(struct sp_elf *e, const Elf64_Shdr *s, size_t *ret_size)
{
	size_t size = names_bytes(e, s);
	char *names = malloc(size + 1);
	if (!names)
		return -ENOMEM;
	if (sp_elf_read_into(e, s->sh_offset, names, size) < 0)
		size = 0;
	names[size] = '\0';
	e->names = names;
	*ret_size = size;
	return 0;
}

static struct sp_elf_section section_of(const struct sp_elf *e, const Elf64_Shdr *s, size_t names_size)
{
	return (struct sp_elf_section){
	    .name = s->sh_name < names_size ? e->names + s->sh_name : "",
	    .type = s->sh_type,
	    .flags = s->sh_flags,
	    .addr = s->sh_addr,
	    .offset = s->sh_offset,
	    .size = s->sh_size,
	    .entry_size = s->sh_entsize,
	    .link = s->sh_link,
	    .info = s->sh_info,
	};
}

static int keep_sections(struct sp_elf *e, const Elf64_Shdr *headers, size_t n, size_t names)
{
	static const Elf64_Shdr none;
	size_t names_size;
	int r = load_names(e, names < n ? &headers[names] : &none, &names_size);
	if (r == 0)
		r = sp_grow(&e->sections, &e->sections_capacity, n, sizeof(*e->sections));
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		e->sections[i] = section_of(e, &headers[i], names_size);
	e->n_sections = n;
	return 0;
}

int sp_elf_load_sections(struct sp_elf *e)
{
	size_t n, names;
	SP_FREE void *headers = NULL;
	if (count_sections(e, &n, &names) < 0)
		return 0;
	int r = sp_elf_read(e, e->header.e_shoff, n * sizeof(Elf64_Shdr), &headers);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return keep_sections(e, headers, n, names);
}

size_t sp_elf_n_sections(const struct sp_elf *e)
{
	return e->n_sections;
}

int sp_elf_section_at(const struct sp_elf *e, size_t i, struct sp_elf_section *ret_section)
{
	if (i >= e->n_sections)
		return -ENOENT;
	*ret_section = e->sections[i];
	return 0;
}

int sp_elf_section(const struct sp_elf *e, const char *name, struct sp_elf_section *ret_section)
{
	for (size_t i = 0; i < e->n_sections; i++) {
		if (strcmp(e->sections[i].name, name) != 0)
			continue;
		*ret_section = e->sections[i];
		return 0;
	}
	return -ENOENT;
}
