/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive.h: derives unwind rows from instructions, for code without unwind information.
 *
 * Hand-written assembly (x264, dav1d, libjpeg-turbo) has no FDE. Code outside all FDEs is followed from the starts of
 * its functions (symbols, targets of calls, addresses in relocations, code after padding), block by block. For each
 * register the distance to the canonical frame address is tracked: pushes, pops, adjustments, frame pointers, aligned
 * frames whose old stack pointer is in a register or on the stack. Where paths disagree, or an adjustment cannot be
 * followed, there is no row.
 * A start is believed only if every `ret` reached from it finds the return address, which a wrong start cannot; or,
 * without a `ret`, if behind a call it uses registers that it saved first and set before the call, since callees
 * preserve those. A `syscall` that makes a thread is that thread's root. Rows carry SP_RULE_DERIVED. A pure function
 * from bytes, which may be hostile, to rows. Limits: SP_DERIVE_*; beyond them the rest has no rows, and `cut` is set.
 * Code with FDEs is read piece by piece, so memory is a small multiple of the code without. Zydis decodes the
 * instructions.
 */
#ifndef SP_UNWIND_DERIVE_H
#define SP_UNWIND_DERIVE_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SP_DERIVE_MAX_TEXT = 384 << 20,   /* bytes of executable segments */
	SP_DERIVE_MAX_CODE = 32 << 20,    /* of them, outside every FDE; beyond these two, only the PLT is looked at */
	SP_DERIVE_MAX_STEPS = 16 << 20,   /* instructions run, again or not: 2 to 4 s */
	SP_DERIVE_MAX_FUNCTION = 4 << 20, /* instructions decoded for one function */
	SP_DERIVE_MAX_BLOCKS = 1 << 16,   /* of one function */
	SP_DERIVE_MAX_TABLES = 32 << 20,  /* bytes of one symbol or relocation table, or data section */
};

struct sp_code_span { /* file offsets */
	uint64_t start, end;
};
struct sp_code_spans { /* a list that grows; free(at) */
	struct sp_code_span *at;
	size_t n, capacity;
};
int sp_code_spans_add(struct sp_code_spans *s, uint64_t start, uint64_t end); /* nothing if it is empty; 0, -ENOMEM */
void sp_code_spans_sort(struct sp_code_spans *s);                             /* by start */
void sp_code_spans_join(struct sp_code_spans *s); /* disjoint and ascending: what overlaps or touches is one */
struct sp_derived_row {                           /* holds up to the next row; rule 0 is SP_CFA_NONE */
	uint64_t offset;
	uint32_t rule;
};
struct sp_derived {
	struct sp_derived_row *rows; /* by offset */
	size_t n_rows;
	struct sp_rule *rules;
	size_t n_rules;
	struct sp_code_span
	    *functions; /* from one start to the next, or to code that is covered; ascending, disjoint */
	size_t n_functions;
	uint64_t code_bytes;    /* outside every FDE, padding apart */
	uint64_t left_out;      /* bytes outside every FDE that were over a cap and not looked at */
	uint64_t derived_bytes; /* of these, with a rule */
	uint32_t n_refused;     /* starts that were followed and not believed */
	uint64_t n_steps;
	bool cut;
};

struct sp_elf;
/*
 * covered: spans of FDEs, ascending and disjoint. entry: file offset of the ELF entry point, which has no caller, or
 * UINT64_MAX. 0, -ENOMEM or an error of reading the file; then *ret_derived is empty.
 */
int sp_derive(struct sp_elf *e, const struct sp_code_span *covered, size_t n, uint64_t entry,
	      struct sp_derived *ret_derived);
/*
 * The same for parts of a large file. The rest of its code is passed as covered, and is not searched for calls. Rules
 * count from the frame pointer wherever it leads to the frame.
 */
int sp_derive_by_fp(struct sp_elf *e, const struct sp_code_span *covered, size_t n, struct sp_derived *ret_derived);
void sp_derived_done(struct sp_derived *d);

#endif
