/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/x86_64/go_switch.h"
#include "base/mem.h"
#include "bpf/wire.h"
#include "elf/elf.h"
#include "unwind/x86_64/derive_priv.h"
#include <string.h>

enum { N_REGS = 16, STACK = 4, WORD = 8 }; /* registers by the processor's numbers, which from 8 on are DWARF's, too */

/* What a register holds, as far as it matters here: the thread's goroutine, or what its words lead to. */
struct held {
	bool known;
	unsigned n_steps;
	uint32_t step[SP_CHAIN_STEPS];
};
struct reader {
	struct held reg[N_REGS];
	unsigned stored; /* the register whose value was made the thread's goroutine last */
	bool is_kept;    /* that value is in the goroutine's register */
	bool has_called;
	struct sp_go_switch found;
};

/* The number of a register of 64 bits; N_REGS: it is another one, or none. */
static unsigned number_of(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15 ? (unsigned)(reg - ZYDIS_REGISTER_RAX) : N_REGS;
}

static unsigned register_of(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(o->reg.value) : N_REGS;
}

static bool is_thread_local(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.segment == ZYDIS_REGISTER_FS;
}

/* What a load brings: the thread's goroutine, or one more word that leads on from it. */
static struct held load(const struct reader *r, const ZydisDecodedOperand *from)
{
	const struct held none = {.known = false};
	int64_t disp = from->mem.disp.value;
	struct held h;
	unsigned base;

	if (is_thread_local(from))
		return (struct held){.known = true};
	if (from->type != ZYDIS_OPERAND_TYPE_MEMORY || from->mem.index != ZYDIS_REGISTER_NONE)
		return none;
	base = number_of(from->mem.base);
	if (base == N_REGS || !r->reg[base].known || r->reg[base].n_steps == SP_CHAIN_STEPS || disp < 0 ||
	    disp % WORD || disp / WORD > SP_CHAIN_MASK)
		return none;
	h = r->reg[base];
	h.step[h.n_steps++] = (uint32_t)(disp / WORD);
	return h;
}

/* The stack pointer gets a value: before the call it leads away, behind it back. */
static void change_stack(struct reader *r, const ZydisDecodedOperand *from, uint64_t next)
{
	struct held h = load(r, from);

	if (!r->has_called) {
		r->found.from = r->is_kept ? next : 0;
		return;
	}
	if (!r->found.from || r->found.to || !h.known || h.n_steps != SP_CHAIN_STEPS)
		return;
	r->found.to = next;
	for (unsigned i = 0; i < SP_CHAIN_STEPS; i++)
		r->found.chain |= (int32_t)(h.step[i] << (i * SP_CHAIN_BITS));
}

static void read_move(struct reader *r, const struct sp_insn *i, uint64_t next)
{
	unsigned to = register_of(&i->op[0]), from = register_of(&i->op[1]);

	if (is_thread_local(&i->op[0]))
		r->stored = from;
	else if (to == STACK)
		change_stack(r, &i->op[1], next);
	else if (to == SP_GO_REG)
		r->is_kept = from != N_REGS && from == r->stored;
	else if (to != N_REGS)
		r->reg[to] = load(r, &i->op[1]);
}

static void read_insn(struct reader *r, const struct sp_insn *i, uint64_t next)
{
	if (i->z.mnemonic == ZYDIS_MNEMONIC_MOV) {
		read_move(r, i, next);
		return;
	}
	memset(r->reg, 0, sizeof(r->reg)); /* nothing else stands between the loads */
	r->has_called |= i->flow == SP_FLOW_CALL && r->found.from;
}

bool sp_go_switch_find(struct sp_elf *e, uint64_t start, uint64_t end, struct sp_go_switch *ret_switch)
{
	struct reader r = {.stored = N_REGS};
	size_t size = (size_t)SP_MIN(end - start, (uint64_t)SP_GO_SWITCH_BYTES);
	uint8_t bytes[SP_GO_SWITCH_BYTES];
	ZydisDecoder d;
	struct sp_insn i;
	uint64_t offset;

	if (end <= start || sp_elf_offset_of(e, start, &offset) < 0 || sp_elf_read_into(e, offset, bytes, size) < 0)
		return false;
	sp_insn_init(&d);
	for (size_t at = 0; at < size && !r.found.to; at += i.length) {
		if (!sp_insn_decode(&d, bytes + at, size - at, start + at, &i))
			return false;
		read_insn(&r, &i, start + at + i.length);
	}
	*ret_switch = r.found;
	return r.found.to != 0;
}

int sp_go_popped_into(struct sp_elf *e, uint64_t start, uint64_t end)
{
	enum { POP = 2, SYSCALL = 2, PUSH = 2, R11 = 11 };
	SP_FREE uint8_t *code = NULL;
	uint64_t offset;
	int reg;

	if (end - start != SYSCALL + PUSH || sp_elf_offset_of(e, start - POP, &offset) < 0 ||
	    sp_elf_read(e, offset, POP + SYSCALL + PUSH, (void **)&code) < 0)
		return -1;
	reg = 8 + (code[1] & 7); /* 41 58+: r8 to r15; the kernel overwrites r11 */
	return code[0] == 0x41 && (code[1] & 0xf8) == 0x58 && code[2] == 0x0f && code[3] == 0x05 && code[4] == 0x41 &&
		       code[5] == (0x50 | (code[1] & 7)) && reg != R11
		   ? reg
		   : -1;
}
