/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit_names.h"

#include "base/cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "symbol/priv.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	NAME_STEPS = 16, /* what a name costs */
	MAX_OBJECT = 64 << 20,
	MAX_SYMBOLS = 1 << 20,
	MAX_READ = 256 << 20, /* of all objects together */
	UNASKED_BYTES = 64 << 10,
};
#define DESCRIPTOR "__jit_debug_descriptor"

struct reader {
	int memory;
	uint64_t n_read, n_steps;
	const uint64_t *addresses;
	size_t n_addresses, n_named;
	struct sp_name *names;
	struct sp_jit_counts counts;
};

struct object { /* an ELF object, by its place in the process's memory */
	uint64_t at, size;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	char *strings;
	size_t strings_size;
};

/* --- the process's memory --- */

static bool has_budget(const struct reader *r, uint64_t size)
{
	return size <= MAX_READ - r->n_read && r->n_steps < SP_JIT_STEPS_MAX;
}

static int read_memory(struct reader *r, uint64_t at, void *bytes, size_t size)
{
	if (!has_budget(r, size))
		return -EFBIG;
	r->n_read += size;
	return sp_read_at(r->memory, bytes, size, at);
}

/* What is large must be there up to its end before memory is taken for it: sizes are only said. */
static int jit_objects_try_end(const struct reader *r, uint64_t at, uint64_t size)
{
	char last;

	return size <= UNASKED_BYTES ? 0 : sp_read_at(r->memory, &last, sizeof(last), at + size - 1);
}

/* Reads a part of an object into new memory, with a 0 behind it. */
static int read_part(struct reader *r, const struct object *o, uint64_t offset, uint64_t size, void *ret_bytes)
{
	int e;

	if (offset > o->size || size > o->size - offset)
		return -EBADMSG;
	if (!has_budget(r, size))
		return -EFBIG;
	e = jit_objects_try_end(r, o->at + offset, size);
	if (e < 0)
		return e;
	SP_FREE char *bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	bytes[size] = 0;
	e = read_memory(r, o->at + offset, bytes, size);
	if (e == 0)
		*(void **)ret_bytes = sp_take_ptr(bytes);
	return e;
}

/* --- an object --- */

static void object_done(struct object *o)
{
	free(o->sections);
	free(o->strings);
}

static int jit_objects_read_head(struct reader *r, struct object *o)
{
	Elf64_Ehdr *h = &o->header;
	if (o->size < sizeof(*h) || o->size > MAX_OBJECT || o->at + o->size < o->at)
		return -EBADMSG;
	int e = read_memory(r, o->at, h, sizeof(*h));
	if (e < 0)
		return e;
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != SP_MACHINE_ELF ||
	    h->e_shentsize != sizeof(Elf64_Shdr))
		return -EBADMSG;
	return read_part(r, o, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr), &o->sections);
}

static bool is_code(const Elf64_Shdr *s)
{
	return (s->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
	       s->sh_addr + s->sh_size > s->sh_addr;
}

/* Whether the object's code holds an address without a name: for most objects it does not, and no more is read. */
static bool jit_objects_is_wanted(struct reader *r, const struct object *o)
{
	for (size_t i = 0; i < o->header.e_shnum; i++) {
		const Elf64_Shdr *s = &o->sections[i];
		size_t at = is_code(s) ? sp_n_below(r->addresses, r->n_addresses, s->sh_addr) : r->n_addresses;
		for (; at < r->n_addresses && r->addresses[at] - s->sh_addr < s->sh_size; at++, r->n_steps++)
			if (!r->names[at].size)
				return true;
	}
	return false;
}

/* A function's addresses in memory. In an unlinked object a symbol's value counts from its section. */
static bool range_of(const struct object *o, const Elf64_Sym *s, uint64_t *ret_start, uint64_t *ret_end)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	if ((type != STT_FUNC && type != STT_NOTYPE) || !s->st_name || s->st_name >= o->strings_size ||
	    s->st_shndx == SHN_UNDEF || s->st_shndx >= o->header.e_shnum)
		return false;
	const Elf64_Shdr *in = &o->sections[s->st_shndx];
	uint64_t start = o->header.e_type == ET_REL ? in->sh_addr + s->st_value : s->st_value;
	if (!is_code(in) || start - in->sh_addr >= in->sh_size)
		return false;
	uint64_t left = in->sh_size - (start - in->sh_addr);
	*ret_start = start;
	*ret_end = start + (s->st_size ? SP_MIN(s->st_size, left) : left);
	return true;
}

