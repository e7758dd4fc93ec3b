/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build.h: makes an unwind table of an ELF file's .eh_frame: compact rows that the unwinder searches (bpf/wire.h).
 *
 * A pure function from bytes to bytes, so a worker without privileges can run it. The table, a blob, is one
 * allocation: struct sp_blob, then index words, rows and rules, ready to be copied into the kernel's memory or into
 * the cache. The index counts from the first row. Rule 0 is SP_CFA_NONE.
 * Between FDEs stand rows derived from the instructions (derive.h), else rows of rule 0. Go's functions get rows from
 * Go's own table. Among V8's builtins (in the whole file, where their place is not known) code without
 * rows is SP_CFA_V8. Code at the ELF entry point that no
 * FDE covers is SP_CFA_ROOT, for at most 256 bytes up to the next FDE (it has no caller: x86-64 psABI 3.4.1), except
 * in shared libraries whose entry point is only the start of .text. A row whose caller's stack pointer is not the CFA
 * is SP_CFA_BAD. If a function counts its CFA from the base register (ld.so's lazy binding), all rows of the file
 * track that register; if one counts from another register across a call, kept.h tells which functions preserve it.
 * Limits: SP_MAX_ROWS rows and 65,535 rules; beyond them the table is marked as partial. Sources: DWARF 5, section
 * 6.4; Linux Standard Base, exception frames.
 */
#ifndef SP_UNWIND_BUILD_H
#define SP_UNWIND_BUILD_H

#include "unwind/runtime.h"
#include <stddef.h>
#include <stdint.h>

#define SP_BLOB_MAGIC 0x42555053u /* "SPUB" */
enum { SP_BLOB_VERSION = 32 };    /* of the format and of what the builder makes of a file: blobs are kept on disk */
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
	uint64_t left_out_bytes;  /* of these, over a cap and so not examined (padding included) */
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
/* The same; before the entry point come the functions without an FDE for which rows could be derived (derive.h). */
int sp_function_walk(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg);

#endif
