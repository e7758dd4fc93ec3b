/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symtab.c: walk one symbol table in chunks, and read its strings through a cache of pages. */
#include "symbol/symtab.h"
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_SYMBOLS = 8192, PAGE = 4096, N_PAGES = 512 };

struct range {
	uint64_t start, end;
	bool executable;
};
struct page {
	uint64_t number; /* plus one; 0 = empty */
	char *bytes;
};
struct sp_symtab {
	struct sp_elf *elf;
	uint64_t symbols, n_symbols, strings, strings_size; /* file offsets */
	struct range *sections;                             /* by section number */
	size_t n_sections;
	bool has_code_sections; /* else segments decide: elf.h adds no sections for code */
	struct page pages[N_PAGES];
};

static int load_sections(struct sp_symtab *t)
{
	size_t n = sp_elf_n_sections(t->elf);
	t->sections = calloc(n ? n : 1, sizeof(*t->sections));
	if (!t->sections)
		return -ENOMEM;
	t->n_sections = n;
	for (size_t i = 0; i < n; i++) {
		struct sp_elf_section s;
		if (sp_elf_section_at(t->elf, i, &s) || s.addr + s.size < s.addr)
			continue;
		bool code = (s.flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR);
		t->sections[i] = (struct range){s.addr, s.addr + s.size, code};
		t->has_code_sections |= code;
	}
	return 0;
}

static int find_table(struct sp_symtab *t, uint32_t type)
{
	struct sp_elf_section s, strings;
	size_t n = sp_elf_n_sections(t->elf);
	for (size_t i = 0; i < n; i++) {
		if (sp_elf_section_at(t->elf, i, &s) || s.type != type || s.entry_size != sizeof(Elf64_Sym))
			continue;
		if (sp_elf_section_at(t->elf, s.link, &strings) || strings.type != SHT_STRTAB)
			continue;
		t->symbols = s.offset;
		t->n_symbols = SP_MIN(s.size / sizeof(Elf64_Sym), (uint64_t)SP_SYMBOLS_MAX);
		t->strings = strings.offset;
		t->strings_size = strings.size;
		return load_sections(t);
	}
	return -ENOENT;
}

int sp_symtab_open(struct sp_elf *e, bool dynamic, struct sp_symtab **ret_table)
{
	struct sp_symtab *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->elf = e;
	int r = find_table(t, dynamic ? SHT_DYNSYM : SHT_SYMTAB);
	if (r) {
		sp_symtab_close(t);
		return r;
	}
	*ret_table = t;
	return 0;
}

void sp_symtab_close(struct sp_symtab *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < N_PAGES; i++)
		if (t->pages[i].bytes) /* few are, of a small file */
			free(t->pages[i].bytes);
	free(t->sections);
	free(t);
}

static bool find_segment(const struct sp_symtab *t, uint64_t vaddr, struct range *ret_range)
{
	for (size_t i = 0; i < sp_elf_n_segments(t->elf); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(t->elf, i);
		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size) {
			*ret_range = (struct range){s->vaddr, s->vaddr + s->file_size, true};
			return true;
		}
	}
	return false;
}

static bool find_range(const struct sp_symtab *t, const Elf64_Sym *s, struct range *ret_range)
{
	if (s->st_shndx == SHN_UNDEF || (s->st_shndx >= SHN_LORESERVE && s->st_shndx != SHN_XINDEX))
		return false;
	if (!t->has_code_sections || s->st_shndx == SHN_XINDEX)
		return find_segment(t, s->st_value, ret_range);
	if (s->st_shndx >= t->n_sections)
		return false;
	*ret_range = t->sections[s->st_shndx];
	return ret_range->executable && s->st_value >= ret_range->start && s->st_value < ret_range->end;
}

