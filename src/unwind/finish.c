/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/finish.h"
#include "base/search.h"
#include "unwind/arch.h"
#include "unwind/hotspots.h"
#include "unwind/step_types.h"
#include "unwind/tables.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

struct sp_walk {
	struct sp_tables *tables;
	struct sp_message_pending *r;
	const struct sp_finish_memory *memory;
	const struct sp_map *met; /* the last mapping found, or NULL */
	sp_u64 code_at;           /* the address whose surrounding code is in r->code */
	sp_u8 code[SP_CODE_BYTES];
	struct sp_hotspot_blob_info blob_info;
};

enum { SP_EPILOGUE = 64, SP_PAGE = 4096 };

#define SP_WALK struct sp_walk
#define sp_opaque(x) ((void)0)

static const struct sp_segment *sp_env_segment(struct sp_walk *w, sp_u32 word)
{
	return sp_tables_segment(w->tables, word);
}

static bool is_hole(const struct sp_finish_memory *m, sp_u64 addr)
{
	sp_u64 page = addr / SP_PAGE - m->stack_at / SP_PAGE;

	return page < 32 && m->holes >> page & 1;
}

static int sp_env_stack(struct sp_walk *w, sp_u64 addr, sp_u64 *ret)
{
	const struct sp_finish_memory *m = w->memory;
	sp_u64 at = addr - m->stack_at;

	if (at >= m->stack_bytes || m->stack_bytes - at < 8)
		return m->beyond && addr >= m->stack_at ? m->beyond(m->beyond_arg, addr, ret) : -1;
	if (is_hole(m, addr) || is_hole(m, addr + 7))
		return -1;
	memcpy(ret, m->stack + at, 8);
	return 0;
}

/* The mapping of addr; they are in ascending order. */
static const struct sp_map *map_find(struct sp_walk *w, sp_u64 addr)
{
	const struct sp_map *maps = w->memory->maps;
	size_t low;

	if (w->met && addr >= w->met->start && addr < w->met->end)
		return w->met;
	low = SP_N_UP_TO(maps, w->memory->n_maps, end, addr);
	if (low == w->memory->n_maps || addr < maps[low].start)
		return NULL;
	w->met = &maps[low];
	return w->met;
}

/* The 8 bytes of code before an address, from its file. */
static int code_before(struct sp_walk *w, sp_u64 addr, sp_u8 *ret)
{
	const struct sp_finish_memory *m = w->memory;
	const struct sp_map *map = m->code_before ? map_find(w, addr - 1) : NULL;

	return map ? m->code_before(m->code_before_arg, map->word, addr + map->shift_by, ret) : -1;
}

/* Reads any memory of the program, if it is available; the code before a return address in any case. */
static int sp_env_read(struct sp_walk *w, sp_u64 addr, void *ret, sp_u32 n)
{
	const struct sp_finish_memory *m = w->memory;

	if (m->read && !m->read(m->read_arg, addr, ret, n))
		return 0;
	return n == SP_CALL_BYTES ? code_before(w, addr + n, ret) : -1;
}

static sp_u32 sp_env_ahead(struct sp_walk *w);

/* Whether a call ends at an address: 1, 0; negative: not known. */
static int call_before(struct sp_walk *w, sp_u64 addr)
{
	sp_u8 code[SP_CALL_BYTES];

	if (code_before(w, addr, code) < 0 && sp_env_read(w, addr - sizeof(code), code, sizeof(code)) < 0)
		return -1;
	return sp_ends_in_call(code);
}

static int sp_env_is_return(struct sp_walk *w, sp_u64 addr)
{
	return addr && map_find(w, addr - 1) && call_before(w, addr);
}

/* Code that was read is kept in the record, in case the walk has to wait and goes on later. */
static int sp_env_around(struct sp_walk *w, sp_u64 ip)
{
	struct sp_message_pending *r = w->r;

	if (ip != w->code_at)
		return -1;
	if (!r->code_bytes && !sp_env_read(w, ip - SP_CODE_BEFORE, r->code, sizeof(r->code)))
		r->code_bytes = sizeof(r->code);
	if (r->code_bytes != sizeof(r->code))
		return -1;
	memcpy(w->code, r->code, sizeof(w->code));
	return 0;
}

