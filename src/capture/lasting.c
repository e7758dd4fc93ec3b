/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lasting.c: a session in its caller's event loop, and the change from one profile to the next. */
#include "capture/lasting.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/backend.h"
#include "capture/guarded.h"
#include "capture/pending.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "worker/worker.h"
#include <stdlib.h>

/*
 * One turn takes at most as many samples as have room in the table of counts and, if their stacks are all new, in the
 * ring.
 */
enum { TURN_SAMPLES = 8192, STACK_BYTES = 512 };

uint64_t sp_capture_swap_interval(const struct sp_capture_options *o)
{
	uint64_t rate = o->period ? SP_NS_PER_S / o->period : o->frequency_hz;
	uint64_t samples = o->ring_bytes ? SP_MIN(o->ring_bytes / STACK_BYTES, TURN_SAMPLES) : TURN_SAMPLES;

	for (size_t i = 0; o->recipes[i]; i++)
		if (sp_recipe_counts(o->recipes[i])) /* nobody knows how many there will be */
			return SP_MIN(o->drain_ns ? o->drain_ns : UINT64_MAX, SP_TURN_MS * 1000000ULL);
	if (!o->drain_ns)
		return SP_TURN_MS * 1000000ULL;
	return SP_MIN(o->drain_ns, samples * SP_NS_PER_S / SP_MAX(rate * SP_MAX(o->n_cpus, 1), 1));
}

/* --- in an event loop --- */
size_t sp_capture_fds(const struct sp_capture *c, int ret_fds[SP_CAPTURE_MAX_FDS])
{
	const int all[] = {c->backend->poll_fd(c, 0), c->backend->poll_fd(c, 1), sp_workers_fd(c->workers), c->uevents,
			   c->backend->poll_fd(c, SP_POLL_WATCH)};
	size_t i, n = 0;

	_Static_assert(SP_COUNT(all) <= SP_CAPTURE_MAX_FDS, "all fit");
	for (i = 0; i < SP_COUNT(all); i++)
		if (all[i] >= 0)
			ret_fds[n++] = all[i];
	return n;
}

uint64_t sp_capture_next_ns(const struct sp_capture *c)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), next = SP_MIN(c->swap_at_ns, sp_guarded_next_ns(c));
	int workers = sp_workers_timeout_ms(c->workers);

	if (c->pending_unread || !workers)
		return now;
	return workers < 0 ? next : SP_MIN(next, now + (uint64_t)workers * 1000000);
}

int sp_capture_step(struct sp_capture *c)
{
	int r = sp_capture_take_in(c);

	if (r >= 0)
		sp_cpus_update(c);
	return r >= 0 && sp_time_ns(CLOCK_MONOTONIC) >= c->swap_at_ns ? sp_capture_swap_and_drain(c) : r;
}

int sp_capture_drain(struct sp_capture *c)
{
	sp_files_bound_deleted(c);
	return sp_capture_swap_and_drain(c);
}

bool sp_capture_is_waiting(const struct sp_capture *c)
{
	return c->waiting != NULL;
}

bool sp_capture_is_identifying(const struct sp_capture *c)
{
	size_t i;

	for (i = 1; i < c->n_seen; i++)
		if (c->seen[i].number && c->seen[i].state == SP_SEEN_LOADING &&
		    !c->known[c->seen[i].number].is_identified)
			return true;
	return false;
}

int sp_capture_rate(struct sp_capture *c, uint64_t rate_millihertz)
{
	int r = c->backend->rate(c, rate_millihertz);
	const char *type, *unit; /* constants */

	if (r < 0)
		return sp_fail(r, "change the rate");
	c->o.recipes[0]->ground->period(&c->o, &sp_profile_info(c->profile)->period, &type, &unit);
	c->swap_interval_ns = sp_capture_swap_interval(&c->o);
	return 0;
}

/* --- another profile --- */
/*
 * Called while nothing is sampled. sp_capture_close() has drained once before the pause, so that little is left to do
 * here.
 */
static int close_paused(struct sp_capture *c, const struct sp_capture_keep *keep)
{
	int r = sp_capture_swap_and_drain(c);

	if (r >= 0)
		r = sp_pending_try(c, true);
	if (r >= 0)
		r = c->backend->send_again(c);
	return r < 0 ? r : sp_files_forget(c, keep);
}

int sp_capture_close(struct sp_capture *c, const struct sp_capture_keep *keep)
{
	uint64_t began;
	int r = sp_capture_drain(c), again;

	if (r < 0)
		return r;
	began = sp_time_ns(CLOCK_MONOTONIC);
	c->is_closed = true;
	r = c->backend->pause(c, true);
	if (r >= 0)
		r = close_paused(c, keep);
	again = c->backend->pause(c, false);
	c->paused_ns += sp_time_ns(CLOCK_MONOTONIC) - began;
	r = r < 0 ? r : again;
	c->is_closed = r >= 0;
	return r;
}

static void numbers_forget(struct sp_capture *c)
{
	sp_numbers_done(&c->file_keys);
	sp_numbers_done(&c->process_keys);
	sp_numbers_done(&c->words);
	sp_numbers_done(&c->stacks);
	sp_numbers_done(&c->cgroups);
	free(sp_take_ptr(c->process));
	c->n_process = 0;
}

int sp_capture_renew(struct sp_capture *c, struct sp_profile *fresh)
{
	SP_FREE struct sp_known_file *known = sp_take_ptr(c->known);
	const struct sp_profile *old = c->profile;
	size_t n_known = c->n_known;
	int r;

	c->n_known = 0;
	numbers_forget(c);
	c->profile = fresh;
	r = sp_capture_numbers_init(c);
	if (r >= 0)
		r = sp_capture_profile_begin(c);
	if (r >= 0)
		r = sp_files_move(c, old, known, n_known);
	if (r < 0)
		return sp_fail(r, "begin another profile");
	c->is_closed = false;
	c->n_renewals++;
	return 0;
}

/* --- what it holds --- */
void sp_capture_size(const struct sp_capture *c, struct sp_capture_size *ret_size)
{
	const struct sp_numbers *all[] = {&c->file_keys, &c->process_keys, &c->words, &c->stacks, &c->cgroups};
	struct sp_capture_size s = {
	    .n_ids = c->n_seen, .n_forgotten = c->n_forgotten, .n_renewals = c->n_renewals, .paused_ns = c->paused_ns};
	size_t i;

	for (i = 1; i < c->n_seen; i++)
		s.n_files += c->seen[i].number != 0;
	for (i = 0; i < SP_COUNT(all); i++)
		s.memory_bytes += sp_numbers_memory_bytes(all[i]);
	s.memory_bytes +=
	    c->n_seen * sizeof(*c->seen) + c->n_known * sizeof(*c->known) + c->n_process * sizeof(*c->process);
	s.memory_bytes += c->waiting_bytes;
	*ret_size = s;
}

void sp_capture_look(struct sp_capture *c, bool with_memory)
{
	c->backend->stats(c, with_memory);
}
