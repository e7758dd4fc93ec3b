/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_insn.c: the effect of one instruction on the state.
 *
 * The few instructions that move the stack pointer or copies of it are followed. Of all others only the registers and
 * stack words that they write matter; Zydis tells these, implicit operands included.
 */
#include "unwind/x86_64/derive_priv.h"
#include <string.h>

enum { WORD = 8, WORD_BITS = 64, RED_ZONE = 128 };

static uint8_t gpr_of[ZYDIS_REGISTER_MAX_VALUE + 1];

static void make_registers(void)
{
	memset(gpr_of, SP_R_NONE, sizeof(gpr_of));
	for (int i = ZYDIS_REGISTER_AL; i <= ZYDIS_REGISTER_R15; i++) {
		ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, (ZydisRegister)i);
		if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15)
			gpr_of[i] = (uint8_t)(whole - ZYDIS_REGISTER_RAX);
	}
}

void sp_insn_init(ZydisDecoder *decoder)
{
	if (!gpr_of[0])
		make_registers();
	ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

/* --- decoding --- */

static enum sp_flow flow_of(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return SP_FLOW_CALL;
	case ZYDIS_CATEGORY_RET:
		return z->mnemonic == ZYDIS_MNEMONIC_RET ? SP_FLOW_RETURN : SP_FLOW_STOP;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return SP_FLOW_JUMP;
	case ZYDIS_CATEGORY_COND_BR:
		return SP_FLOW_BRANCH;
	default:
		break;
	}
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return SP_FLOW_STOP;
	case ZYDIS_MNEMONIC_XBEGIN:
		return SP_FLOW_BRANCH;
	default:
		return SP_FLOW_NEXT;
	}
}

static void find_addresses(struct sp_insn *i, uint64_t vaddr)
{
	const ZydisDecodedOperand *op = i->op;
	uint64_t next = vaddr + i->length;
	if (i->flow != SP_FLOW_NEXT && op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[0].imm.is_relative) {
		i->has_target = true;
		i->target = next + (uint64_t)op[0].imm.value.s;
	}
	if (i->z.mnemonic == ZYDIS_MNEMONIC_LEA && op[1].mem.base == ZYDIS_REGISTER_RIP) {
		i->has_address = true;
		i->address = next + (uint64_t)op[1].mem.disp.value;
	}
}

bool sp_insn_decode(const ZydisDecoder *d, const uint8_t *bytes, size_t size, uint64_t vaddr, struct sp_insn *ret)
{
	ZydisDecoderContext context;
	ret->op[0].type = ret->op[1].type = ZYDIS_OPERAND_TYPE_UNUSED;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(d, &context, bytes, size, &ret->z)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeOperands(d, &context, &ret->z, ret->op, ret->z.operand_count)))
		return false;
	ret->length = ret->z.length;
	ret->flow = (uint8_t)flow_of(&ret->z);
	ret->has_target = ret->has_address = false;
	ret->is_padding = ret->z.mnemonic == ZYDIS_MNEMONIC_NOP || ret->z.mnemonic == ZYDIS_MNEMONIC_INT3 ||
			  (bytes[0] == 0 && ret->length == 2 && bytes[1] == 0);
	find_addresses(ret, vaddr);
	return true;
}

static bool is_odd(const ZydisDecodedInstruction *z, const uint8_t *bytes)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_SYSRET:
		return true;
	default:
		return z->length == 2 && bytes[0] == 0 && bytes[1] == 0;
	}
}

/*
 * Decoding operands costs most, so it is avoided: a jump's target and a lea's address are in the instruction's own
 * fields.
 */
bool sp_insn_refers(const ZydisDecoder *d, const uint8_t *bytes, size_t size, uint64_t vaddr, struct sp_reference *ret)
{
	ZydisDecodedInstruction z;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(d, NULL, bytes, size, &z)))
		return false;
	bool by_ip = z.raw.modrm.mod == 0 && z.raw.modrm.rm == 5;
	enum sp_flow flow = flow_of(&z);
	*ret = (struct sp_reference){.length = z.length, .flow = (uint8_t)flow, .is_call = flow == SP_FLOW_CALL};
	ret->is_odd = is_odd(&z, bytes);
	ret->is_open = flow == SP_FLOW_JUMP && !z.raw.imm[0].is_relative && !by_ip;
	if (flow != SP_FLOW_NEXT && z.raw.imm[0].is_relative)
		ret->target = vaddr + z.length + (uint64_t)z.raw.imm[0].value.s;
	else if (by_ip && z.mnemonic == ZYDIS_MNEMONIC_LEA && z.address_width == WORD_BITS)
		ret->target = vaddr + z.length + (uint64_t)z.raw.disp.value;
	else
		return true;
	ret->any = true;
	return true;
}