static enum sp_symbol_bind bind_of(unsigned info)
{
	switch (ELF64_ST_BIND(info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return SP_BIND_GLOBAL;
	case STB_WEAK:
		return SP_BIND_WEAK;
	default:
		return SP_BIND_LOCAL;
	}
}

static bool take_typed(const struct sp_symtab *t, const Elf64_Sym *from, struct sp_symbol *ret_symbol)
{
	unsigned type = ELF64_ST_TYPE(from->st_info);
	bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	struct range r = {0};
	if (!from->st_name || from->st_shndx == SHN_UNDEF || (!is_function && type != STT_NOTYPE))
		return false;
	if (!find_range(t, from, &r)) {
		if (!is_function)
			return false;
		r = (struct range){.end = from->st_value};
	}
	*ret_symbol = (struct sp_symbol){
	    .vaddr = from->st_value,
	    .size = SP_MIN(from->st_size, r.end - from->st_value),
	    .limit = r.executable ? r.end : 0,
	    .name = from->st_name,
	    .bind = bind_of(from->st_info),
	    .label = type == STT_NOTYPE,
	    .ifunc = type == STT_GNU_IFUNC,
	};
	return true;
}

static bool take_symbol(const struct sp_symtab *t, const Elf64_Sym *from, struct sp_symbol *ret_symbol)
{
	return take_typed(t, from, ret_symbol) && ret_symbol->limit;
}

static bool take_data(const struct sp_symtab *t, const Elf64_Sym *from, struct sp_symbol *ret_symbol)
{
	unsigned type = ELF64_ST_TYPE(from->st_info);
	bool has_place = from->st_shndx == SHN_XINDEX || (from->st_shndx && from->st_shndx < SHN_LORESERVE);
	(void)t;
	if (type != STT_OBJECT || !has_place || !from->st_name || !from->st_size ||
	    from->st_size > UINT64_MAX - from->st_value)
		return false;
	*ret_symbol = (struct sp_symbol){.vaddr = from->st_value,
					 .size = from->st_size,
					 .limit = from->st_value + from->st_size,
					 .name = from->st_name,
					 .bind = bind_of(from->st_info)};
	return true;
}

static int symtab_walk(struct sp_symtab *t,
		       bool (*take)(const struct sp_symtab *t, const Elf64_Sym *s, struct sp_symbol *ret),
		       int (*cb)(void *arg, const struct sp_symbol *s), void *arg)
{
	for (uint64_t at = 0; at < t->n_symbols; at += CHUNK_SYMBOLS) {
		size_t n = SP_MIN(t->n_symbols - at, (uint64_t)CHUNK_SYMBOLS);
		Elf64_Sym *symbols SP_FREE = NULL;
		int r =
		    sp_elf_read(t->elf, t->symbols + at * sizeof(*symbols), n * sizeof(*symbols), (void **)&symbols);
		if (r)
			return sp_fail(r, "read the symbol table");
		for (size_t i = 0; i < n; i++) {
			struct sp_symbol s;
			r = take(t, &symbols[i], &s) ? cb(arg, &s) : 0;
			if (r)
				return r;
		}
	}
	return 0;
}

int sp_symtab_walk(struct sp_symtab *t, int (*cb)(void *arg, const struct sp_symbol *s), void *arg)
{
	return symtab_walk(t, take_symbol, cb, arg);
}

int sp_symtab_walk_typed(struct sp_symtab *t, int (*cb)(void *arg, const struct sp_symbol *s), void *arg)
{
	return symtab_walk(t, take_typed, cb, arg);
}

int sp_symtab_walk_data(struct sp_symtab *t, int (*cb)(void *arg, const struct sp_symbol *s), void *arg)
{
	return symtab_walk(t, take_data, cb, arg);
}

/* The string bytes from `at` to the end of its page. */
static int read_page(struct sp_symtab *t, uint64_t at, const char **ret_bytes, size_t *ret_n)
{
	uint64_t number = at / PAGE;
	size_t size = SP_MIN(t->strings_size - number * PAGE, (uint64_t)PAGE);
	struct page *p = &t->pages[number % N_PAGES];
	if (p->number != number + 1) {
		void *bytes;
		int r = sp_elf_read(t->elf, t->strings + number * PAGE, size, &bytes);
		if (r)
			return sp_fail(r, "read the symbols' names");
		free(p->bytes);
		*p = (struct page){number + 1, bytes};
	}
	*ret_bytes = p->bytes + at % PAGE;
	*ret_n = size - at % PAGE;
	return 0;
}

/* A version stands behind one or two @ signs; a name that begins with one, or has more, is left alone. */
static size_t without_version(const char *name, size_t n)
{
	const char *at = memchr(name, '@', n);
	if (!at || at == name)
		return n;
	const char *version = at + (at[1] == '@' ? 2 : 1);
	return *version && !strchr(version, '@') ? (size_t)(at - name) : n;
}

int64_t sp_symtab_name(struct sp_symtab *t, const struct sp_symbol *s, char *ret_name, size_t size)
{
	size_t n = 0;
	uint64_t at = s->name;
	bool ended = false;
	while (!ended && n < size - 1 && at < t->strings_size) {
		const char *bytes = NULL;
		size_t there = 0;
		int r = read_page(t, at, &bytes, &there);
		if (r)
			return r;
		size_t len = strnlen(bytes, there);
		size_t take = SP_MIN(len, size - 1 - n);
		memcpy(ret_name + n, bytes, take);
		n += take;
		at += take;
		ended = len < there;
	}
	ret_name[n] = 0;
	if (!n || (s->label && (*ret_name == '.' || *ret_name == '$')))
		return -ENOENT;
	n = without_version(ret_name, n);
	ret_name[n] = 0;
	return (int64_t)n;
}
