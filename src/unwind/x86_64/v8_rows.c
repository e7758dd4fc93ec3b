/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v8_rows.c: rows for leaves in V8's builtins: where the return address is while there is no frame yet, and where it is
 * not known whether there is one.
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
#include "unwind/x86_64/v8_code.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAME_BYTES = 4,
	WORD = 8,
	ALIGNMENT = 64,
	MAX_BEGINNING = 512,
	MAX_BUILTIN = 64 << 10,
	MAX_GAP = 16 << 20,
	MAX_TARGETS = 64,
	MAX_TURNS = 16,
	POP_RBP = 0x5d,
	INT3 = 0xcc
};
enum { RULE_V8, RULE_ENTRY, RULE_UNSURE, N_OWN_RULES }; /* numbered behind the derived rules */
static const int32_t own_offsets[] = {0, WORD, SP_V8_UNSURE};

struct own_rows {
	struct sp_derived_row *row;
	size_t n, capacity;
};

static int own_put(struct own_rows *o, uint64_t offset, uint32_t rule)
{
	return SP_APPEND(o->row, o->n, o->capacity, (struct sp_derived_row){.offset = offset, .rule = rule});
}

static bool moves_stack(const struct sp_insn *i)
{
	for (unsigned k = 0; k < i->z.operand_count; k++)
		if (i->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && i->op[k].reg.value == ZYDIS_REGISTER_RSP &&
		    i->op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return true;
	return false;
}

static bool makes_frame(const uint8_t *bytes)
{
	static const uint8_t forms[][FRAME_BYTES] = {{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}};
	return !memcmp(bytes, forms[0], FRAME_BYTES) || !memcmp(bytes, forms[1], FRAME_BYTES);
}

/* The number of bytes up to and including `push %rbp`, if nothing before it moves the stack; else 0. */
static size_t beginning(const ZydisDecoder *d, const uint8_t *bytes, size_t size)
{
	struct sp_insn i;
	for (size_t at = 0; at + FRAME_BYTES <= size; at += i.length) {
		if (makes_frame(bytes + at))
			return at + 1;
		bool ends = bytes[at] == INT3; /* behind a jump: what follows is another function */
		if (ends || !sp_insn_decode(d, bytes + at, size - at, at, &i) || moves_stack(&i))
			return 0;
	}
	return 0;
}

/* --- builtins without a frame, or not at first --- */

/* A builtin that is read up to its end, which is followed by int3. */
struct reading {
	const uint8_t *bytes;
	size_t size, at, targets[MAX_TARGETS],
	    n_targets;        /* of forward jumps, from code where the stack is as at the start */
	ZydisRegister loaded; /* the register just loaded from a table of addresses */
};

/* Whether it reads an operand of a bytecode: r12 points to the bytecodes, r9 is the position in them. */
static bool reads_bytecode(const struct sp_insn *i)
{
	for (unsigned k = 0; k < i->z.operand_count_visible; k++) {
		const ZydisDecodedOperand *op = &i->op[k];
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.scale == 1 &&
		    ((op->mem.base == ZYDIS_REGISTER_R12 && op->mem.index == ZYDIS_REGISTER_R9) ||
		     (op->mem.base == ZYDIS_REGISTER_R9 && op->mem.index == ZYDIS_REGISTER_R12)))
			return true;
	}
	return false;
}

/* Whether it jumps to the next bytecode's builtin, by the interpreter's table in r15. */
static bool dispatches(struct reading *b, const struct sp_insn *i)
{
	const ZydisDecodedOperand *op = i->op;
	bool jumps = i->flow == SP_FLOW_JUMP && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		     b->loaded != ZYDIS_REGISTER_NONE && op[0].reg.value == b->loaded;
	bool loads = i->z.mnemonic == ZYDIS_MNEMONIC_MOV && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		     op[1].type == ZYDIS_OPERAND_TYPE_MEMORY && op[1].mem.base == ZYDIS_REGISTER_R15 &&
		     op[1].mem.scale == WORD && !op[1].mem.disp.value;
	b->loaded = loads ? op[0].reg.value : ZYDIS_REGISTER_NONE;
	return jumps;
}

