/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build.h: .eh_frame of an ELF file to the compact rows that the unwinder searches (bpf/wire.h describes them).
 *
 * A pure function from bytes to bytes, so that it runs in a worker without privileges. The blob is one allocation:
 * struct sp_blob, then index words, rows and rules, ready to be copied into table words or written to the cache.
 * Positions in the index are relative to the first row. Rule 0 is SP_CFA_NONE. Between FDEs stand the rows that can be
 * derived from the instructions (derive.h), and else rows of rule 0.
 * The ELF entry point, where no FDE covers it, is SP_CFA_ROOT up to the next FDE, 256 bytes at most (it has no caller:
 * x86-64 psABI 3.4.1), but for shared libraries whose entry point is only the start of .text. Where the caller's stack
 * pointer is told to be elsewhere than the CFA, a row is SP_CFA_BAD. A file in which a function's CFA is counted from
 * the base register (ld.so's lazy binding) tells in all its rows what becomes of that register; one with a function
 * that counts from another while it calls somebody tells who keeps it (kept.h). Go's functions have rows from Go's own
 * table. In a file with V8's builtins what has no rows is SP_CFA_V8. Caps: SP_MAX_ROWS rows and 65,535 rules a file;
 * beyond them the table is partial, and says so. Sources: DWARF 5, section 6.4 (call frame information); Linux Standard
 * Base, exception frames (.eh_frame encoding).
 */
#ifndef SP_UNWIND_BUILD_H
#define SP_UNWIND_BUILD_H

#include "unwind/runtime.h"
#include <stddef.h>
#include <stdint.h>

#define SP_BLOB_MAGIC 0x42555053u /* "SPUB" */
enum { SP_BLOB_VERSION = 19 };    /* of the format and of what the builder makes of a file: blobs are kept on disk */
enum { SP_BLOB_PARTIAL = 1, SP_BLOB_NO_EH_FRAME = 2, SP_BLOB_DERIVED_PART = 4 }; /* DERIVED_PART: over a cap */

struct sp_blob { /* 272 bytes, then n_groups index words, n_rows rows, padding to 16, n_rules rules */
	uint32_t magic, version;
	uint32_t flags;
	uint32_t shift; /* of a group, 8 to 16: chosen for about 16 rows a group */
	uint32_t first; /* number of the first group (file offset >> shift) */
	uint32_t n_groups;
	uint32_t n_rows;
	uint32_t n_rules;
	uint32_t n_fdes;
	uint32_t n_bad_rows; /* rows that say SP_CFA_BAD: not expressible */
	uint32_t n_lost_fp;  /* rows whose frame pointer is SP_FP_LOST though the file tells where it is */
	uint32_t n_bad_fdes; /* FDEs left out: malformed, outside every executable segment, or hidden behind others */
	uint64_t bytes;      /* of the whole blob */
	uint64_t check;      /* hash of all the rest */
	uint32_t build_id_len;
	uint8_t build_id[20];
	uint32_t n_derived_rows;
	uint32_t n_derived_functions;
	uint64_t uncovered_bytes; /* of code (not padding) that no FDE covers */
	uint64_t derived_bytes;   /* of these, with derived rules */
	uint64_t left_out_bytes;  /* of these, over a cap and so not looked at (padding too) */
	uint32_t
	    n_register_calls;    /* made while the frame is counted from a register that callees may change (kept.h) */
	uint32_t n_unsure_calls; /* of these, where the callee may */
	struct sp_runtime runtime;
};

struct sp_elf;
/* -ENOENT is not an error here: a file without .eh_frame gives a blob with SP_BLOB_NO_EH_FRAME and no rows. */
int sp_blob_build(struct sp_elf *e, struct sp_blob **ret_blob);
/* Whether these bytes are a blob that the unwinder may trust: sizes, index positions, rule numbers, check. 0 or
 * -EBADMSG. */
int sp_blob_validate(const void *bytes, size_t size);

const uint32_t *sp_blob_index(const struct sp_blob *b);
const uint32_t *sp_blob_rows(const struct sp_blob *b);
const struct sp_rule *sp_blob_rules(const struct sp_blob *b);
/* The rule at a file offset (rule 0 outside the table): the same search as in the kernel, for tests and tools. */
const struct sp_rule *sp_blob_find(const struct sp_blob *b, uint64_t offset);

/*
 * Calls back for every FDE in the order of .eh_frame, and for the entry point's code if none covers it: function ranges
 * in file offsets. Stops when cb returns non-zero.
 */
int sp_fde_walk(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg);
/* So, and for the functions without an FDE that rows could be derived for (derive.h), in front of the entry point. */
int sp_function_walk(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg);

#endif
