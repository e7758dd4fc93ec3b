/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/x86_64/jit.h"
#include "base/mem.h"
#include "unwind/step_types.h"
#include "unwind/x86_64/derive_priv.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK = 1024,
	MAX_INSTRUCTIONS = 4096,
	MAX_ENTRY = 128,
	MAX_WAYS = 256,
	N_MET = 2048 /* a power of 2 */,
	MAX_HEIGHT = 1 << 20
};

struct state {
	int32_t height; /* of the stack pointer, above the sampled one */
	int32_t fp;     /* as in struct sp_jit_frame */
};
struct way {
	uint64_t ip;
	struct state state;
};

struct explorer {
	const struct sp_jit_memory *memory;
	const uint64_t *words;
	size_t n_words;
	ZydisDecoder decoder;
	uint8_t code[CHUNK];
	uint64_t code_at;
	size_t code_n;
	struct way ways[MAX_WAYS], met[N_MET];
	size_t n_ways, n_instructions;
	bool has_found, is_at_odds;
	struct sp_jit_frame found;
	bool has_left, left_at_odds; /* a jump to an unknown target was met, at this height */
	int32_t left;
	int32_t saved_fp; /* where the frame pointer was first saved, below the first stack pointer; 0: nowhere */
};

/* --- code --- */

static const uint8_t *code_at(struct explorer *x, uint64_t ip, size_t *ret_n)
{
	if (ip < x->code_at || ip - x->code_at + ZYDIS_MAX_INSTRUCTION_LENGTH > x->code_n) {
		x->code_n = x->memory->read(x->memory->arg, ip, x->code, CHUNK);
		x->code_at = ip;
	}
	*ret_n = x->code_n - (size_t)(ip - x->code_at);
	return x->code + (ip - x->code_at);
}

bool sp_jit_is_return(const struct sp_jit_memory *m, uint64_t address)
{
	sp_u8 code[8];
	return address > 4096 && m->read(m->arg, address - 8, code, sizeof(code)) == sizeof(code) &&
	       sp_ends_in_call(code);
}

/* False: met before; if at another height, the result is not believed. */
static bool meet(struct explorer *x, uint64_t ip, const struct state *s)
{
	size_t at = (size_t)(ip * 0x9e3779b97f4a7c15ULL >> 40) & (N_MET - 1);
	for (size_t i = 0; i < 8; i++, at = (at + 1) & (N_MET - 1)) {
		if (!x->met[at].ip) {
			x->met[at] = (struct way){ip, *s};
			return true;
		}
		if (x->met[at].ip != ip)
			continue;
		x->is_at_odds |= x->met[at].state.height != s->height;
		return false;
	}
	return true; /* the table is full: it may be explored again */
}

static void add_way(struct explorer *x, uint64_t ip, const struct state *s)
{
	if (x->n_ways < MAX_WAYS)
		x->ways[x->n_ways++] = (struct way){ip, *s};
}

/* --- what an instruction does --- */

static bool is_reg(const ZydisDecodedOperand *op, ZydisRegister reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == reg;
}

static bool writes(const struct sp_insn *i, ZydisRegister reg)
{
	for (size_t k = 0; k < i->z.operand_count; k++) {
		const ZydisDecodedOperand *op = &i->op[k];
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, op->reg.value) == reg)
			return true;
	}
	return false;
}

/* Whether it adds a constant to rsp, by add, sub or lea. */
static bool moves_sp(const struct sp_insn *i, int64_t *ret_by)
{
	const ZydisDecodedOperand *op = i->op;
	if (!is_reg(&op[0], ZYDIS_REGISTER_RSP))
		return false;
	if (i->z.mnemonic == ZYDIS_MNEMONIC_LEA && op[1].mem.base == ZYDIS_REGISTER_RSP &&
	    op[1].mem.index == ZYDIS_REGISTER_NONE)
		*ret_by = op[1].mem.disp.value;
	else if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && i->z.mnemonic == ZYDIS_MNEMONIC_ADD)
		*ret_by = op[1].imm.value.s;
	else if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && i->z.mnemonic == ZYDIS_MNEMONIC_SUB)
		*ret_by = -op[1].imm.value.s;
	else
		return false;
	return true;
}

