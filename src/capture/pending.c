/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/perf_space.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "unwind/finish.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int stack_add(struct sp_capture *c, const struct sp_record_pending *r, sp_u32 stop)
{
	int64_t stack = sp_drain_stack(c, r->frames, r->n_frames, stop | r->guessed);

	if (stack < 0)
		return (int)stack;
	return sp_drain_add(c, &r->key, &r->value, (uint32_t)stack);
}

static int cut(struct sp_capture *c, const struct sp_record_pending *r)
{
	c->stats.n_unfinished++;
	return stack_add(c, r, SP_STOP_TABLE);
}

/*
 * 1: finished; 0: it waits for a table; or a negative errno. A table that is wanted may be there at once (from the
 * cache on disk), or be refused at once (no unwind information).
 */
static int walk(struct sp_capture *c, struct sp_record_pending *r, const struct sp_finish_memory *memory)
{
	sp_u32 stop = SP_STOP_TABLE;
	int error;

	while (sp_finish_in(c->tables, r, memory, c->o.unwind, &stop) == -EAGAIN) {
		sp_files_want(c, r->waits_for);
		if (sp_tables_state(c->tables, r->waits_for) == SP_TABLE_ABSENT)
			return 0;
	}
	error = stack_add(c, r, stop);
	return error < 0 ? error : 1;
}

static int finish_one(struct sp_capture *c, struct sp_waiting *w)
{
	struct sp_record_pending *r = w->record;
	struct sp_finish_memory memory = {.maps = r->maps,
					  .n_maps = r->n_maps,
					  .has_all_maps = r->n_maps < SP_PENDING_MAPS,
					  .stack = w->stack,
					  .stack_bytes = r->stack_bytes,
					  .stack_at = r->stack_at};
	int r_walk;

	if (w->space)
		sp_space_memory(w->space, &memory);
	r_walk = walk(c, r, &memory);
	c->stats.n_finished += r_walk > 0;
	return r_walk;
}

static void waiting_free(struct sp_waiting *w)
{
	sp_space_put(w->space);
	free(w->record);
	free(w->stack);
	free(w);
}

/*
 * Keeps a copy of the record's first `used` bytes, and of the stack. 1: kept, 0: more bytes wait than are allowed, or a
 * negative errno. The space is used on.
 */
static int keep(struct sp_capture *c, const struct sp_record_pending *r, size_t used,
		const struct sp_finish_memory *memory, struct sp_space *space)
{
	size_t bytes = sizeof(struct sp_waiting) + used + memory->stack_bytes;
	struct sp_waiting *w;

	if (c->waiting_bytes + bytes > SP_MAX_WAITING_BYTES)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	/* Only a part of the record, which compilers would object to if they saw its size. */
	__asm__("" : "+r"(used));
	w->record = malloc(used);
	w->stack = malloc(memory->stack_bytes + 1);
	if (!w->record || !w->stack) {
		waiting_free(w);
		return -ENOMEM;
	}
	memcpy(w->record, r, used);
	memcpy(w->stack, memory->stack, memory->stack_bytes);
	w->record->stack_bytes = (sp_u32)memory->stack_bytes;
	w->record->stack_at = memory->stack_at;
	w->space = space ? sp_space_get(space) : NULL;
	w->bytes = bytes;
	w->next = c->waiting;
	c->waiting = w;
	c->waiting_bytes += bytes;
	return 1;
}

/* Bounds that the kernel half keeps; checked, so that a change there cannot overrun anything here. */
static bool is_sane(const struct sp_record_pending *r)
{
	return r->n_maps <= SP_PENDING_MAPS && r->n_frames <= SP_MAX_FRAMES && r->stack_bytes <= SP_PENDING_STACK;
}

/*
 * Only keeps it: this runs while the ring is read, and loading a table takes its time. What goes beyond the bytes
 * allowed is cut, and counted.
 */
int sp_pending_take(struct sp_capture *c, const struct sp_record_pending *r)
{
	struct sp_finish_memory memory = {.stack = r->stack, .stack_bytes = r->stack_bytes, .stack_at = r->stack_at};
	int kept;

	if (!is_sane(r))
		return sp_fail_said(-EBADMSG, "a pending sample out of bounds");
	kept = keep(c, r, offsetof(struct sp_record_pending, stack), &memory, NULL);
	return kept ? SP_MIN(kept, 0) : cut(c, r);
}

int sp_pending_walk(struct sp_capture *c, struct sp_record_pending *r, const struct sp_finish_memory *memory,
		    struct sp_space *space)
{
	int done = walk(c, r, memory);

	if (done)
		return SP_MIN(done, 0);
	c->stats.counter[SP_N_PENDING]++;
	done = keep(c, r, offsetof(struct sp_record_pending, maps), memory, space);
	return done ? SP_MIN(done, 0) : cut(c, r);
}

int sp_pending_try(struct sp_capture *c, bool is_last)
{
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + SP_PENDING_MS * 1000000ULL;
	struct sp_waiting **at = &c->waiting;

	c->pending_unread = false;
	while (*at) {
		struct sp_waiting *w = *at;
		int done;

		if (!is_last && sp_time_ns(CLOCK_MONOTONIC) >= end) {
			c->pending_unread = true;
			return 0;
		}
		done = finish_one(c, w);
		if (!done && is_last)
			done = cut(c, w->record) ?: 1;
		if (done < 0)
			return done;
		if (!done) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		c->waiting_bytes -= w->bytes;
		waiting_free(w);
	}
	return 0;
}

void sp_pending_free(struct sp_capture *c)
{
	while (c->waiting) {
		struct sp_waiting *next = c->waiting->next;

		waiting_free(c->waiting);
		c->waiting = next;
	}
}
