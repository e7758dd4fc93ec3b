/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/finish.h"
#include "unwind/tables.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

struct sp_walk {
	struct sp_tables *tables;
	struct sp_record_pending *r;
	sp_u64 stack_at; /* user address of r->stack[0] */
	sp_u64 code_at;  /* user address of r->code[0] */
};

#define SP_WALK struct sp_walk
#define sp_opaque(x) ((void)0)

static const struct sp_segment *sp_env_segment(struct sp_walk *w, sp_u32 word)
{
	return sp_tables_segment(w->tables, word);
}

static int sp_env_stack(struct sp_walk *w, sp_u64 addr, sp_u64 *ret)
{
	sp_u64 at = addr - w->stack_at;

	if (at >= w->r->stack_bytes || w->r->stack_bytes - at < 8)
		return -1;
	memcpy(ret, w->r->stack + at, 8);
	return 0;
}

static const struct sp_map *map_find(const struct sp_record_pending *r, sp_u64 addr)
{
	sp_u32 i;

	for (i = 0; i < r->n_maps; i++)
		if (addr >= r->maps[i].start && addr < r->maps[i].end)
			return &r->maps[i];
	return NULL;
}

static int sp_env_is_return(struct sp_walk *w, sp_u64 addr)
{
	return addr && map_find(w->r, addr - 1);
}

static int sp_env_code(struct sp_walk *w, sp_u64 addr, sp_u8 *ret)
{
	if (addr != w->code_at || w->r->code_bytes != sizeof(w->r->code))
		return -1;
	memcpy(ret, w->r->code, sizeof(w->r->code));
	return 0;
}

#include "unwind/step.h"

static sp_u32 step_guessed(struct sp_walk *w, enum sp_unwind_mode mode)
{
	if (mode == SP_UNWIND_DWARF)
		return SP_STOP_GUESS;
	w->r->guessed = SP_STACK_GUESSED;
	return sp_step_guess(w, &w->r->regs, &w->r->how);
}

static sp_u32 step_by(struct sp_walk *w, const struct sp_table *table, sp_u64 offset, enum sp_unwind_mode mode)
{
	struct sp_rule rule;
	sp_u32 at;

	if (mode == SP_UNWIND_FP || !table || table->state != SP_TABLE_LOADED)
		return step_guessed(w, mode);
	at = sp_rule_find(w, table, offset);
	if (!at)
		return step_guessed(w, mode);
	if (sp_rule_get(w, at, &rule))
		return SP_STOP_TABLE;
	return sp_step_rule(w, &w->r->regs, &w->r->how, &rule);
}

static sp_u32 step(struct sp_walk *w, enum sp_unwind_mode mode)
{
	struct sp_record_pending *r = w->r;
	sp_u64 addr = r->regs.ip - (r->how & SP_HOW_EXACT ? 0 : 1), offset, word;
	const struct sp_map *map = map_find(r, addr);
	const struct sp_table *table = NULL;

	if (!map)
		return r->n_maps < SP_PENDING_MAPS ? SP_STOP_UNMAPPED : SP_STOP_TABLE;
	if (map->word >> SP_FRAME_KIND_SHIFT == SP_FRAME_FILE) {
		sp_u32 file = (map->word >> SP_FRAME_ID_SHIFT) & SP_FRAME_ID_MASK;

		table = sp_tables_use(w->tables, file);
		if (mode != SP_UNWIND_FP && table && table->state == SP_TABLE_ABSENT) {
			r->waits_for = file;
			return SP_STOP_PENDING;
		}
	}
	if (r->n_frames >= SP_MAX_FRAMES)
		return SP_STOP_DEEP;
	offset = addr + map->shift_by;
	word = map->word | (offset & SP_FRAME_OFFSET_MASK) | (r->how & SP_HOW_GUESSED ? SP_FRAME_GUESSED : 0);
	r->frames[r->n_frames++] = word;
	return step_by(w, table, offset, mode);
}

int sp_finish(struct sp_tables *t, struct sp_record_pending *r, enum sp_unwind_mode mode, sp_u32 *ret_stop)
{
	struct sp_walk w = {.tables = t, .r = r, .stack_at = r->stack_at, .code_at = r->regs.ip};
	sp_u32 stop;

	do
		stop = step(&w, mode);
	while (stop == SP_STEP_NEXT);
	if (stop == SP_STOP_PENDING)
		return -EAGAIN;
	*ret_stop = stop;
	return 0;
}
