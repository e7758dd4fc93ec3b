/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count.h: counts what an ELF file has to name its code by, without reading names.
 *
 * Symbols are counted as names.h would use them: functions, IFUNC resolvers and labels in executable sections. A
 * range (from `walk`, see names.h) is named if a symbol of the file begins in it. A gap is a stretch of at least
 * SP_GAP_BYTES of code that no range, no symbol with a size and no function of Go's table covers; less is padding.
 * Code is the executable sections that have bytes in the file, else the executable segments. A pure function from
 * bytes to numbers, so it runs in a worker. -ENOMEM; a table that cannot be read completely is counted as far as it
 * can be. Memory: 16 bytes for each range and symbol.
 */
#ifndef SP_SYMBOL_COUNT_H
#define SP_SYMBOL_COUNT_H

#include "symbol/names.h"

enum { SP_GAP_BYTES = 16 };

struct sp_symbol_counts {                         /* numbers only: sent from worker to parent as it is */
	uint64_t n_symtab, n_dynsym, n_debugdata; /* symbols in .symtab, .dynsym, .gnu_debugdata */
	uint64_t n_go;                            /* functions in .gopclntab */
	uint64_t n_ranges, n_unnamed;
	uint64_t n_gaps, gap_bytes;
	uint64_t code_bytes;
	uint64_t has_debugdata, debugdata_bad; /* 0 or 1 */
	uint64_t is_cut;                       /* the file ends before its segments or section headers do */
};

int sp_symbols_count(struct sp_elf *e, sp_range_walk *walk, struct sp_symbol_counts *ret_counts);

#endif
