/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive.c: the order in which starts are explored, the code that is left, and the resulting rows.
 *
 * First come sure starts and what they call; then addresses that are taken; then those of both that were refused, once
 * more; then code behind computed jumps, from the jump's state; then code behind padding.
 */
#include "unwind/x86_64/derive.h"
#include "base/mem.h"
#include "elf/arch.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive_priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_ALIGNMENT = 16, HLT = 0xf4 };

static bool enough(const struct sp_deriver *d)
{
	return d->n_steps >= SP_DERIVE_MAX_STEPS;
}

static int follow_sure(struct sp_deriver *d)
{
	int r = 0;
	for (; r >= 0 && d->sure.next < d->sure.n && !enough(d); d->sure.next++) {
		uint32_t pos = d->sure.at[d->sure.next];
		const struct sp_island *i = sp_code_island(d, pos);
		if (i->offset + (pos - i->base) == d->entry)
			continue;
		r = sp_explore(d, pos, NULL, SP_TRUST_SURE);
	}
	return r < 0 ? r : 0;
}

static bool is_aligned(struct sp_deriver *d, uint32_t pos)
{
	const struct sp_island *i = sp_code_island(d, pos);
	return (i->vaddr + (pos - i->base)) % CODE_ALIGNMENT == 0;
}

/* Code that is known by now and whose address is taken is a function of its own, if its state is that of a start. */
static void name_known(struct sp_deriver *d, uint32_t pos)
{
	struct sp_state s;
	sp_state_enter(&s);
	struct sp_rule rule = sp_state_rule(&s, d->by_fp);
	if (d->flags[pos] & SP_POS_DONE && is_aligned(d, pos) &&
	    memcmp(sp_intern_get(d->rules, d->rule_at[pos], NULL), &rule, sizeof(rule)) == 0)
		d->flags[pos] |= SP_POS_NAMED;
}

static int follow_maybe(struct sp_deriver *d)
{
	int r = 0;
	for (; r >= 0 && d->maybe.next < d->maybe.n && !enough(d); d->maybe.next++) {
		uint32_t pos = d->maybe.at[d->maybe.next];
		name_known(d, pos);
		r = sp_explore(d, pos, NULL, SP_TRUST_GUESS);
		if (r > 0) {
			d->flags[pos] |= SP_POS_NAMED;
			r = follow_sure(d);
		}
	}
	return r < 0 ? r : 0;
}

/* Once more those that were refused: what follows their last call, which never returns, may be known by now. */
static int follow_refused(struct sp_deriver *d)
{
	d->sure.next = d->maybe.next = 0;
	int r = follow_sure(d);
	return r < 0 ? r : follow_maybe(d);
}

/* --- code that is only returned to --- */

enum { MAX_LANDING = 64 };

/* Whether control never returns from here: an instruction that nothing runs beyond comes before any `ret` or jump. */
static bool never_returns(struct sp_deriver *d, uint32_t pos)
{
	const struct sp_island *i = sp_code_island(d, pos);
	uint32_t end = SP_MIN(i->base + i->size, pos + MAX_LANDING);
	const struct sp_insn *insn;
	for (; pos < end && (insn = sp_code_decode(d, i, pos)); pos += insn->length) {
		if (insn->flow == SP_FLOW_RETURN || insn->flow == SP_FLOW_JUMP)
			return false;
		if (insn->flow == SP_FLOW_STOP)
			return true;
	}
	return false;
}

/*
 * Marks a fiber's root: code that never returns, whose address is taken, and that no call precedes. make_fcontext
 * (Boost, PHP) puts its address where a fiber's first return address belongs. A return address is looked up at the byte
 * before it; here that is the last byte of another instruction, where nothing else is ever looked up.
 */
