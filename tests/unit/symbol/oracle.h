/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oracle.h: what binutils says about a file, and the rule of symbol/names.h worked out from it the slow way.
 *
 * Symbols, sections, segments and FDEs come from the text of readelf, so that nothing of ours reads the file. Owner:
 * oracle_free() takes back all of it. Errors: oracle_new() is NULL when readelf is missing or the file cannot be read.
 */
#ifndef SP_TEST_SYMBOL_ORACLE_H
#define SP_TEST_SYMBOL_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oracle_symbol {
	uint64_t vaddr, size;
	int bind; /* 0 local, 1 weak, 2 global */
	unsigned section;
	char *name; /* without its version */
};
struct oracle_range {
	uint64_t offset, vaddr, size;
};
struct oracle {
	struct oracle_symbol *symbols[2]; /* .symtab, .dynsym: functions and labels only */
	size_t n_symbols[2];
	struct oracle_range *segments, *sections, *fdes; /* executable ones; a section that is none has size 0 */
	size_t n_segments, n_sections, n_fdes;
	bool sections_hidden; /* set by a test that takes the section headers away: gaps may not be told by them */
};
struct oracle_answer {
	const char *name; /* NULL = none */
	uint64_t start, vaddr, size;
	bool is_gap;
};

struct oracle *oracle_new(const char *path, bool with_fdes);
void oracle_free(struct oracle *o);
/* tables: bit 0 .symtab, bit 1 .dynsym, bit 2 FDEs. */
struct oracle_answer oracle_find(const struct oracle *o, unsigned tables, uint64_t offset);
uint64_t oracle_offset(const struct oracle *o, uint64_t vaddr); /* UINT64_MAX = in no executable segment */

#endif
