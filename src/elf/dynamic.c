/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dynamic.c: PT_DYNAMIC: the soname, and the place of the dynamic symbols if no section has it.
 *
 * The dynamic table has no count of symbols; it comes from the hash table: nchain of DT_HASH, or the end of the last
 * chain of DT_GNU_HASH (System V ABI, chapter 5; binutils' description of the GNU hash section).
 */
#include "base/cursor.h"
#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DYNAMIC_BYTES = 1 << 20, MAX_HASH_BYTES = 64 << 20, MAX_SONAME_BYTES = 4096 };

struct dynamic {
	uint64_t strtab, strsz, symtab, soname, hash, gnu_hash;
	bool has_soname;
};

static void take_entry(struct dynamic *d, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_STRTAB:
		d->strtab = entry->d_un.d_ptr;
		break;
	case DT_STRSZ:
		d->strsz = entry->d_un.d_val;
		break;
	case DT_SYMTAB:
		d->symtab = entry->d_un.d_ptr;
		break;
	case DT_HASH:
		d->hash = entry->d_un.d_ptr;
		break;
	case DT_GNU_HASH:
		d->gnu_hash = entry->d_un.d_ptr;
		break;
	case DT_SONAME:
		d->soname = entry->d_un.d_val;
		d->has_soname = true;
		break;
	default:
		break;
	}
}

static int read_dynamic(struct sp_elf *e, struct dynamic *ret_dynamic)
{
	const Elf64_Phdr *p = sp_elf_phdr(e, PT_DYNAMIC);
	SP_FREE void *bytes = NULL;
	struct dynamic d = {0};
	if (!p || p->p_filesz > MAX_DYNAMIC_BYTES)
		return -ENOENT;
	int r = sp_elf_read(e, p->p_offset, (size_t)p->p_filesz, &bytes);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	const Elf64_Dyn *entries = bytes;
	for (size_t i = 0; i < p->p_filesz / sizeof(*entries) && entries[i].d_tag != DT_NULL; i++)
		take_entry(&d, &entries[i]);
	*ret_dynamic = d;
	return 0;
}

int sp_elf_soname(struct sp_elf *e, char **ret_soname)
{
	struct dynamic d;
	uint64_t offset;
	int r = read_dynamic(e, &d);
	if (r < 0)
		return r;
	if (!d.has_soname || d.soname >= d.strsz || sp_elf_offset_of(e, d.strtab + d.soname, &offset) < 0)
		return -ENOENT;
	char name[MAX_SONAME_BYTES];
	size_t size = SP_MIN(SP_MIN(d.strsz - d.soname, e->size - offset), sizeof(name));
	r = sp_elf_read_into(e, offset, name, size);
	if (r < 0)
		return r;
	if (!memchr(name, '\0', size) || name[0] == '\0')
		return -ENOENT;
	char *copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	*ret_soname = copy;
	return 0;
}

/* Reads from this address to the end of its segment, at most MAX_HASH_BYTES. */
static int read_hash(struct sp_elf *e, uint64_t vaddr, void **ret_bytes, size_t *ret_size)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct sp_elf_segment *s = &e->segments[i];
		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
			continue;
		uint64_t at = vaddr - s->vaddr;
		*ret_size = (size_t)SP_MIN(s->file_size - at, (uint64_t)MAX_HASH_BYTES);
		return sp_elf_read(e, s->offset + at, *ret_size, ret_bytes);
	}
	return -ENOENT;
}

static uint64_t last_in_chain(struct sp_cursor *c, size_t chains, uint64_t first, uint64_t i)
{
	if (i < first)
		return 0;
	sp_cursor_seek(c, chains + (size_t)(i - first) * 4);
	while (!c->bad && (sp_cursor_u32(c) & 1) == 0)
		i++;
	return c->bad ? 0 : i + 1;
}

static uint64_t count_gnu_hash(struct sp_cursor *c)
{
	uint32_t n_buckets = sp_cursor_u32(c), first = sp_cursor_u32(c), n_bloom = sp_cursor_u32(c);
	uint32_t top = 0;
	sp_cursor_skip(c, 4 + (size_t)n_bloom * 8);
	for (uint32_t i = 0; i < n_buckets && !c->bad; i++) {
		uint32_t bucket = sp_cursor_u32(c);
		top = SP_MAX(top, bucket);
	}
	if (c->bad)
		return 0;
	return top == 0 ? first : last_in_chain(c, c->at, first, top);
}

static uint64_t count_symbols(struct sp_elf *e, const struct dynamic *d)
{
	SP_FREE void *bytes = NULL;
	size_t size;
	if (read_hash(e, d->hash ? d->hash : d->gnu_hash, &bytes, &size) < 0)
		return 0;
	struct sp_cursor c = sp_cursor_on(bytes, size);
	if (!d->hash)
		return count_gnu_hash(&c);
	sp_cursor_skip(&c, 4);
	uint32_t n = sp_cursor_u32(&c);
	return c.bad ? 0 : n;
}

static void add_section(struct sp_elf *e, const char *name, uint32_t type, uint64_t vaddr, uint64_t size)
{
	struct sp_elf_section *s = &e->sections[e->n_sections];
	*s = (struct sp_elf_section){.name = name, .type = type, .flags = SHF_ALLOC, .addr = vaddr, .size = size};
	if (sp_elf_offset_of(e, vaddr, &s->offset) == 0)
		e->n_sections++;
}

int sp_elf_add_dynamic_sections(struct sp_elf *e)
{
	struct sp_elf_section s;
	struct dynamic d;
	if (sp_elf_section(e, ".dynsym", &s) == 0 || read_dynamic(e, &d) < 0 || !d.symtab || !d.strtab)
		return 0;
	uint64_t n = count_symbols(e, &d);
	if (n == 0 || n > UINT32_MAX)
		return 0;
	int r = sp_grow(&e->sections, &e->sections_capacity, e->n_sections + 2, sizeof(*e->sections));
	if (r < 0)
		return r;
	size_t dynstr = e->n_sections;
	add_section(e, ".dynstr", SHT_STRTAB, d.strtab, d.strsz);
	if (e->n_sections == dynstr)
		return 0;
	add_section(e, ".dynsym", SHT_DYNSYM, d.symtab, n * sizeof(Elf64_Sym));
	e->sections[e->n_sections - 1].entry_size = e->n_sections == dynstr + 2 ? sizeof(Elf64_Sym) : 0;
	e->sections[e->n_sections - 1].link = (uint32_t)dynstr;
	return 0;
}
