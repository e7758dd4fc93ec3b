/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * note.bpf.h: notes which words of the stack a walk has read, in sessions that ask for them (usual.bpf.h).
 */
#ifndef SP_BPF_NOTE_BPF_H
#define SP_BPF_NOTE_BPF_H

#include "bpf/scratch.bpf.h"

static __always_inline void sp_word_note(struct sp_scratch *s, sp_u64 addr, sp_u64 value)
{
	sp_u32 at = SP_USUAL_AT + 2 * (s->n_words++ & (SP_USUAL_WORDS - 1));

	sp_opaque(at);
	s->frames[at & (SP_NEAR_FRAMES - 1)] = addr;
	s->frames[(at + 1) & (SP_NEAR_FRAMES - 1)] = value;
}

/* Notes what a step by this rule has read, if that is all that it follows from. */
static __always_inline void sp_step_note(struct sp_scratch *s, const struct sp_rule *rule)
{
	if (rule->cfa != SP_CFA_REG || (rule->reg != SP_REG_SP && rule->reg != SP_REG_FP) ||
	    (rule->ra & (SP_RULE_RA_MASK | SP_RULE_SIGNAL)) != SP_RA_CFA ||
	    (rule->fp != SP_FP_SAME && rule->fp != SP_FP_CFA) || s->n_words > SP_USUAL_WORDS - 2)
		return;
	s->n_noted++;
	sp_word_note(s, s->regs.sp + rule->ra_off, s->regs.ip);
	if (rule->fp == SP_FP_CFA)
		sp_word_note(s, s->regs.sp + rule->fp_off, s->regs.fp);
}

#endif
