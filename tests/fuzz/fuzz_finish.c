/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_finish.c: any machine state, mappings and stack, within the bounds that a pending sample is checked for, over a
 * made-up but valid table. The walk ends, stays in bounds, and every frame lies in a mapping that was given.
 *
 * The bytes are taken in order: the table's rows and rules, then the record. Some are bent towards addresses of code
 * and stack, because random 64 bits lead nowhere.
 */
#include "base/mem.h"
#include "require.h"
#include "unwind/finish.h"
#include "unwind/priv.h"
#include "unwind/tables.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CODE 0x10000ULL
#define STACK 0x7ff000000000ULL
enum { N_GROUPS = 16, GROUP_ROWS = 4, N_RULES = 32, SHIFT = 8, TABLE = 1, NO_TABLE = 2, MAX_FILE = 4 };

static struct input {
	const uint8_t *at;
	size_t left;
} in;

static uint64_t take(size_t n)
{
	uint64_t v = 0;

	n = n < in.left ? n : in.left;
	memcpy(&v, in.at, n);
	in.at += n;
	in.left -= n;
	return v;
}

/* Code, stack, or whatever it is. */
static uint64_t take_address(void)
{
	uint64_t v = take(4);

	switch (v >> 30) {
	case 0:
		return CODE + v % (4 * N_GROUPS << SHIFT);
	case 1:
		return STACK + v % (2 * SP_PENDING_STACK);
	case 2:
		return STACK + (v & 0x7f8);
	default:
		return v << 32 | take(4);
	}
}

static struct sp_rule take_rule(void)
{
	struct sp_rule r = {.cfa = (uint8_t)(take(1) % (SP_CFA_CHAIN + 1)),
			    .reg = (uint8_t)(take(1) % 16),
			    .fp = (uint8_t)(take(1) % (SP_FP_LOST + 1)),
			    .ra = (uint8_t)(take(1) % (SP_RA_SWITCH + 1))};

	if (r.cfa == SP_CFA_INDEX || r.cfa == SP_CFA_INDEX_DEREF)
		r.reg |= (uint8_t)(take(1) % 16 << 4);
	r.off = (int32_t)((uint32_t)take(1) - 32 + (r.reg % 8 ? 0 : (uint32_t)take(4))); /* wraps */
	r.add = (int16_t)((int)take(2) - 256);
	r.kept = (uint16_t)take(2);
	r.fp_off = (int16_t)take(2);
	r.ra_off = r.ra == SP_RA_REG ? (int16_t)(take(1) % 16) : (int16_t)(take(1) - 128);
	r.ra |= (uint8_t)(take(1) &
			  (SP_RULE_SIGNAL | SP_RULE_BASE_CFA | SP_RULE_DERIVED | (r.reg > 15 ? SP_RULE_SCALE : 0)));
	return r;
}

static void table_load(struct sp_tables *t)
{
	static uint64_t memory[(sizeof(struct sp_blob) + N_GROUPS * (1 + GROUP_ROWS) * 4 + 16 + N_RULES * 16) / 8];
	struct sp_blob *b = (struct sp_blob *)memory;
	uint64_t rules_at;

	memset(memory, 0, sizeof(memory));
	*b = (struct sp_blob){.magic = SP_BLOB_MAGIC,
			      .version = SP_BLOB_VERSION,
			      .shift = SHIFT,
			      .n_groups = N_GROUPS,
			      .n_rows = N_GROUPS * GROUP_ROWS,
			      .n_rules = N_RULES};
	b->bytes = sp_blob_bytes(b->n_groups, b->n_rows, b->n_rules, &rules_at);
	uint32_t *index = (uint32_t *)sp_blob_index(b), *rows = (uint32_t *)sp_blob_rows(b);
	struct sp_rule *rules = (struct sp_rule *)sp_blob_rules(b);

	for (uint32_t g = 0; g < N_GROUPS; g++) {
		index[g] = g * GROUP_ROWS << SP_INDEX_COUNT_BITS | GROUP_ROWS;
		for (uint32_t i = 0; i < GROUP_ROWS; i++)
			rows[g * GROUP_ROWS + i] = (uint32_t)(take(1) % N_RULES) << 16 | g << SHIFT | i * 64;
	}
	for (uint32_t i = 1; i < N_RULES; i++)
		rules[i] = take_rule();
	b->check = sp_blob_hash(b);
	require(sp_blob_validate(b, b->bytes) == 0);
	sp_tables_set_code(t, TABLE, SP_TABLE_FP); /* what it had before */
	require(sp_tables_load(t, TABLE, b) == 0);
}

static struct sp_map maps[SP_PENDING_MAPS];
static uint64_t stack[SP_PENDING_STACK / 8];

/* What the input does not say of the stack is the same for all inputs. */
static void stack_take(size_t n)
{
	static size_t n_said = SP_PENDING_STACK / 8;
	size_t i = 0;

	for (; i < n && in.left; i++)
		stack[i] = take_address();
	for (size_t k = i; k < n_said; k++)
		stack[k] = CODE + k * 8 % (N_GROUPS << SHIFT);
	n_said = i;
}