static int mark_landing(struct sp_deriver *d, uint32_t pos)
{
	static const struct sp_rule root = {.cfa = SP_CFA_ROOT, .reg = SP_ROOT_FIBER, .ra = SP_RULE_DERIVED};
	const struct sp_island *i = sp_code_island(d, pos);
	if (pos == i->base || d->flags[pos] & (SP_POS_DONE | SP_POS_DONE_IN) || d->flags[pos - 1] & SP_POS_DONE ||
	    i->bytes[pos - 1 - i->base] == HLT || !never_returns(d, pos))
		return 0;
	int64_t n = sp_intern_add(d->rules, &root, sizeof(root));
	if (n < 0 || n > UINT16_MAX)
		return n < 0 ? (int)n : 0;
	d->rule_at[pos - 1] = (uint16_t)n;
	d->flags[pos - 1] = (uint8_t)((d->flags[pos - 1] & ~SP_POS_DONE_IN) | SP_POS_DONE);
	return 0;
}

static int mark_landings(struct sp_deriver *d)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < d->maybe.n && !enough(d); i++)
		r = mark_landing(d, d->maybe.at[i]);
	return r;
}

/* --- what signal handlers return to --- */

static int mark_sigreturn(struct sp_deriver *d, uint32_t pos, uint32_t bytes)
{
	struct sp_rule rule = sp_rule_of_sigreturn;
	const struct sp_island *i = sp_code_island(d, pos);
	bool lends = pos > i->base && !(d->flags[pos - 1] & SP_POS_DONE); /* no instruction begins at the byte before */
	rule.ra |= SP_RULE_DERIVED;
	int64_t n = sp_intern_add(d->rules, &rule, sizeof(rule));
	if (n < 0 || n > UINT16_MAX)
		return n < 0 ? (int)n : 0;
	for (uint32_t at = pos - lends; at < pos + bytes; at++) {
		bool begins = at <= pos;
		d->flags[at] &= (uint8_t) ~(SP_POS_DONE | SP_POS_DONE_IN | (begins ? 0 : SP_POS_START | SP_POS_NAMED));
		d->flags[at] |= begins ? SP_POS_DONE : SP_POS_DONE_IN;
		d->rule_at[at] = (uint16_t)n;
	}
	d->flags[pos - lends] |= SP_POS_NAMED;
	return 0;
}

/*
 * Code that signal handlers return to, of musl and others, if no FDE covers it. Followed from its start, it would look
 * like a system call that returns.
 */
static int mark_sigreturns(struct sp_deriver *d, const struct sp_island *i)
{
	const uint8_t *at = i->bytes, *end = i->bytes + i->size;
	int r = 0;
	while (r == 0 && (at = memmem(at, (size_t)(end - at), SP_SIGRETURN_TAIL, SP_SIGRETURN_TAIL_BYTES))) {
		at += SP_SIGRETURN_TAIL_BYTES;
		size_t to = (size_t)(at - i->bytes), bytes = sp_sigreturn_before(i->bytes, to);
		if (bytes)
			r = mark_sigreturn(d, i->base + (uint32_t)(to - bytes), (uint32_t)bytes);
	}
	return r;
}

/* --- the stubs of a PLT --- */

enum { STUB_BYTES = 16, STUB_PUSH = 6, STUB_PUSHED = 11, WORD = 8 };

/* jmp *address(%rip); push $index; jmp. The lookup of the rule goes by the last four bits of an address. */
static bool is_stub(struct sp_deriver *d, const struct sp_island *i, uint32_t pos)
{
	const uint8_t *b = i->bytes + (pos - i->base);
	return b[0] == 0xff && b[1] == 0x25 && b[STUB_PUSH] == 0x68 && b[STUB_PUSHED] == 0xe9 &&
	       d->flags[pos] & d->flags[pos + STUB_PUSH] & d->flags[pos + STUB_PUSHED] & SP_POS_DONE;
}