static void load_fp(const struct sp_insn *i, struct state *s)
{
	const ZydisDecodedOperand *op = i->op;
	bool is_slot = i->z.mnemonic == ZYDIS_MNEMONIC_MOV && is_reg(&op[0], ZYDIS_REGISTER_RBP) &&
		       op[1].type == ZYDIS_OPERAND_TYPE_MEMORY && op[1].mem.base == ZYDIS_REGISTER_RSP &&
		       op[1].mem.index == ZYDIS_REGISTER_NONE;
	int64_t at = is_slot ? s->height + op[1].mem.disp.value : -1;
	s->fp = at >= 0 && at < MAX_HEIGHT ? (int32_t)at : SP_JIT_FP_LOST;
}

/* False: the height is not known any more. */
static bool follow(const struct sp_insn *i, struct state *s)
{
	bool is_word = i->z.operand_width == 64;
	int64_t by;
	switch (i->z.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		s->height -= 8;
		return is_word;
	case ZYDIS_MNEMONIC_POP:
		if (is_reg(&i->op[0], ZYDIS_REGISTER_RBP))
			s->fp = s->height >= 0 ? s->height : SP_JIT_FP_LOST;
		s->height += 8;
		return is_word && !is_reg(&i->op[0], ZYDIS_REGISTER_RSP);
	case ZYDIS_MNEMONIC_POPFQ:
		s->height += 8;
		return is_word;
	default:
		break;
	}
	if (i->flow == SP_FLOW_CALL)
		return true;
	if (writes(i, ZYDIS_REGISTER_RBP))
		load_fp(i, s);
	if (!writes(i, ZYDIS_REGISTER_RSP))
		return true;
	if (!moves_sp(i, &by) || by < -MAX_HEIGHT || by > MAX_HEIGHT)
		return false;
	s->height += (int32_t)by;
	return true;
}

/* --- all paths --- */

static void leave_at(struct explorer *x, int32_t height)
{
	x->left_at_odds |= x->has_left && x->left != height;
	x->has_left = true;
	x->left = height;
}

/* A path ends at a `ret`. If the address was pushed on this path, the `ret` is a jump to an unknown target. */
static void end_at(struct explorer *x, const struct state *s)
{
	struct sp_jit_frame frame = {.cfa = s->height + 8, .fp = s->fp};
	if (s->height < 0) {
		leave_at(x, frame.cfa);
		return;
	}
	if (!x->has_found)
		x->found = frame;
	x->has_found = true;
	x->is_at_odds |= x->found.cfa != frame.cfa;
	if (x->found.fp != frame.fp)
		x->found.fp = SP_JIT_FP_LOST;
}

/*
 * Code that keeps return addresses elsewhere begins with `pop %reg`. A call of such code is followed like a jump, with
 * one more word on the stack.
 */
static void enter(struct explorer *x, const struct sp_insn *call, const struct state *s)
{
	struct state in = {.height = s->height - 8, .fp = s->fp};
	struct sp_insn i;
	uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
	size_t n = x->memory->read(x->memory->arg, call->target, code, sizeof(code));

	if (!sp_insn_decode(&x->decoder, code, n, call->target, &i) || i.z.mnemonic != ZYDIS_MNEMONIC_POP ||
	    i.op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || i.z.operand_width != 64)
		return;
	add_way(x, call->target, &in);
}

static void note_save(struct explorer *x, const struct sp_insn *i, const struct state *s)
{
	const ZydisDecodedOperand *op = i->op;

	if (x->saved_fp)
		return;
	if (i->z.mnemonic == ZYDIS_MNEMONIC_PUSH && is_reg(&op[0], ZYDIS_REGISTER_RBP))
		x->saved_fp = s->height - 8;
	else if (i->z.mnemonic == ZYDIS_MNEMONIC_MOV && op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		 is_reg(&op[1], ZYDIS_REGISTER_RBP) && op[0].mem.base == ZYDIS_REGISTER_RSP &&
		 op[0].mem.index == ZYDIS_REGISTER_NONE)
		x->saved_fp = (int32_t)(s->height + op[0].mem.disp.value);
}

