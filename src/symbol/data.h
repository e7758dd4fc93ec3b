/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data.h: finds the names of variables for addresses of one ELF file.
 *
 * A pure function from bytes to names, as names.h. Sources for each address, in this order: .symtab, in the file or in
 * its debug file; .dynsym. Of the symbols that cover the address (STT_OBJECT, with a size) the one that starts last;
 * of those at one address the preferred one, as in names.h. Versions are removed, C++ and Rust names demangled. Memory
 * depends on the number of addresses, not of symbols. 0 or a negative errno. Reentrant.
 */
#ifndef SP_SYMBOL_DATA_H
#define SP_SYMBOL_DATA_H

#include "symbol/names.h"

struct sp_elf;

/*
 * names[i] is for vaddrs[i], sorted ascending: start and vaddr are those of the variable; size 0 = not known, and start
 * is the address asked for. Free them with sp_names_done(). debug: its separate debug file, or NULL.
 */
int sp_data_names_find(struct sp_elf *e, struct sp_elf *debug, const uint64_t *vaddrs, size_t n, struct sp_name *names);

#endif
