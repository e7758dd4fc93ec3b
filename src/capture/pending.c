/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
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
static int finish_one(struct sp_capture *c, struct sp_record_pending *r)
{
	sp_u32 stop = SP_STOP_TABLE;
	int error;

	while (sp_finish(c->tables, r, c->o.unwind, &stop) == -EAGAIN) {
		sp_files_want(c, r->waits_for);
		if (sp_tables_state(c->tables, r->waits_for) == SP_TABLE_ABSENT)
			return 0;
	}
	c->stats.n_finished++;
	error = stack_add(c, r, stop);
	return error < 0 ? error : 1;
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
	size_t used = offsetof(struct sp_record_pending, stack) + r->stack_bytes;
	size_t bytes = offsetof(struct sp_waiting, record) + used;
	struct sp_waiting *w;

	if (!is_sane(r))
		return sp_fail_said(-EBADMSG, "a pending sample out of bounds");
	if (c->waiting_bytes + bytes > SP_MAX_WAITING_BYTES)
		return cut(c, r);
	w = malloc(bytes);
	if (!w)
		return -ENOMEM;
	memcpy(&w->record, r, used);
	w->bytes = bytes;
	w->next = c->waiting;
	c->waiting = w;
	c->waiting_bytes += bytes;
	return 0;
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
		done = finish_one(c, &w->record);
		if (!done && is_last)
			done = cut(c, &w->record) ?: 1;
		if (done < 0)
			return done;
		if (!done) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		c->waiting_bytes -= w->bytes;
		free(w);
	}
	return 0;
}

void sp_pending_free(struct sp_capture *c)
{
	while (c->waiting) {
		struct sp_waiting *next = c->waiting->next;

		free(c->waiting);
		c->waiting = next;
	}
}
