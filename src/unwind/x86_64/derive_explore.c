/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_explore.c: explores one function, from its start over all blocks that control reaches.
 *
 * Blocks are followed until the states at their heads no longer change. The rules become final only if nothing
 * contradicts the start. These do: a `ret` that would not find the return address, a return address above the stack
 * pointer, bytes that are no instruction or overlap another, and control that leaves the code or reaches a function,
 * or known code in another state.
 *
 * A call that never returns is followed by unrelated code. So code behind a call is in doubt, and states carry the
 * last such call. A doubt is lifted by a proper end, by a computed jump in the state of one, or by code reached in the
 * same state without the call; in a function without a proper end also by code behind the call that reads what the
 * function kept in a preserved register. Code that stays in doubt gets no rules. A refused function is tried again as
 * if calls in front of padding did not return, then those in front of a multiple of 16, too: behind many a call that
 * returns there is one, so that this alone would leave their code in doubt.
 */
#include "unwind/x86_64/derive_explore.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sp_explorer_free(struct sp_explorer *x)
{
	if (!x)
		return;
	free(x->heads);
	free(x->slots);
	free(x->queue);
	free(x->seen);
	sp_doubts_free(&x->doubts);
	free(x);
}

/* --- heads of blocks --- */

uint32_t *sp_explorer_slot(struct sp_explorer *x, uint32_t pos)
{
	size_t i = (pos * 0x9e3779b97f4a7c15ULL >> 32) & (x->n_slots - 1);
	while (x->slots[i] && x->heads[x->slots[i] - 1].at != pos)
		i = (i + 1) & (x->n_slots - 1);
	return &x->slots[i];
}

static int slots_grow(struct sp_explorer *x)
{
	if (x->n_heads * 2 < x->n_slots)
		return 0;
	size_t n = SP_MAX(x->n_slots * 2, (size_t)256);
	uint32_t *slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(x->slots);
	x->slots = slots;
	x->n_slots = n;
	for (size_t i = 0; i < x->n_heads; i++)
		*sp_explorer_slot(x, x->heads[i].at) = (uint32_t)i + 1;
	return 0;
}

static int enqueue(struct sp_explorer *x, size_t head)
{
	if (x->heads[head].queued)
		return 0;
	int r = sp_grow(&x->queue, &x->queue_capacity, x->n_queue + 1, sizeof(*x->queue));
	if (r < 0)
		return r;
	x->heads[head].queued = true;
	x->queue[x->n_queue++] = (uint32_t)head;
	return 0;
}

/* A block that contains a new head has to be run again, to end there. */
static int rerun_holder(struct sp_deriver *d, uint32_t pos)
{
	struct sp_explorer *x = d->explorer;
	if (!(d->flags[pos] & SP_POS_TRY))
		return 0;
	while (!(d->flags[pos] & SP_POS_HEAD)) {
		x->n_steps++;
		pos--;
	}
	return enqueue(x, *sp_explorer_slot(x, pos) - 1);
}

static int head_add(struct sp_deriver *d, uint32_t pos, const struct sp_state *s)
{
	struct sp_explorer *x = d->explorer;
	if (x->n_heads == SP_DERIVE_MAX_BLOCKS) {
		d->cut = x->refused = true;
		return 0;
	}
	int r = rerun_holder(d, pos);
	if (r == 0)
		r = sp_grow(&x->heads, &x->heads_capacity, x->n_heads + 1, sizeof(*x->heads));
	if (r == 0)
		r = slots_grow(x);
	if (r < 0)
		return r;
	*sp_explorer_slot(x, pos) = (uint32_t)x->n_heads + 1;
	x->heads[x->n_heads] = (struct head){.at = pos, .state = *s};
	d->flags[pos] |= SP_POS_HEAD;
	return enqueue(x, x->n_heads++);
}

/* --- flow --- */

static bool returns_here(const struct sp_state *s)
{
	return s->reg[SP_R_SP] == sp_val_make(SP_VAL_CFA, -8);
}

/*
 * A proper end has also restored the caller's frame pointer: only functions local to a file leave that to their
 * callers.
 */
static bool is_end(const struct sp_state *s)
{
	return returns_here(s) && s->reg[SP_R_FP] == sp_val_make(SP_VAL_FP, 0);
}

