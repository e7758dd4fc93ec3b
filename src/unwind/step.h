/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * step.h: the unwinder's core: from the machine state of one frame to that of its caller.
 *
 * Plain C that compiles twice: into the kernel half (bpf/unwind.bpf.h) and into the user half (unwind/finish.c), where
 * tests compare it with libdw and fuzzers drive it. It knows no memory of its own; its includer defines
 *   SP_WALK                                                      the type that the functions below get
 *   int sp_env_stack(SP_WALK *w, sp_u64 addr, sp_u64 *ret)       8 bytes of stack memory; 0, or not readable
 *   int sp_env_is_return(SP_WALK *w, sp_u64 addr)                whether a call ends at addr (sp_ends_in_call)
 *   int sp_env_code(SP_WALK *w, sp_u64 addr, sp_u8 *ret)         the 8 bytes of code from addr on; 0, or not known
 *   int sp_env_read(SP_WALK *w, sp_u64 addr, void *ret, sp_u32 n)   n bytes of any memory; 0, or not readable
 *   const struct sp_segment *sp_env_segment(SP_WALK *w, sp_u32 word)     the segment with this table word, or NULL
 *   sp_opaque(x)                                                 BPF: hides x from range analysis; else: nothing
 *
 * Results: SP_STEP_NEXT, or the enum sp_stop that ends the stack. A stack that cannot go on is never called complete.
 * Sources: System V x86-64 psABI 3.2.2 and 3.4.1 (frames, process entry); DWARF 5, 6.4 (the rules).
 */
#ifndef SP_UNWIND_STEP_H
#define SP_UNWIND_STEP_H

#include "unwind/step_types.h"
#include "unwind/x86_64/leaf.h"

#define SP_STEP_NEXT 0xffffu
#define SP_GUESS_REACH (8ULL << 20) /* a frame is smaller than the usual limit of a whole stack */

enum { SP_ROW_STEPS = SP_INDEX_COUNT_BITS };

/* The stop for a rule that marks a root. */
SP_STEP_INLINE sp_u32 sp_root_stop(const struct sp_rule *rule)
{
	if (rule->reg == SP_ROOT_FIBER)
		return SP_STOP_FIBER;
	return rule->reg == SP_ROOT_THREAD ? SP_STOP_THREAD : SP_STOP_COMPLETE;
}

/* The marks of a frame word that say how the frame was reached. */
SP_STEP_INLINE sp_u64 sp_frame_marks(sp_u32 how)
{
	if (how & SP_HOW_GUESSED)
		return SP_FRAME_GUESSED;
	if (how & SP_HOW_RUNTIME)
		return SP_FRAME_RUNTIME;
	return how & SP_HOW_DERIVED ? SP_FRAME_DERIVED : 0;
}

/*
 * Stack ids are hashes of the frame words and the stop: per word, a multiplication by an odd number (2^64 / golden
 * ratio) and a xor shift.
 */
