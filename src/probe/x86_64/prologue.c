/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/x86_64/prologue.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/x86_64/kernel_insn.h"

#include <errno.h>
#include <stdlib.h>

enum { WINDOW_BYTES = 256 << 10, MAX_INSN = 15, WORD = 8, MAX_PUSHED = UINT8_MAX };

/* DWARF numbers of the registers with the first six arguments, and of those that a function saves for its caller. */
static const uint8_t argument_regs[] = {5, 4, 1, 2, 8, 9};
enum { SAVED_REGS = 1 << 3 | 1 << 6 | 0xf << 12 };

void sp_prologue_open(struct sp_prologue_reader *p, struct sp_elf *elf)
{
	*p = (struct sp_prologue_reader){.elf = elf};
	sp_insn_init(&p->decoder);
}

void sp_prologue_close(struct sp_prologue_reader *p)
{
	free(p->bytes);
}

static int reader_fill(struct sp_prologue_reader *p, uint64_t at)
{
	const struct sp_elf_segment *s = sp_elf_code_at(p->elf, at);
	void *bytes;
	if (!s)
		return -ENODATA;
	uint64_t n = SP_MIN(s->offset + s->file_size - at, (uint64_t)WINDOW_BYTES);
	int r = sp_elf_read(p->elf, at, (size_t)n, &bytes);
	if (r < 0)
		return r;
	free(p->bytes);
	p->bytes = bytes;
	p->start = at;
	p->end = at + n;
	p->code_end = s->offset + s->file_size;
	return 0;
}

int sp_prologue_bytes(struct sp_prologue_reader *p, uint64_t at, const uint8_t **ret_bytes, size_t *ret_n)
{
	bool has = at >= p->start && at < p->end && (p->end - at >= MAX_INSN || p->end == p->code_end);
	int r = has ? 0 : reader_fill(p, at);
	if (r < 0)
		return r;
	*ret_bytes = p->bytes + (at - p->start);
	*ret_n = (size_t)(p->end - at);
	return 0;
}

/* --- the walk --- */

struct walk {
	const struct sp_probe_what *what;
	struct sp_probe_wanted *w;
	uint64_t start;
	struct sp_state state;
	uint16_t written;   /* registers */
	uint16_t arguments; /* registers that must not be */
};

static unsigned rank(const struct sp_probe_what *what, unsigned cost)
{
	if (cost == SP_PROBE_NOP5)
		return what->nop5_is_fast ? 0 : 2;
	return cost == SP_PROBE_EMULATED ? 1 : 2;
}

/* How far the stack pointer is below its value at entry; false: not known, or too far. */
static bool find_pushed(const struct walk *k, uint8_t *ret_pushed)
{
	sp_val sp = k->state.reg[SP_R_SP];
	int32_t pushed = sp_val_kind(sp) == SP_VAL_CFA ? -WORD - sp_val_off(sp) : -1;
	if (pushed < 0 || pushed > MAX_PUSHED)
		return false;
	*ret_pushed = (uint8_t)pushed;
	return true;
}

/* Whether it pushes a register that still has the caller's value, and must have it again in the end. */
static bool saves(const struct walk *k, const struct sp_insn *i)
{
	unsigned number = (i->z.opcode & 7u) | (unsigned)i->z.raw.rex.B << 3;
	if (i->z.mnemonic != ZYDIS_MNEMONIC_PUSH || i->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	unsigned reg = 1u << sp_reg_dwarf(number);
	return (reg & SAVED_REGS) && !(reg & k->written);
}

static void consider(struct walk *k, const struct sp_insn *i, const uint8_t *bytes, uint64_t vaddr, uint64_t behind)
{
	struct sp_probe_wanted *w = k->w;
	struct sp_candidate c = {.behind = (uint8_t)behind, .length = i->length, .saves = saves(k, i)};
	int cost = sp_kernel_insn_cost(i, bytes, vaddr);
	if (cost < 0 && behind == 0)
		w->refusal = (uint8_t)(-1 - cost);
	if (cost < 0 || !find_pushed(k, &c.pushed) || (k->what->returns && c.pushed) || (k->written & k->arguments))
		return;
	if (w->n_candidates && rank(k->what, (unsigned)cost) >= rank(k->what, w->candidates[w->n_candidates - 1].cost))
		return;
	c.cost = (uint8_t)cost;
	c.jump = i->has_target ? (int32_t)(i->target - (k->start + behind)) : 0;
	w->candidates[w->n_candidates++] = c;
}

/* Whether the next instruction runs once for each time that this one does, in the same frame. */
static bool goes_on(struct walk *k, const struct sp_insn *i, uint64_t behind)
{
	uint8_t pushed;
	uint16_t written = sp_insn_writes(i);
	if (i->flow != SP_FLOW_NEXT || written == UINT16_MAX || i->z.meta.category == ZYDIS_CATEGORY_SYSRET)
		return false;
	sp_insn_apply(i, (uint32_t)behind, &k->state);
	k->written |= written;
	return find_pushed(k, &pushed);
}

static uint16_t mask_of_arguments(uint8_t arguments)
{
	uint16_t mask = arguments & SP_PROBE_REGISTERS ? UINT16_MAX : 0;
	for (size_t i = 0; i < SP_COUNT(argument_regs); i++)
		if (arguments & 1u << i)
			mask |= (uint16_t)(1u << argument_regs[i]);
	return mask;
}

int sp_prologue_walk(struct sp_prologue_reader *p, const struct sp_function *f, const struct sp_probe_what *what,
		     struct sp_probe_wanted *w)
{
	struct walk k = {.what = what, .w = w, .start = f->start, .arguments = mask_of_arguments(what->arguments)};
	const struct sp_elf_segment *s = sp_elf_code_at(p->elf, f->start);
	struct sp_insn i;
	bool on = true;
	sp_state_enter(&k.state);
	w->refusal = SP_PROBE_UNDECODABLE;
	for (uint64_t at = f->start; on && at < w->limit; at += i.length) {
		const uint8_t *bytes;
		size_t n;
		int r = sp_prologue_bytes(p, at, &bytes, &n);
		if (r < 0)
			return r;
		if (!sp_insn_decode(&p->decoder, bytes, n, at, &i))
			return 0;
		consider(&k, &i, bytes, s->vaddr + (at - s->offset), at - f->start);
		on = w->n_candidates < SP_MAX_CANDIDATES && goes_on(&k, &i, at - f->start);
	}
	return 0;
}