/* Follows the instruction at w->ip; false: this path has ended. */
static bool go_on(struct explorer *x, struct way *w)
{
	struct sp_insn i;
	size_t n;
	const uint8_t *code = code_at(x, w->ip, &n);
	if (!meet(x, w->ip, &w->state) || !sp_insn_decode(&x->decoder, code, n, w->ip, &i))
		return false;
	if (i.flow == SP_FLOW_RETURN)
		end_at(x, &w->state);
	if (i.flow == SP_FLOW_JUMP && !i.has_target && i.op[0].mem.base != ZYDIS_REGISTER_RIP) /* not a PLT's jump */
		leave_at(x, w->state.height);
	note_save(x, &i, &w->state);
	if (i.flow == SP_FLOW_BRANCH && i.has_target)
		add_way(x, i.target, &w->state);
	if (i.flow == SP_FLOW_CALL && i.has_target)
		enter(x, &i, &w->state);
	if (i.flow == SP_FLOW_RETURN || i.flow == SP_FLOW_STOP || (i.flow == SP_FLOW_JUMP && !i.has_target) ||
	    !follow(&i, &w->state) || w->state.height > MAX_HEIGHT || w->state.height < -MAX_HEIGHT)
		return false;
	w->ip = i.flow == SP_FLOW_JUMP ? i.target : w->ip + i.length;
	return true;
}

static void explore(struct explorer *x, uint64_t ip, size_t max)
{
	add_way(x, ip, &(struct state){.fp = SP_JIT_FP_SAME});
	while (x->n_ways && !x->is_at_odds && x->n_instructions < max) {
		struct way w = x->ways[--x->n_ways];
		while (x->n_instructions++ < max && !x->is_at_odds && go_on(x, &w))
			;
	}
}

static int by_code(struct explorer *x, struct sp_jit_frame *ret_frame)
{
	size_t at = x->has_found ? (size_t)(x->found.cfa - 8) / 8 : 0;
	if (!x->has_found || x->is_at_odds || x->found.cfa % 8 || at >= x->n_words ||
	    !sp_jit_is_return(x->memory, x->words[at]))
		return -ENOENT;
	*ret_frame = x->found;
	return 0;
}

/* --- by who jumped here --- */

enum { CALL_CODE = 32 };

static uint64_t target(const uint8_t *by, uint64_t from)
{
	int32_t n;

	memcpy(&n, by, sizeof(n));
	return from + (uint64_t)(int64_t)n;
}

/* The address of the pointer called: call *disp32(%rip); or lea disp32(%rip),%reg; ...; call *(%reg). Else 0. */
static uint64_t pointer_called(const uint8_t *code, uint64_t address)
{
	const uint8_t *end = code + CALL_CODE, *at;

	if (end[-6] == 0xff && end[-5] == 0x15)
		return target(end - 4, address);
	if (end[-2] != 0xff || (end[-1] & 0xf8) != 0x10 || (end[-1] & 6) == 4) /* not *(%rsp), *disp32(%rip) */
		return 0;
	for (at = end - 2 - 7; at >= code; at--)
		if (at[0] == 0x48 && at[1] == 0x8d && at[2] == (0x05 | (end[-1] & 7) << 3))
			return target(at + 3, address - (uint64_t)(end - at) + 7);
	return 0;
}

/* What the call in front of this address calls, directly or through a pointer at a fixed address. Else 0. */
static uint64_t called_from(const struct sp_jit_memory *m, uint64_t address)
{
	uint8_t code[CALL_CODE];
	uint64_t at, to = 0;

	if (address <= 4096 || m->read(m->arg, address - CALL_CODE, code, CALL_CODE) != CALL_CODE ||
	    !sp_ends_in_call(code + CALL_CODE - 8))
		return 0;
	if (code[CALL_CODE - 5] == 0xe8)
		return target(code + CALL_CODE - 4, address);
	at = pointer_called(code, address);
	return at && m->read(m->arg, at, &to, sizeof(to)) == sizeof(to) ? to : 0;
}

/*
 * Whether the function called with its return address in word i makes jumps that fit: its frame then reaches to x's
 * height.
 */