/* The rule of a whole stub in place of one before its `push` and one behind it, so that all stubs are one row. */
static int join_stub(struct sp_deriver *d, uint32_t pos)
{
	uint16_t *at = &d->rule_at[pos];
	struct sp_rule all, behind;
	memcpy(&all, sp_intern_get(d->rules, at[0], NULL), sizeof(all));
	memcpy(&behind, sp_intern_get(d->rules, at[STUB_PUSHED], NULL), sizeof(behind));
	all.off += WORD;
	if (at[0] != at[STUB_PUSH] || all.cfa != SP_CFA_REG || memcmp(&all, &behind, sizeof(all)) != 0)
		return 0;
	all.off -= WORD;
	all.cfa = SP_CFA_PLT;
	all.add = STUB_PUSHED;
	int64_t n = sp_intern_add(d->rules, &all, sizeof(all));
	if (n < 0 || n > UINT16_MAX)
		return n < 0 ? (int)n : 0;
	at[0] = at[STUB_PUSH] = at[STUB_PUSHED] = (uint16_t)n;
	return 0;
}

static int join_stubs(struct sp_deriver *d, const struct sp_island *i)
{
	uint32_t pos = i->base + (uint32_t)(-i->vaddr % STUB_BYTES);
	int r = 0;
	for (; r == 0 && pos - i->base + STUB_BYTES <= i->size; pos += STUB_BYTES)
		r = is_stub(d, i, pos) ? join_stub(d, pos) : 0;
	return r;
}

/* --- code that nothing leads to --- */

struct gap {
	const struct sp_island *island;
	uint32_t pos, end;
	bool fresh; /* control does not reach pos from the code before it */
};

/* Goes on to the next instruction without a rule. False: the end. */
static bool gap_next(struct sp_deriver *d, struct gap *g)
{
	while (g->pos < g->end && !enough(d)) {
		uint32_t from = g->pos;
		while (g->pos < g->end && d->flags[g->pos] & (SP_POS_DONE | SP_POS_DONE_IN))
			g->pos++;
		if (g->pos < g->end)
			g->pos += sp_code_padding(d, g->island, g->pos);
		if (g->pos == from)
			return true;
		g->fresh = true;
	}
	return false;
}

/* Skips one instruction, which stays without a rule. */
static void gap_skip(struct sp_deriver *d, struct gap *g)
{
	const struct sp_insn *i = sp_code_decode(d, g->island, g->pos);
	g->pos += i ? i->length : 1;
	g->fresh = i && (i->flow == SP_FLOW_JUMP || i->flow == SP_FLOW_RETURN || i->flow == SP_FLOW_STOP);
}

/* The function around an instruction: at most from one start to the next. */
static void gap_around(struct sp_deriver *d, uint32_t at, struct gap *ret_gap)
{
	const struct sp_island *i = sp_code_island(d, at);
	uint32_t from = at, end = at + 1;
	while (from > i->base && !(d->flags[from] & (SP_POS_START | SP_POS_NAMED)))
		from--;
	while (end < i->base + i->size && !(d->flags[end] & (SP_POS_START | SP_POS_NAMED)))
		end++;
	d->n_steps += (end - from) / 8; /* many jumps in one large function use up the limit, too */
	*ret_gap = (struct gap){.island = i, .pos = from, .end = end, .fresh = true};
}

/* Explores the blocks of a function to which only its computed jumps [from, to) lead. */
static int fill_gap(struct sp_deriver *d, struct gap g, size_t from, size_t to)
{
	int r = 0;
	while (r >= 0 && gap_next(d, &g)) {
		bool fresh = g.fresh;
		for (size_t k = from; fresh && r >= 0 && k < to; k++) {
			struct sp_state s = d->jumps[k].state;
			r = sp_explore(d, g.pos, &s, SP_TRUST_INNER);
			if (r > 0)
				break;
		}
		if (r == 0)
			gap_skip(d, &g);
	}
	return r < 0 ? r : follow_sure(d);
}

