/* SPDX-License-Identifier: GPL-2.0-or-later */
/* derive_commit.c: makes the result of a believed exploration final, and removes the marks of explorations. */
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/x86_64/derive_explore.h"
#include <elf.h>

static int note_jump(struct sp_deriver *d, const struct cursor *c)
{
	return SP_APPEND(d->jumps, d->n_jumps, d->jumps_capacity,
			 (struct sp_open_jump){.at = c->pos, .state = c->state});
}

/* In a program at a fixed address any number may be the address of code; only aligned ones are taken for functions. */
static bool is_address(const struct sp_deriver *d, const struct sp_insn *i)
{
	return sp_elf_type(d->elf) == ET_EXEC && i->z.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       i->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && i->op[1].imm.value.u % 16 == 0;
}

/* What a final instruction tells about other code. */
static int note_insn(struct sp_deriver *d, const struct cursor *c)
{
	const struct sp_insn *i = c->insn;
	if (i->flow == SP_FLOW_CALL && i->has_target)
		return sp_starts_add(d, &d->sure, i->target);
	if (i->has_address)
		return sp_starts_add(d, &d->maybe, i->address);
	if (is_address(d, i))
		return sp_starts_add(d, &d->maybe, i->op[1].imm.value.u);
	return sp_insn_is_open(i) ? note_jump(d, c) : 0;
}

static void mark_done(struct sp_deriver *d, uint32_t pos, unsigned length)
{
	d->flags[pos] |= SP_POS_DONE;
	for (unsigned i = 1; i < length; i++)
		d->flags[pos + i] |= SP_POS_DONE_IN;
}

/* Runs a block again, from its final state, as far as it is believed: for what it tells about other code. */
static int commit_block(struct sp_deriver *d, const struct head *h)
{
	struct cursor c = {.pos = h->at, .state = h->state};
	enum sp_flow flow;
	bool first = true;
	int r = 0;
	c.island = sp_code_island(d, c.pos);
	while (r == 0 && c.pos - c.island->base < c.island->size && (d->flags[c.pos] & SP_POS_TRY) &&
	       (first || !(d->flags[c.pos] & SP_POS_HEAD))) {
		first = false;
		if (sp_in_doubt(&d->explorer->doubts, c.state.doubt))
			break;
		c.insn = sp_code_decode(d, c.island, c.pos);
		if (!c.insn)
			break;
		sp_insn_apply(c.insn, c.pos, &c.state);
		mark_done(d, c.pos, c.insn->length);
		c.pos += c.insn->length;
		flow = (enum sp_flow)c.insn->flow;
		if (flow == SP_FLOW_CALL)
			c.state.doubt = c.pos + 1;
		r = note_insn(d, &c);
		if (flow == SP_FLOW_JUMP || flow == SP_FLOW_RETURN || flow == SP_FLOW_STOP)
			break;
	}
	return r;
}

/* A function without calls has no doubts, so all of it is believed. */
static void commit_all(struct sp_deriver *d)
{
	const struct sp_explorer *x = d->explorer;
	for (size_t i = 0; i < x->n_seen; i++) {
		unsigned length = 1;
		while (x->seen[i] + length < d->n_bytes && d->flags[x->seen[i] + length] & SP_POS_TRY_IN)
			length++;
		mark_done(d, x->seen[i], length);
	}
}

int sp_explorer_commit(struct sp_deriver *d)
{
	struct sp_explorer *x = d->explorer;
	int r = 0;
	if (!x->speaks) {
		commit_all(d);
		return 0;
	}
	sp_doubts_settle(&x->doubts, !x->is_open && !x->n_ends && !x->strays);
	for (size_t i = 0; r == 0 && i < x->n_heads; i++)
		r = commit_block(d, &x->heads[i]);
	return r;
}

void sp_explorer_settle(struct sp_deriver *d)
{
	struct sp_explorer *x = d->explorer;
	for (size_t i = 0; i < x->n_heads; i++)
		d->flags[x->heads[i].at] &= (uint8_t)~SP_POS_HEAD;
	for (size_t i = 0; i < x->n_seen; i++) {
		uint8_t *f = &d->flags[x->seen[i]], *end = d->flags + d->n_bytes;
		*f &= (uint8_t)~SP_POS_TRY;
		for (f++; f < end && *f & SP_POS_TRY_IN; f++)
			*f &= (uint8_t)~SP_POS_TRY_IN;
	}
	for (size_t i = 0; i < x->n_heads; i++) /* looks up all slots before it clears any */
		x->heads[i].slot = (uint32_t)(sp_explorer_slot(x, x->heads[i].at) - x->slots);
	for (size_t i = 0; i < x->n_heads; i++)
		x->slots[x->heads[i].slot] = 0;
	x->n_heads = x->n_queue = x->n_seen = 0;
	sp_doubts_clear(&x->doubts);
}
