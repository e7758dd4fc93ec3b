/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.h: file offsets of one ELF file in, function names out.
 *
 * A pure function from bytes to names, so that it runs in a worker without privileges. For each offset, in this order:
 * what signal handlers return to (elf/sigreturn.h) -> the full symbol table (.symtab), in the file, its debug file or
 * its .gnu_debugdata -> Go's own table of functions (.gopclntab) -> an exported symbol (.dynsym), only if the offset
 * lies within its size -> the function's own range from .eh_frame, or as derived from its instructions where it has
 * none -> the gap between functions that holds it, from the end of the last symbol or FDE before it to the start of the
 * next, within its executable section and segment (crtstuff's code, assembly) -> nothing (size 0), where no segment of
 * the file holds the offset. Of several symbols at one address the one that a person would use wins: exported (global
 * or weak) before local, fewer leading underscores, global before weak, the shorter, by bytes; so the choice is always
 * the same. Symbols of .symtab that have no size reach to the next symbol or the end of their section, where none with
 * a size covers the offset. IFUNC resolvers count as functions. Versions
 * (@GLIBC_2.2.5) are no part of a name. C++ and Rust names are demangled, by libiberty with its limits. Memory follows
 * the number of offsets, not that of symbols. Caps: SP_NAME_MAX - 1 bytes a name (a longer one ends in "..."), 5 M
 * symbols a table. Reentrant.
 */
#ifndef SP_SYMBOL_NAMES_H
#define SP_SYMBOL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_NAME_MAX = 4096 };

struct sp_name {
	char *name;         /* demangled; NULL when only a range or a gap, or nothing, is known */
	char *linkage_name; /* as in the table, cut like a name; NULL when equal to name or unknown */
	uint64_t start,
	    size;       /* in file offsets; size 0 = nothing is known about this offset, and start is the offset */
	uint64_t vaddr; /* virtual address of start, as readelf prints it; 0 when no segment holds it */
	bool is_gap;    /* start and size are those of a gap */
	uint64_t from,
	    to; /* where this answer holds, in file offsets; 0, 0 = for the offset that was asked, at least */
};

struct sp_elf;
/* Calls back with function ranges in file offsets, until cb returns non-zero. */
typedef int sp_range_walk(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg);
/*
 * names[i] belongs to offsets[i]; offsets sorted ascending. The caller frees them with sp_names_done(). `walk` tells
 * the function ranges of the file and is sp_function_walk (unwind/build.h), which this layer may not include; NULL =
 * no ranges.
 */
int sp_names_find(struct sp_elf *e, sp_range_walk *walk, const uint64_t *offsets, size_t n, struct sp_name *names);
/*
 * The same with more to ask: the .symtab of the file's separate debug file (or NULL) next after the file's own, then
 * that of the file's .gnu_debugdata, unpacked, and the table of Go's functions, before exported symbols.
 */
struct sp_names_more {
	struct sp_elf *debug;
	char warning[160]; /* out: what could not be used though it is there; "" = nothing */
};
int sp_names_find_with(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk, const uint64_t *offsets,
		       size_t n, struct sp_name *names);
void sp_names_done(struct sp_name *names, size_t n);

/* A new string: the demangled form, or a copy of the name itself. NULL only when memory is short. */
char *sp_demangle(const char *linkage_name);

#endif