/* --- memory --- */

/* The address of a memory operand if it is on the stack; else unknown. */
static sp_val address_of(const struct sp_state *s, const ZydisDecodedOperand *op)
{
	uint8_t base = gpr_of[op->mem.base];
	if (op->mem.index != ZYDIS_REGISTER_NONE || base == SP_R_NONE || op->mem.segment == ZYDIS_REGISTER_FS ||
	    op->mem.segment == ZYDIS_REGISTER_GS)
		return 0;
	return sp_val_add(s->reg[base], op->mem.disp.value);
}

static void slots_remove(struct sp_state *s, uint32_t from, uint32_t to)
{
	memmove(&s->slot[from], &s->slot[to], (s->n_slots - to) * sizeof(*s->slot));
	s->n_slots -= to - from;
}

/*
 * Forgets the slots that `size` bytes written at `at` overlap. Values of one kind are ordered as numbers, and kinds are
 * far apart.
 */
static void slots_kill(struct sp_state *s, sp_val at, uint64_t size)
{
	uint32_t from = 0, to;
	if (!at || !s->n_slots)
		return;
	while (from < s->n_slots && s->slot[from].at + WORD <= at)
		from++;
	for (to = from; to < s->n_slots && s->slot[to].at < (uint64_t)at + size; to++)
		;
	slots_remove(s, from, to);
}

/* Forgets what is further below the stack pointer than `distance`. */
static void slots_below(struct sp_state *s, int32_t distance)
{
	sp_val sp = s->reg[SP_R_SP];
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n_slots; i++) {
		const struct sp_slot *t = &s->slot[i];
		if (sp_val_kind(t->at) != sp_val_kind(sp) || sp_val_off(t->at) >= sp_val_off(sp) - distance)
			s->slot[n++] = *t;
	}
	s->n_slots = n;
}

static sp_val slot_load(const struct sp_state *s, sp_val at)
{
	for (uint32_t i = 0; at && i < s->n_slots; i++)
		if (s->slot[i].at == at)
			return s->slot[i].value;
	return 0;
}

static void slot_store(struct sp_state *s, sp_val at, sp_val value)
{
	uint32_t i = 0;
	slots_kill(s, at, WORD);
	if (!at || !value || s->n_slots == SP_MAX_SLOTS)
		return;
	while (i < s->n_slots && s->slot[i].at < at)
		i++;
	memmove(&s->slot[i + 1], &s->slot[i], (s->n_slots - i) * sizeof(*s->slot));
	s->slot[i] = (struct sp_slot){at, value};
	s->n_slots++;
}

/* --- registers --- */

static void set_reg(struct sp_state *s, unsigned reg, sp_val value)
{
	s->reg[reg] = value;
	if (reg == SP_R_SP && s->n_slots)
		slots_below(s, RED_ZONE);
}

static void move_sp(struct sp_state *s, int64_t n)
{
	set_reg(s, SP_R_SP, sp_val_add(s->reg[SP_R_SP], n));
}

/* The number of an operand that is a 64-bit register. */
static uint8_t whole_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->size == WORD_BITS ? gpr_of[op->reg.value] : SP_R_NONE;
}

static sp_val value_of(const struct sp_state *s, const ZydisDecodedOperand *op)
{
	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return whole_reg(op) == SP_R_NONE ? 0 : s->reg[whole_reg(op)];
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->size == WORD_BITS)
		return slot_load(s, address_of(s, op));
	return 0;
}

/* What an instruction writes is unknown from now on. */
static void forget_written(struct sp_state *s, const struct sp_insn *i)
{
	for (unsigned k = 0; k < i->z.operand_count; k++) {
		const ZydisDecodedOperand *op = &i->op[k];
		if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
			slots_kill(s, address_of(s, op), (op->size + 7u) / 8);
		else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && gpr_of[op->reg.value] != SP_R_NONE)
			set_reg(s, gpr_of[op->reg.value], 0);
	}
}

uint16_t sp_insn_writes(const struct sp_insn *i)
{
	unsigned written = 0;
	if (i->z.meta.category == ZYDIS_CATEGORY_SYSCALL || i->z.meta.category == ZYDIS_CATEGORY_INTERRUPT)
		return UINT16_MAX;
	for (unsigned k = 0; k < i->z.operand_count; k++) {
		const ZydisDecodedOperand *op = &i->op[k];
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    gpr_of[op->reg.value] != SP_R_NONE)
			written |= 1u << sp_reg_dwarf(gpr_of[op->reg.value]);
	}
	return (uint16_t)written;
}

