/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the parts of the table builder: .eh_frame entries, call frame programs, expressions, packing.
 *
 * .eh_frame is read once from its start. An FDE may only refer to a CIE before it, whose initial instructions are run
 * once, so the work is linear in the bytes of any input. Call frame programs are run symbolically, for the CFA, the
 * frame pointer, the return address and the stack pointer. The builder owns the bytes of .eh_frame. -EBADMSG:
 * malformed; -EFBIG: over a limit.
 */
#ifndef SP_UNWIND_PRIV_H
#define SP_UNWIND_PRIV_H

#include "base/cursor.h"
#include "unwind/build.h"
#include "unwind/step_types.h"
#include <stdbool.h>

enum {
	SP_EH_MAX_BYTES = 96 << 20, /* of .eh_frame; the rest of a longer one is left out */
	SP_EH_MAX_CIES = 1 << 17,
	SP_EH_MAX_FDES = 1 << 21,
	SP_BLOB_MAX_GROUPS = 1 << 20,
	SP_PADDING_BYTES = 16, /* a gap between FDEs that is smaller is padding */
	SP_ENTRY_BYTES = 256,  /* code at the ELF entry point without an FDE is at most this long */
	SP_REG_RA = 16,
};

/* What a DWARF expression, or a rule, comes to. */
enum sp_cfi_kind {
	SP_CFI_OTHER,       /* not expressible */
	SP_CFI_CONST,       /* off */
	SP_CFI_REG,         /* reg + off */
	SP_CFI_CFA,         /* CFA + off */
	SP_CFI_DEREF,       /* *(reg + off) + add */
	SP_CFI_SCALED,      /* index << shift */
	SP_CFI_INDEX,       /* reg + off + (index << shift) */
	SP_CFI_INDEX_DEREF, /* *(reg + off + (index << shift)) + add */
	SP_CFI_AND15,       /* ip & 15 */
	SP_CFI_GE,          /* (ip & 15) >= add */
	SP_CFI_STEP,        /* ((ip & 15) >= add) << 3 */
	SP_CFI_PLT,         /* sp + off + STEP */
};
struct sp_cfi_value {
	uint8_t kind, reg, index, shift;
	int64_t off, add;
};
/* Evaluates a block; SP_CFI_OTHER for what it cannot follow. with_cfa: the CFA is on the stack at the start. */
struct sp_cfi_value sp_cfi_eval(struct sp_cursor block, bool with_cfa);

enum sp_cfi_how {
	SP_COLUMN_SAME,
	SP_COLUMN_UNDEFINED,
	SP_COLUMN_AT,    /* saved at address `value` */
	SP_COLUMN_REG,   /* in register value.reg */
	SP_COLUMN_VALUE, /* is a computed value */
};
struct sp_cfi_column {
	uint8_t how;
	struct sp_cfi_value value;
};
struct sp_cfi_state {
	bool by_expression;
	struct sp_cfi_value cfa, expression; /* cfa: SP_CFI_REG */
	struct sp_cfi_column fp, ra, base;
	struct sp_cfi_column sp; /* SP_COLUMN_SAME, as nearly always: the caller's is the CFA */
};

struct sp_cie {
	uint64_t at; /* in .eh_frame */
	uint8_t encoding;
	bool bad, signal, has_data;
	uint64_t code_align;
	int64_t data_align;
	struct sp_cfi_state initial;
};
struct sp_fde {
	uint64_t vaddr, size;
	uint64_t start; /* file offset: filled in by the builder */
	uint32_t cie;
	uint32_t program, program_bytes; /* in .eh_frame */
};

#define SP_CIE_GO UINT32_MAX /* in `cie`: `program` is the number of a function of Go's own table */

