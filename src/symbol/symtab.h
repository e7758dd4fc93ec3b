/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symtab.h: one symbol table of an ELF file.
 *
 * A symbol table is walked in chunks, so that a file with a million symbols needs no more memory than a small one;
 * strings are read page by page when needed, through a cache of fixed size. Symbols of code are
 * STT_FUNC, STT_GNU_IFUNC and labels (STT_NOTYPE) in an executable section that matches their section index; without
 * sections, in an executable segment. Whoever opens closes. Errors: 0 or a negative errno. Not thread-safe. Limit:
 * SP_SYMBOLS_MAX symbols of a table (those beyond it are ignored).
 */
#ifndef SP_SYMBOL_SYMTAB_H
#define SP_SYMBOL_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_elf;

enum { SP_SYMBOLS_MAX = 5 << 20, SP_LINKAGE_MAX = 32768 };

enum sp_symbol_bind { SP_BIND_LOCAL, SP_BIND_WEAK, SP_BIND_GLOBAL };

struct sp_symbol {
	uint64_t vaddr, size; /* ends at `limit` at the latest; 0 = not known */
	uint64_t limit;       /* end of its section, or segment; 0 = it is typed as a function, but no code is there */
	uint32_t name;        /* offset in the string table */
	uint8_t bind;         /* enum sp_symbol_bind */
	bool label;           /* STT_NOTYPE: possibly an assembler's local label */
	bool ifunc;           /* its code chooses the function */
};

struct sp_symtab; /* a symbol table: its place in the file, the cache of its strings, the file's executable ranges */

/* .symtab, or the dynamic symbols. -ENOENT when the file has none. */
int sp_symtab_open(struct sp_elf *e, bool dynamic, struct sp_symtab **ret_table);
void sp_symtab_close(struct sp_symtab *t);
/* Calls cb for every symbol of code, in table order, until it returns non-zero, which is returned. */
int sp_symtab_walk(struct sp_symtab *t, int (*cb)(void *arg, const struct sp_symbol *s), void *arg);
/* The same, and those that are typed as functions and lie where no code is. */
int sp_symtab_walk_typed(struct sp_symtab *t, int (*cb)(void *arg, const struct sp_symbol *s), void *arg);
/* The same for what lies in memory and is no code: STT_OBJECT, with a size. */
int sp_symtab_walk_data(struct sp_symtab *t, int (*cb)(void *arg, const struct sp_symbol *s), void *arg);
/*
 * Writes the symbol's name without its version, NUL-terminated, cut at `size` bytes. Returns its length, or a negative
 * errno (-ENOENT: no name, or an assembler's local label: .L1, $x).
 */
int64_t sp_symtab_name(struct sp_symtab *t, const struct sp_symbol *s, char *ret_name, size_t size);

/* Whether symbol name a is preferred to b at the same address, by the rule in names.h. */
bool sp_symbol_prefer(const char *a, enum sp_symbol_bind a_bind, const char *b, enum sp_symbol_bind b_bind);

#endif