/*
 * Most walks begin near the most frames, which is soon reached: a walk that comes to where it was before goes on up to
 * them, 23 ms from the first, and libFuzzer likes such inputs.
 */
static uint32_t n_frames_take(void)
{
	uint32_t v = (uint32_t)take(2);

	return v % 8 == 0 ? v : SP_WALK_FRAMES - v % 1024;
}

/* Frames are the walk's: those of the input before are taken back. */
static void record_take(struct sp_message_pending *r)
{
	memset(r, 0, offsetof(struct sp_message_pending, frames));
	memset(maps, 0, sizeof(maps));
	r->regs = (struct sp_regs){.ip = take_address(), .sp = take_address(), .fp = take_address()};
	for (size_t i = 0; i < 16; i++)
		r->regs.r[i] = take_address();
	r->how = (uint32_t)take(1);
	r->guessed = take(1) & 1 ? SP_STACK_HAS_GUESS : 0;
	r->n_frames = n_frames_take();
	r->n_maps = (uint32_t)take(1) % 8;
	if (r->n_maps == 7)
		r->n_maps = SP_PENDING_MAPS;
	for (uint32_t i = 0; i < r->n_maps && i < 7; i++) {
		maps[i].start = i ? take_address() & ~0xfffULL : CODE;
		maps[i].end = i ? take_address() : CODE + (N_GROUPS << SHIFT);
		maps[i].shift_by = i ? take(8) : -CODE;
		maps[i].word = take(1) % 3 << SP_FRAME_KIND_SHIFT | (i ? 1 + take(1) % MAX_FILE : TABLE)
									<< SP_FRAME_ID_SHIFT;
	}
	r->stack_at = take(1) & 7 ? STACK : take_address();
	r->stack_bytes = (uint32_t)take(2);
	r->holes = r->how & 0x80 ? (uint32_t)take(4) : 0;
	stack_take(r->stack_bytes / 8);
}

static bool in_a_map(const struct sp_finish_memory *m, uint64_t word)
{
	const uint64_t who = ~(SP_FRAME_OFFSET_MASK | SP_FRAME_GUESSED | SP_FRAME_DERIVED);

	for (size_t i = 0; i < m->n_maps; i++)
		if ((word & who) == (m->maps[i].word & who))
			return true;
	return false;
}

static void walk(struct sp_tables *t, struct sp_message_pending *r, enum sp_unwind_mode mode)
{
	struct sp_finish_memory memory = {.maps = maps,
					  .n_maps = r->n_maps,
					  .has_all_maps = r->n_maps < SP_PENDING_MAPS,
					  .stack = (const uint8_t *)stack,
					  .stack_bytes = r->stack_bytes,
					  .stack_at = r->stack_at,
					  .holes = r->holes};
	uint32_t stop = UINT32_MAX, n = r->n_frames;
	int result = sp_finish(t, r, &memory, mode, &stop);

	while (result == -EAGAIN) { /* each file once: it is settled then */
		require(stop == UINT32_MAX && sp_tables_state(t, r->waits_for) == SP_TABLE_ABSENT);
		sp_tables_set_code(t, r->waits_for, SP_TABLE_FP);
		result = sp_finish(t, r, &memory, mode, &stop);
	}
	require(result == 0 && stop < SP_N_STOPS && stop != SP_STOP_PENDING);
	require(r->n_frames >= n && r->n_frames <= SP_WALK_FRAMES);
	for (uint32_t i = SP_MAX(n, r->n_frames - SP_MIN(r->n_frames, SP_ROOT_FRAMES)); i < r->n_frames; i++)
		require(in_a_map(&memory, r->frames[sp_frame_slot(i)]));
	for (; n < r->n_frames; n++)
		r->frames[sp_frame_slot(n)] = 0;
}

/* A walk may have SP_WALK_FRAMES frames, whatever the input: 23 ms, and on a busy machine 45. */
const struct fuzz_cost fuzz_cost = {1 << 20, 400, 150000, 20000};

int fuzz_one(const uint8_t *data, size_t size)
{
	static struct sp_message_pending *r;
	static struct sp_tables *t; /* the kernel was most of what it took to make them */

	if (!r)
		r = calloc(1, sizeof(*r)); /* of its exact size: what lies behind it is the sanitizer's */
	require(r && (t || sp_tables_new(NULL, -1, SP_SEG_BYTES, &t) == 0));
	for (uint32_t file = 0; file <= MAX_FILE; file++)
		sp_tables_forget(t, file);
	in = (struct input){.at = data, .left = size};
	table_load(t);
	sp_tables_set_code(t, NO_TABLE, SP_TABLE_FP);
	enum sp_unwind_mode mode = take(1) % (SP_UNWIND_FP + 1);
	record_take(r);
	walk(t, r, mode);
	return 0;
}