static void refuse(struct sp_explorer *x)
{
	x->refused = true;
}

static void end_properly(struct sp_explorer *x, const struct sp_state *s)
{
	sp_doubt_lift(&x->doubts, s->doubt);
	x->n_ends += is_end(s);
}

static void end_if_returning(struct sp_explorer *x, const struct sp_state *s)
{
	if (returns_here(s))
		end_properly(x, s);
}

/* Control reaches the start of a function: a tail call, for which the frame has to be taken down. */
static void flow_to_start(struct sp_explorer *x, uint32_t pos, const struct sp_state *s)
{
	if (returns_here(s) && pos != x->start)
		end_properly(x, s);
	else if (s->reg[SP_R_SP] && !returns_here(s))
		refuse(x);
}

/* Control reaches code with final rules: they must hold on this path, too. */
static void flow_to_done(struct sp_deriver *d, uint32_t pos, const struct sp_state *s)
{
	struct sp_rule now = sp_state_rule(s, d->by_fp);
	const struct sp_rule *was = sp_intern_get(d->rules, d->rule_at[pos], NULL);
	if (was->cfa == SP_CFA_NONE)
		return;
	struct sp_rule same_fp = now;
	same_fp.fp = was->fp;
	same_fp.fp_off = was->fp_off;
	if (memcmp(&same_fp, was, sizeof(now)) != 0 || (was->fp != SP_FP_LOST && memcmp(&now, was, sizeof(now)) != 0))
		refuse(d->explorer);
	else {
		sp_doubt_lift(&d->explorer->doubts, s->doubt);
		d->explorer->n_ends++;
	}
}

/* Two paths reach one place in the same state: if one is not in doubt, neither is the other. */
static int flow_to_head(struct sp_explorer *x, size_t head, const struct sp_state *s)
{
	struct sp_state *was = &x->heads[head].state;
	uint32_t doubt = was->doubt;
	if (was->reg[SP_R_SP] == s->reg[SP_R_SP]) {
		sp_doubt_link(&x->doubts, s->doubt, doubt);
		sp_doubt_link(&x->doubts, doubt, s->doubt);
	}
	if (!s->doubt)
		was->doubt = 0;
	return sp_state_merge(was, s) || doubt != was->doubt ? enqueue(x, head) : 0;
}

static int flow_to(struct sp_deriver *d, uint32_t pos, const struct sp_state *s)
{
	struct sp_explorer *x = d->explorer;
	uint8_t flags = d->flags[pos];
	if (flags & SP_POS_START || (pos == x->start && x->trust != SP_TRUST_INNER)) {
		flow_to_start(x, pos, s);
		return 0;
	}
	if (flags & SP_POS_DONE) {
		flow_to_done(d, pos, s);
		return 0;
	}
	if (flags & (SP_POS_DONE_IN | SP_POS_TRY_IN)) {
		refuse(x);
		return 0;
	}
	return flags & SP_POS_HEAD ? flow_to_head(x, *sp_explorer_slot(x, pos) - 1, s) : head_add(d, pos, s);
}

static int flow_to_target(struct sp_deriver *d, const struct sp_insn *i, const struct sp_state *s)
{
	uint32_t pos = sp_code_pos(d, i->target);
	if (pos != SP_POS_NONE)
		return flow_to(d, pos, s);
	/* The target has an FDE, so it is mostly a function, and the jump a tail call. */
	if (i->flow == SP_FLOW_JUMP)
		end_if_returning(d->explorer, s);
	return 0;
}

/* 1: the instruction overlaps another one. */
static int mark_tried(struct sp_deriver *d, uint32_t pos, unsigned length)
{
	struct sp_explorer *x = d->explorer;
	const uint8_t taken = SP_POS_DONE | SP_POS_TRY;
	if (d->flags[pos] & SP_POS_TRY)
		return 0;
	for (unsigned i = 1; i < length; i++)
		if (d->flags[pos + i] & (taken | SP_POS_START | SP_POS_HEAD))
			return 1;
	int r = sp_grow(&x->seen, &x->seen_capacity, x->n_seen + 1, sizeof(*x->seen));
	if (r < 0)
		return r;
	x->seen[x->n_seen++] = pos;
	d->flags[pos] |= SP_POS_TRY;
	for (unsigned i = 1; i < length; i++)
		d->flags[pos + i] |= SP_POS_TRY_IN;
	return 0;
}