static int sp_env_code(struct sp_walk *w, sp_u64 addr, sp_u8 *ret)
{
	if (sp_env_around(w, addr))
		return -1;
	memcpy(ret, w->code + SP_CODE_BEFORE, 8);
	return 0;
}

#include "unwind/x86_64/hotspot.h"
#include "unwind/x86_64/v8.h"

static sp_u32 sp_env_ahead(struct sp_walk *w)
{
	return sp_v8_ahead(w->code + SP_CODE_BEFORE);
}

static int step_leaf(struct sp_walk *w)
{
	struct sp_regs *regs = &w->r->regs;
	sp_s32 leaf = sp_env_around(w, regs->ip) ? SP_LEAF_UNREAD : sp_leaf(w->code + SP_CODE_BEFORE);
	int unsure, r = sp_step_leaf(w, regs, &w->r->how, leaf, &unsure);

	if (unsure)
		w->r->frames[sp_frame_slot(w->r->n_frames - 1)] |= SP_FRAME_GUESSED;
	if (!r && w->r->how & SP_HOW_GUESSED)
		w->r->guessed = SP_STACK_HAS_GUESS;
	return r;
}

/* If a leaf's code cannot be read, the leaf itself is marked as guessed, as in the kernel half. */
static sp_u32 step_guessed(struct sp_walk *w, enum sp_unwind_mode mode)
{
	sp_u8 code[8];

	if (mode == SP_UNWIND_DWARF)
		return SP_STOP_NO_UNWIND;
	if (w->r->how & SP_HOW_EXACT && sp_env_code(w, w->r->regs.ip, code))
		w->r->frames[sp_frame_slot(w->r->n_frames - 1)] |= SP_FRAME_GUESSED;
	w->r->guessed = SP_STACK_HAS_GUESS;
	return sp_step_guess(w, &w->r->regs, &w->r->how);
}

static sp_u32 step_file_guessed(struct sp_walk *w, enum sp_unwind_mode mode)
{
	if (mode != SP_UNWIND_DWARF && w->r->how & SP_HOW_EXACT && !step_leaf(w))
		return SP_STEP_NEXT;
	return step_guessed(w, mode);
}

static sp_u32 step_of_v8(struct sp_walk *w, sp_u32 off)
{
	sp_u32 r = sp_step_v8(w, &w->r->regs, &w->r->how, off);

	if (w->r->how & SP_HOW_GUESSED)
		w->r->guessed = SP_STACK_HAS_GUESS;
	return r;
}

static sp_u32 step_of_hotspot(struct sp_walk *w, sp_u32 file, sp_u64 pc)
{
	struct sp_hotspot *h = sp_hotspots_find(sp_tables_hotspots(w->tables), file);
	const struct sp_finish_memory *m = w->memory;
	struct sp_message_pending *r = w->r;
	sp_u32 stop;

	if (h && m->fetch && m->fetch(m->fetch_arg, file) == -EAGAIN) {
		r->waits_for = file;
		return SP_STOP_PENDING;
	}
	stop = h ? sp_step_hotspot(w, h, pc, &r->regs, &r->how) : sp_step_guess(w, &r->regs, &r->how);
	if (r->how & SP_HOW_GUESSED)
		r->guessed = SP_STACK_HAS_GUESS;
	return stop;
}

/* The start of the row that is in force at this offset. Neighbouring rows have different rules, so the rule tells. */
static sp_u64 row_start(struct sp_walk *w, const struct sp_table *table, sp_u64 offset, sp_u32 rule_at)
{
	sp_u64 low = (sp_u64)table->first << table->shift, start = offset;

	while (start > low && offset - start < SP_EPILOGUE && sp_rule_find(w, table, start - 1) == rule_at)
		start--;
	return start;
}