static void assign(struct sp_state *s, const struct sp_insn *i, sp_val value)
{
	const ZydisDecodedOperand *to = &i->op[0];
	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->size == WORD_BITS) {
		slot_store(s, address_of(s, to), value);
		return;
	}
	forget_written(s, i);
	if (whole_reg(to) != SP_R_NONE)
		set_reg(s, whole_reg(to), value);
}

static void align_reg(struct sp_state *s, const struct sp_insn *i, uint32_t pos)
{
	uint8_t reg = whole_reg(&i->op[0]);
	sp_val was = reg == SP_R_NONE ? 0 : s->reg[reg];
	bool aligns = was && sp_val_kind(was) != SP_VAL_FP && i->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		      i->op[1].imm.value.s < 0;
	forget_written(s, i);
	if (!aligns || reg != SP_R_SP)
		return;
	sp_state_align(s, pos);
}

static void add_to(struct sp_state *s, const struct sp_insn *i, int sign)
{
	uint8_t reg = whole_reg(&i->op[0]);
	sp_val value = 0;
	if (reg != SP_R_NONE && i->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		value = sp_val_add(s->reg[reg], sign * i->op[1].imm.value.s);
	assign(s, i, value);
}

static void exchange(struct sp_state *s, const struct sp_insn *i)
{
	uint8_t a = whole_reg(&i->op[0]), b = whole_reg(&i->op[1]);
	sp_val of_a = a == SP_R_NONE ? 0 : s->reg[a], of_b = b == SP_R_NONE ? 0 : s->reg[b];
	forget_written(s, i);
	if (a != SP_R_NONE && b != SP_R_NONE) {
		set_reg(s, a, of_b);
		set_reg(s, b, of_a);
	}
}

static void push(struct sp_state *s, const struct sp_insn *i)
{
	sp_val value = value_of(s, &i->op[0]);
	int64_t size = i->z.operand_width / 8;
	move_sp(s, -size);
	if (size == WORD)
		slot_store(s, s->reg[SP_R_SP], value);
	else
		slots_kill(s, s->reg[SP_R_SP], (uint64_t)size);
}

static void pop(struct sp_state *s, const struct sp_insn *i)
{
	const ZydisDecodedOperand *to = &i->op[0];
	int64_t size = i->z.operand_width / 8;
	sp_val value = size == WORD ? slot_load(s, s->reg[SP_R_SP]) : 0;
	move_sp(s, size); /* first, since addresses relative to rsp are meant that way */
	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY)
		slot_store(s, address_of(s, to), value);
	else if (to->type == ZYDIS_OPERAND_TYPE_REGISTER && gpr_of[to->reg.value] != SP_R_NONE)
		set_reg(s, gpr_of[to->reg.value], value);
}

static void leave(struct sp_state *s)
{
	sp_val fp = s->reg[SP_R_FP];
	sp_val value = slot_load(s, fp);
	set_reg(s, SP_R_SP, sp_val_add(fp, WORD));
	set_reg(s, SP_R_FP, value);
}

static void enter(struct sp_state *s, const struct sp_insn *i)
{
	if (i->op[1].imm.value.u) { /* nested frames, which nobody uses */
		forget_written(s, i);
		return;
	}
	move_sp(s, -WORD);
	slot_store(s, s->reg[SP_R_SP], s->reg[SP_R_FP]);
	s->reg[SP_R_FP] = s->reg[SP_R_SP];
	move_sp(s, -(int64_t)i->op[0].imm.value.u);
}