/*
 * Of several functions at an address the one that begins last wins: labels without a size reach to the end of the
 * section.
 */
static int take_symbol(struct reader *r, const struct object *o, const Elf64_Sym *s, struct sp_name *own)
{
	uint64_t start, end;
	if (!range_of(o, s, &start, &end))
		return 0;
	size_t i = sp_n_below(r->addresses, r->n_addresses, start);
	for (; i < r->n_addresses && r->addresses[i] < end; i++, r->n_steps++) {
		if (r->n_steps >= SP_JIT_STEPS_MAX)
			return -EFBIG;
		if (r->names[i].size || (own[i].size && own[i].start >= start))
			continue;
		char *name = sp_demangle(o->strings + s->st_name);
		if (!name)
			return -ENOMEM;
		r->n_steps += NAME_STEPS;
		free(own[i].name);
		own[i] = (struct sp_name){.name = name, .start = start, .size = end - start, .vaddr = start};
	}
	return 0;
}

static int take_symbols(struct reader *r, struct object *o, const Elf64_Shdr *table, struct sp_name *own)
{
	SP_FREE Elf64_Sym *symbols = NULL;
	uint64_t n = table->sh_size / sizeof(*symbols);
	r->n_steps += r->n_addresses; /* of own */
	if (table->sh_entsize != sizeof(*symbols) || n > MAX_SYMBOLS || table->sh_link >= o->header.e_shnum)
		return -EBADMSG;
	const Elf64_Shdr *strings = &o->sections[table->sh_link];
	int e = read_part(r, o, table->sh_offset, n * sizeof(*symbols), &symbols);
	e = e < 0 ? e : read_part(r, o, strings->sh_offset, strings->sh_size, &o->strings);
	o->strings_size = e < 0 ? 0 : strings->sh_size;
	for (uint64_t i = 0; i < n && e == 0; i++)
		e = take_symbol(r, o, &symbols[i], own);
	return e;
}

static void keep_names(struct reader *r, struct sp_name *own)
{
	for (size_t i = 0; i < r->n_addresses; i++)
		if (own[i].size && !r->names[i].size) {
			r->names[i] = own[i];
			own[i] = (struct sp_name){0};
			r->n_named++;
		}
}

static int take_object(struct reader *r, struct object *o)
{
	int e = jit_objects_read_head(r, o);
	if (e < 0 || !jit_objects_is_wanted(r, o))
		return e;
	struct sp_name *own SP_FREE = calloc(r->n_addresses + 1, sizeof(*own));
	const Elf64_Shdr *table = NULL;
	for (size_t i = 0; i < o->header.e_shnum && !table; i++)
		table = o->sections[i].sh_type == SHT_SYMTAB ? &o->sections[i] : NULL;
	if (!own)
		return -ENOMEM;
	e = table ? take_symbols(r, o, table, own) : 0;
	if (e == 0)
		keep_names(r, own);
	sp_names_done(own, r->n_addresses);
	return e;
}

/* --- the list --- */

static int read_words(struct reader *r, uint64_t at, uint64_t *words, size_t n)
{
	uint8_t bytes[64] = {0};
	int e = read_memory(r, at, bytes, 8 * n);
	struct sp_cursor c = sp_cursor_on(bytes, 8 * n);
	for (size_t i = 0; i < n && e == 0; i++)
		words[i] = sp_cursor_u64(&c);
	return e;
}

/*
 * An entry that cannot be read was removed from the list meanwhile. Some bytes that lead in a circle must not cost what
 * SP_JIT_OBJECTS_MAX objects do: each entry is compared with the last one whose number is a power of two, which tells a
 * circle before three times as many entries have been read as there are (R. Brent's way).
 */
