/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/x86_64/kept.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive_priv.h"
#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 16, MAX_INSN = 15, ALL = 0xffff };

struct call {
	uint64_t target;
	uint16_t regs; /* registers from which the caller's CFA is counted */
};
struct search {
	struct sp_elf *elf;
	ZydisDecoder decoder;
	const struct sp_elf_segment *segment; /* where the last instruction was decoded */
	uint8_t *bytes;                       /* bytes [start, end) of the file */
	uint64_t start, end;
	uint32_t n_steps;
	uint16_t needed, hopeless; /* hopeless: some call with an unknown target needs them */
	struct call *calls;
	size_t n_calls, calls_capacity;
	struct sp_kept_span *insns; /* instructions of the called functions, one function after the other */
	size_t n_insns, insns_capacity;
};

/* --- rows that count from registers --- */

/* The registers that a rule counts from, except those that unwinding restores. */
static uint16_t needed_regs(const struct sp_rule *rule)
{
	const unsigned known = 1u << SP_REG_SP | 1u << SP_REG_FP | 1u << SP_REG_BASE;
	unsigned regs = 0;
	if (rule->cfa >= SP_CFA_REG && rule->cfa <= SP_CFA_INDEX_DEREF)
		regs |= 1u << (rule->reg & 15);
	if (rule->cfa == SP_CFA_INDEX || rule->cfa == SP_CFA_INDEX_DEREF)
		regs |= 1u << (rule->reg >> 4);
	return (uint16_t)(regs & ~known);
}

void sp_kept_end(struct sp_kept_needs *n, uint64_t offset)
{
	if (n->open)
		n->at[n->n - 1].end = offset;
	n->open = false;
}

int sp_kept_note(struct sp_kept_needs *n, uint64_t function, uint64_t offset, const struct sp_rule *rule)
{
	uint16_t regs = needed_regs(rule);
	if (n->open && n->at[n->n - 1].regs == regs)
		return 0;
	sp_kept_end(n, offset);
	if (!regs || n->n == SP_KEPT_MAX_NEEDS)
		return 0;
	int r = sp_grow(&n->at, &n->capacity, n->n + 1, sizeof(*n->at));
	if (r < 0)
		return r;
	n->at[n->n++] = (struct sp_kept_need){.function = function, .start = offset, .regs = regs};
	n->open = true;
	return 0;
}

/* --- code --- */

static bool fill_window(struct search *s, uint64_t at)
{
	const struct sp_elf_segment *g = sp_elf_code_at(s->elf, at);
	void *bytes;
	if (!g)
		return false;
	uint64_t from = at - SP_MIN(at - g->offset, (uint64_t)WINDOW_BYTES / 4);
	uint64_t size = SP_MIN(g->offset + g->file_size - from, (uint64_t)WINDOW_BYTES);
	if (sp_elf_read(s->elf, from, (size_t)size, &bytes) < 0)
		return false;
	free(s->bytes);
	s->bytes = bytes;
	s->start = from;
	s->end = from + size;
	s->segment = g;
	return true;
}

/* Addresses are file offsets here: distances within a segment are the same. */
static bool decode(struct search *s, uint64_t at, struct sp_insn *ret)
{
	if (s->n_steps++ >= SP_KEPT_MAX_STEPS)
		return false;
	if ((at < s->start || at >= s->end || s->end - at < MAX_INSN) && !fill_window(s, at))
		return false;
	return sp_insn_decode(&s->decoder, s->bytes + (at - s->start), (size_t)(s->end - at), at, ret);
}

static bool target_of(const struct search *s, const struct sp_insn *i, uint64_t *ret_target)
{
	*ret_target = i->target;
	return i->has_target && i->target >= s->segment->offset &&
	       i->target - s->segment->offset < s->segment->file_size;
}

/* --- the functions called --- */

static int add_call(struct search *s, const struct sp_insn *i, uint16_t regs)
{
	uint64_t target;
	s->needed |= regs;
	if (!target_of(s, i, &target))
		s->hopeless |= regs;
	return SP_APPEND(s->calls, s->n_calls, s->calls_capacity, (struct call){.target = target, .regs = regs});
}