static int follow_jumps(struct sp_deriver *d)
{
	int r = 0;
	for (size_t to; r == 0 && d->next_jump < d->n_jumps && !enough(d); d->next_jump = to) {
		size_t from = d->next_jump;
		struct gap g;
		gap_around(d, d->jumps[from].at - 1, &g);
		for (to = from + 1; to < d->n_jumps && d->jumps[to].at > g.pos && d->jumps[to].at <= g.end; to++)
			;
		r = fill_gap(d, g, from, to);
	}
	return r;
}

static int follow_rest(struct sp_deriver *d, const struct sp_island *i)
{
	struct gap g = {.island = i, .pos = i->base, .end = i->base + i->size, .fresh = true};
	int r = 0;
	while (r >= 0 && gap_next(d, &g)) {
		r = 0;
		if (g.fresh && (is_aligned(d, g.pos) || g.pos == i->base))
			r = sp_explore(d, g.pos, NULL, SP_TRUST_WEAK);
		if (r > 0)
			d->flags[g.pos] |= SP_POS_NAMED;
		if (r == 0)
			gap_skip(d, &g);
		else if (r > 0)
			r = follow_sure(d);
	}
	return r < 0 ? r : 0;
}

static int follow_all(struct sp_deriver *d)
{
	int r = follow_sure(d);
	if (r == 0)
		r = follow_maybe(d);
	if (r == 0)
		r = follow_refused(d);
	if (r == 0)
		r = follow_jumps(d);
	for (size_t i = 0; r == 0 && i < d->n_islands; i++)
		r = follow_rest(d, &d->islands[i]);
	if (r == 0)
		r = follow_refused(d);
	if (r == 0)
		r = follow_jumps(d);
	if (r == 0)
		r = mark_landings(d);
	for (size_t i = 0; r == 0 && i < d->n_islands; i++)
		r = mark_sigreturns(d, &d->islands[i]);
	for (size_t i = 0; r == 0 && i < d->n_islands; i++)
		r = join_stubs(d, &d->islands[i]);
	d->cut |= enough(d);
	return r;
}

/* --- rows --- */

struct output {
	struct sp_derived *d;
	size_t rows_capacity, functions_capacity;
	uint32_t in_force;
};

static int put_row(struct output *o, uint64_t offset, uint32_t rule)
{
	if (rule == o->in_force)
		return 0;
	int r = sp_grow(&o->d->rows, &o->rows_capacity, o->d->n_rows + 1, sizeof(*o->d->rows));
	if (r == 0)
		o->d->rows[o->d->n_rows++] = (struct sp_derived_row){offset, rule};
	o->in_force = rule;
	return r;
}

/* Begins a function; the one before it in this island ends here. */
static int put_start(struct output *o, uint64_t offset, uint64_t end)
{
	struct sp_derived *d = o->d;
	if (d->n_functions && d->functions[d->n_functions - 1].end > offset)
		d->functions[d->n_functions - 1].end = offset;
	return SP_APPEND(d->functions, d->n_functions, o->functions_capacity, (struct sp_code_span){offset, end});
}

/* Bytes without a rule from pos on: padding, over which the row before may extend if more rows follow, or a gap. */
static int put_hole(struct sp_deriver *d, struct output *o, const struct sp_island *i, uint32_t *pos)
{
	uint32_t end = i->base + i->size, from = *pos, padding = sp_code_padding(d, i, from);
	if (padding) {
		*pos += padding;
		return *pos < end && d->flags[*pos] & SP_POS_DONE ? 0 : put_row(o, i->offset + (from - i->base), 0);
	}
	while (*pos < end && !(d->flags[*pos] & SP_POS_DONE))
		++*pos;
	o->d->code_bytes += *pos - from;
	return put_row(o, i->offset + (from - i->base), 0);
}