static int jit_objects_walk_list(struct reader *r, uint64_t at)
{
	uint64_t entry[4]; /* next, previous, address and size of the object */
	uint64_t kept = 0; /* the last entry whose number is a power of two */
	for (; at && r->counts.n < SP_JIT_OBJECTS_MAX && r->n_named < r->n_addresses; at = entry[0]) {
		r->counts.is_cut |= at == kept;
		if (at == kept || read_words(r, at, entry, SP_COUNT(entry)) < 0)
			break;
		if ((r->counts.n & (r->counts.n - 1)) == 0)
			kept = at;
		__attribute__((cleanup(object_done))) struct object o = {.at = entry[2], .size = entry[3]};
		int e = take_object(r, &o);
		if (e == -ENOMEM)
			return e;
		r->counts.is_cut |= e == -EFBIG;
		r->counts.n++;
		r->counts.n_bad += e < 0 && e != -EFBIG;
	}
	r->counts.is_cut |= r->counts.n == SP_JIT_OBJECTS_MAX;
	return 0;
}

int sp_jit_objects_find(int memory, uint64_t descriptor, const uint64_t *addresses, size_t n, struct sp_name *names,
			struct sp_jit_counts *ret_counts)
{
	struct reader r = {.memory = memory, .addresses = addresses, .n_addresses = n, .names = names};
	uint64_t words[3]; /* version and action; the entry it is about; the first entry */
	memset(names, 0, n * sizeof(*names));
	int e = read_words(&r, descriptor, words, SP_COUNT(words));
	e = e < 0 ? sp_fail(e, "read the list of objects") : jit_objects_walk_list(&r, words[2]);
	for (size_t i = 0; i < n && e == 0; i++)
		if (!names[i].size)
			names[i].start = addresses[i];
	*ret_counts = r.counts;
	if (e < 0)
		sp_names_done(names, n);
	return e;
}

/* --- where the list begins --- */

static int descriptor_in(struct sp_elf *e, const struct sp_elf_section *table, uint64_t *ret_vaddr)
{
	enum { CHUNK_SYMBOLS = 8192 };
	struct sp_elf_section strings;
	uint64_t n = table->size / sizeof(Elf64_Sym);
	int r = sp_elf_section_at(e, table->link, &strings);
	for (uint64_t at = 0; r == 0 && at < SP_MIN(n, (uint64_t)SP_SYMBOLS_MAX); at += CHUNK_SYMBOLS) {
		SP_FREE Elf64_Sym *s = NULL;
		size_t there = SP_MIN(n - at, (uint64_t)CHUNK_SYMBOLS);
		r = sp_elf_read(e, table->offset + at * sizeof(*s), there * sizeof(*s), (void **)&s);
		for (size_t i = 0; r == 0 && i < there; i++) {
			char name[sizeof(DESCRIPTOR)];
			if (ELF64_ST_TYPE(s[i].st_info) != STT_OBJECT || s[i].st_shndx == SHN_UNDEF ||
			    s[i].st_name >= strings.size || s[i].st_size != 24 ||
			    sp_elf_read_into(e, strings.offset + s[i].st_name, name, sizeof(name)) < 0 ||
			    memcmp(name, DESCRIPTOR, sizeof(name)) != 0)
				continue;
			*ret_vaddr = s[i].st_value;
			return 0;
		}
	}
	return r < 0 ? r : -ENOENT;
}

/* A mapping begins at its segment's first page, which may also hold the end of the segment before. */
static int mapped_vaddr(const struct sp_elf *e, uint64_t offset, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(e, i);
		if (!s->executable || offset < (s->offset & ~UINT64_C(4095)) || offset >= s->offset + s->file_size)
			continue;
		*ret_vaddr = s->vaddr - s->offset + offset;
		return 0;
	}
	return -ENOENT;
}

int sp_jit_descriptor_find(struct sp_elf *e, uint64_t offset, uint64_t *ret_distance)
{
	uint64_t vaddr, mapped;
	for (size_t i = 0; i < sp_elf_n_sections(e); i++) {
		struct sp_elf_section s;
		if (sp_elf_section_at(e, i, &s) < 0 || (s.type != SHT_SYMTAB && s.type != SHT_DYNSYM) ||
		    s.entry_size != sizeof(Elf64_Sym) || descriptor_in(e, &s, &vaddr) < 0)
			continue;
		if (mapped_vaddr(e, offset, &mapped) < 0)
			return -ENOENT;
		*ret_distance = vaddr - mapped;
		return 0;
	}
	return -ENOENT;
}