static bool is_round(const struct sp_island *i, uint32_t pos)
{
	return (i->vaddr + (pos - i->base)) % 16 == 0;
}

/* Whether the call in front of this position is taken for one that never returns. */
static bool is_endless(struct sp_deriver *d, const struct sp_island *i, uint32_t pos)
{
	switch (d->explorer->endless) {
	case SP_ENDLESS_AT_ROUND:
		if (is_round(i, pos))
			return true;
		/* fall through */
	case SP_ENDLESS_AT_PADDING:
		return pos - i->base == i->size || sp_code_padding(d, i, pos);
	case SP_ENDLESS_NONE:
		break;
	}
	return false;
}

static int rule_number(struct sp_deriver *d, const struct sp_state *s)
{
	struct sp_rule rule = sp_state_rule(s, d->by_fp);
	int64_t n = sp_intern_find(d->rules, &rule, sizeof(rule));
	if (n == -ENOENT && sp_intern_count(d->rules) > UINT16_MAX) {
		d->cut = true;
		return 0;
	}
	return (int)(n == -ENOENT ? sp_intern_add(d->rules, &rule, sizeof(rule)) : n);
}

/* --- one block --- */

/* 1: the block ends before c->pos; 0: it goes on; or negative. */
static int block_ends(struct sp_deriver *d, struct cursor *c)
{
	struct sp_explorer *x = d->explorer;
	if (c->pos - c->island->base == c->island->size) { /* code with an FDE follows, or no code at all */
		if (!c->after_call && !returns_here(&c->state))
			refuse(x);
		return 1;
	}
	uint8_t flags = d->flags[c->pos];
	if (!(flags & (SP_POS_HEAD | SP_POS_START | SP_POS_DONE | SP_POS_DONE_IN | SP_POS_TRY_IN)))
		return 0;
	/* A call that does not return may be followed by another function, known already. */
	bool begins = flags & (SP_POS_START | SP_POS_NAMED) || (flags & SP_POS_DONE && is_round(c->island, c->pos));
	if (c->after_call && begins)
		return 1;
	int r = flow_to(d, c->pos, &c->state);
	return r < 0 ? r : 1;
}

/* The stack pointer must not be above the return address. */
static bool is_sound(const struct sp_state *s)
{
	sp_val sp = s->reg[SP_R_SP];
	return sp_val_kind(sp) != SP_VAL_CFA || sp_val_off(sp) <= -8 || s->thread == SP_THREAD_BEGINS;
}

bool sp_insn_is_open(const struct sp_insn *i)
{
	return i->flow == SP_FLOW_JUMP && !i->has_target &&
	       !(i->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY && i->op[0].mem.base == ZYDIS_REGISTER_RIP);
}

/*
 * A computed jump is a weaker end than a `ret`. But a call before it has returned if the frame is taken down here: only
 * the function itself does that.
 */
static void note_open(struct sp_explorer *x, const struct cursor *c)
{
	if (is_end(&c->state))
		sp_doubt_lift(&x->doubts, c->state.doubt);
	x->is_open = true;
	x->open_at = c->pos;
	x->open_state = c->state;
}

static int follow_call(struct sp_deriver *d, struct cursor *c)
{
	struct sp_explorer *x = d->explorer;
	c->after_call = true;
	sp_doubt_link(&x->doubts, c->state.doubt, c->pos + 1);
	c->state.doubt = c->pos + 1;
	return is_endless(d, c->island, c->pos);
}