static int put_island(struct sp_deriver *d, struct output *o, const struct sp_island *i)
{
	uint32_t pos = i->base, end = i->base + i->size;
	int r = 0;
	o->in_force = 0;
	while (r == 0 && pos < end) {
		uint64_t offset = i->offset + (pos - i->base);
		if (!(d->flags[pos] & SP_POS_DONE)) {
			r = put_hole(d, o, i, &pos);
			continue;
		}
		if (d->flags[pos] & (SP_POS_START | SP_POS_NAMED))
			r = put_start(o, offset, i->offset + i->size);
		if (r == 0)
			r = put_row(o, offset, d->rule_at[pos]);
		uint32_t from = pos++;
		while (pos < end && d->flags[pos] & SP_POS_DONE_IN)
			pos++;
		o->d->code_bytes += pos - from;
		o->d->derived_bytes += o->in_force ? pos - from : 0;
	}
	return r == 0 ? put_row(o, i->offset + i->size, 0) : r;
}

static int put_rules(struct sp_deriver *d, struct sp_derived *out)
{
	out->n_rules = sp_intern_count(d->rules);
	out->rules = calloc(out->n_rules, sizeof(*out->rules));
	if (!out->rules)
		return -ENOMEM;
	for (size_t i = 0; i < out->n_rules; i++)
		memcpy(&out->rules[i], sp_intern_get(d->rules, (uint32_t)i, NULL), sizeof(*out->rules));
	return 0;
}

static int put_all(struct sp_deriver *d, struct sp_derived *out)
{
	struct output o = {.d = out};
	int r = put_rules(d, out);
	for (size_t i = 0; r == 0 && i < d->n_islands; i++)
		r = put_island(d, &o, &d->islands[i]);
	return r;
}

/* --- the whole --- */

static int run(struct sp_deriver *d, const struct sp_code_span *covered, size_t n, struct sp_derived *out)
{
	static const struct sp_rule none = {.cfa = SP_CFA_NONE};
	sp_insn_init(&d->decoder);
	int r = sp_code_load(d, covered, n);
	if (r != 0)
		return r;
	r = sp_intern_new(&d->rules);
	if (r == 0 && sp_intern_add(d->rules, &none, sizeof(none)) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = sp_starts_find(d, covered, n);
	if (r == 0)
		r = follow_all(d);
	return r == 0 ? put_all(d, out) : r;
}

static void deriver_done(struct sp_deriver *d)
{
	free(d->texts);
	free(d->islands);
	free(d->code);
	free(d->decoded);
	free(d->buffer.bytes);
	free(d->flags);
	free(d->rule_at);
	free(d->sure.at);
	free(d->maybe.at);
	free(d->jumps);
	sp_intern_free(d->rules);
	sp_explorer_free(d->explorer);
}

static int derive(struct sp_deriver *d, const struct sp_code_span *covered, size_t n, struct sp_derived *ret_derived)
{
	*ret_derived = (struct sp_derived){0};
	int r = run(d, covered, n, ret_derived);
	ret_derived->n_refused = d->n_refused;
	ret_derived->n_steps = d->n_steps;
	ret_derived->left_out = d->left_out;
	ret_derived->cut = d->cut;
	deriver_done(d);
	if (r < 0)
		sp_derived_done(ret_derived);
	return r < 0 ? r : 0;
}

int sp_derive(struct sp_elf *e, const struct sp_code_span *covered, size_t n, uint64_t entry,
	      struct sp_derived *ret_derived)
{
	return derive(&(struct sp_deriver){.elf = e, .entry = entry}, covered, n, ret_derived);
}

int sp_derive_by_fp(struct sp_elf *e, const struct sp_code_span *covered, size_t n, struct sp_derived *ret_derived)
{
	return derive(&(struct sp_deriver){.elf = e, .entry = UINT64_MAX, .by_fp = true}, covered, n, ret_derived);
}

void sp_derived_done(struct sp_derived *d)
{
	free(d->rows);
	free(d->rules);
	free(d->functions);
	*d = (struct sp_derived){0};
}
