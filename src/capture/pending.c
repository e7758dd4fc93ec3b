/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/pending.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/perf/perf_space.h"
#include "profile/profile.h"
#include "unwind/finish.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int stack_add(struct sp_capture *c, const struct sp_message_pending *r, sp_u32 stop)
{
	uint32_t process = sp_numbers_find(&c->process_keys, &r->key.process, sizeof(r->key.process));
	struct sp_walked walked = {.words = r->frames,
				   .n = r->n_frames,
				   .stop = stop | r->guessed,
				   .uid = sp_profile_process(c->profile, process)->uid};
	int64_t stack = sp_drain_stack(c, &walked);

	int error = 0;

	if (stack < 0)
		return (int)stack;
	if (r->key.user_stack) /* a ticket: rows that name it may still come */
		error = sp_numbers_set(&c->stacks, &r->key.user_stack, sizeof(r->key.user_stack), (uint32_t)stack);
	if (error < 0 || (!r->value.n && !r->value.weight))
		return error;
	return sp_drain_add(c, &r->key, &r->value, (uint32_t)stack);
}

/* The row of the recipe `allocations`, after that of the live ones: the same event, counted once more. */
static bool is_allocation(const struct sp_capture *c, const struct sp_count_key *key)
{
	return key->recipe && c->o.recipes[key->recipe - 1]->is_live;
}

bool sp_pending_count(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value)
{
	struct sp_waiting *w = c->waiting;
	struct sp_count *sum;

	while (w && w->record->key.user_stack != key->user_stack)
		w = w->next;
	if (!w)
		return false;
	/* Of a thread that waited already the record tells neither the recipe nor the state: they are the row's. */
	if (!w->record->value.n && !w->record->value.weight && !is_allocation(c, key))
		w->record->key = *key;
	sum = is_allocation(c, key) ? &w->allocated : &w->record->value;
	sum->n += value->n;
	sum->weight += value->weight;
	return true;
}

/* Once the stack is there. */
static int allocated_add(struct sp_capture *c, const struct sp_waiting *w)
{
	struct sp_count_key key = w->record->key;

	if (!w->allocated.n && !w->allocated.weight)
		return 0;
	key.recipe++;
	return sp_drain_add(c, &key, &w->allocated, sp_drain_stack_number(c, key.user_stack, w->allocated.n));
}

static int cut(struct sp_capture *c, const struct sp_message_pending *r)
{
	c->stats.n_unfinished++;
	return stack_add(c, r, SP_STOP_TABLE);
}

/*
 * 1: finished; 0: it waits for a table; or a negative errno. A table that is wanted may be there at once (from the
 * cache on disk), or be refused at once (no unwind information).
 */
static int walk(struct sp_capture *c, struct sp_message_pending *r, const struct sp_finish_memory *memory)
{
	struct sp_finish_memory with_code = *memory;
	sp_u32 stop = SP_STOP_TABLE;
	int error;

	with_code.jit = sp_jit_frame_ask;
	with_code.jit_arg = c;
	with_code.code_before = sp_code_before;
	with_code.code_before_arg = c;
	while (sp_finish(c->tables, r, &with_code, c->o.unwind, &stop) == -EAGAIN) {
		enum sp_table_state state = sp_tables_state(c->tables, r->waits_for);

		if (state == SP_TABLE_JIT || state == SP_TABLE_HOTSPOT) /* its process is asked */
			return 0;
		if (!sp_regions_want(c, r->waits_for, memory))
			sp_files_want(c, r->waits_for);
		if (sp_tables_state(c->tables, r->waits_for) == SP_TABLE_ABSENT)
			return 0;
	}
	error = stack_add(c, r, stop);
	return error < 0 ? error : 1;
}

/* How much of a record is kept while it waits: all up to its last frame. */
static size_t used_of(const struct sp_message_pending *r)
{
	return offsetof(struct sp_message_pending, frames) + SP_MIN(r->n_frames, SP_MAX_FRAMES) * sizeof(r->frames[0]);
}

/*
 * Copies a part of the record. The asm hides the size from compilers that object to copying less than the whole struct.
 */
static void copy(void *to, const struct sp_message_pending *r, size_t used)
{
	__asm__("" : "+r"(used));
	memcpy(to, r, used);
}

