/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_rows.c: unwind rows of Go's functions, from the table by which Go's runtime walks stacks.
 *
 * Go writes no .eh_frame. Its table has the distance from the stack pointer to the return address, which is all of a
 * rule except the frame pointer: a function with a frame saves the caller's in the word below the return address.
 * Where the runtime changes to another stack, the frame pointer leads back. Up to Go 1.20 that skips the function that
 * asked for the change, because functions that change stacks had no frame. There systemstack is unwound as it goes back
 * itself (arch.h), and of asmcgocall, or where that fails, the next frame is marked as guessed.
 */
#include "base/mem.h"
#include "elf/arch.h"
#include "elf/elf.h"
#include "elf/go.h"
#include "unwind/arch.h"
#include "unwind/priv.h"
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, KEPT = 1 << SP_GO_REG };

/* The kernel's struct rt_sigframe behind its return address: struct ucontext, and the registers in it. */
enum { SIGNAL_RBP = 40 + 10 * 8, SIGNAL_RSP = 40 + 15 * 8, SIGNAL_RIP = 40 + 16 * 8 };

static const struct sp_rule by_fp = {.cfa = SP_CFA_REG,
				     .reg = SP_REG_FP,
				     .ra = SP_RA_SWITCH,
				     .off = 2 * WORD,
				     .ra_off = -WORD,
				     .fp = SP_FP_CFA,
				     .fp_off = -2 * WORD,
				     .kept = KEPT};
static const struct sp_rule by_fp_of_caller = {.cfa = SP_CFA_REG,
					       .reg = SP_REG_FP,
					       .ra = SP_RA_SWITCH,
					       .add = 1,
					       .off = 2 * WORD,
					       .ra_off = -WORD,
					       .fp = SP_FP_CFA,
					       .fp_off = -2 * WORD};
const struct sp_rule sp_rule_of_sigreturn = {.cfa = SP_CFA_DEREF,
					     .reg = SP_REG_SP,
					     .ra = SP_RA_SP | SP_RULE_SIGNAL,
					     .off = SIGNAL_RSP,
					     .ra_off = SIGNAL_RIP,
					     .fp = SP_FP_SP,
					     .fp_off = SIGNAL_RBP};

struct go_run {
	struct sp_elf *elf;
	const struct sp_go_func *func;
	sp_cfi_emit *emit;
	void *arg;
	bool has_frame;
};

static int note_frame(void *arg, uint64_t start, uint64_t end, uint64_t bytes)
{
	struct go_run *g = arg;
	(void)start;
	(void)end;
	g->has_frame |= bytes && bytes != SP_GO_POPPED;
	return 0;
}

/* A function changes stacks when its frame is set up; one that never has a frame may do so anywhere. */
static bool may_have_switched(const struct go_run *g, uint64_t bytes)
{
	return g->func->kind == SP_GO_SWITCH && (bytes > 0 || !g->has_frame);
}

/* The return address is in a register, or nobody knows where. */
static int emit_popped(const struct go_run *g, uint64_t start, uint64_t end)
{
	struct sp_rule rule = {.cfa = SP_CFA_REG, .reg = SP_REG_SP, .ra = SP_RA_REG, .kept = KEPT};
	static const struct sp_rule bad = {.cfa = SP_CFA_BAD, .reg = SP_BAD_PROGRAM};
	int reg = sp_go_popped_into(g->elf, start, end);
	rule.ra_off = (int16_t)reg;
	return g->emit(g->arg, start - g->func->start, reg < 0 ? &bad : &rule, false);
}

static int emit_range(void *arg, uint64_t start, uint64_t end, uint64_t bytes)
{
	const struct go_run *g = arg;
	if (bytes == SP_GO_POPPED)
		return emit_popped(g, start, end);
	struct sp_rule by_sp = {
	    .cfa = SP_CFA_REG, .reg = SP_REG_SP, .off = (int32_t)bytes + WORD, .ra_off = -WORD, .kept = KEPT};
	by_sp.ra = g->func->kind == SP_GO_INJECTED ? SP_RA_CFA | SP_RULE_SIGNAL : SP_RA_CFA;
	by_sp.fp = bytes ? SP_FP_CFA : SP_FP_SAME;
	by_sp.fp_off = bytes ? -2 * WORD : 0;
	(void)end;
	const struct sp_rule *rule = !may_have_switched(g, bytes) ? &by_sp : g->has_frame ? &by_fp : &by_fp_of_caller;
	return g->emit(g->arg, start - g->func->start, rule, false);
}

