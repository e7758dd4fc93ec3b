/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi.c: runs call frame programs, for the columns of struct sp_cfi_state (DWARF 5, section 6.4.2). */
#include "unwind/priv.h"
#include <errno.h>

enum { REMEMBERED_STATES = 64 };

struct run {
	const struct sp_cie *cie;
	struct sp_cursor c;
	uint64_t c_vaddr; /* of the cursor's first byte */
	uint64_t vaddr, size, at;
	struct sp_cfi_state now, remembered[REMEMBERED_STATES];
	unsigned n_remembered;
	bool with_base;
	sp_cfi_emit *emit; /* NULL: for a CIE's initial instructions */
	void *arg;
};

static struct sp_cfi_column *column_of(struct sp_cfi_state *s, uint64_t reg)
{
	switch (reg) {
	case SP_REG_BASE:
		return &s->base;
	case SP_REG_FP:
		return &s->fp;
	case SP_REG_SP:
		return &s->sp;
	case SP_REG_RA:
		return &s->ra;
	default:
		return NULL;
	}
}

static void set_column(struct run *r, uint64_t reg, enum sp_cfi_how how, struct sp_cfi_value value)
{
	struct sp_cfi_column *column = column_of(&r->now, reg);
	if (column)
		*column = (struct sp_cfi_column){.how = how, .value = value};
}

static void set_plain(struct run *r, uint64_t reg, enum sp_cfi_how how)
{
	set_column(r, reg, how, (struct sp_cfi_value){0});
}

/* CFA + n * data_align. */
static void set_offset(struct run *r, uint64_t reg, enum sp_cfi_how how, int64_t n)
{
	struct sp_cfi_value v = {.kind = SP_CFI_CFA};
	if (__builtin_mul_overflow(n, r->cie->data_align, &v.off))
		v.kind = SP_CFI_OTHER;
	set_column(r, reg, how, v);
}

static void set_register(struct run *r, uint64_t reg, uint64_t from)
{
	if (reg == from)
		set_plain(r, reg, SP_COLUMN_SAME);
	else
		set_column(r, reg, SP_COLUMN_REG, (struct sp_cfi_value){.reg = from > 0xff ? 0xff : (uint8_t)from});
}

static void restore(struct run *r, uint64_t reg)
{
	struct sp_cfi_state initial = r->cie->initial;
	struct sp_cfi_column *column = column_of(&r->now, reg);
	if (column)
		*column = *column_of(&initial, reg);
}

static void set_cfa_reg(struct run *r, uint64_t reg)
{
	r->now.by_expression = false;
	r->now.cfa.kind = reg < SP_REG_RA ? SP_CFI_REG : SP_CFI_OTHER;
	r->now.cfa.reg = (uint8_t)reg;
}

static int64_t scaled(const struct run *r, int64_t n)
{
	int64_t product;
	return __builtin_mul_overflow(n, r->cie->data_align, &product) ? INT64_MAX : product;
}

static struct sp_cfi_value read_block(struct run *r, bool with_cfa)
{
	size_t len = (size_t)sp_cursor_uleb(&r->c);
	return sp_cfi_eval(sp_cursor_sub(&r->c, len), with_cfa);
}

static int emit(struct run *r)
{
	bool lost;
	struct sp_rule rule = sp_cfi_rule(&r->now, r->cie->signal, r->with_base, &lost);
	return r->emit ? r->emit(r->arg, r->at, &rule, lost) : 0;
}

/* Emits the current row; the next one begins `to` bytes into the FDE. */
static int advance_to(struct run *r, uint64_t to)
{
	if (!r->emit || to == r->at)
		return 0;
	if (to < r->at)
		return -EBADMSG;
	int e = r->at < r->size ? emit(r) : 0;
	r->at = to;
	return e;
}

static int advance(struct run *r, uint64_t delta)
{
	uint64_t to;
	if (__builtin_mul_overflow(delta, r->cie->code_align, &to) || __builtin_add_overflow(to, r->at, &to))
		return -EBADMSG;
	return advance_to(r, to);
}

static int set_loc(struct run *r)
{
	uint64_t vaddr;
	if (!sp_eh_pointer(&r->c, r->cie->encoding, r->c_vaddr + r->c.at, &vaddr) || vaddr < r->vaddr)
		return -EBADMSG;
	return advance_to(r, vaddr - r->vaddr);
}

static int remember_state(struct run *r)
{
	if (r->n_remembered == REMEMBERED_STATES)
		return -EBADMSG;
	r->remembered[r->n_remembered++] = r->now;
	return 0;
}

static int restore_state(struct run *r)
{
	if (r->n_remembered == 0)
		return -EBADMSG;
	r->now = r->remembered[--r->n_remembered];
	return 0;
}

/* Instructions that set the CFA; -ENOSYS: another one. So do the next two functions. */
static int step_cfa(struct run *r, uint8_t op)
{
	uint64_t reg;
	switch (op) {
	case 0x0c: /* def_cfa */
	case 0x12: /* def_cfa_sf */
		reg = sp_cursor_uleb(&r->c);
		set_cfa_reg(r, reg);
		r->now.cfa.off = op == 0x0c ? (int64_t)sp_cursor_uleb(&r->c) : scaled(r, sp_cursor_sleb(&r->c));
		return 0;
	case 0x0d: /* def_cfa_register */
		set_cfa_reg(r, sp_cursor_uleb(&r->c));
		return 0;
	case 0x0e: /* def_cfa_offset */
		r->now.cfa.off = (int64_t)sp_cursor_uleb(&r->c);
		return 0;
	case 0x13: /* def_cfa_offset_sf */
		r->now.cfa.off = scaled(r, sp_cursor_sleb(&r->c));
		return 0;
	case 0x0f: /* def_cfa_expression */
		r->now.by_expression = true;
		r->now.expression = read_block(r, false);
		return 0;
	default:
		return -ENOSYS;
	}
}