/* Keeps the frames walked so far. */
static int save(struct sp_capture *c, struct sp_waiting *w, const struct sp_message_pending *r)
{
	size_t used = used_of(r), before = used_of(w->record);
	void *record;

	__asm__("" : "+r"(used));
	record = realloc(w->record, used);
	if (!record)
		return -ENOMEM;
	w->record = record;
	copy(w->record, r, used);
	w->bytes += used - before;
	c->waiting_bytes += used - before;
	return 0;
}

/* The walk is made in a full-sized record, which has room for the frames that it adds. */
static int finish_one(struct sp_capture *c, struct sp_waiting *w)
{
	struct sp_finish_memory memory = {.stack = w->stack,
					  .stack_bytes = w->record->stack_bytes,
					  .stack_at = w->record->stack_at,
					  .holes = w->record->holes,
					  .beyond = w->rest ? sp_stack_above_word : NULL,
					  .beyond_arg = w->rest,
					  .fetch = sp_image_fetch,
					  .fetch_arg = w,
					  .read = sp_image_word,
					  .read_arg = w};
	int r_walk;

	if (!c->walking)
		c->walking = malloc(sizeof(*c->walking));
	if (!c->walking)
		return -ENOMEM;
	w->tried = c->n_table_changes;
	sp_space_memory(w->space, &memory);
	copy(c->walking, w->record, used_of(w->record));
	r_walk = walk(c, c->walking, &memory);
	c->stats.n_finished += r_walk > 0;
	if (r_walk > 0 && allocated_add(c, w) < 0)
		return -ENOMEM;
	return r_walk ? r_walk : save(c, w, c->walking);
}

static void waiting_free(struct sp_waiting *w)
{
	sp_space_put(w->space);
	sp_stack_above_free(w->rest);
	sp_image_put(w->image);
	free(w->record);
	free(w->stack);
	free(w);
}

/*
 * Keeps a copy of the record's head and of the stack. 1: kept, 0: more bytes wait than are allowed, or a negative
 * errno. The space is shared; its bytes count for the first sample that waits with it.
 */
static int keep(struct sp_capture *c, const struct sp_message_pending *r, const struct sp_finish_memory *memory,
		struct sp_space *space)
{
	size_t used = used_of(r);
	size_t bytes = sizeof(struct sp_waiting) + used + memory->stack_bytes;
	struct sp_waiting *w;

	if (space->n_refs == 1)
		bytes += space->n * sizeof(*space->maps);
	if (c->waiting_bytes + bytes > SP_MAX_WAITING_BYTES)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	__asm__("" : "+r"(used));
	w->record = malloc(used);
	w->stack = malloc(memory->stack_bytes + 1);
	if (!w->record || !w->stack) {
		waiting_free(w);
		return -ENOMEM;
	}
	copy(w->record, r, used);
	memcpy(w->stack, memory->stack, memory->stack_bytes);
	w->record->stack_bytes = (sp_u32)memory->stack_bytes;
	w->record->stack_at = memory->stack_at;
	w->record->holes = memory->holes;
	w->space = sp_space_get(space);
	w->c = c;
	w->tried = UINT64_MAX;
	w->bytes = bytes;
	w->next = c->waiting;
	c->waiting = w;
	c->waiting_bytes += bytes;
	return 1;
}

/* The kernel half keeps these bounds. They are checked so that a mistake there cannot overrun anything here. */
static bool is_sane(const struct sp_message_pending *r, size_t size)
{
	return r->n_maps <= SP_PENDING_MAPS && r->n_frames <= SP_NEAR_FRAMES && r->stack_bytes <= SP_PENDING_STACK &&
	       size - offsetof(struct sp_message_pending, sent) >= sp_pending_stack_at(r) + r->stack_bytes;
}

/*
 * The mappings that came with a sample. All samples of a process have the same until it maps something more, and share
 * one copy while they wait. The caller does not own it.
 */
static struct sp_space *space_of(struct sp_capture *c, const struct sp_message_pending *r)
{
	const struct sp_map *maps = (const void *)&r->sent[sp_pending_maps_at(r)];
	struct sp_space **at = &c->spaces[r->key.process.tgid % SP_COUNT(c->spaces)], *s = *at;