static int follow(struct sp_deriver *d, struct cursor *c)
{
	struct sp_explorer *x = d->explorer;
	const struct sp_insn *i = c->insn;
	int r = 0;
	switch ((enum sp_flow)i->flow) {
	case SP_FLOW_CALL:
		if (i->has_target && i->target == c->island->vaddr + (c->pos - c->island->base)) {
			refuse(x); /* call +0; pop: the code reads its own address */
			return 1;
		}
		return follow_call(d, c);
	case SP_FLOW_NEXT:
		c->after_call &= i->is_padding;
		return 0;
	case SP_FLOW_BRANCH:
		c->after_call = false;
		return i->has_target ? flow_to_target(d, i, &c->state) : 0;
	case SP_FLOW_JUMP:
		if (i->has_target)
			r = flow_to_target(d, i, &c->state);
		else if (!sp_insn_is_open(i))
			end_if_returning(x, &c->state); /* by way of the GOT: another library's function */
		else
			note_open(x, c);
		return r < 0 ? r : 1;
	case SP_FLOW_RETURN:
		if (c->state.reg[SP_R_SP] && !returns_here(&c->state) && c->state.thread != SP_THREAD_BEGINS)
			refuse(x);
		end_if_returning(x, &c->state);
		return 1;
	case SP_FLOW_STOP:
		break;
	}
	return 1;
}

/* Notes the rule at an instruction. Blocks are run until their states are final, so the last run decides. */
static int note_rule(struct sp_deriver *d, struct cursor *c)
{
	if (c->rule < 0)
		c->rule = rule_number(d, &c->state);
	if (c->rule >= 0)
		d->rule_at[c->pos] = (uint16_t)c->rule;
	return c->rule < 0 ? c->rule : 0;
}

/*
 * Behind a call: if a preserved register is used that the function itself set before the call, the call has returned,
 * as have all since the register was set (if that place was reached): another function would not use it. Only parts of
 * others would, which are laid out apart (exception handlers, cold code); they use registers that this one never set.
 */
static void note_kept_use(struct sp_explorer *x, const struct cursor *c)
{
	unsigned used = sp_insn_reads_kept(c->insn), held = used & c->state.held;
	if (held)
		sp_doubt_prove(&x->doubts, c->state.doubt, c->state.since[__builtin_ctz(held)]);
	x->strays |= (used & ~c->state.own) != 0;
}

/* Runs one instruction. 1: the block ends with it. */
static int block_step(struct sp_deriver *d, struct cursor *c)
{
	struct sp_explorer *x = d->explorer;
	c->insn = sp_code_decode(d, c->island, c->pos);
	int r = c->insn ? mark_tried(d, c->pos, c->insn->length) : 1;
	if (r != 0) {
		refuse(x);
		return r;
	}
	x->n_steps++;
	x->speaks |= c->insn->flow == SP_FLOW_CALL || c->insn->has_address || sp_insn_is_open(c->insn);
	r = note_rule(d, c);
	if (r < 0)
		return r;
	if (c->state.doubt)
		note_kept_use(x, c);
	size_t used = offsetof(struct sp_state, slot) + c->state.n_slots * sizeof(c->state.slot[0]);
	struct sp_state before; /* no more of it than is used: a rule follows from that */
	memcpy(&before, &c->state, used);
	sp_insn_apply(c->insn, c->pos, &c->state);
	if (memcmp(&before, &c->state, used) != 0)
		c->rule = -1;
	c->pos += c->insn->length;
	if (!is_sound(&c->state)) {
		refuse(x);
		return 1;
	}
	r = follow(d, c);
	return r == 0 && x->refused ? 1 : r;
}

static int run_block(struct sp_deriver *d, size_t head)
{
	struct sp_explorer *x = d->explorer;
	struct cursor c = {.pos = x->heads[head].at, .rule = -1, .state = x->heads[head].state};
	c.island = sp_code_island(d, c.pos);
	int r = block_step(d, &c);
	while (r == 0) {
		r = block_ends(d, &c);
		if (r == 0)
			r = block_step(d, &c);
	}
	return r < 0 ? r : 0;
}

static int run_blocks(struct sp_deriver *d)
{
	struct sp_explorer *x = d->explorer;
	int r = 0;
	while (r == 0 && x->n_queue && !x->refused) {
		size_t head = x->queue[--x->n_queue];
		x->heads[head].queued = false;
		r = run_block(d, head);
		if (x->n_steps > SP_DERIVE_MAX_FUNCTION || d->n_steps > SP_DERIVE_MAX_STEPS)
			d->cut = x->refused = true;
	}
	return r;
}

/* --- the whole --- */

/*
 * If only a computed jump was found, the code right behind it is taken for one of its targets. It might be another
 * function, but one would begin behind padding, or directly if this position is aligned; and it would not take down a
 * frame that it has not set up.
 */