/* Whether the stack is as at the start behind this instruction, too; it is before it. */
static bool stays(struct reading *b, const struct sp_insn *i)
{
	size_t next = b->at + i->length;
	if (moves_stack(i))
		return false;
	if (i->has_target && i->target > b->at && i->target < b->size && b->n_targets < MAX_TARGETS)
		b->targets[b->n_targets++] = (size_t)i->target;
	for (size_t k = 0; k < b->n_targets; k++)
		if (b->targets[k] == next)
			return true;
	return i->flow == SP_FLOW_NEXT || i->flow == SP_FLOW_BRANCH;
}

/*
 * A builtin that makes its frame n bytes behind its start. Between `push %rbp` and `mov %rsp,%rbp` the code tells where
 * the return address is (v8.h), and also before, where these are near.
 */
static int put_frame(const uint8_t *bytes, uint64_t offset, size_t n, struct own_rows *o)
{
	bool told = n < SP_V8_NEAR;
	for (size_t i = 0; told && i < n; i++)
		told = !sp_v8_ends(bytes + i);
	int r = told ? 0 : own_put(o, offset, RULE_ENTRY);
	return r ? r : own_put(o, told ? offset : offset + n + 1, RULE_V8);
}

static bool reach(uint8_t *reached, size_t size, uint64_t at)
{
	bool is_new = at < size && !reached[at];
	if (is_new)
		reached[at] = 1;
	return is_new;
}

/* Marks the instructions to which some way from the start leads on which nothing moves the stack. */
static void reach_all(const ZydisDecoder *d, const uint8_t *bytes, size_t size, uint8_t *reached)
{
	struct sp_insn i;
	bool more = reach(reached, size, 0);
	for (unsigned n = 0; n < MAX_TURNS && more; n++) {
		more = false;
		for (size_t at = 0; at < size && sp_insn_decode(d, bytes + at, size - at, at, &i); at += i.length) {
			if (!reached[at] || moves_stack(&i))
				continue;
			if (i.flow == SP_FLOW_NEXT || i.flow == SP_FLOW_BRANCH)
				reach(reached, size, at + i.length);
			more |= i.has_target && reach(reached, size, i.target) && i.target <= at;
		}
	}
}

/* The return address is at the stack pointer where the stack is as at the start, and by `rule` elsewhere. */
static int put_reached(const ZydisDecoder *d, const uint8_t *bytes, size_t size, uint64_t offset, uint32_t rule,
		       size_t left, struct own_rows *o)
{
	SP_FREE uint8_t *reached = calloc(size + 1, 1);
	struct sp_insn i;
	uint32_t now, was = rule;
	int r = reached ? own_put(o, offset, rule) : -ENOMEM;
	if (reached)
		reach_all(d, bytes, size, reached);
	for (size_t at = 0; r == 0 && at < size && sp_insn_decode(d, bytes + at, size - at, at, &i); at += i.length) {
		now = reached[at] || (left && at == left) ? RULE_ENTRY : rule;
		if (now != was)
			r = own_put(o, offset + at, now);
		was = now;
	}
	return r;
}

/*
 * A bytecode's builtin runs in the frame of the interpreted function. In any other, the return address is at the stack
 * pointer until the stack is moved; where it is, the place is not known, or the frame pointer leads to it if a frame is
 * made later.
 */
static int put_frameless(const ZydisDecoder *d, const uint8_t *bytes, size_t size, uint64_t offset, struct own_rows *o)
{
	struct reading b = {.bytes = bytes, .size = SP_MIN(size, (size_t)MAX_BUILTIN), .loaded = ZYDIS_REGISTER_NONE};
	size_t left = 0; /* behind a `pop %rbp` that took down another's frame */
	bool goes_on = true, has_frame = false;
	struct sp_insn i;
	for (; b.at < b.size && sp_insn_decode(d, bytes + b.at, b.size - b.at, b.at, &i); b.at += i.length) {
		if (b.at && b.at % ALIGNMENT == 0 && bytes[b.at - 1] == INT3)
			break;
		if (dispatches(&b, &i) || reads_bytecode(&i))
			return own_put(o, offset, RULE_V8);
		bool frame_here = b.size - b.at >= FRAME_BYTES && makes_frame(bytes + b.at);
		if (goes_on && frame_here)
			return put_frame(bytes, offset, b.at, o);
		has_frame |= frame_here;
		left = bytes[b.at] == POP_RBP ? b.at + i.length : left;
		goes_on = goes_on && stays(&b, &i);
	}
	return put_reached(d, bytes, b.at, offset, has_frame ? RULE_V8 : RULE_UNSURE, has_frame ? 0 : left, o);
}

