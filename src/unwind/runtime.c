/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/runtime.h"
#include "elf/elf.h"
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SYMBOLS = 1 << 20, MAX_NAMES = 64 << 20 };

struct exports {
	struct sp_elf *elf;
	void *names, *symbols;
	size_t n_names, n_symbols; /* bytes; symbols are read when a name is found */
};

static bool read_section(struct sp_elf *e, const char *name, uint64_t most, void **ret_bytes, size_t *ret_size)
{
	struct sp_elf_section s;
	if (sp_elf_section(e, name, &s) < 0 || s.type == SHT_NOBITS || !s.size || s.size > most)
		return false;
	*ret_size = (size_t)s.size;
	return sp_elf_read(e, s.offset, *ret_size, ret_bytes) == 0;
}

/*
 * The address of an exported object, or 0. Hardly any file has such a name, so the strings are searched before symbols
 * are read.
 */
static uint64_t exported(struct exports *x, const char *name)
{
	const char *at = x->names ? memmem(x->names, x->n_names, name, strlen(name) + 1) : NULL;
	if (!at || (!x->symbols &&
		    !read_section(x->elf, ".dynsym", MAX_SYMBOLS * sizeof(Elf64_Sym), &x->symbols, &x->n_symbols)))
		return 0;
	const Elf64_Sym *symbol = x->symbols;
	for (size_t i = 0; i < x->n_symbols / sizeof(*symbol); i++)
		if (symbol[i].st_shndx != SHN_UNDEF && symbol[i].st_name == (size_t)(at - (const char *)x->names))
			return symbol[i].st_value;
	return 0;
}

static int find_in(struct exports *x, struct sp_runtime *ret_runtime)
{
	struct sp_runtime none = {.kind = SP_RUNTIME_NONE};
	*ret_runtime = none;
	if (exported(x, "v8dbg_frametype_EntryFrame")) {
		ret_runtime->kind = SP_RUNTIME_V8;
		return 0;
	}
	uint64_t structs = exported(x, "gHotSpotVMStructs"), types = structs ? exported(x, "gHotSpotVMTypes") : 0;
	int r = types ? sp_hotspot_find(x->elf, structs, types, ret_runtime) : 0;
	if (r < 0)
		*ret_runtime = none;
	return r == -ENOMEM ? r : 0;
}

int sp_runtime_find(struct sp_elf *e, struct sp_runtime *ret_runtime)
{
	struct exports x = {.elf = e};
	read_section(e, ".dynstr", MAX_NAMES, &x.names, &x.n_names);
	int r = find_in(&x, ret_runtime);
	free(x.names);
	free(x.symbols);
	return r;
}