static int run_open(struct sp_deriver *d)
{
	struct sp_explorer *x = d->explorer;
	const uint8_t known = SP_POS_DONE | SP_POS_DONE_IN | SP_POS_TRY | SP_POS_TRY_IN | SP_POS_START;
	int r = 0;
	while (r == 0 && !x->refused && !x->n_ends && x->open_at) {
		uint32_t pos = x->open_at;
		const struct sp_island *i = sp_code_island(d, pos - 1);
		x->open_at = 0;
		bool may_begin = is_round(i, pos) && returns_here(&x->open_state);
		if (pos - i->base >= i->size || d->flags[pos] & known || may_begin || sp_code_padding(d, i, pos))
			break;
		struct sp_state s = x->open_state;
		r = head_add(d, pos, &s);
		if (r == 0)
			r = run_blocks(d);
	}
	return r;
}

/*
 * A function without a `ret` is believed if its address is taken, and code behind a call uses a register that it saved
 * first and kept over the call.
 */
static bool never_ends(const struct sp_explorer *x)
{
	return x->trust == SP_TRUST_GUESS && x->doubts.n_proofs && !x->is_open && !x->strays;
}

static bool is_argument(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_RDI || reg == ZYDIS_REGISTER_RSI || reg == ZYDIS_REGISTER_RDX ||
	       reg == ZYDIS_REGISTER_RCX || reg == ZYDIS_REGISTER_R8 || reg == ZYDIS_REGISTER_R9;
}

/*
 * A function that does nothing but go on to what an argument points at is believed if its address is taken and it
 * begins at an aligned address. (musl's qsort compares by way of one.) A label of a computed goto does something first.
 */
static bool is_one_jump(struct sp_deriver *d, uint32_t pos)
{
	const struct sp_explorer *x = d->explorer;
	const struct sp_island *i = sp_code_island(d, pos);
	const struct sp_insn *insn;

	if (x->trust != SP_TRUST_GUESS || !x->is_open || x->n_steps != 1 || !is_round(i, pos))
		return false;
	insn = sp_code_decode(d, i, pos);
	return insn && insn->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && is_argument(insn->op[0].reg.value);
}

/* 1: believed. */
static int try(struct sp_deriver *d, uint32_t pos, const struct sp_state *s, enum sp_endless endless)
{
	struct sp_explorer *x = d->explorer;
	x->n_ends = x->open_at = 0;
	x->n_steps = 0;
	x->refused = x->is_open = false;
	x->endless = endless;
	x->speaks = x->strays = false;
	int r = head_add(d, pos, s);
	if (r == 0)
		r = run_blocks(d);
	if (r == 0 && (x->trust == SP_TRUST_GUESS || x->trust == SP_TRUST_WEAK))
		r = run_open(d);
	bool believed =
	    r == 0 && !x->refused && (x->trust == SP_TRUST_SURE || x->n_ends || never_ends(x) || is_one_jump(d, pos));
	if (believed)
		r = sp_explorer_commit(d);
	sp_explorer_settle(d);
	if (x->doubts.short_of_memory)
		r = -ENOMEM;
	return r < 0 ? r : believed;
}

int sp_explore(struct sp_deriver *d, uint32_t pos, const struct sp_state *state, enum sp_trust trust)
{
	struct sp_state s;
	if (!d->explorer)
		d->explorer = calloc(1, sizeof(*d->explorer));
	if (!d->explorer)
		return -ENOMEM;
	if (d->flags[pos] & (SP_POS_DONE | SP_POS_DONE_IN))
		return 0;
	if (state)
		s = *state;
	else
		sp_state_enter(&s);
	d->explorer->start = pos;
	d->explorer->trust = trust;
	bool weak = trust == SP_TRUST_WEAK || trust == SP_TRUST_INNER; /* calls may not return: no proof behind them */
	int r = 0;
	for (enum sp_endless e = weak ? SP_ENDLESS_AT_PADDING : SP_ENDLESS_NONE; r == 0 && e <= SP_ENDLESS_AT_ROUND;
	     e++)
		r = try(d, pos, &s, e);
	d->n_refused += r == 0;
	return r;
}
