/* SPDX-License-Identifier: GPL-2.0-or-later */
/* derive_state.c: what is known of the registers and the frame, and the rule that results. */
#include "base/mem.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive_priv.h"
#include <string.h>

enum { WORD = 8 };

void sp_state_enter(struct sp_state *s)
{
	memset(s, 0, sizeof(*s));
	s->reg[SP_R_SP] = sp_val_make(SP_VAL_CFA, -WORD);
	s->reg[SP_R_FP] = sp_val_make(SP_VAL_FP, 0);
}

static bool drop_aligned(struct sp_state *s)
{
	bool changed = false;
	uint32_t n = 0;
	for (int i = 0; i < 16; i++) {
		if (sp_val_kind(s->reg[i]) != SP_VAL_ALIGNED)
			continue;
		s->reg[i] = 0;
		changed = true;
	}
	for (uint32_t i = 0; i < s->n_slots; i++) {
		if (sp_val_kind(s->slot[i].at) != SP_VAL_ALIGNED && sp_val_kind(s->slot[i].value) != SP_VAL_ALIGNED)
			s->slot[n++] = s->slot[i];
	}
	changed |= n != s->n_slots;
	s->n_slots = n;
	s->aligned_at = 0;
	return changed;
}

void sp_state_align(struct sp_state *s, uint32_t pos)
{
	drop_aligned(s); /* relative to an earlier alignment, so useless now */
	s->aligned_at = pos + 1;
	s->reg[SP_R_SP] = sp_val_make(SP_VAL_ALIGNED, 0);
}

static bool merge_slots(struct sp_state *s, const struct sp_state *other)
{
	uint32_t n = 0, k = 0;
	for (uint32_t i = 0; i < s->n_slots; i++) {
		while (k < other->n_slots && other->slot[k].at < s->slot[i].at)
			k++;
		if (k < other->n_slots && other->slot[k].at == s->slot[i].at &&
		    other->slot[k].value == s->slot[i].value)
			s->slot[n++] = s->slot[i];
	}
	bool changed = n != s->n_slots;
	s->n_slots = n;
	return changed;
}

/* What was set on a path without a doubt was set: paths that meet in one state are believed together. */
static bool merge_since(struct sp_state *s, const struct sp_state *other)
{
	bool changed = false;
	for (int i = 0; i < 16; i++) {
		changed |= s->since[i] && !other->since[i];
		s->since[i] = other->since[i] ? s->since[i] : 0;
	}
	return changed;
}

bool sp_state_merge(struct sp_state *s, const struct sp_state *other)
{
	bool changed = s->aligned_at != other->aligned_at && drop_aligned(s);
	changed |= (s->saved & ~other->saved) || (s->own & ~other->own) || (s->held & ~other->held) ||
		   s->thread > other->thread;
	s->saved &= other->saved;
	s->own &= other->own;
	s->held &= other->held;
	if (s->thread == SP_THREAD_BEGINS && other->thread != SP_THREAD_BEGINS)
		s->reg[SP_R_SP] = 0;
	s->thread = SP_MIN(s->thread, other->thread);
	for (int i = 0; i < 16; i++) {
		if (s->reg[i] == other->reg[i] || !s->reg[i])
			continue;
		s->reg[i] = 0;
		changed = true;
	}
	changed |= merge_since(s, other);
	return merge_slots(s, other) || changed;
}

uint8_t sp_reg_dwarf(unsigned reg)
{
	static const uint8_t number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
	return number[reg & 15];
}

/* The CFA by a register that holds it, or an address near it. */
static bool by_register(const struct sp_state *s, unsigned reg, struct sp_rule *rule)
{
	if (sp_val_kind(s->reg[reg]) != SP_VAL_CFA)
		return false;
	rule->cfa = SP_CFA_REG;
	rule->reg = sp_reg_dwarf(reg);
	rule->off = -sp_val_off(s->reg[reg]);
	return true;
}

/* The CFA from the place on the stack where an aligned frame keeps it. */
static bool by_slot(const struct sp_state *s, unsigned reg, struct sp_rule *rule)
{
	if (sp_val_kind(s->reg[reg]) != SP_VAL_ALIGNED)
		return false;
	for (uint32_t i = 0; i < s->n_slots; i++) {
		const struct sp_slot *t = &s->slot[i];
		if (sp_val_kind(t->at) != SP_VAL_ALIGNED || sp_val_kind(t->value) != SP_VAL_CFA)
			continue;
		rule->cfa = SP_CFA_DEREF;
		rule->reg = sp_reg_dwarf(reg);
		rule->off = sp_val_off(t->at) - sp_val_off(s->reg[reg]);
		rule->add = -sp_val_off(t->value);
		return true;
	}
	return false;
}

static bool put_cfa(const struct sp_state *s, struct sp_rule *rule)
{
	if (by_register(s, SP_R_SP, rule) || by_register(s, SP_R_FP, rule) || by_slot(s, SP_R_SP, rule) ||
	    by_slot(s, SP_R_FP, rule))
		return true;
	for (unsigned i = 0; i < 16; i++) /* useful for leaves only, whose registers are all known */
		if (by_register(s, i, rule))
			return true;
	return false;
}

static bool put_fp_at(const struct sp_state *s, sp_val at, struct sp_rule *rule)
{
	static const struct {
		uint8_t reg, kind;
	} aligned[] = {{SP_R_SP, SP_FP_SP}, {SP_R_FP, SP_FP_FP}};
	int32_t off = sp_val_off(at);
	if (sp_val_kind(at) == SP_VAL_CFA && off == (int16_t)off) {
		rule->fp = SP_FP_CFA;
		rule->fp_off = (int16_t)off;
		return true;
	}
	for (int i = 0; i < 2 && sp_val_kind(at) == SP_VAL_ALIGNED; i++) {
		sp_val base = s->reg[aligned[i].reg];
		int32_t n = off - sp_val_off(base);
		if (sp_val_kind(base) != SP_VAL_ALIGNED || n != (int16_t)n)
			continue;
		rule->fp = aligned[i].kind;
		rule->fp_off = (int16_t)n;
		return true;
	}
	return false;
}

static void put_fp(const struct sp_state *s, struct sp_rule *rule)
{
	if (sp_val_kind(s->reg[SP_R_FP]) == SP_VAL_FP)
		return;
	for (uint32_t i = s->n_slots; i-- > 0;) /* the highest one: a copy below the stack pointer would not last */
		if (sp_val_kind(s->slot[i].value) == SP_VAL_FP && put_fp_at(s, s->slot[i].at, rule))
			return;
	rule->fp = SP_FP_LOST;
}

struct sp_rule sp_state_rule(const struct sp_state *s, bool by_fp)
{
	struct sp_rule rule = {0};
	if (s->thread == SP_THREAD_BEGINS)
		return (struct sp_rule){.cfa = SP_CFA_ROOT, .reg = SP_ROOT_THREAD, .ra = SP_RULE_DERIVED};
	if (!(by_fp && by_register(s, SP_R_FP, &rule)) && !put_cfa(s, &rule))
		return (struct sp_rule){.cfa = SP_CFA_NONE};
	rule.ra = SP_RA_CFA | SP_RULE_DERIVED;
	rule.ra_off = -WORD;
	put_fp(s, &rule);
	return rule;
}