/* Whether a register saved at this distance from the CFA has been popped: then its place is below the copied stack. */
static bool is_below(const struct sp_walk *w, const struct sp_rule *rule, sp_s32 from_cfa)
{
	sp_u64 slot = w->r->regs.sp + (sp_u64)(sp_s64)rule->off + (sp_u64)(sp_s64)from_cfa;

	return slot < w->memory->stack_at && w->memory->stack_at - slot <= SP_RED_ZONE;
}

/* Whether the frame was larger in the row before this one. */
static bool was_larger(struct sp_walk *w, const struct sp_table *table, sp_u64 offset, sp_u32 at, sp_s32 off)
{
	sp_u64 start = row_start(w, table, offset, at);
	struct sp_rule before = {0};

	at = start ? sp_rule_find(w, table, start - 1) : 0;
	return at && !sp_rule_get(w, at, &before) && before.cfa == SP_CFA_REG &&
	       (before.reg == SP_REG_FP || (before.reg == SP_REG_SP && before.off > off));
}

/*
 * Behind the last `pop` of a leaf, rows may still say that the frame pointer is saved in the frame. That place is now
 * below the stack pointer, where the copy does not reach. If the frame was larger in the row before, the register has
 * been restored; else the function keeps it in the red zone, and it is lost. The same holds for the base register.
 */
static void popped(struct sp_walk *w, const struct sp_table *table, sp_u64 offset, sp_u32 at, struct sp_rule *rule)
{
	bool fp, base, larger;

	if (!(w->r->how & SP_HOW_EXACT) || rule->cfa != SP_CFA_REG || rule->reg != SP_REG_SP)
		return;
	fp = rule->fp == SP_FP_CFA && is_below(w, rule, rule->fp_off);
	base = rule->ra & SP_RULE_BASE_CFA && is_below(w, rule, rule->add);
	if (!fp && !base)
		return;
	larger = was_larger(w, table, offset, at, rule->off);
	if (fp)
		rule->fp = larger ? SP_FP_SAME : SP_FP_LOST;
	if (base)
		rule->ra &= (sp_u8)~SP_RULE_BASE_CFA;
	if (base && larger)
		rule->kept |= 1u << SP_REG_BASE;
}

/* Whether no call leads to this caller, as in the kernel half's sp_is_suspect(). */
static bool is_suspect(struct sp_walk *w, const struct sp_rule *rule)
{
	const struct sp_message_pending *r = w->r;

	return r->n_frames >= 2 && !(r->how & SP_HOW_EXACT) && rule->cfa != SP_CFA_ROOT &&
	       !(rule->ra & SP_RULE_SIGNAL) && !call_before(w, r->regs.ip);
}

static sp_u32 step_by(struct sp_walk *w, const struct sp_table *table, sp_u64 offset, enum sp_unwind_mode mode)
{
	struct sp_rule rule = {.cfa = SP_CFA_NONE};
	sp_u32 at, stop;

	if (table && table->state == SP_TABLE_V8)
		return step_of_v8(w, 0);
	if (mode == SP_UNWIND_FP || !table || table->state != SP_TABLE_LOADED)
		return step_file_guessed(w, mode);
	at = sp_rule_find(w, table, offset);
	if (at && sp_rule_get(w, at, &rule))
		return SP_STOP_TABLE;
	if (w->r->how & SP_HOW_TOP && is_suspect(w, &rule)) {
		w->r->n_frames--; /* the last address was no caller's */
		return SP_STOP_FIBER;
	}
	if (!at)
		return step_file_guessed(w, mode);
	if (rule.cfa == SP_CFA_V8)
		return step_of_v8(w, (sp_u32)rule.off);
	if (is_suspect(w, &rule)) {
		w->r->frames[sp_frame_slot(w->r->n_frames - 1)] |= SP_FRAME_GUESSED;
		w->r->guessed = SP_STACK_HAS_GUESS;
	}
	if (rule.cfa == SP_CFA_CHAIN && !sp_step_chain(w, &w->r->regs, &w->r->how, &rule))
		return SP_STEP_NEXT;
	popped(w, table, offset, at, &rule);
	stop = sp_step_rule(w, &w->r->regs, &w->r->how, &rule, mode != SP_UNWIND_DWARF);
	if (w->r->how & SP_HOW_GUESSED)
		w->r->guessed = SP_STACK_HAS_GUESS;
	return stop;
}