static bool is_entry(struct explorer *e, const struct explorer *x, size_t i)
{
	uint64_t to = called_from(x->memory, x->words[i]);

	if (!to)
		return false;
	*e = (struct explorer){.memory = x->memory, .decoder = x->decoder};
	explore(e, to, MAX_ENTRY);
	return e->has_left && !e->left_at_odds && !e->is_at_odds && x->left - e->left == (int32_t)(8 * i);
}

/*
 * Code without a `ret` that leaves by jumps (to more such code, to an interpreter) runs in the frame of the function
 * that first jumped to it. That function was called from an address on the stack, and jumps away with a frame of just
 * the fitting size. If several fit, none is believed, since other words on the stack may fit by chance.
 */
static int by_entry(const struct explorer *x, struct sp_jit_frame *ret_frame)
{
	SP_FREE struct explorer *e = NULL;
	bool has_one = false;

	if (x->has_found || x->is_at_odds || !x->has_left || x->left_at_odds || !(e = malloc(sizeof(*e))))
		return -ENOENT;
	for (size_t i = 0; i < x->n_words; i++) {
		if (!is_entry(e, x, i))
			continue;
		if (has_one)
			return -ENOENT;
		has_one = true;
		ret_frame->cfa = (int32_t)(8 * i + 8);
		ret_frame->fp = e->saved_fp ? (int32_t)(8 * i) + e->saved_fp : SP_JIT_FP_SAME;
	}
	if (has_one && ret_frame->fp != SP_JIT_FP_SAME && ret_frame->fp < 0)
		ret_frame->fp = SP_JIT_FP_LOST;
	return has_one ? 0 : -ENOENT;
}

/* --- LuaJIT --- */

enum { LUA_FRAME_WORDS = 10, LUA_SAVED_STATE = 2, LUA_SAVED_FP = 8, LUA_STATE_WORDS = 16, LUA_FLAGS = 3 };
enum { LUA_THREAD = 6, LUA_FUNCTION_C = 1 };

/* Whether its type tag is a lua_State's, behind a link of 4 or 8 bytes and the collector's mark (lj_obj.h). */
static bool is_lua_state(const uint64_t *state)
{
	const uint8_t *bytes = (const uint8_t *)state;
	return (bytes[5] == LUA_THREAD && bytes[6] == LUA_FUNCTION_C) ||
	       (bytes[9] == LUA_THREAD && bytes[10] == LUA_FUNCTION_C);
}

/*
 * A trace makes room on the stack for values that do not fit into registers, so the interpreter's frame begins above
 * that.
 */
static int by_lua_state(const struct explorer *x, uint64_t sp, struct sp_jit_frame *ret_frame)
{
	uint64_t state[LUA_STATE_WORDS];
	for (size_t i = 0; i + LUA_FRAME_WORDS <= x->n_words; i++) {
		uint64_t base = sp + 8 * i, at = x->words[i + LUA_SAVED_STATE];
		if ((base & 15) || (at & 7) || at < 4096 ||
		    !sp_jit_is_return(x->memory, x->words[i + LUA_FRAME_WORDS - 1]) ||
		    x->memory->read(x->memory->arg, at, state, sizeof(state)) != sizeof(state) || !is_lua_state(state))
			continue;
		for (size_t k = 0; k < LUA_STATE_WORDS; k++)
			if ((state[k] & ~(uint64_t)LUA_FLAGS) == base) {
				*ret_frame = (struct sp_jit_frame){.cfa = (int32_t)(8 * (i + LUA_FRAME_WORDS)),
								   .fp = (int32_t)(8 * (i + LUA_SAVED_FP))};
				return 0;
			}
	}
	return -ENOENT;
}

int sp_jit_frame_find(const struct sp_jit_memory *m, uint64_t ip, uint64_t sp, const uint64_t *words, size_t n,
		      struct sp_jit_frame *ret_frame)
{
	SP_FREE struct explorer *x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->memory = m;
	x->words = words;
	x->n_words = n;
	sp_insn_init(&x->decoder);
	int r = by_lua_state(x, sp, ret_frame);
	if (r != -ENOENT)
		return r;
	explore(x, ip, MAX_INSTRUCTIONS);
	r = by_code(x, ret_frame);
	return r == -ENOENT ? by_entry(x, ret_frame) : r;
}
