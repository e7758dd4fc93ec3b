/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the parts of the symbol layer, for each other and for their tests.
 *
 * A symbol table is walked in chunks, so that a file with a million symbols costs no more memory than a small one;
 * its strings are read page by page when they are asked for, through a cache of fixed size. Only symbols that name
 * code come through: STT_FUNC, STT_GNU_IFUNC and labels (STT_NOTYPE) that lie in an executable section which agrees
 * with them; where there are no sections, an executable segment. Owner: who opened closes. Errors: 0 or negative errno.
 * Not thread-safe. Caps: SP_SYMBOLS_MAX symbols a table (the rest of a larger one is not seen).
 */
#ifndef SP_SYMBOL_PRIV_H
#define SP_SYMBOL_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sp_elf;

enum { SP_SYMBOLS_MAX = 5 << 20, SP_LINKAGE_MAX = 32768 };

enum sp_bind { SP_BIND_LOCAL, SP_BIND_WEAK, SP_BIND_GLOBAL };

struct sp_symbol {
	uint64_t vaddr, size; /* size never beyond `limit`; 0 = not told */
	uint64_t limit;       /* end of the section, or segment, that holds it */
	uint32_t name;        /* position in the string table */
	uint8_t bind;         /* enum sp_bind */
	bool label;           /* STT_NOTYPE: may be one that the assembler made for itself */
};

struct sp_symtab; /* one table of one file: where it is, its strings' cache, the file's executable ranges */

/* .symtab, or the dynamic symbols. -ENOENT when the file has none. */
int sp_symtab_open(struct sp_elf *e, bool dynamic, struct sp_symtab **ret_table);
void sp_symtab_close(struct sp_symtab *t);
/* Calls back for every symbol that names code, in table order. Stops when cb returns non-zero, and returns that. */
int sp_symtab_walk(struct sp_symtab *t, int (*cb)(void *arg, const struct sp_symbol *s), void *arg);
/*
 * The symbol's name without its version, NUL-terminated, cut at `size` bytes: its length, or a negative errno
 * (-ENOENT: no name, or the label is one of the assembler's own: .L1, $x).
 */
int64_t sp_symtab_name(struct sp_symtab *t, const struct sp_symbol *s, char *ret_name, size_t size);

/*
 * The code between functions. An edge is where a function or an executable section begins or ends. Gaps are sorted by
 * `at` and begin as {at, 0, UINT64_MAX}; when all edges are told, sp_gaps_settle() makes start the last edge up to
 * `at`, and end the first one behind. In virtual addresses. Segments, which may overlap in false files, are the
 * caller's part.
 */
struct sp_gap {
	uint64_t at, start, end;
};
void sp_gaps_note(struct sp_gap *gaps, size_t n, uint64_t edge);
void sp_gaps_note_sections(struct sp_gap *gaps, size_t n, const struct sp_elf *e);
void sp_gaps_settle(struct sp_gap *gaps, size_t n);

/* edges.c: places in a file or its memory, to be freed by free(at). */
struct sp_edges {
	uint64_t *at;
	size_t n, capacity;
};
int sp_edge_add(struct sp_edges *e, uint64_t at);
void sp_edges_sort(struct sp_edges *e); /* and each once */
/* How many are at or before `at`. */
size_t sp_edges_up_to(const struct sp_edges *e, uint64_t at);

/* Where segments share file offsets an executable one wins, as it would be the one that is mapped for its code. */
const struct sp_elf_segment *sp_segment_of(const struct sp_elf *e, uint64_t offset);

/* Whether symbol name a is rather shown than b, at the same address: the rule stands in names.h. */
bool sp_symbol_prefer(const char *a, enum sp_bind a_bind, const char *b, enum sp_bind b_bind);

/* A copy of at most SP_NAME_MAX - 1 bytes, ended by "..." if it was longer; NULL: out of memory. */
char *sp_name_cut(const char *s);

/* One line of /proc/kallsyms, which is cut in place; false: it is none. module NULL = the kernel itself. */
enum { SP_KERNEL_LINE_MAX = 1024, SP_KERNEL_FUNCTION_MAX = 1 << 20 };
struct sp_kernel_line {
	uint64_t address;
	char type;
	const char *name, *module;
};
bool sp_kallsyms_line(char *s, struct sp_kernel_line *l);
bool sp_kallsyms_is_text(char type);
enum sp_bind sp_kallsyms_bind(char type);
#define SP_KALLSYMS_HIDDEN "the kernel hides its addresses (kernel.kptr_restrict; needs CAP_SYSLOG)"

/* known.c: which function of a profile lies where, file by file, as far as that was told: no span of a file overlaps.
 */
struct sp_known;
int sp_known_new(struct sp_known **ret_known);
void sp_known_free(struct sp_known *k);
int sp_known_add(struct sp_known *k, uint32_t file, uint64_t from, uint64_t to, uint32_t func);
uint32_t sp_known_find(const struct sp_known *k, uint32_t file, uint64_t offset); /* 0 = not known */

struct sp_kernel_name {
	uint64_t address; /* what is asked */
	uint64_t start, size;
	char *name;   /* NULL = not known */
	char *module; /* "[ext4]", "[bpf]"; NULL = the kernel itself */
	uint8_t bind;
	bool text;
};
/*
 * Names for n kernel addresses, sorted ascending and zeroed but for `address`, by one pass over the file.
 * -EPERM with its words when the file hides all addresses. Free with sp_kallsyms_done().
 */
int sp_kallsyms_find(FILE *f, struct sp_kernel_name *names, size_t n);
void sp_kallsyms_done(struct sp_kernel_name *names, size_t n);

#endif
