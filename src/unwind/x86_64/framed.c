/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/x86_64/framed.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "unwind/x86_64/code.h"
#include "unwind/x86_64/derive_priv.h"
#include "unwind/x86_64/leaf.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_WINDOW = 8 << 10, WIDER = 8, START_BYTES = 4, INT3 = 0xcc, WORD = 8 };
/*
 * Marks of bytes: an instruction begins there in state BARE, PUSHED or FRAME, or a call made with the frame ends there.
 * LEAVING is the state from `pop %rbp` to what leaves the function, marked as BARE. WILL_: a jump from before leads
 * there in that state.
 */
enum { INSIDE, BARE, PUSHED, FRAME, CALL_END, LEAVING, WILL_BARE = 0x10, WILL_FRAME = 0x20 };
static const uint8_t ud2[] = {0x0f, 0x0b};
static const uint8_t start_code[][START_BYTES] = {{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}};

struct code { /* the code around a place */
	uint64_t offset, vaddr;
	uint8_t *bytes;
	size_t size;
};
struct target { /* the target of a jump */
	size_t at;
	bool has_frame;
};
struct function {
	struct code code;
	size_t start, end; /* positions in the code */
	bool is_late;      /* it does not begin with its frame */
	bool has_framed;   /* the frame has been made somewhere */
	uint8_t *marks;    /* of each byte from start on */
	struct target *targets;
	size_t n_targets, targets_capacity;
	ZydisRegister sum;                 /* the register with the result of the last `add`, or ZYDIS_REGISTER_NONE */
	bool has_table;                    /* a jump by a table was met */
	bool leads_out;                    /* control leaves the frame's code, or breaks another rule */
	size_t round_end, round_n_targets; /* another possible end: an aligned place that nothing runs into; or 0 */
	bool is_cut;                       /* the function does not end in the code that was read */
};

/* --- where it begins and ends --- */

static bool begins_frame(const struct code *c, size_t at)
{
	return c->size - at >= START_BYTES && (!memcmp(c->bytes + at, start_code[0], START_BYTES) ||
					       !memcmp(c->bytes + at, start_code[1], START_BYTES));
}

static bool is_start(const struct code *c, size_t at)
{
	return (c->vaddr + at) % ALIGNMENT == 0 && begins_frame(c, at);
}

/* Behind the padding of another function, unless that is its last code. */
static bool is_late_start(const struct code *c, size_t at)
{
	return at && (c->vaddr + at) % ALIGNMENT == 0 && c->bytes[at - 1] == INT3 && c->size - at >= sizeof(ud2) &&
	       memcmp(c->bytes + at, ud2, sizeof(ud2)) != 0;
}

static bool find_start(struct function *f, size_t place)
{
	size_t at = place - SP_MIN(place, (size_t)((f->code.vaddr + place) % ALIGNMENT));
	while (f->is_late ? !is_late_start(&f->code, at) : !is_start(&f->code, at)) {
		if (at < ALIGNMENT)
			return false;
		at -= ALIGNMENT;
	}
	f->start = at;
	return true;
}

/*
 * Whether a function may end here, behind code that nothing runs beyond: only int3 follows up to an aligned place, or
 * another function directly. int3 with ud2 behind it is still this function's code.
 */
static bool ends_here(const struct code *c, size_t at)
{
	size_t to = at;
	while (to < c->size && c->bytes[to] == INT3)
		to++;
	if (to == c->size || to == at)
		return to == at && to < c->size && is_start(c, at);
	return (c->vaddr + to) % ALIGNMENT == 0 && (c->size - to < 2 || memcmp(c->bytes + to, ud2, sizeof(ud2)) != 0);
}

/* --- its instructions --- */