struct sp_eh_reader {
	struct sp_cursor c;
	uint64_t vaddr;
	bool exact;      /* the section's size is known: entries may follow a terminator */
	bool terminated; /* the size is not known, and a terminator was reached */
	struct sp_cie *cies;
	size_t n_cies, cies_capacity;
	uint32_t last; /* CIE used last */
	uint32_t n_bad;
	bool partial;
};
void sp_eh_init(struct sp_eh_reader *r, const void *bytes, size_t size, uint64_t vaddr, bool exact);
void sp_eh_done(struct sp_eh_reader *r);
/* 1: an FDE; 0: the end; or -ENOMEM. Malformed entries are counted in n_bad and skipped. */
int sp_eh_next(struct sp_eh_reader *r, struct sp_fde *ret_fde);
/* Reads a pointer of this DW_EH_PE_ encoding at address `vaddr`; false: not possible. */
bool sp_eh_pointer(struct sp_cursor *c, uint8_t encoding, uint64_t vaddr, uint64_t *ret_value);

/* Runs a CIE's initial instructions into cie->initial. */
int sp_cfi_start(struct sp_cie *cie, struct sp_cursor program, uint64_t program_vaddr);
/*
 * Rows of an FDE, in order, each with its start relative to the FDE. lost: the frame pointer is known but cannot be
 * expressed. with_base: rules also say where the base register is.
 */
typedef int sp_cfi_emit(void *arg, uint64_t at, const struct sp_rule *rule, bool lost);
int sp_cfi_run(const struct sp_cie *cie, const struct sp_fde *fde, struct sp_cursor program, uint64_t program_vaddr,
	       bool with_base, sp_cfi_emit *emit, void *arg);
/* The rule of a state; *ret_lost as above. */
struct sp_rule sp_cfi_rule(const struct sp_cfi_state *s, bool signal, bool with_base, bool *ret_lost);

struct sp_derived;
struct sp_code_span;
/* v8_blob.c: finds V8's builtins in the file; empty: none found. covered: as for sp_derive(). 0, -ENOMEM. */
int sp_v8_find(struct sp_elf *e, const struct sp_code_span *covered, size_t n, struct sp_code_span *ret_builtins);
/* v8_rows.c: derived rows of V8's builtins (their place, or the whole file) as v8.h needs them, and more. */
int sp_v8_rows(struct sp_elf *e, const struct sp_code_span *covered, size_t n, const struct sp_code_span *builtins,
	       struct sp_derived *d);

struct sp_go;
struct sp_go_func;
/* go_rows.c: the functions of Go's table as FDEs, and the rows of one of them as sp_cfi_run() gives them. */
int sp_go_each(struct sp_elf *e, const struct sp_go *go, int (*cb)(void *arg, struct sp_fde *fde), void *arg);
int sp_go_run(struct sp_elf *e, const struct sp_go *go, const struct sp_go_func *f, sp_cfi_emit *emit, void *arg);
extern const struct sp_rule sp_rule_of_sigreturn; /* for a signal frame, which the kernel made */

/* A row before packing: file offset << 24 | lost << 16 | rule. */
static inline uint64_t sp_unwind_row_make(uint64_t offset, bool lost, uint16_t rule)
{
	return offset << 24 | (uint64_t)lost << 16 | rule;
}
static inline uint64_t sp_unwind_row_offset(uint64_t row)
{
	return row >> 24;
}
#define SP_MAX_OFFSET (1ULL << 40)

/* Packs rows (sorted, offsets distinct) behind the header h, whose counts of FDEs are filled in, into a new blob. */
int sp_blob_pack(const struct sp_blob *h, const uint64_t *rows, size_t n_rows, const struct sp_rule *rules,
		 size_t n_rules, struct sp_blob **ret_blob);
/* Bytes of a blob with these counts, and where its rules begin. */
uint64_t sp_blob_bytes(uint64_t n_groups, uint64_t n_rows, uint64_t n_rules, uint64_t *ret_rules_at);
uint64_t sp_blob_hash(const struct sp_blob *b);

#endif