/* Finds the calls under a row; *at is the function's next instruction. */
static int find_calls_in(struct search *s, const struct sp_kept_need *need, uint64_t *at)
{
	struct sp_insn i;
	int r = 0;
	for (; r == 0 && *at < need->end; *at += i.length) {
		if (!decode(s, *at, &i)) {
			s->hopeless |= need->regs;
			*at = need->end;
			return 0;
		}
		if (i.flow == SP_FLOW_CALL && *at + i.length > need->start)
			r = add_call(s, &i, need->regs);
	}
	return r;
}

SP_ORDER_BY(by_target, struct call, target);

static int find_calls(struct search *s, const struct sp_kept_needs *needs)
{
	uint64_t at = 0;
	int r = 0;
	for (size_t i = 0; r == 0 && i < needs->n; i++) {
		const struct sp_kept_need *need = &needs->at[i];
		if (i == 0 || need->function != need[-1].function)
			at = need->function;
		r = find_calls_in(s, need, &at);
	}
	if (s->n_calls)
		qsort(s->calls, s->n_calls, sizeof(*s->calls), by_target);
	return r;
}

/* --- what they write --- */

/* Whether it puts the address on the stack to which the following `ret` goes. */
static bool makes_return(struct search *s, const struct sp_insn *i, uint64_t next)
{
	struct sp_insn behind;
	const ZydisDecodedOperand *to = &i->op[0];
	bool to_top = i->z.mnemonic == ZYDIS_MNEMONIC_PUSH ||
		      (to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.base == ZYDIS_REGISTER_RSP);
	return to_top && decode(s, next, &behind) && behind.flow == SP_FLOW_RETURN;
}

static int visit(struct sp_intern *seen, uint64_t at)
{
	int64_t n = sp_intern_add(seen, &at, sizeof(at));
	return n < 0 ? (int)n : 0;
}

/* Adds where one instruction leads to `seen`. The registers it writes; ALL: an unknown target; or -ENOMEM. */
static int follow(struct search *s, struct sp_intern *seen, uint64_t at)
{
	struct sp_insn i;
	uint64_t target;
	if (!decode(s, at, &i))
		return ALL;
	int r = sp_grow(&s->insns, &s->insns_capacity, s->n_insns + 1, sizeof(*s->insns));
	if (r < 0)
		return r;
	uint64_t next = at + i.length;
	bool branches = i.flow == SP_FLOW_CALL || i.flow == SP_FLOW_JUMP || i.flow == SP_FLOW_BRANCH;
	bool goes_on = i.flow == SP_FLOW_NEXT || i.flow == SP_FLOW_CALL || i.flow == SP_FLOW_BRANCH;
	s->insns[s->n_insns++] = (struct sp_kept_span){.start = at, .end = next};
	if (branches && !target_of(s, &i, &target))
		return ALL;
	if (branches)
		r = visit(seen, target);
	if (r == 0 && goes_on)
		r = visit(seen, next);
	if (r < 0)
		return r;
	return makes_return(s, &i, next) ? ALL : sp_insn_writes(&i);
}

/* The registers that the function at this place preserves, for all its instructions. */
static int explore(struct search *s, uint64_t at, uint16_t *ret_kept)
{
	struct sp_intern *seen;
	size_t first = s->n_insns;
	int r = sp_intern_new(&seen), written = 0;
	if (r == 0)
		r = visit(seen, at);
	for (uint32_t i = 0; r >= 0 && written != ALL && i < sp_intern_count(seen); i++) {
		uint64_t place;
		memcpy(&place, sp_intern_get(seen, i, NULL), sizeof(place));
		r = i < SP_KEPT_MAX_FUNCTION ? follow(s, seen, place) : ALL;
		written |= r > 0 ? r : 0;
	}
	sp_intern_free(seen);
	*ret_kept = (uint16_t)~written;
	for (size_t i = first; i < s->n_insns; i++)
		s->insns[i].regs = *ret_kept;
	return r < 0 ? r : 0;
}

