/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/x86_64/context.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/x86_64/derive_priv.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MAKER = 4096, MAX_CODE = 256, MAX_SYMBOLS = 1 << 20, MAX_NAMES = 64 << 20 };

struct symbols {
	Elf64_Sym *symbol;
	size_t n;
	char *names;
	size_t names_bytes;
};

static int read_section(struct sp_elf *e, const struct sp_elf_section *s, uint64_t most, void *ret_bytes)
{
	if (s->type == SHT_NOBITS || s->size == 0 || s->size > most)
		return -ENOENT;
	return sp_elf_read(e, s->offset, (size_t)s->size, ret_bytes) < 0 ? -ENOENT : 0;
}

static const Elf64_Sym *find_symbol(const struct symbols *s, const char *name)
{
	size_t length = strlen(name) + 1;
	for (size_t i = 0; i < s->n; i++) {
		const Elf64_Sym *symbol = &s->symbol[i];
		if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
		    symbol->st_name < s->names_bytes && s->names_bytes - symbol->st_name >= length &&
		    memcmp(s->names + symbol->st_name, name, length) == 0)
			return symbol;
	}
	return NULL;
}

enum { MAKER, KICKOFF, N_NAMES };
static const char *const wanted[N_NAMES] = {[MAKER] = "makecontext", [KICKOFF] = "runtime.kickoff"};

/* Finds the functions of these names with their sizes, except those found before. */
static void find_in(struct sp_elf *e, const char *table, const char *strings, struct sp_code_span found[N_NAMES])
{
	struct sp_elf_section symbols, names;
	SP_FREE void *symbol_bytes = NULL;
	SP_FREE void *name_bytes = NULL;
	if (sp_elf_section(e, table, &symbols) < 0 || sp_elf_section(e, strings, &names) < 0 ||
	    read_section(e, &symbols, MAX_SYMBOLS * sizeof(Elf64_Sym), &symbol_bytes) < 0 ||
	    read_section(e, &names, MAX_NAMES, &name_bytes) < 0)
		return;
	struct symbols s = {symbol_bytes, (size_t)symbols.size / sizeof(Elf64_Sym), name_bytes, (size_t)names.size};
	for (size_t i = 0; i < N_NAMES; i++) {
		const Elf64_Sym *symbol = found[i].end ? NULL : find_symbol(&s, wanted[i]);
		if (symbol && symbol->st_size && symbol->st_size <= MAX_MAKER)
			found[i] = (struct sp_code_span){symbol->st_value, symbol->st_value + symbol->st_size};
	}
}

static bool read_code(struct sp_elf *e, uint64_t vaddr, size_t size, uint8_t *bytes)
{
	uint64_t offset;
	return sp_elf_offset_of(e, vaddr, &offset) == 0 && sp_elf_read_into(e, offset, bytes, size) == 0;
}

/* Whether control never returns from here: an instruction that nothing runs beyond comes before any `ret` or jump. */
static bool never_returns(struct sp_elf *e, const ZydisDecoder *d, uint64_t vaddr)
{
	uint8_t bytes[MAX_CODE];
	struct sp_insn i;
	if (!read_code(e, vaddr, sizeof(bytes), bytes))
		return false;
	for (size_t at = 0; at < sizeof(bytes); at += i.length) {
		if (!sp_insn_decode(d, bytes + at, sizeof(bytes) - at, vaddr + at, &i) || i.flow == SP_FLOW_RETURN ||
		    i.flow == SP_FLOW_JUMP)
			return false;
		if (i.flow == SP_FLOW_STOP)
			return true;
	}
	return false;
}

static uint64_t find_returned_to(struct sp_elf *e, const struct sp_code_span *maker)
{
	ZydisDecoder d;
	struct sp_insn i;
	uint64_t offset;
	size_t size = (size_t)(maker->end - maker->start);
	SP_FREE uint8_t *bytes = malloc(size + 1);
	if (!bytes || !size || !read_code(e, maker->start, size, bytes))
		return SP_CONTEXT_NONE;
	sp_insn_init(&d);
	for (size_t at = 0; at < size; at += i.length) {
		if (!sp_insn_decode(&d, bytes + at, size - at, maker->start + at, &i))
			return SP_CONTEXT_NONE;
		if (i.has_address && never_returns(e, &d, i.address))
			return sp_elf_offset_of(e, i.address, &offset) == 0 ? offset : SP_CONTEXT_NONE;
	}
	return SP_CONTEXT_NONE;
}

struct sp_context sp_context_find(struct sp_elf *e)
{
	struct sp_code_span found[N_NAMES] = {{0, 0}};
	struct sp_context c = {SP_CONTEXT_NONE, SP_CONTEXT_NONE};
	find_in(e, ".dynsym", ".dynstr", found);
	find_in(e, ".symtab", ".strtab", found);
	c.returned_to = find_returned_to(e, &found[MAKER]);
	if (found[KICKOFF].end && sp_elf_offset_of(e, found[KICKOFF].start, &c.first) < 0)
		c.first = SP_CONTEXT_NONE;
	return c;
}