static int add_target(struct function *f, const struct sp_insn *i, bool has_frame)
{
	if ((i->flow != SP_FLOW_JUMP && i->flow != SP_FLOW_BRANCH) || !i->has_target)
		return 0;
	int r = sp_grow(&f->targets, &f->targets_capacity, f->n_targets + 1, sizeof(*f->targets));
	if (r < 0)
		return r;
	size_t at = (size_t)(i->target - f->code.vaddr);
	f->targets[f->n_targets++] = (struct target){at, has_frame};
	if (at > f->end && at < f->code.size)
		f->marks[at - f->start] |= has_frame ? WILL_FRAME : WILL_BARE;
	return 0;
}

/*
 * Whether it jumps by a table, as compilers write that: of addresses, or of distances that are added to the table's
 * address.
 */
static bool is_by_table(const struct function *f, const struct sp_insn *i)
{
	const ZydisDecodedOperand *op = &i->op[0];
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return op->mem.base == ZYDIS_REGISTER_NONE && op->mem.index != ZYDIS_REGISTER_NONE;
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == f->sum;
}

static void note_sum(struct function *f, const struct sp_insn *i)
{
	for (unsigned k = 0; k < i->z.operand_count; k++)
		if (i->op[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    i->op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, i->op[k].reg.value) == f->sum)
			f->sum = ZYDIS_REGISTER_NONE;
	if (i->z.mnemonic == ZYDIS_MNEMONIC_ADD && i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
		f->sum = i->op[0].reg.value;
}

/* The state behind an instruction that runs with the frame. */
static uint8_t run_framed(struct function *f, const struct sp_insn *i)
{
	bool takes_down = i->z.mnemonic == ZYDIS_MNEMONIC_LEAVE ||
			  (i->z.mnemonic == ZYDIS_MNEMONIC_POP && i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			   i->op[0].reg.value == ZYDIS_REGISTER_RBP);
	if (takes_down)
		return LEAVING;
	if (i->flow == SP_FLOW_STOP)
		return FRAME;
	bool by_table = i->flow == SP_FLOW_JUMP && !i->has_target && is_by_table(f, i);
	f->leads_out |= (sp_insn_writes(i) >> SP_REG_FP & 1) || i->flow == SP_FLOW_RETURN ||
			(i->flow == SP_FLOW_JUMP && !i->has_target && !by_table);
	f->has_table |= by_table;
	note_sum(f, i);
	return FRAME;
}

static bool moves_stack(const struct sp_insn *i)
{
	return sp_insn_writes(i) & (1u << SP_REG_FP | 1u << SP_REG_SP);
}

/* The same for code before the frame is made, or of a path without it: it leaves the stack alone. */
static uint8_t run_bare(struct function *f, size_t at, const struct sp_insn *i)
{
	const struct code *c = &f->code;
	if (begins_frame(c, at))
		return PUSHED;
	f->leads_out |= i->flow == SP_FLOW_CALL || (i->flow == SP_FLOW_JUMP && !i->has_target && is_by_table(f, i)) ||
			(i->flow == SP_FLOW_NEXT && moves_stack(i));
	note_sum(f, i);
	return BARE;
}

/* Behind what does not go on to the next instruction: what a jump from before leads to, or what was left. */
static uint8_t state_at(const struct function *f, size_t at)
{
	uint8_t will = at < f->code.size ? f->marks[at - f->start] : 0;
	if (will & (WILL_BARE | WILL_FRAME))
		return will & WILL_FRAME ? FRAME : BARE;
	return f->has_framed ? FRAME : BARE;
}

static bool goes_on(uint8_t flow)
{
	return flow == SP_FLOW_NEXT || flow == SP_FLOW_BRANCH || flow == SP_FLOW_CALL;
}

static int take_insn(struct function *f, size_t at, const struct sp_insn *i, uint8_t *state)
{
	uint8_t *mark = &f->marks[at - f->start];
	int r = add_target(f, i, *state == FRAME);
	*mark = *state == LEAVING ? BARE : *state;
	switch (*state) {
	case BARE:
		*state = run_bare(f, at, i);
		break;
	case LEAVING:
		f->leads_out |=
		    i->flow == SP_FLOW_NEXT ? moves_stack(i) : i->flow != SP_FLOW_RETURN && i->flow != SP_FLOW_JUMP;
		break;
	case PUSHED:
		*state = FRAME;
		f->has_framed = true;
		break;
	default:
		if (i->flow == SP_FLOW_CALL)
			mark[i->length - 1] = CALL_END;
		*state = run_framed(f, i);
	}
	if (!goes_on(i->flow))
		*state = state_at(f, at + i->length);
	return r;
}

/* Whether the function ends at f->end, behind an instruction of this flow. */
static bool has_ended(struct function *f, uint8_t flow)
{
	if (flow == SP_FLOW_NEXT || flow == SP_FLOW_BRANCH)
		return false;
	if ((f->code.vaddr + f->end) % ALIGNMENT == 0 && !f->has_table) {
		f->round_end = f->end;
		f->round_n_targets = f->n_targets;
	}
	return ends_here(&f->code, f->end);
}

/*
 * What breaks the rules may belong to the next function, directly behind this one: then end at the aligned place before
 * it.
 */
static int end_before(struct function *f)
{
	if (!f->leads_out || !f->round_end)
		return 0;
	f->end = f->round_end;
	f->n_targets = f->round_n_targets;
	return 1;
}

/* 1: the end was found and nothing breaks the rules; 0: not so; or negative. */
static int read_all(struct function *f, const ZydisDecoder *d)
{
	const struct code *c = &f->code;
	uint8_t state = BARE, flow = SP_FLOW_NEXT;
	struct sp_insn i;
	int r = 0;
	for (f->end = f->start; r == 0 && !f->leads_out; f->end += i.length, flow = i.flow) {
		if (has_ended(f, flow))
			return 1;
		if (!sp_insn_decode(d, c->bytes + f->end, c->size - f->end, c->vaddr + f->end, &i)) {
			f->is_cut |= c->size - f->end < ZYDIS_MAX_INSTRUCTION_LENGTH;
			return 0;
		}
		r = take_insn(f, f->end, &i, &state);
	}
	return r ? r : end_before(f);
}

/*
 * Whether jumps made with the frame lead to code with the frame, and all others to code without it or other functions,
 * which begin at aligned places. (That last condition shows a late start that is none: it jumps back into its
 * function.)
 */
static bool targets_fit(const struct function *f)
{
	for (size_t i = 0; i < f->n_targets; i++) {
		const struct target *t = &f->targets[i];
		bool is_inside = t->at >= f->start && t->at < f->end;
		uint8_t mark = is_inside ? f->marks[t->at - f->start] & ~(WILL_BARE | WILL_FRAME) : INSIDE;
		if (t->has_frame ? mark != FRAME : is_inside && mark != BARE)
			return false;
		if (f->is_late && !is_inside && (f->code.vaddr + t->at) % ALIGNMENT != 0)
			return false;
	}
	return true;
}

/* 1: believed, and the place is in it. */
static int try_start(struct function *f, size_t place, bool is_late)
{
	ZydisDecoder d;
	sp_insn_init(&d);
	f->is_late = is_late;
	f->n_targets = 0;
	f->leads_out = f->has_table = f->has_framed = false;
	f->round_end = 0;
	f->sum = ZYDIS_REGISTER_NONE;
	if (!find_start(f, place)) {
		f->is_cut = true;
		return 0;
	}
	free(f->marks);
	f->marks = calloc(f->code.size - f->start, 1);
	if (!f->marks)
		return -ENOMEM;
	int r = read_all(f, &d);
	return r > 0 ? targets_fit(f) && place < f->end : r;
}

static int try_function(struct function *f, size_t place)
{
	f->is_cut = false;
	int r = try_start(f, place, false);
	return r ? r : try_start(f, place, true);
}

/* --- the code around a place --- */

/* The code between two FDEs, in one segment. */
static struct sp_code_span gap_around(struct sp_elf *e, const struct sp_code_span *covered, size_t n, uint64_t place)
{
	size_t next = SP_N_BELOW(covered, n, start, place);
	uint64_t from = next ? covered[next - 1].end : 0, to = next < n ? covered[next].start : UINT64_MAX;
	const struct sp_elf_segment *s = sp_elf_code_at(e, place);
	if (!s)
		return (struct sp_code_span){0};
	return (struct sp_code_span){SP_MAX(from, s->offset), SP_MIN(to, s->offset + s->file_size)};
}

/* 1: read; 0: no such code. */
static int read_code(struct sp_elf *e, const struct sp_code_span *gap, uint64_t place, uint64_t window, struct code *c)
{
	uint64_t start = place - SP_MIN(place - gap->start, window), end = place + SP_MIN(gap->end - place, window);
	void *bytes;
	free(sp_take_ptr(c->bytes));
	int r = sp_elf_vaddr_of(e, start, &c->vaddr);
	r = r < 0 ? r : sp_elf_read(e, start, (size_t)(end - start), &bytes);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	c->bytes = bytes;
	c->offset = start;
	c->size = (size_t)(end - start);
	return 1;
}

/* 1: the function around this place is believed. */
static int find_function(struct sp_elf *e, const struct sp_code_span *covered, size_t n, uint64_t place,
			 struct function *f)
{
	struct sp_code_span gap = gap_around(e, covered, n, place);
	int r = 0;
	f->is_cut = gap.start <= place && place < gap.end;
	for (uint64_t window = FIRST_WINDOW; r == 0 && f->is_cut && window <= SP_FRAMED_MAX; window *= WIDER) {
		r = read_code(e, &gap, place, window, &f->code);
		if (r <= 0)
			return r;
		r = try_function(f, (size_t)(place - f->code.offset));
	}
	return r;
}

/* Whether a walk without unwind information, which looks at a leaf's instruction, finds the caller from here. */
static bool place_is_framed(const struct function *f, uint64_t place)
{
	size_t at = (size_t)(place - f->code.offset);
	uint8_t around[1 + SP_LEAF_BYTES] = {0};
	if (at < f->start || at >= f->end)
		return false;
	around[0] = at ? f->code.bytes[at - 1] : 0;
	memcpy(around + 1, f->code.bytes + at, SP_MIN(f->code.size - at, (size_t)SP_LEAF_BYTES));
	sp_s32 leaf = sp_leaf(around + 1);
	switch (f->marks[at - f->start] & ~(WILL_BARE | WILL_FRAME)) {
	case BARE:
		return leaf == 0;
	case PUSHED:
		return leaf == WORD;
	case FRAME:
		return leaf == SP_LEAF_FRAMED || leaf == SP_LEAF_UNKNOWN;
	case CALL_END:
		return true;
	default:
		return false;
	}
}

static void function_done(struct function *f)
{
	free(f->code.bytes);
	free(f->marks);
	free(f->targets);
}

static bool is_first(const struct function *f, uint64_t place)
{
	return place - f->code.offset == f->start;
}

static int framed_each(struct sp_elf *e, const struct sp_code_span *covered, size_t n_covered, const uint64_t *places,
		       size_t n, bool fits(const struct function *f, uint64_t place), bool *ret_fits)
{
	struct function f = {0};
	int r = 0;
	bool believed = false;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		bool same = believed && places[i] - f.code.offset < f.end;
		if (!same) {
			r = find_function(e, covered, n_covered, places[i], &f);
			believed = r > 0;
		}
		ret_fits[i] = believed && fits(&f, places[i]);
	}
	function_done(&f);
	return SP_MIN(r, 0);
}

int sp_framed(struct sp_elf *e, const struct sp_code_span *covered, size_t n_covered, const uint64_t *places, size_t n,
	      bool *ret_is_framed)
{
	return framed_each(e, covered, n_covered, places, n, place_is_framed, ret_is_framed);
}

int sp_framed_starts(struct sp_elf *e, const struct sp_code_span *covered, size_t n_covered, const uint64_t *places,
		     size_t n, bool *ret_is_start)
{
	return framed_each(e, covered, n_covered, places, n, is_first, ret_is_start);
}