static int explore_all(struct search *s, struct sp_kept *k)
{
	uint16_t kept = 0;
	int r = 0;
	for (size_t i = 0; r == 0 && i < s->n_calls; i++) {
		const struct call *c = &s->calls[i];
		if (i == 0 || c->target != c[-1].target)
			r = explore(s, c->target, &kept);
		k->n_calls++;
		k->n_unsure += (c->regs & ~(kept & ~s->hopeless)) != 0;
	}
	return r;
}

/* --- spans --- */

SP_ORDER_BY(by_start, struct sp_kept_span, start);

/* Makes spans of instructions. Code shared by several functions preserves what all of them preserve. */
static void join(struct search *s, struct sp_kept *k)
{
	struct sp_kept_span *to = s->insns;
	size_t n = 0;
	if (s->n_insns)
		qsort(to, s->n_insns, sizeof(*to), by_start);
	for (size_t i = 0; i < s->n_insns; i++) {
		struct sp_kept_span one = s->insns[i];
		one.regs &= s->needed & (uint16_t)~s->hopeless;
		if (n && one.start < to[n - 1].end) {
			to[n - 1].regs &= one.regs;
			one.start = to[n - 1].end;
			one.regs = to[n - 1].regs;
		}
		if (one.start >= one.end)
			continue;
		if (n && one.start == to[n - 1].end && one.regs == to[n - 1].regs)
			to[n - 1].end = one.end;
		else
			to[n++] = one;
	}
	k->spans = sp_take_ptr(s->insns);
	k->n = n;
}

int sp_kept_find(struct sp_elf *e, const struct sp_kept_needs *needs, struct sp_kept *ret_kept)
{
	struct search s = {.elf = e};
	*ret_kept = (struct sp_kept){0};
	if (needs->n == SP_KEPT_MAX_NEEDS)
		return 0;
	sp_insn_init(&s.decoder);
	int r = find_calls(&s, needs);
	if (r == 0)
		r = explore_all(&s, ret_kept);
	if (r == 0)
		join(&s, ret_kept);
	free(s.bytes);
	free(s.calls);
	free(s.insns);
	return r;
}

void sp_kept_done(struct sp_kept *k)
{
	free(k->spans);
	*k = (struct sp_kept){0};
}

/* --- rows --- */

struct output {
	uint64_t *rows;
	size_t n, capacity;
};

static int put(struct output *o, uint64_t at, uint64_t row, int rule)
{
	uint64_t made = sp_unwind_row_make(at, row >> 16 & 1, (uint16_t)rule);
	if (rule < 0)
		return rule;
	if (o->n && (uint32_t)o->rows[o->n - 1] << 8 == (uint32_t)made << 8)
		return 0;
	return SP_APPEND(o->rows, o->n, o->capacity, made);
}

int sp_kept_apply(const struct sp_kept *k, uint64_t **rows, size_t *n_rows, size_t *capacity,
		  int (*rule_with)(void *arg, uint16_t rule, uint16_t regs), void *arg)
{
	struct output o = {0};
	size_t span = 0;
	int r = 0;
	for (size_t i = 0; r == 0 && i < *n_rows; i++) {
		uint64_t row = (*rows)[i], at = sp_unwind_row_offset(row), to;
		uint64_t end = i + 1 < *n_rows ? sp_unwind_row_offset((*rows)[i + 1]) : SP_MAX_OFFSET;
		for (; r == 0 && at < end; at = to) {
			while (span < k->n && k->spans[span].end <= at)
				span++;
			bool in = span < k->n && k->spans[span].start <= at;
			to = span == k->n ? end : SP_MIN(end, in ? k->spans[span].end : k->spans[span].start);
			r = put(&o, at, row, rule_with(arg, (uint16_t)row, in ? k->spans[span].regs : 0));
		}
	}
	if (r < 0 || o.n > SP_MAX_ROWS) { /* rows without kept registers are correct, too */
		free(o.rows);
		return r;
	}
	free(*rows);
	*rows = o.rows;
	*n_rows = o.n;
	*capacity = o.capacity;
	return 0;
}