/*
 * Once a parser has looked at the code, nothing is guessed: any word that leads to code might be taken for a return
 * address.
 */
static sp_u32 step_jit(struct sp_walk *w, sp_u32 id, enum sp_unwind_mode mode)
{
	const struct sp_finish_memory *m = w->memory;
	struct sp_regs *regs = &w->r->regs;
	sp_u64 words[SP_JIT_WORDS];
	struct sp_jit_at at = {.id = id, .regs = regs, .words = words};
	struct sp_rule rule;
	int r;

	if (mode != SP_UNWIND_AUTO || !m->jit)
		return step_guessed(w, mode);
	while (at.n_words < SP_JIT_WORDS && !sp_env_stack(w, regs->sp + 8 * at.n_words, &words[at.n_words]))
		at.n_words++;
	if (w->r->how & SP_HOW_NO_FP || sp_env_stack(w, regs->fp + 8, &at.fp_ra))
		at.fp_ra = 0;
	r = m->jit(m->jit_arg, &at, &rule);
	if (r == -EAGAIN) {
		w->r->waits_for = id;
		return SP_STOP_PENDING;
	}
	if (r == SP_JIT_RULE)
		return sp_step_rule(w, regs, &w->r->how, &rule, 1);
	/*
	 * The kernel half has guessed in vain before it sent such a sample with the leaf's code: there is nothing more
	 * to try.
	 */
	if (r == SP_JIT_NONE || (!r && w->r->waits_for == id && w->r->code_bytes))
		return SP_STOP_NO_UNWIND;
	return step_guessed(w, mode);
}

static sp_u32 step(struct sp_walk *w, enum sp_unwind_mode mode)
{
	struct sp_message_pending *r = w->r;
	sp_u64 addr = r->regs.ip - (r->how & SP_HOW_EXACT ? 0 : 1), offset, word;
	const struct sp_map *map = map_find(w, addr);
	const struct sp_table *table;
	sp_u32 file, stop;

	if (!map)
		return w->memory->has_all_maps ? SP_STOP_UNMAPPED : SP_STOP_TABLE;
	file = (map->word >> SP_FRAME_ID_SHIFT) & SP_FRAME_ID_MASK;
	table = sp_tables_use(w->tables, file);
	if (mode != SP_UNWIND_FP && table && table->state == SP_TABLE_ABSENT) {
		r->waits_for = file;
		return SP_STOP_PENDING;
	}
	if (r->n_frames >= SP_WALK_FRAMES)
		return SP_STOP_DEEP;
	offset = addr + map->shift_by;
	word = map->word | (offset & SP_FRAME_OFFSET_MASK) | sp_frame_marks(r->how);
	r->frames[sp_frame_slot(r->n_frames++)] = word;
	if (!table || (table->state != SP_TABLE_JIT && table->state != SP_TABLE_HOTSPOT))
		return step_by(w, table, offset, mode);
	stop = table->state == SP_TABLE_JIT ? step_jit(w, file, mode) : step_of_hotspot(w, file, addr);
	r->n_frames -= stop == SP_STOP_PENDING; /* the frame is walked again later */
	return stop;
}

int sp_finish(struct sp_tables *t, struct sp_message_pending *r, const struct sp_finish_memory *memory,
	      enum sp_unwind_mode mode, sp_u32 *ret_stop)
{
	struct sp_walk w = {.tables = t, .r = r, .memory = memory, .code_at = r->regs.ip};
	sp_u32 stop;

	do
		stop = step(&w, mode);
	while (stop == SP_STEP_NEXT);
	if (stop == SP_STOP_PENDING)
		return -EAGAIN;
	*ret_stop = stop == SP_STOP_READ ? SP_STOP_COPY : stop; /* memory beyond the copy may well have been readable */
	return 0;
}
