/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/source_lines.h"

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "symbol/names.h"
#include "symbol/priv.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- libdw, loaded at run time --- */
#define FUNCTIONS(X)                                                                                                   \
	X(dwarf_addrdie)                                                                                               \
	X(dwarf_attr_integrate)                                                                                        \
	X(dwarf_begin_elf)                                                                                             \
	X(dwarf_decl_file)                                                                                             \
	X(dwarf_end)                                                                                                   \
	X(dwarf_errno)                                                                                                 \
	X(dwarf_formstring)                                                                                            \
	X(dwarf_formudata)                                                                                             \
	X(dwarf_get_units)                                                                                             \
	X(dwarf_getscopes)                                                                                             \
	X(dwarf_getscopes_die)                                                                                         \
	X(dwarf_getsrc_die)                                                                                            \
	X(dwarf_haspc)                                                                                                 \
	X(dwarf_lineno)                                                                                                \
	X(dwarf_linesrc)                                                                                               \
	X(dwarf_tag)

static struct {
#define MEMBER(name) __typeof__(name) *name;
	FUNCTIONS(MEMBER)
} libdw;

int sp_source_lines_load(void)
{
	static const struct sp_library_function functions[] = {
#define NAME(name) {#name, offsetof(__typeof__(libdw), name)},
	    FUNCTIONS(NAME)};
	static const char *const sonames[] = {"libdw.so.1", NULL};
	static bool was_tried;
	static int r;

	if (!was_tried)
		r = sp_library_load("source lines", "libdw1", sonames, functions, SP_COUNT(functions), &libdw);
	was_tried = true;
	return r;
}

/* --- finding --- */
struct finder {
	Elf *elf;
	Dwarf *dwarf;
};

static void finder_done(struct finder *f)
{
	if (f->dwarf)
		libdw.dwarf_end(f->dwarf);
	elf_end(f->elf);
}

static int finder_open(struct finder *f, int fd)
{
	int r = sp_source_lines_load();
	if (r < 0)
		return r;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(fd, ELF_C_READ, NULL);
	f->dwarf = f->elf ? libdw.dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
	if (f->dwarf)
		return 0;
	return f->elf && libdw.dwarf_errno() ? -ENOENT : sp_fail_said(-EBADMSG, "DWARF: %s", elf_errmsg(-1));
}

/* The unit that holds an address: from .debug_aranges, or else by asking each unit. */
static bool find_unit(const struct finder *f, uint64_t vaddr, Dwarf_Die *ret_unit)
{
	Dwarf_CU *cu = NULL;
	if (libdw.dwarf_addrdie(f->dwarf, vaddr, ret_unit))
		return true;
	while (libdw.dwarf_get_units(f->dwarf, cu, &cu, NULL, NULL, ret_unit, NULL) == 0)
		if (libdw.dwarf_haspc(ret_unit, vaddr) > 0)
			return true;
	return false;
}

static char *sources_name_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;
	if (libdw.dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
	    libdw.dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = libdw.dwarf_formstring(&a);
	if (!name && libdw.dwarf_attr_integrate(die, DW_AT_name, &a))
		name = libdw.dwarf_formstring(&a);
	return name && *name ? sp_demangle(name) : NULL;
}

static uint32_t sources_number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word n;
	return libdw.dwarf_attr_integrate(die, attribute, &a) && libdw.dwarf_formudata(&a, &n) == 0 && n <= INT32_MAX
		   ? (uint32_t)n
		   : 0;
}

static bool is_function(Dwarf_Die *die)
{
	int tag = libdw.dwarf_tag(die);
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* From the innermost outwards; `line` and `source` are of the innermost. */
static int take_scopes(Dwarf_Die *scopes, int n, uint32_t line, const char *source, struct sp_source_lines *s)
{
	s->frames = calloc(SP_SOURCE_LINES_MAX, sizeof(*s->frames));
	if (!s->frames)
		return -ENOMEM;
	for (int i = 0; i < n && s->n < SP_SOURCE_LINES_MAX; i++) {
		if (!is_function(&scopes[i]))
			continue;
		const char *file = libdw.dwarf_decl_file(&scopes[i]);
		file = file ? file : s->n ? NULL : source;
		s->frames[s->n++] =
		    (struct sp_source_frame){.name = sources_name_of(&scopes[i]),
					     .source = file ? sp_name_cut(file) : NULL,
					     .line = line,
					     .begin_line = sources_number_of(&scopes[i], DW_AT_decl_line)};
		if (libdw.dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			return 0;
		line = sources_number_of(&scopes[i], DW_AT_call_line);
	}
	return 0;
}

/*
 * The scopes around an address, from the innermost outwards; of an inlined function those where it is inlined, not
 * those of its declaration.
 */
static int scopes_at(Dwarf_Die *unit, uint64_t vaddr, Dwarf_Die **ret_scopes)
{
	Dwarf_Die *near = NULL;
	int n = libdw.dwarf_getscopes(unit, vaddr, &near);
	if (n <= 0)
		return 0;
	int r = libdw.dwarf_getscopes_die(&near[0], ret_scopes);
	free(near);
	return r < 0 ? 0 : r;
}

static int find_one(const struct finder *f, uint64_t vaddr, struct sp_source_lines *s)
{
	Dwarf_Die unit, *scopes SP_FREE = NULL;
	if (!find_unit(f, vaddr, &unit))
		return 0;
	Dwarf_Line *l = libdw.dwarf_getsrc_die(&unit, vaddr);
	int line = 0, n = scopes_at(&unit, vaddr, &scopes);
	if (l && libdw.dwarf_lineno(l, &line) < 0)
		line = 0;
	return take_scopes(scopes, n, line > 0 ? (uint32_t)line : 0, l ? libdw.dwarf_linesrc(l, NULL, NULL) : NULL, s);
}

int sp_source_lines_find(int fd, const struct sp_elf *e, const uint64_t *offsets, size_t n,
			 struct sp_source_lines *sources)
{
	__attribute__((cleanup(finder_done))) struct finder f = {0};
	int r = finder_open(&f, fd);
	memset(sources, 0, n * sizeof(*sources));
	for (size_t i = 0; i < n && r == 0; i++) {
		uint64_t vaddr;
		if (sp_elf_vaddr_of(e, offsets[i], &vaddr) == 0)
			r = find_one(&f, vaddr, &sources[i]);
	}
	if (r < 0)
		sp_source_lines_done(sources, n);
	return r;
}

void sp_source_lines_done(struct sp_source_lines *sources, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sources[i].n; k++) {
			free(sources[i].frames[k].name);
			free(sources[i].frames[k].source);
		}
		free(sources[i].frames);
		sources[i] = (struct sp_source_lines){0};
	}
}
