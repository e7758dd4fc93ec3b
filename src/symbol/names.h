/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.h: finds function names for file offsets of one ELF file.
 *
 * A pure function from bytes to names, so it runs in a worker without privileges. Sources for each offset, in this
 * order: the code that signal handlers return to (elf/x86_64/sigreturn.h); .symtab, in the file, its debug file or its
 * .gnu_debugdata; Go's .gopclntab; an exported symbol (.dynsym), only if the offset is within its size; the function's
 * range from .eh_frame, or derived from its instructions; the gap between functions (crtstuff's code, assembly), from
 * the end of the last symbol or FDE to the start of the next one in the executable section and segment, or, in a gap of
 * more than 64 KiB (chromium has neither), from one function behind padding to the next (padding.c); nothing (size 0),
 * outside of all segments. Of several symbols at one address the preferred one is: exported before local, fewer
 * leading underscores, global before weak, shorter, by bytes; so the choice is always the same. Symbols of .symtab
 * without a size reach to the next symbol or the end of their section, where none with a size covers the offset. IFUNC
 * resolvers are functions. Versions (@GLIBC_2.2.5) are removed; C++ and Rust names demangled by libiberty. Memory
 * depends on the number of offsets, not of symbols. Limits: SP_NAME_MAX - 1 bytes of a name (longer ones end in "..."),
 * 5 M symbols of a table. Reentrant.
 */
#ifndef SP_SYMBOL_NAMES_H
#define SP_SYMBOL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_NAME_MAX = 4096, SP_NAME_SHORT = 512 };

struct sp_name {
	char *name;           /* demangled; NULL: only a range or a gap, or nothing, is known */
	char *linkage_name;   /* as in the symbol table, cut like a name; NULL: equal to name, or not known */
	uint64_t start, size; /* file offsets; size 0 = nothing is known, and start is the offset asked for */
	uint64_t vaddr;       /* virtual address of start, as in readelf; 0: outside of all segments */
	bool is_gap;          /* start and size are those of a gap */
	uint64_t from, to;    /* the file offsets for which the result holds; 0, 0: only known for the one asked for */
};

struct sp_elf;
/* Calls cb for function ranges, in file offsets, until it returns non-zero. */
typedef int sp_range_walk(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg);
/*
 * names[i] is for offsets[i], sorted ascending. Free them with sp_names_done(). `walk` finds the function ranges of the
 * file: sp_function_walk (unwind/build.h), which this layer may not include; NULL = no ranges.
 */
int sp_names_find(struct sp_elf *e, sp_range_walk *walk, const uint64_t *offsets, size_t n, struct sp_name *names);
/*
 * The same with more sources before exported symbols: the .symtab of the separate debug file (or NULL), that of
 * .gnu_debugdata, and Go's table of functions.
 */
struct sp_names_more {
	struct sp_elf *debug;
	char warning[160]; /* out: what exists but could not be used; "" = nothing */
};
int sp_names_find_with(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk, const uint64_t *offsets,
		       size_t n, struct sp_name *names);
bool sp_names_are_all(const struct sp_name *names, size_t n); /* each has a name, not only a range */
void sp_names_done(struct sp_name *names, size_t n);
/* Cuts a name to so many bytes, 24 at least: its beginning and a hash of the whole, so that what differed still
 * differs. */
void sp_name_shorten(char *name, size_t bytes);

/* A new string: the demangled form, or a copy if the name is not mangled. NULL: out of memory. */
char *sp_demangle(const char *linkage_name);

#endif
