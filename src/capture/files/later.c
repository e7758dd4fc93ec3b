/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * later.c: unwind tables that are put off, because the caller may not spend more on parsing now, or because they would
 * evict all others again; and code made at run time, which is read out of its process stack by stack.
 *
 * Frames in such a file are guessed, as in one without unwind information: to finish the stack of each of its samples
 * later would cost more than the table. Most files are met before one drain only; for one that is met again, the caller
 * is asked again.
 */
#include "base/mem.h"
#include "capture/backend.h"
#include "capture/priv.h"
#include "capture/users.h"

enum { MAX_PASSED = 32 }; /* in one drain */
/* A session that lasts loads a table that takes more than a part of the memory again after so many drains only. */
enum { CROWDING_PART = 4, CROWDED_DRAINS = 6 };

bool sp_files_may_build(const struct sp_capture *c, uint32_t id)
{
	const struct sp_capture_users *u = c->o.users;

	return !u ||
	       u->may_build(u->arg, sp_known_of(c, id)->user, SP_MAX(c->seen[id].n_met, 1), sp_known_of(c, id)->size);
}

bool sp_files_may_read(const struct sp_capture *c, uint32_t id)
{
	const struct sp_capture_users *u = c->o.users;

	return !u || u->may_read(u->arg, sp_known_of(c, id)->user);
}

void sp_files_put_off_code(struct sp_capture *c, uint32_t id)
{
	if (c->seen[id].state == SP_SEEN_DONE)
		sp_files_put_off(c, id);
	sp_tables_set_code(c->tables, id, SP_TABLE_FP);
	c->n_table_changes++;
}

/* A parser's time is a half: asking, and walking the stack again, takes as long. */
void sp_files_have_read(const struct sp_capture *c, uint32_t id, uint64_t cpu_ns)
{
	sp_users_parsed(c, sp_known_of(c, id)->user, 2 * cpu_ns);
}

void sp_files_put_off(struct sp_capture *c, uint32_t id)
{
	c->seen[id].state = SP_SEEN_LATER;
	c->stats.n_put_off += !c->seen[id].n_met;
	c->stats.n_later++;
}

/* Not of what was put off for the sake of CPU time, which is told. */
void sp_files_crowd_out(struct sp_capture *c, uint32_t id)
{
	c->seen[id].state = SP_SEEN_LATER;
	c->seen[id].is_crowded = true;
	c->n_crowded++;
}

void sp_files_not_later(struct sp_capture *c, uint32_t id)
{
	if (c->seen[id].state != SP_SEEN_LATER)
		return;
	if (c->seen[id].is_crowded)
		c->n_crowded--;
	else
		c->stats.n_later--;
	c->seen[id].is_crowded = false;
}

/*
 * It is announced again, by whoever meets it next: the table may be refused because of the user who met the file first,
 * while others have it mapped, too, who may.
 */
static void pass_on(struct sp_capture *c, uint32_t id, uint32_t drain, unsigned *n_passed)
{
	struct sp_seen_file *s = &c->seen[id];

	if (!c->o.users || !sp_known_of(c, id)->user || sp_tables_get(c->tables, id)->used != drain ||
	    ++*n_passed > MAX_PASSED)
		return;
	sp_known_of(c, id)->n_met = s->n_met;
	sp_files_not_later(c, id);
	s->state = SP_SEEN_DONE;
	c->backend->forget(c, id);
}

/*
 * Where large tables do not fit beside the others that are in use, they and all others would be loaded in each drain,
 * which costs more than all of sampling.
 */
bool sp_files_is_crowded(const struct sp_capture *c, uint32_t id)
{
	const struct sp_seen_file *s = &c->seen[id];

	return c->o.users && sp_known_of(c, id)->table_bytes > sp_capture_budget(c) / CROWDING_PART &&
	       *c->shared.drain - s->loaded < CROWDED_DRAINS;
}

/* The next sample in it asks for its table. */
static void let_in(struct sp_capture *c, uint32_t id)
{
	sp_files_not_later(c, id);
	c->seen[id].state = SP_SEEN_DONE;
	sp_tables_set_code(c->tables, id, SP_TABLE_ABSENT);
}

static void again(struct sp_capture *c, uint32_t id, uint32_t drain, unsigned *n_passed)
{
	struct sp_seen_file *s = &c->seen[id];

	if (s->is_crowded || s->key.dev == SP_DEV_ANON) {
		if (s->is_crowded ? !sp_files_is_crowded(c, id) : sp_files_may_read(c, id))
			let_in(c, id);
		return;
	}
	if (sp_tables_get(c->tables, id)->used == drain && s->n_met < UINT8_MAX)
		s->n_met++;
	if (s->n_met < 2)
		return;
	if (!sp_files_may_build(c, id)) {
		pass_on(c, id, drain, n_passed);
		return;
	}
	sp_files_not_later(c, id);
	s->state = SP_SEEN_LOADING;
	sp_files_allowed(c, id);
}

void sp_files_begin_drain(struct sp_capture *c, uint32_t drain)
{
	size_t n = c->stats.n_later + c->n_crowded;
	unsigned n_passed = 0;
	uint32_t id;

	sp_users_begin_drain(c);
	for (id = 1; n && id < c->n_seen; id++) {
		if (c->seen[id].state != SP_SEEN_LATER)
			continue;
		n--;
		again(c, id, drain, &n_passed);
	}
}
