/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/runtime.h"
#include "base/mem.h"
#include "elf/elf.h"
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SYMBOLS = 1 << 20, MAX_NAMES = 64 << 20 };

static const char v8_symbol[] = "v8dbg_frametype_EntryFrame";

static bool read_section(struct sp_elf *e, const char *name, uint64_t most, void **ret_bytes, size_t *ret_size)
{
	struct sp_elf_section s;
	if (sp_elf_section(e, name, &s) < 0 || s.type == SHT_NOBITS || !s.size || s.size > most)
		return false;
	*ret_size = (size_t)s.size;
	return sp_elf_read(e, s.offset, *ret_size, ret_bytes) == 0;
}

/* Nearly no file has the name at all, so the strings are looked through first. */
static bool exports(struct sp_elf *e, const char *name, size_t length)
{
	SP_FREE void *names = NULL;
	SP_FREE void *symbols = NULL;
	size_t n_names, n_symbols;
	if (!read_section(e, ".dynstr", MAX_NAMES, &names, &n_names))
		return false;
	const char *at = memmem(names, n_names, name, length);
	if (!at || !read_section(e, ".dynsym", MAX_SYMBOLS * sizeof(Elf64_Sym), &symbols, &n_symbols))
		return false;
	const Elf64_Sym *symbol = symbols;
	for (size_t i = 0; i < n_symbols / sizeof(*symbol); i++)
		if (symbol[i].st_shndx != SHN_UNDEF && symbol[i].st_name == (size_t)(at - (const char *)names))
			return true;
	return false;
}

enum sp_runtime_kind sp_runtime_find(struct sp_elf *e)
{
	return exports(e, v8_symbol, sizeof(v8_symbol)) ? SP_RUNTIME_V8 : SP_RUNTIME_NONE;
}
