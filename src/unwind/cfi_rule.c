/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi_rule.c: the rule of wire.h for the state of a call frame program. */
#include "unwind/priv.h"

static bool fits16(int64_t n)
{
	return n == (int16_t)n;
}

static bool fits32(int64_t n)
{
	return n == (int32_t)n;
}

static bool put_index(struct sp_rule *rule, const struct sp_cfi_value *v)
{
	if (v->reg >= SP_REG_RA || v->index >= SP_REG_RA)
		return false;
	rule->reg = (uint8_t)(v->reg | v->index << 4);
	rule->ra |= (uint8_t)(v->shift << SP_RULE_SCALE_SHIFT);
	return true;
}

static bool put_cfa(struct sp_rule *rule, const struct sp_cfi_value *v)
{
	if (!fits32(v->off) || !fits16(v->add))
		return false;
	rule->reg = v->reg;
	rule->off = (int32_t)v->off;
	rule->add = (int16_t)v->add;
	switch (v->kind) {
	case SP_CFI_REG:
		rule->cfa = SP_CFA_REG;
		rule->add = 0;
		return v->reg < SP_REG_RA;
	case SP_CFI_DEREF:
		rule->cfa = SP_CFA_DEREF;
		return true;
	case SP_CFI_INDEX:
		rule->cfa = SP_CFA_INDEX;
		return put_index(rule, v);
	case SP_CFI_INDEX_DEREF:
		rule->cfa = SP_CFA_INDEX_DEREF;
		return put_index(rule, v);
	case SP_CFI_PLT:
		rule->cfa = SP_CFA_PLT;
		return true;
	default:
		return false;
	}
}

static bool put_ra(struct sp_rule *rule, const struct sp_cfi_column *ra)
{
	const struct sp_cfi_value *v = &ra->value;
	if (ra->how == SP_COLUMN_REG) {
		rule->ra |= SP_RA_REG;
		rule->ra_off = v->reg;
		return v->reg < SP_REG_RA;
	}
	if (ra->how != SP_COLUMN_AT || !fits16(v->off))
		return false;
	rule->ra_off = (int16_t)v->off;
	rule->ra |= v->kind == SP_CFI_CFA ? SP_RA_CFA : SP_RA_SP;
	return v->kind == SP_CFI_CFA || (v->kind == SP_CFI_REG && v->reg == SP_REG_SP);
}

static uint8_t fp_kind(const struct sp_cfi_value *v)
{
	if (!fits16(v->off))
		return SP_FP_LOST;
	if (v->kind == SP_CFI_CFA)
		return SP_FP_CFA;
	if (v->kind == SP_CFI_REG && v->reg == SP_REG_FP)
		return SP_FP_FP;
	return v->kind == SP_CFI_REG && v->reg == SP_REG_SP ? SP_FP_SP : SP_FP_LOST;
}

static void put_fp(struct sp_rule *rule, const struct sp_cfi_column *fp, bool *ret_lost)
{
	if (fp->how == SP_COLUMN_SAME)
		return;
	rule->fp = fp->how == SP_COLUMN_AT ? fp_kind(&fp->value) : SP_FP_LOST;
	if (rule->fp != SP_FP_LOST)
		rule->fp_off = (int16_t)fp->value.off;
	*ret_lost = rule->fp == SP_FP_LOST && fp->how != SP_COLUMN_UNDEFINED;
}

/* Whether the caller's stack pointer is the CFA, as rows assume. longjmp's FDE, for one, says otherwise. */
static bool sp_is_cfa(const struct sp_cfi_column *sp, const struct sp_cfi_value *cfa)
{
	const struct sp_cfi_value *v = &sp->value;
	switch (sp->how) {
	case SP_COLUMN_SAME:
	case SP_COLUMN_UNDEFINED:
		return true;
	case SP_COLUMN_AT: /* a signal frame: stack pointer and CFA are read from the same place */
		return v->kind == SP_CFI_REG && cfa->kind == SP_CFI_DEREF && cfa->reg == v->reg && cfa->off == v->off &&
		       cfa->add == 0;
	case SP_COLUMN_REG:
		return cfa->kind == SP_CFI_REG && cfa->reg == v->reg && cfa->off == 0;
	default:
		return (v->kind == SP_CFI_CFA && v->off == 0) ||
		       (v->kind == SP_CFI_REG && cfa->kind == SP_CFI_REG && cfa->reg == v->reg && cfa->off == v->off);
	}
}

static void put_base(struct sp_rule *rule, const struct sp_cfi_column *base)
{
	const struct sp_cfi_value *v = &base->value;
	if (base->how == SP_COLUMN_SAME) {
		rule->kept = 1 << SP_REG_BASE;
	} else if (base->how == SP_COLUMN_AT && rule->cfa == SP_CFA_REG && v->kind == SP_CFI_CFA && fits16(v->off)) {
		rule->ra |= SP_RULE_BASE_CFA;
		rule->add = (int16_t)v->off;
	}
}

struct sp_rule sp_cfi_rule(const struct sp_cfi_state *s, bool signal, bool with_base, bool *ret_lost)
{
	struct sp_rule rule = {0};
	*ret_lost = false;
	if (s->ra.how == SP_COLUMN_UNDEFINED)
		return (struct sp_rule){.cfa = SP_CFA_ROOT};
	const struct sp_cfi_value *cfa = s->by_expression ? &s->expression : &s->cfa;
	if (!put_cfa(&rule, cfa))
		return (struct sp_rule){.cfa = SP_CFA_BAD, .reg = SP_BAD_CFA};
	if (!put_ra(&rule, &s->ra))
		return (struct sp_rule){.cfa = SP_CFA_BAD, .reg = SP_BAD_RA};
	if (!sp_is_cfa(&s->sp, cfa))
		return (struct sp_rule){.cfa = SP_CFA_BAD, .reg = SP_BAD_SP};
	put_fp(&rule, &s->fp, ret_lost);
	rule.ra |= signal ? SP_RULE_SIGNAL : 0;
	if (with_base)
		put_base(&rule, &s->base);
	return rule;
}
