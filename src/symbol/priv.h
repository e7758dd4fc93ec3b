/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the parts of the symbol layer, shared by its files and their tests.
 *
 * Gaps between functions, edges of functions, lines of /proc/kallsyms, the functions of a profile that are known.
 * Whoever makes one of them frees it. Errors: 0 or a negative errno. Not thread-safe. Symbol tables: symtab.h.
 */
#ifndef SP_SYMBOL_PRIV_H
#define SP_SYMBOL_PRIV_H

#include "symbol/symtab.h"
#include <stdio.h>

/*
 * Gaps: the code between functions. An edge is where a function or an executable section begins or ends. Gaps are
 * sorted by `at` and initialized to {at, 0, UINT64_MAX}. After all edges were added, sp_gaps_finish() makes `start` the
 * last edge up to `at`, and `end` the first one behind it. Virtual addresses. Callers clip gaps to segments, which may
 * overlap in invalid files.
 */
struct sp_gap {
	uint64_t at, start, end;
};
void sp_gaps_add_edge(struct sp_gap *gaps, size_t n, uint64_t edge);
void sp_gaps_add_sections(struct sp_gap *gaps, size_t n, const struct sp_elf *e);
void sp_gaps_finish(struct sp_gap *gaps, size_t n);

/* edges.c: a list of offsets or addresses; free(at). */
struct sp_edges {
	uint64_t *at;
	size_t n, capacity;
};
int sp_edge_add(struct sp_edges *e, uint64_t at);
void sp_edges_sort(struct sp_edges *e); /* and removes duplicates */
/* How many are at or before `at`. */
size_t sp_edges_up_to(const struct sp_edges *e, uint64_t at);

/*
 * padding.c: where functions begin inside of large gaps, whose code has no table of functions at all (elf/arch.h says
 * how that is told). Gaps of up to SP_LARGE_GAP bytes, and what is not inside an executable section, are left alone.
 */
enum { SP_LARGE_GAP = 64 << 10 };
struct sp_elf;
int sp_padding_add_edges(struct sp_elf *e, struct sp_edges *sorted);    /* sorted again; 0 or -ENOMEM */
int sp_padding_narrow(struct sp_elf *e, struct sp_gap *gaps, size_t n); /* after sp_gaps_finish() */

/* The segment of a file offset; of several an executable one, since that is mapped as code. */
const struct sp_elf_segment *sp_segment_of(const struct sp_elf *e, uint64_t offset);

/* A copy of at most SP_NAME_MAX - 1 bytes, which ends in "..." if it was longer; NULL: out of memory. */
char *sp_name_cut(const char *s);

/* Parses a line of /proc/kallsyms in place; false: not one. module NULL = the kernel itself. */
enum { SP_KERNEL_LINE_MAX = 1024, SP_KERNEL_FUNCTION_MAX = 1 << 20 };
struct sp_kernel_line {
	uint64_t address;
	char type;
	const char *name, *module;
};
bool sp_kallsyms_line(char *s, struct sp_kernel_line *l);
bool sp_kallsyms_is_text(char type);
enum sp_symbol_bind sp_kallsyms_bind(char type);
#define SP_KALLSYMS_HIDDEN "the kernel hides its addresses (kernel.kptr_restrict; needs CAP_SYSLOG)"

/* known.c: the functions of a profile by file and offset, as far as they are known. Spans of a file do not overlap. */
struct sp_known;
int sp_known_new(struct sp_known **ret_known);
void sp_known_free(struct sp_known *k);
int sp_known_add(struct sp_known *k, uint32_t file, uint64_t from, uint64_t to, uint32_t func);
uint32_t sp_known_find(const struct sp_known *k, uint32_t file, uint64_t offset); /* 0 = not known */

struct sp_kernel_symbol {
	uint64_t address; /* given by the caller */
	uint64_t start, size;
	char *name;   /* NULL = not known */
	char *module; /* "[ext4]", "[bpf]"; NULL = the kernel itself */
	uint32_t name_capacity;
	uint8_t bind;
	bool text;
};
/*
 * Finds names for n kernel addresses, sorted ascending and zeroed but for `address`, in one pass over the file. -EPERM,
 * with a message: the file hides all addresses. Free with sp_kallsyms_done().
 */
int sp_kallsyms_find(FILE *f, struct sp_kernel_symbol *names, size_t n);
void sp_kallsyms_done(struct sp_kernel_symbol *names, size_t n);

#endif