/* A callee preserves rbx, rbp, r12 to r15, and the stack above its return address. */
static void call(struct sp_state *s)
{
	static const uint8_t lost[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
	for (size_t i = 0; i < sizeof(lost); i++)
		s->reg[lost[i]] = 0;
	slots_below(s, 0);
}

static void apply(const struct sp_insn *i, uint32_t pos, struct sp_state *s)
{
	switch (i->z.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		push(s, i);
		break;
	case ZYDIS_MNEMONIC_POP:
		pop(s, i);
		break;
	case ZYDIS_MNEMONIC_MOV:
		assign(s, i, value_of(s, &i->op[1]));
		break;
	case ZYDIS_MNEMONIC_LEA:
		assign(s, i, i->z.address_width == WORD_BITS ? address_of(s, &i->op[1]) : 0);
		break;
	case ZYDIS_MNEMONIC_ADD:
		add_to(s, i, 1);
		break;
	case ZYDIS_MNEMONIC_SUB:
		add_to(s, i, -1);
		break;
	case ZYDIS_MNEMONIC_AND:
		align_reg(s, i, pos);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		exchange(s, i);
		break;
	case ZYDIS_MNEMONIC_PUSHFQ:
		move_sp(s, -WORD);
		slots_kill(s, s->reg[SP_R_SP], WORD);
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		move_sp(s, WORD);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		leave(s);
		break;
	case ZYDIS_MNEMONIC_ENTER:
		enter(s, i);
		break;
	case ZYDIS_MNEMONIC_CALL:
		call(s);
		break;
	case ZYDIS_MNEMONIC_RET: /* only the state before it matters */
		break;
	default:
		forget_written(s, i);
	}
}

/* --- evidence that code belongs to the function --- */

enum { KEPT = 1 << 3 | 1 << SP_R_FP | 0xf << 12 }; /* rbx, rbp, r12 to r15 */

static unsigned bit_of(ZydisRegister reg)
{
	return gpr_of[reg] == SP_R_NONE ? 0 : 1u << gpr_of[reg];
}

static unsigned written_by(const struct sp_insn *i)
{
	unsigned written = 0;
	for (unsigned k = 0; k < i->z.operand_count; k++)
		if (i->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && i->op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			written |= bit_of(i->op[k].reg.value);
	return written;
}

static bool clears(const struct sp_insn *i)
{
	return i->z.mnemonic == ZYDIS_MNEMONIC_XOR && i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       i->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && i->op[0].reg.value == i->op[1].reg.value;
}

uint16_t sp_insn_reads_kept(const struct sp_insn *i)
{
	unsigned read = 0;
	if (i->z.mnemonic == ZYDIS_MNEMONIC_PUSH || clears(i))
		return 0;
	for (unsigned k = 0; k < i->z.operand_count; k++) {
		const ZydisDecodedOperand *op = &i->op[k];
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
			read |= bit_of(op->mem.base) | bit_of(op->mem.index);
		else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			read |= bit_of(op->reg.value);
	}
	return (uint16_t)(read & KEPT);
}

static void note_kept(const struct sp_insn *i, struct sp_state *s)
{
	bool restores = i->z.mnemonic == ZYDIS_MNEMONIC_POP || i->z.mnemonic == ZYDIS_MNEMONIC_LEAVE;
	unsigned written = written_by(i) & KEPT;
	if (i->z.mnemonic == ZYDIS_MNEMONIC_PUSH && i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
		s->saved |= (uint16_t)(bit_of(i->op[0].reg.value) & KEPT & ~s->own);
	written &= s->saved;
	s->own = (uint16_t)(restores ? s->own & ~written : s->own | written);
	s->held = i->flow == SP_FLOW_CALL ? s->own : (uint16_t)(s->held & ~written);
	for (; written; written &= written - 1)
		s->since[__builtin_ctz(written)] = s->doubt;
}

static bool fp_is_saved(const struct sp_state *s)
{
	for (uint32_t i = 0; i < s->n_slots; i++)
		if (sp_val_kind(s->slot[i].value) == SP_VAL_FP)
			return true;
	return false;
}

/*
 * A frame pointer of 0 marks the outermost frame (psABI 3.4.1). If it is set to 0 behind a `syscall`, with the caller's
 * not saved and nothing pushed, a new thread begins there, on its own stack.
 */
static void note_thread(const struct sp_insn *i, struct sp_state *s)
{
	if (i->z.mnemonic == ZYDIS_MNEMONIC_SYSCALL && s->thread == SP_THREAD_NO)
		s->thread = SP_THREAD_MAYBE;
	else if (s->thread == SP_THREAD_MAYBE && clears(i) && bit_of(i->op[0].reg.value) == 1u << SP_R_FP &&
		 s->reg[SP_R_FP] == sp_val_make(SP_VAL_FP, 0) && s->reg[SP_R_SP] == sp_val_make(SP_VAL_CFA, -WORD) &&
		 !fp_is_saved(s))
		s->thread = SP_THREAD_BEGINS;
}

void sp_insn_apply(const struct sp_insn *i, uint32_t pos, struct sp_state *s)
{
	note_thread(i, s);
	apply(i, pos, s);
	note_kept(i, s);
}