/* What begins here: goexit is what a goroutine returns to, rt0 is the program's start, all others begin threads. */
static int emit_root(const struct go_run *g)
{
	struct sp_rule root = {.cfa = SP_CFA_ROOT, .reg = SP_ROOT_THREAD};
	if (strcmp(g->func->name, "runtime.goexit") == 0)
		root.reg = SP_ROOT_FIBER;
	else if (strstr(g->func->name, "rt0"))
		root.reg = SP_ROOT_PROCESS;
	return g->emit(g->arg, 0, &root, false);
}

/* A function without a frame that goes back to the stack it was called on, where its caller's return address is. */
static int emit_switch(const struct go_run *g, const struct sp_go_switch *found)
{
	static const struct sp_rule by_sp = {.cfa = SP_CFA_REG, .reg = SP_REG_SP, .off = WORD, .ra_off = -WORD};
	struct sp_rule chain = by_fp_of_caller;
	int r = g->emit(g->arg, 0, &by_sp, false);

	chain.cfa = SP_CFA_CHAIN;
	chain.reg = SP_GO_REG;
	chain.off = found->chain;
	if (!r)
		r = g->emit(g->arg, found->from - g->func->start, &chain, false);
	return r ? r : g->emit(g->arg, found->to - g->func->start, &by_sp, false);
}

int sp_go_run(struct sp_elf *e, const struct sp_go *go, const struct sp_go_func *f, sp_cfi_emit *emit, void *arg)
{
	struct go_run g = {.elf = e, .func = f, .emit = emit, .arg = arg};
	struct sp_go_switch found;
	int r = 0;
	if (f->kind == SP_GO_ROOT)
		return emit_root(&g);
	if (f->kind == SP_GO_SIGNAL)
		return emit(arg, 0, &sp_rule_of_sigreturn, false);
	if (f->kind == SP_GO_SWITCH)
		r = sp_go_walk_stack(go, f, note_frame, &g);
	if (!r && f->kind == SP_GO_SWITCH && !g.has_frame && sp_go_switch_find(e, f->start, f->end, &found))
		return emit_switch(&g, &found);
	return r < 0 ? r : sp_go_walk_stack(go, f, emit_range, &g);
}

static bool is_padding(struct sp_elf *e, uint64_t vaddr)
{
	uint64_t offset;
	SP_FREE uint8_t *byte = NULL;
	return !sp_elf_offset_of(e, vaddr, &offset) && !sp_elf_read(e, offset, 1, (void **)&byte) &&
	       *byte == SP_PADDING;
}

/*
 * A return address is looked up at the byte before it. A function whose first byte is returned to without a call
 * (goexit) must therefore cover that byte, too; it is taken from the function before, if it is padding.
 */
static void lend_byte(struct sp_elf *e, struct sp_go_func *before, struct sp_go_func *f)
{
	if (!f->is_planted || before->end != f->start || !is_padding(e, f->start - 1))
		return;
	before->end--;
	f->start--;
}

/* C's functions, which Go's linker lists without a table: other unwind information tells of them, or their code. */
static bool is_foreign(const struct sp_go_func *f)
{
	return f->kind == SP_GO_PLAIN && !f->pcsp;
}

static struct sp_fde fde_of(const struct sp_go_func *f, size_t number)
{
	return (struct sp_fde){
	    .vaddr = f->start, .size = f->end - f->start, .cie = SP_CIE_GO, .program = (uint32_t)number};
}

int sp_go_each(struct sp_elf *e, const struct sp_go *go, int (*cb)(void *arg, struct sp_fde *fde), void *arg)
{
	struct sp_go_func before = {0}, f;
	size_t number = 0;
	int r = 0;
	for (size_t i = 0; i < sp_go_n_funcs(go) && r == 0; i++) {
		if (!sp_go_func(go, i, &f) || is_foreign(&f))
			continue;
		lend_byte(e, &before, &f);
		struct sp_fde fde = fde_of(&before, number);
		r = fde.size ? cb(arg, &fde) : 0;
		before = f;
		number = i;
	}
	struct sp_fde last = fde_of(&before, number);
	return r == 0 && last.size ? cb(arg, &last) : r;
}