static int step_place(struct run *r, uint8_t op)
{
	switch (op) {
	case 0x00: /* nop */
		return 0;
	case 0x01: /* set_loc */
		return set_loc(r);
	case 0x02: /* advance_loc1 */
		return advance(r, sp_cursor_u8(&r->c));
	case 0x03: /* advance_loc2 */
		return advance(r, sp_cursor_u16(&r->c));
	case 0x04: /* advance_loc4 */
		return advance(r, sp_cursor_u32(&r->c));
	case 0x1d: /* MIPS_advance_loc8 */
		return advance(r, sp_cursor_u64(&r->c));
	case 0x0a:
		return remember_state(r);
	case 0x0b:
		return restore_state(r);
	case 0x2e: /* GNU_args_size */
		sp_cursor_uleb(&r->c);
		return 0;
	default:
		return -ENOSYS;
	}
}

static int step_column(struct run *r, uint8_t op)
{
	uint64_t reg = sp_cursor_uleb(&r->c);
	switch (op) {
	case 0x05: /* offset_extended */
	case 0x14: /* val_offset */
		set_offset(r, reg, op == 0x05 ? SP_COLUMN_AT : SP_COLUMN_VALUE, (int64_t)sp_cursor_uleb(&r->c));
		return 0;
	case 0x11: /* offset_extended_sf */
	case 0x15: /* val_offset_sf */
		set_offset(r, reg, op == 0x11 ? SP_COLUMN_AT : SP_COLUMN_VALUE, sp_cursor_sleb(&r->c));
		return 0;
	case 0x2f: /* GNU_negative_offset_extended */
		set_offset(r, reg, SP_COLUMN_AT, (int64_t)(0 - sp_cursor_uleb(&r->c)));
		return 0;
	case 0x06: /* restore_extended */
		restore(r, reg);
		return 0;
	case 0x07:
		set_plain(r, reg, SP_COLUMN_UNDEFINED);
		return 0;
	case 0x08: /* same_value: the caller's stack pointer is this frame's, not the CFA */
		if (reg == SP_REG_SP)
			set_column(r, reg, SP_COLUMN_VALUE,
				   (struct sp_cfi_value){.kind = SP_CFI_REG, .reg = SP_REG_SP});
		else
			set_plain(r, reg, SP_COLUMN_SAME);
		return 0;
	case 0x09:
		set_register(r, reg, sp_cursor_uleb(&r->c));
		return 0;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		set_column(r, reg, op == 0x10 ? SP_COLUMN_AT : SP_COLUMN_VALUE, read_block(r, true));
		return 0;
	default:
		return -EBADMSG;
	}
}

static int step(struct run *r)
{
	uint8_t op = sp_cursor_u8(&r->c), low = op & 0x3f;
	int e;
	switch (op >> 6) {
	case 1: /* advance_loc */
		return advance(r, low);
	case 2: /* offset */
		set_offset(r, low, SP_COLUMN_AT, (int64_t)sp_cursor_uleb(&r->c));
		return 0;
	case 3:
		restore(r, low);
		return 0;
	default:
		e = step_place(r, op);
		if (e == -ENOSYS)
			e = step_cfa(r, op);
		return e == -ENOSYS ? step_column(r, op) : e;
	}
}

static int run_all(struct run *r)
{
	while (sp_cursor_left(&r->c) > 0) {
		int e = step(r);
		if (e < 0)
			return e;
		if (r->c.bad)
			return -EBADMSG;
	}
	return r->at < r->size ? emit(r) : 0;
}

static void run_init(struct run *r, const struct sp_cie *cie, struct sp_cursor program, uint64_t program_vaddr)
{
	r->cie = cie;
	r->c = program;
	r->c_vaddr = program_vaddr;
	r->now = cie->initial;
	r->n_remembered = 0; /* `remembered` is large, so it is not initialised */
	r->at = 0;
}

int sp_cfi_start(struct sp_cie *cie, struct sp_cursor program, uint64_t program_vaddr)
{
	struct run r;
	cie->initial = (struct sp_cfi_state){0};
	run_init(&r, cie, program, program_vaddr);
	r.emit = NULL;
	r.vaddr = r.size = 0;
	int e = run_all(&r);
	if (e == 0)
		cie->initial = r.now;
	return e;
}

int sp_cfi_run(const struct sp_cie *cie, const struct sp_fde *fde, struct sp_cursor program, uint64_t program_vaddr,
	       bool with_base, sp_cfi_emit *emit_row, void *arg)
{
	struct run r;
	run_init(&r, cie, program, program_vaddr);
	r.emit = emit_row;
	r.with_base = with_base;
	r.arg = arg;
	r.vaddr = fde->vaddr;
	r.size = fde->size;
	return run_all(&r);
}