/* Rows for the functions in code without an FDE. */
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
		if (bytes[at - 1] != INT3 || bytes[at] == INT3)
			continue;
		size_t n = beginning(&d, bytes + at, SP_MIN(size - at, (size_t)MAX_BEGINNING));
		r = n ? put_frame(bytes + at, gap->start + at, n - 1, o)
		      : put_frameless(&d, bytes + at, size - at, gap->start + at, o);
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

/* Adds to the derived rules the same ones in the form for V8's code, then the rules of this file. */
static int make_rules(struct sp_derived *d)
{
	size_t n = SP_MAX(d->n_rules, (size_t)1);
	struct sp_rule *rules = realloc(d->rules, (2 * n + N_OWN_RULES) * sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	d->rules = rules;
	if (!d->n_rules)
		rules[0] = (struct sp_rule){.cfa = SP_CFA_NONE};
	for (size_t i = 0; i < n; i++)
		rules[n + i] = rule_of_v8(&rules[i]);
	for (int i = 0; i < N_OWN_RULES; i++)
		rules[2 * n + (size_t)i] = (struct sp_rule){.cfa = SP_CFA_V8, .off = own_offsets[i]};
	d->n_rules = 2 * n + N_OWN_RULES;
	return 0;
}

/* Merges both lists. In builtins derived rows win if they say more. n_rules: number of derived rules. */
static int merge(struct sp_derived *d, uint32_t n_rules, const struct own_rows *o, const struct sp_code_span *builtins)
{
	struct sp_derived_row *rows = calloc(d->n_rows + o->n + 1, sizeof(*rows));
	uint32_t derived = 0, own = RULE_V8, rule;
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
		rule = derived && (d->rules[n_rules + derived].off || own == RULE_UNSURE) ? n_rules + derived
											  : 2 * n_rules + own;
		if (at < builtins->start || at >= builtins->end)
			rule = derived;
		if (!n || rows[n - 1].rule != rule)
			rows[n++] = (struct sp_derived_row){.offset = at, .rule = rule};
	}
	free(d->rows);
	d->rows = rows;
	d->n_rows = n;
	return 0;
}

/* The largest gap between FDEs. */
static struct sp_code_span largest_gap(const struct sp_code_span *covered, size_t n)
{
	struct sp_code_span gap = {0};
	for (size_t i = 1; i < n; i++)
		if (covered[i].start - covered[i - 1].end > gap.end - gap.start)
			gap = (struct sp_code_span){covered[i - 1].end, covered[i].start};
	return gap;
}

/* Finds rows for the builtins without FDE, and limits them to where the builtins are. */
static int find_rows(struct sp_elf *e, const struct sp_code_span *covered, size_t n, const struct sp_code_span *all,
		     struct own_rows *o)
{
	int r = own_put(o, all->start, RULE_V8);
	for (size_t i = 1; r == 0 && i < n; i++) {
		struct sp_code_span gap = {SP_MAX(covered[i - 1].end, all->start), SP_MIN(covered[i].start, all->end)};
		if (gap.start < gap.end)
			r = find_beginnings(e, &gap, o);
	}
	return r ? r : own_put(o, all->end, RULE_V8);
}

int sp_v8_rows(struct sp_elf *e, const struct sp_code_span *covered, size_t n, const struct sp_code_span *builtins,
	       struct sp_derived *d)
{
	struct sp_code_span gap = largest_gap(covered, n);
	struct own_rows own = {0};
	uint32_t n_rules = (uint32_t)SP_MAX(d->n_rules, (size_t)1);
	int r = 0;
	if (builtins->end != UINT64_MAX)
		r = find_rows(e, covered, n, builtins, &own);
	else if (gap.end)
		r = find_beginnings(e, &gap, &own);
	if (r == 0 && (own.n || d->n_rows))
		r = make_rules(d);
	if (r == 0 && (own.n || d->n_rows))
		r = merge(d, n_rules, &own, builtins);
	free(own.row);
	return r;
}
