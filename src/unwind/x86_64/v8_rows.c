/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v8_rows.c: where leaves among V8's builtins, which have no frame yet, have their return address.
 *
 * Derived rows (derive.h) tell it for functions that the deriver believes. They are used only until the frame is made:
 * V8's callees remove their arguments, so the height behind a call differs from that before it. For functions behind
 * padding that the deriver does not believe, rows reach up to where the frame is made, if nothing else moves the stack
 * before. Some builtins are entered by jumps, in the middle of a frame, so v8.h checks that a return address is where
 * the row says.
 */
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive_priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, ALIGNMENT = 64, MAX_BEGINNING = 512, MAX_GAP = 16 << 20, INT3 = 0xcc };
enum { RULE_V8, RULE_ENTRY, RULE_PUSHED, N_OWN_RULES }; /* behind the derived ones */

struct own_rows {
	struct sp_derived_row *row;
	size_t n, capacity;
};

static int own_put(struct own_rows *o, uint64_t offset, uint32_t rule)
{
	int r = sp_grow(&o->row, &o->capacity, o->n + 1, sizeof(*o->row));
	if (r == 0)
		o->row[o->n++] = (struct sp_derived_row){.offset = offset, .rule = rule};
	return r;
}

static bool moves_stack(const struct sp_insn *i)
{
	for (unsigned k = 0; k < i->z.operand_count; k++)
		if (i->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && i->op[k].reg.value == ZYDIS_REGISTER_RSP &&
		    i->op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return true;
	return false;
}

/* Bytes from a function's start to its `push %rbp`, which nothing that moves the stack stands in front of; 0: none. */
static size_t beginning(const ZydisDecoder *d, const uint8_t *bytes, size_t size)
{
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5};
	struct sp_insn i;
	for (size_t at = 0; at + sizeof(frame) <= size; at += i.length) {
		if (memcmp(bytes + at, frame, sizeof(frame)) == 0)
			return at + 1;
		if (!sp_insn_decode(d, bytes + at, size - at, at, &i) || moves_stack(&i))
			return 0;
	}
	return 0;
}

/* Of the functions in code that no FDE covers. */
static int find_beginnings(struct sp_elf *e, const struct sp_code_span *gap, struct own_rows *o)
{
	SP_FREE void *code = NULL;
	size_t size = (size_t)SP_MIN(gap->end - gap->start, (uint64_t)MAX_GAP);
	ZydisDecoder d;
	int r = sp_elf_read(e, gap->start, size, &code);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	const uint8_t *bytes = code;
	sp_insn_init(&d);
	for (size_t at = ALIGNMENT - gap->start % ALIGNMENT; r == 0 && at < size; at += ALIGNMENT) {
		size_t n =
		    bytes[at - 1] == INT3 ? beginning(&d, bytes + at, SP_MIN(size - at, (size_t)MAX_BEGINNING)) : 0;
		if (!n)
			continue;
		r = own_put(o, gap->start + at, RULE_ENTRY);
		r = r ? r : own_put(o, gap->start + at + n, RULE_PUSHED);
		r = r ? r : own_put(o, gap->start + at + n + 3, RULE_V8);
	}
	return r;
}

static struct sp_rule rule_of_v8(const struct sp_rule *r)
{
	struct sp_rule rule = {.cfa = SP_CFA_V8};
	bool no_frame = r->cfa == SP_CFA_REG && r->reg == SP_REG_SP && r->fp == SP_FP_SAME && r->off >= WORD &&
			(r->ra & SP_RULE_RA_MASK) == SP_RA_CFA && r->ra_off == -WORD;
	if (no_frame) {
		rule.off = r->off;
		rule.ra = SP_RULE_DERIVED;
	}
	return rule;
}

static int make_rules(struct sp_derived *d)
{
	struct sp_rule *rules = realloc(d->rules, (d->n_rules + N_OWN_RULES) * sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	d->rules = rules;
	for (size_t i = 1; i < d->n_rules; i++)
		rules[i] = rule_of_v8(&rules[i]);
	for (int i = 0; i < N_OWN_RULES; i++)
		rules[d->n_rules + (size_t)i] = (struct sp_rule){.cfa = SP_CFA_V8, .off = i * WORD};
	return 0;
}

/* Both lists in one: what is derived first, if it knows something. */
static int merge(struct sp_derived *d, const struct own_rows *o)
{
	struct sp_derived_row *rows = calloc(d->n_rows + o->n + 1, sizeof(*rows));
	uint32_t v8 = (uint32_t)d->n_rules, derived = 0, own = RULE_V8, rule;
	size_t n = 0, i = 0, k = 0;
	if (!rows)
		return -ENOMEM;
	while (i < d->n_rows || k < o->n) {
		uint64_t at =
		    SP_MIN(i < d->n_rows ? d->rows[i].offset : UINT64_MAX, k < o->n ? o->row[k].offset : UINT64_MAX);
		for (; i < d->n_rows && d->rows[i].offset == at; i++)
			derived = d->rows[i].rule;
		for (; k < o->n && o->row[k].offset == at; k++)
			own = o->row[k].rule;
		rule = derived && d->rules[derived].off ? derived : v8 + own;
		if (!n || rows[n - 1].rule != rule)
			rows[n++] = (struct sp_derived_row){.offset = at, .rule = rule};
	}
	free(d->rows);
	d->rows = rows;
	d->n_rows = n;
	d->n_rules += N_OWN_RULES;
	return 0;
}

/* The largest range without FDE. */
static struct sp_code_span largest_gap(const struct sp_code_span *covered, size_t n)
{
	struct sp_code_span gap = {0};
	for (size_t i = 1; i < n; i++)
		if (covered[i].start - covered[i - 1].end > gap.end - gap.start)
			gap = (struct sp_code_span){covered[i - 1].end, covered[i].start};
	return gap;
}

int sp_v8_rows(struct sp_elf *e, const struct sp_code_span *covered, size_t n, struct sp_derived *d)
{
	struct sp_code_span gap = largest_gap(covered, n);
	struct own_rows own = {0};
	int r = gap.end ? find_beginnings(e, &gap, &own) : 0;
	if (r == 0 && (own.n || d->n_rows))
		r = make_rules(d);
	if (r == 0 && (own.n || d->n_rows))
		r = merge(d, &own);
	free(own.row);
	return r;
}