	if (s && s->n == r->n_maps && (!s->n || !memcmp(s->maps, maps, s->n * sizeof(*s->maps))))
		return s;
	s = sp_space_from(maps, r->n_maps, !r->has_more_maps);
	if (!s)
		return NULL;
	sp_space_put(*at);
	*at = s;
	return s;
}

/*
 * Keeps the sample without trying to finish it: this runs while the ring is read, and loading a table takes time. A
 * sample beyond the bytes allowed is cut, and counted.
 */
int sp_pending_take(struct sp_capture *c, const struct sp_message_pending *r, size_t size)
{
	struct sp_finish_memory memory = {.stack_bytes = r->stack_bytes, .stack_at = r->stack_at, .holes = r->holes};
	struct sp_space *space;
	int kept;

	if (!is_sane(r, size))
		return sp_fail_said(-EBADMSG, "a pending sample out of bounds");
	memory.stack = &r->sent[sp_pending_stack_at(r)];
	space = space_of(c, r);
	kept = space ? keep(c, r, &memory, space) : -ENOMEM;
	if (kept > 0)
		c->waiting->rest = sp_stack_above_claim(c, r->above);
	return kept ? SP_MIN(kept, 0) : cut(c, r);
}

int sp_pending_keep(struct sp_capture *c, const struct sp_message_pending *r, const struct sp_finish_memory *memory,
		    struct sp_space *space)
{
	int kept = keep(c, r, memory, space);

	return kept ? SP_MIN(kept, 0) : cut(c, r);
}

int sp_pending_walk(struct sp_capture *c, struct sp_message_pending *r, const struct sp_finish_memory *memory,
		    struct sp_space *space)
{
	int done = walk(c, r, memory);

	if (done)
		return SP_MIN(done, 0);
	c->stats.counter[SP_N_PENDING]++;
	return sp_pending_keep(c, r, memory, space);
}

/*
 * A sample that was tried since the last change of the tables is not tried again. New samples stand in front, so if the
 * last pass was whole, none that is untried stands behind one that was tried.
 */
static struct sp_waiting **first_untried(struct sp_capture *c, struct sp_waiting **at, bool whole)
{
	while (*at && (*at)->tried == c->n_table_changes) {
		if (whole)
			return NULL;
		at = &(*at)->next;
	}
	return *at ? at : NULL;
}

static void drop(struct sp_capture *c, struct sp_waiting **at)
{
	struct sp_waiting *w = *at;

	*at = w->next;
	c->waiting_bytes -= w->bytes;
	waiting_free(w);
	if (!c->waiting)
		sp_stacks_above_idle(c);
}

/* 1: there was not enough time for all. */
static int try_until(struct sp_capture *c, uint64_t end, bool whole)
{
	struct sp_waiting **at = &c->waiting;
	int done;

	while ((at = first_untried(c, at, whole))) {
		if (sp_time_ns(CLOCK_MONOTONIC) >= end)
			return 1;
		done = finish_one(c, *at);
		if (done < 0)
			return done;
		if (done)
			drop(c, at);
		else
			at = &(*at)->next;
	}
	return 0;
}

int sp_pending_try(struct sp_capture *c, bool is_last)
{
	uint64_t end = is_last ? UINT64_MAX : sp_time_ns(CLOCK_MONOTONIC) + SP_PENDING_MS * 1000000ULL, changes;
	bool whole = !c->pending_unread;
	int r;

	do { /* a table that came during the pass may serve samples that were tried before */
		changes = c->n_table_changes;
		r = try_until(c, end, whole);
		whole = false;
	} while (!r && changes != c->n_table_changes);
	for (; is_last && r >= 0 && c->waiting; drop(c, &c->waiting)) {
		r = cut(c, c->waiting->record);
		if (r >= 0)
			r = allocated_add(c, c->waiting);
	}
	c->pending_unread = r > 0;
	return SP_MIN(r, 0);
}

void sp_pending_free(struct sp_capture *c)
{
	size_t i;

	while (c->waiting) {
		struct sp_waiting *next = c->waiting->next;

		waiting_free(c->waiting);
		c->waiting = next;
	}
	for (i = 0; i < SP_COUNT(c->spaces); i++)
		sp_space_put(c->spaces[i]);
	free(c->walking);
	sp_stacks_above_done(c);
}