SP_STEP_INLINE sp_u64 sp_hash_mix(sp_u64 hash, sp_u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

/* The word of the table at this address, or 0 where there is no such segment. */
SP_STEP_INLINE sp_u32 sp_table_word(SP_WALK *w, sp_u32 at)
{
	const struct sp_segment *segment = sp_env_segment(w, at);

	return segment ? segment->word[at & (SP_SEG_WORDS - 1)] : 0;
}

/* The number of the last of n rows (n > 0) that begins at or before pc. The first one does, by construction. */
SP_STEP_INLINE sp_u32 sp_unwind_row_search(const struct sp_segment *segment, sp_u32 at, sp_u32 n, sp_u32 pc)
{
	sp_u32 i, lo = at, half;

	for (i = 0; i < SP_ROW_STEPS; i++) {
		sp_u32 row, before;

		if (n <= 1)
			break;
		half = n >> 1;
		row = lo + half;
		sp_opaque(row);
		/* No branch, since none could predict it: all ones if the row begins at or before pc. */
		before = (sp_u32)((sp_s32)((segment->word[row & (SP_SEG_WORDS - 1)] & 0xffff) - pc - 1) >> 31);
		lo += half & before;
		n -= half;
	}
	return lo;
}

/* The table word of the rule for this offset in the file; 0: a gap, or outside the table. */
SP_STEP_INLINE sp_u32 sp_rule_find(SP_WALK *w, const struct sp_table *t, sp_u64 offset)
{
	sp_u32 group = (sp_u32)(offset >> (t->shift & 31)) - t->first;
	const struct sp_segment *segment;
	sp_u32 entry, at, row;

	if ((offset >> 40) || group >= t->n_groups)
		return 0;
	entry = sp_table_word(w, t->index + group);
	at = t->rows + (entry >> SP_INDEX_COUNT_BITS);
	segment = sp_env_segment(w, at);
	if (!segment || !(entry & SP_INDEX_COUNT_MASK))
		return 0;
	row = sp_unwind_row_search(segment, at & (SP_SEG_WORDS - 1), entry & SP_INDEX_COUNT_MASK, offset & 0xffff);
	sp_opaque(row);
	row = segment->word[row & (SP_SEG_WORDS - 1)] >> 16;
	return row ? t->rules + 4 * row : 0;
}

/* The rule at a table word, copied: tables may change while a stack is walked. */
SP_STEP_INLINE int sp_rule_get(SP_WALK *w, sp_u32 at, struct sp_rule *ret_rule)
{
	const struct sp_segment *segment = sp_env_segment(w, at);

	if (!segment)
		return -1;
	at &= (SP_SEG_WORDS - 1) & ~3u;
	sp_opaque(at);
	at &= (SP_SEG_WORDS - 1) & ~3u;
	*ret_rule = *(const struct sp_rule *)&segment->word[at];
	return 0;
}

/* Steps from a leaf without a frame, whose return address is at this offset. 0; -1: that leads to no caller. */
SP_STEP_INLINE int sp_step_bare(SP_WALK *w, struct sp_regs *regs, sp_u32 *how, sp_s32 off)
{
	sp_u64 ra;

	if (off < 0 || sp_env_stack(w, regs->sp + off, &ra) || !sp_env_is_return(w, ra))
		return -1;
	regs->ip = ra;
	regs->sp += off + 8;
	*how = SP_HOW_GUESSED | (*how & SP_HOW_NO_FP);
	return 0;
}

/*
 * Steps from a leaf without a frame; its caller's frame pointer is in the register. 0; -1: it has a frame, or there is
 * no caller.
 */
SP_STEP_INLINE int sp_step_frameless(SP_WALK *w, struct sp_regs *regs, sp_u32 *how)
{
	sp_u8 code[8] = {0};

	if (!(*how & SP_HOW_EXACT) || sp_env_code(w, regs->ip, code))
		return -1;
	return sp_step_bare(w, regs, how, sp_frameless(code));
}

/* Whether the call by pointer at b[at], before the return address ra, leads to the instruction pointer. */
SP_STEP_INLINE int sp_leads_here(SP_WALK *w, const struct sp_regs *regs, const sp_u8 *b, sp_u32 at, sp_u64 ra)
{
	sp_u64 off, value = ra;
	sp_s32 by = sp_call_by(b, at, &off);
	sp_u32 reg = (sp_u32)by & 15;

	if (by == SP_CALL_NONE)
		return 0;
	sp_opaque(reg);
	if (by != SP_CALL_RIP)
		value = reg == SP_REG_FP ? regs->fp : regs->r[reg & 15];
	if (!(by & SP_CALL_VALUE) && sp_env_read(w, value + off, &value, 8))
		return 0;
	return value == regs->ip;
}

/* Whether the 8 bytes before the return address ra end in a call of what the instruction pointer is at. */
SP_STEP_INLINE int sp_calls_here(SP_WALK *w, const struct sp_regs *regs, const sp_u8 *b, sp_u64 ra)
{
	return sp_calls_directly(b, ra, regs->ip) || sp_leads_here(w, regs, b, 6, ra) ||
	       sp_leads_here(w, regs, b, 5, ra) || sp_leads_here(w, regs, b, 2, ra);
}

/*
 * Steps from a leaf that stands at a function's first instruction: a call of it put the word at the stack pointer
 * there, and the registers are still the caller's. 0; -1: not so.
 */
SP_STEP_INLINE int sp_step_called(SP_WALK *w, struct sp_regs *regs, sp_u32 *how)
{
	sp_u8 code[8] = {0};
	sp_u64 ra;

	if (sp_env_stack(w, regs->sp, &ra) || ra < 4096 || ra >= SP_USER_END || sp_env_read(w, ra - 8, code, 8) ||
	    !sp_calls_here(w, regs, code, ra))
		return -1;
	regs->ip = ra;
	regs->sp += 8;
	*how &= ~(sp_u32)(SP_HOW_EXACT | SP_HOW_FIRST);
	return 0;
}

/*
 * Steps from a leaf in a file's code without unwind information, if it has no frame. leaf: by its code, sp_leaf(). If
 * that cannot be read (it is on its way from the disk), nobody can tell, now or later, unless the leaf was just called;
 * then *ret_unsure is set: the leaf itself is to be marked. 0; -1: it has a frame.
 */
SP_STEP_INLINE int sp_step_leaf(SP_WALK *w, struct sp_regs *regs, sp_u32 *how, sp_s32 leaf, int *ret_unsure)
{
	*ret_unsure = 0;
	if (leaf == SP_LEAF_UNREAD) {
		if (!sp_step_called(w, regs, how))
			return 0;
		*ret_unsure = 1;
		leaf = 0;
	}
	return sp_step_bare(w, regs, how, leaf);
}

/*
 * Steps without unwind information: by the frame pointer, if that leads to a return address behind a call. A leaf may
 * not have set up its frame, so there the word at the stack pointer is tried next. A frame pointer of 0 marks the
 * outermost frame (psABI), but not in the leaf, whose code may use the register for anything. The caller marks the
 * result as guessed.
 */
SP_STEP_INLINE sp_u32 sp_step_guess(SP_WALK *w, struct sp_regs *regs, sp_u32 *how)
{
	sp_u64 fp = regs->fp, next, ra;

	if (!sp_step_frameless(w, regs, how))
		return SP_STEP_NEXT;
	if (!(*how & SP_HOW_NO_FP) && !(fp & 7) && fp >= regs->sp && fp - regs->sp < SP_GUESS_REACH &&
	    !sp_env_stack(w, fp, &next) && !sp_env_stack(w, fp + 8, &ra) && sp_env_is_return(w, ra)) {
		regs->ip = ra;
		regs->sp = fp + 16;
		regs->fp = next;
		*how = SP_HOW_GUESSED;
		return SP_STEP_NEXT;
	}
	if ((*how & (SP_HOW_EXACT | SP_HOW_FIRST)) && !sp_env_stack(w, regs->sp, &ra) && sp_env_is_return(w, ra)) {
		regs->ip = ra;
		regs->sp += 8;
		*how = SP_HOW_GUESSED | (*how & SP_HOW_NO_FP);
		return SP_STEP_NEXT;
	}
	return !fp && !(*how & (SP_HOW_NO_FP | SP_HOW_FIRST)) ? SP_STOP_COMPLETE : SP_STOP_NO_UNWIND;
}

/*
 * A register's value, or a stop. Its bit in *unsure is set if the value is only the sample's and may have changed
 * since.
 */
SP_STEP_INLINE sp_u32 sp_reg_get(const struct sp_regs *regs, sp_u32 how, sp_u32 reg, sp_u64 *ret, sp_u32 *unsure)
{
	if (reg == SP_REG_SP) {
		*ret = regs->sp;
	} else if (reg == SP_REG_FP) {
		if (how & SP_HOW_NO_FP)
			return SP_STOP_REGISTER;
		*ret = regs->fp;
	} else {
		if (reg > 15)
			return SP_STOP_REGISTER;
		*unsure |= ~(how >> SP_HOW_REGS_SHIFT) & 1u << reg;
		sp_opaque(reg);
		*ret = regs->r[reg & 15];
	}
	return SP_STEP_NEXT;
}

SP_STEP_INLINE sp_u32 sp_cfa(SP_WALK *w, const struct sp_regs *regs, sp_u32 how, const struct sp_rule *rule,
			     sp_u64 *ret, sp_u32 *unsure)
{
	sp_u64 base, index = 0;
	sp_u32 r;

	if (rule->cfa == SP_CFA_REG && rule->reg == SP_REG_SP) { /* nearly always */
		*ret = regs->sp + rule->off;
		return SP_STEP_NEXT;
	}
	if (rule->cfa == SP_CFA_PLT) {
		*ret = regs->sp + rule->off + sp_plt_pushed(regs->ip, (sp_u32)rule->add);
		return SP_STEP_NEXT;
	}
	if (rule->cfa < SP_CFA_REG || rule->cfa > SP_CFA_INDEX_DEREF)
		return SP_STOP_RULE;
	r = sp_reg_get(regs, how, rule->reg & 15, &base, unsure);
	if (r == SP_STEP_NEXT && rule->cfa >= SP_CFA_INDEX)
		r = sp_reg_get(regs, how, rule->reg >> 4, &index, unsure);
	if (r != SP_STEP_NEXT)
		return r;
	base += rule->off + (index << ((rule->ra & SP_RULE_SCALE) >> SP_RULE_SCALE_SHIFT));
	if (rule->cfa == SP_CFA_DEREF || rule->cfa == SP_CFA_INDEX_DEREF) {
		if (sp_env_stack(w, base, &base))
			return SP_STOP_READ;
		base += rule->add;
	}
	*ret = base;
	return SP_STEP_NEXT;
}

/*
 * Steps by a chain to the stack that the thread was on before. 0; -1: it leads to no return address, and the rule is
 * now one by the frame pointer, whose result is a guess.
 */
SP_STEP_INLINE int sp_step_chain(SP_WALK *w, struct sp_regs *regs, sp_u32 *how, struct sp_rule *rule)
{
	sp_u32 steps = (sp_u32)rule->off, unsure = 0, i;
	sp_u64 at, ra;

	rule->cfa = SP_CFA_REG;
	rule->off = 16;
	i = rule->reg;
	rule->reg = SP_REG_FP;
	if (sp_reg_get(regs, *how, i, &at, &unsure) != SP_STEP_NEXT || unsure)
		return -1;
	for (i = 0; i < SP_CHAIN_STEPS; i++, steps >>= SP_CHAIN_BITS)
		if (sp_env_read(w, at + 8 * (steps & SP_CHAIN_MASK), &at, 8))
			return -1;
	if ((at & 7) || sp_env_stack(w, at, &ra) || !sp_env_is_return(w, ra))
		return -1;
	regs->ip = ra;
	regs->sp = at + 8;
	*how &= SP_HOW_NO_FP;
	return 0;
}

/* What is found out about a frame's caller. */
struct sp_caller {
	sp_u64 cfa, ip, fp;
	sp_u32 how;
	sp_u32 unsure; /* a bit for each register used whose value is only the sample's (sp_reg_get) */
};

/* The caller's frame pointer. Sets SP_HOW_NO_FP where it is lost. */
SP_STEP_INLINE sp_u32 sp_caller_fp(SP_WALK *w, const struct sp_regs *regs, const struct sp_rule *rule,
				   struct sp_caller *c)
{
	sp_u64 at;

	switch (rule->fp) {
	case SP_FP_SAME:
		return SP_STEP_NEXT;
	case SP_FP_CFA:
		at = c->cfa;
		break;
	case SP_FP_FP:
		if (c->how & SP_HOW_NO_FP)
			return SP_STOP_REGISTER;
		at = regs->fp;
		break;
	case SP_FP_SP:
		at = regs->sp;
		break;
	default:
		c->how |= SP_HOW_NO_FP;
		return SP_STEP_NEXT;
	}
	c->how &= ~SP_HOW_NO_FP;
	return sp_env_stack(w, at + rule->fp_off, &c->fp) ? SP_STOP_READ : SP_STEP_NEXT;
}

SP_STEP_INLINE sp_u32 sp_caller_ip(SP_WALK *w, const struct sp_regs *regs, sp_u32 how, const struct sp_rule *rule,
				   struct sp_caller *c)
{
	sp_u32 kind = rule->ra & SP_RULE_RA_MASK;

	if (kind == SP_RA_REG)
		return sp_reg_get(regs, how, rule->ra_off, &c->ip, &c->unsure);
	return sp_env_stack(w, (kind == SP_RA_SP ? regs->sp : c->cfa) + rule->ra_off, &c->ip) ? SP_STOP_READ
											      : SP_STEP_NEXT;
}

/* The registers in r[] that are valid in the caller; its base register is read if this file's rules have it. */
SP_STEP_INLINE sp_u32 sp_caller_regs(SP_WALK *w, struct sp_regs *regs, sp_u32 how, const struct sp_rule *rule,
				     sp_u64 cfa)
{
	sp_u32 known = how & (sp_u32)rule->kept << SP_HOW_REGS_SHIFT;

	if (rule->ra & SP_RULE_BASE_CFA && !sp_env_stack(w, cfa + rule->add, &regs->r[SP_REG_BASE]))
		known |= 1u << (SP_HOW_REGS_SHIFT + SP_REG_BASE);
	return known;
}

/*
 * Whether the caller's frame may begin where this one ends: its return address is in a register, or this is a leaf that
 * has popped it, so that it lies below the stack pointer (OCaml's caml_c_call).
 */
SP_STEP_INLINE int sp_may_be_empty(sp_u32 how, const struct sp_rule *rule)
{
	return how & SP_HOW_EXACT || (rule->ra & SP_RULE_RA_MASK) == SP_RA_REG;
}

SP_STEP_INLINE sp_u32 sp_caller_find(SP_WALK *w, const struct sp_regs *regs, sp_u32 how, const struct sp_rule *rule,
				     struct sp_caller *c)
{
	sp_u32 r = sp_cfa(w, regs, how, rule, &c->cfa, &c->unsure);

	if (r != SP_STEP_NEXT)
		return r;
	if ((c->cfa & 7) || c->cfa >= SP_USER_END || c->cfa < 4096)
		return SP_STOP_CFA;
	/* The stack grows down, so a caller's frame lies above; except behind a signal or a change of stacks. */
	if ((rule->ra & SP_RULE_RA_MASK) == SP_RA_SWITCH)
		c->how |= rule->add ? SP_HOW_GUESSED : 0;
	else if (!(rule->ra & SP_RULE_SIGNAL) &&
		 (c->cfa < regs->sp || (c->cfa == regs->sp && !sp_may_be_empty(how, rule))))
		return SP_STOP_CFA;
	/* The frame pointer first: it is saved below the return address, and memory is read in chunks upwards. */
	r = sp_caller_fp(w, regs, rule, c);
	return r == SP_STEP_NEXT ? sp_caller_ip(w, regs, how, rule, c) : r;
}

/* For a function that never returns: its return address may be made up, at the top of a stack. */
SP_STEP_INLINE sp_u32 sp_caller_top(const struct sp_rule *rule, sp_u64 cfa)
{
	return rule->ra & SP_RULE_FIRST && !(cfa & 15) ? SP_HOW_TOP : 0;
}

/*
 * Applies a rule. If it needs a register whose value is only the sample's, the result is accepted, as a guess, if it
 * leads to a near return address behind a call, and if guesses are allowed (may_guess).
 */
SP_STEP_INLINE sp_u32 sp_step_rule(SP_WALK *w, struct sp_regs *regs, sp_u32 *how, const struct sp_rule *rule,
				   int may_guess)
{
	struct sp_caller c = {.fp = regs->fp, .how = *how & SP_HOW_NO_FP};
	sp_u32 r;

	if (rule->cfa == SP_CFA_ROOT)
		return sp_root_stop(rule);
	r = sp_caller_find(w, regs, *how, rule, &c);
	if (c.unsure) {
		if (r != SP_STEP_NEXT || !may_guess || c.cfa - regs->sp >= SP_GUESS_REACH || !sp_env_is_return(w, c.ip))
			return SP_STOP_REGISTER;
		c.how |= SP_HOW_GUESSED;
	}
	if (r != SP_STEP_NEXT)
		return r;
	c.how |= sp_caller_top(rule, c.cfa);
	if (!c.ip && c.how & SP_HOW_TOP)
		return SP_STOP_FIBER;
	*how = c.how | sp_caller_regs(w, regs, *how, rule, c.cfa) | (rule->ra & SP_RULE_SIGNAL ? SP_HOW_EXACT : 0) |
	       (rule->ra & SP_RULE_DERIVED ? SP_HOW_DERIVED : 0);
	regs->ip = c.ip;
	regs->sp = c.cfa;
	regs->fp = c.fp;
	return SP_STEP_NEXT;
}

#endif
