/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/backend.h"
#include "capture/guarded.h"
#include "capture/objects.h"
#include "capture/pending.h"
#include "capture/priv.h"
#include "capture/wakers.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "profile/window.h"
#include "unwind/cache.h"
#include "worker/worker.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* Where much is mapped, what has appeared is looked at so often and no more. */
#define WATCH_EVERY_NS 5000000ULL

enum { SP_SETTLE_MS = 2000, SP_FINISH_MS = 30000, SP_MAX_SLICES = 64 };

#define SP_DEFAULT_MEMORY (24ULL << 20)

uint64_t sp_capture_budget(const struct sp_capture *c)
{
	return c->o.max_memory_bytes ? c->o.max_memory_bytes : SP_DEFAULT_MEMORY;
}

/* --- making and freeing --- */
/* The number of the profile's value of this name, which is added if it does not exist. In a renewed profile it does. */
static int value_add(struct sp_profile *p, const struct sp_recipe_value *value)
{
	int n = sp_profile_find_value(p, value->name, NULL), r;

	if (n >= 0)
		return n;
	n = (int)sp_profile_n_value_types(p);
	r = sp_profile_add_value_type(p, value->name, value->unit);
	return r < 0 ? r : n;
}

/*
 * Adds the values of all recipes; a row has those of its own recipe. By default the first recipe's second value is
 * shown.
 */
static int values_begin(struct sp_capture *c)
{
	struct sp_profile_info *info = sp_profile_info(c->profile);
	int64_t name;

	for (unsigned i = 0; c->o.recipes[i]; i++)
		for (unsigned k = 0; k < SP_COUNT(c->value_of[i]); k++) {
			int r = value_add(c->profile, &c->o.recipes[i]->values[k]);

			if (r < 0)
				return r;
			c->value_of[i][k] = (unsigned)r;
		}
	if (!c->o.recipes[1]) /* the last value is shown by default anyway */
		return 0;
	name = sp_profile_add_string(c->profile, c->o.recipes[0]->values[1].name);
	info->default_type = (uint32_t)SP_MAX(name, 0);
	return (int)SP_MIN(name, 0);
}

int sp_capture_profile_begin(struct sp_capture *c)
{
	struct sp_profile_info *info = sp_profile_info(c->profile);
	struct sp_file kernel = {.kind = SP_FILE_KERNEL};
	const char *type, *unit;
	int64_t number = sp_profile_add_string(c->profile, "[kernel]");
	int r = values_begin(c);

	if (r < 0)
		return r;
	if (number < 0)
		return (int)number;
	kernel.name = (uint32_t)number;
	number = sp_profile_add_file(c->profile, &kernel);
	if (number < 0)
		return (int)number;
	c->kernel_file = (uint32_t)number;
	r = sp_grow(&c->known, &c->n_known, c->kernel_file + 1, sizeof(*c->known));
	if (r < 0)
		return r;
	c->o.recipes[0]->ground->period(&c->o, &info->period, &type, &unit);
	info->period_type.name = (uint32_t)sp_profile_add_string(c->profile, type);
	info->period_type.unit = (uint32_t)sp_profile_add_string(c->profile, unit);
	info->time_ns = sp_time_ns(CLOCK_REALTIME);
	return 0;
}

int sp_capture_numbers_init(struct sp_capture *c)
{
	struct sp_numbers *all[] = {&c->file_keys, &c->process_keys, &c->words, &c->stacks, &c->cgroups};
	size_t i;
	int r = 0;

	for (i = 0; !r && i < SP_COUNT(all); i++)
		r = sp_numbers_init(all[i]);
	return r;
}

static int cache_open(struct sp_capture *c)
{
	SP_FREE char *own = NULL;
	int r = 0;

	if (c->o.cache && !*c->o.cache)
		return 0;
	if (!c->o.cache)
		r = sp_cache_default_dir(&own);
	if (r >= 0)
		r = sp_cache_open(own ? own : c->o.cache, 0, &c->cache);
	/* Without a cache tables are built each time, which is only slower. */
	if (r < 0)
		sp_error_clear();
	return 0;
}

static int capture_open(struct sp_capture *c)
{
	size_t i;
	int r = sp_capture_numbers_init(c);

	if (!r)
		r = sp_stack_share_init(&c->share, c->o.user_nodes, c->o.drain_ns);
	if (!r)
		r = sp_objects_open(c);
	if (!r)
		r = sp_wakers_open(c);
	if (!r)
		r = sp_capture_profile_begin(c);
	if (!r)
		r = c->backend->open(c);
	if (!r)
		r = cache_open(c);
	for (i = 0; !r && i < c->o.n_targets; i++)
		r = sp_capture_target_add(c, c->o.targets[i], SP_TARGET_WANTED);
	return r;
}

int sp_capture_new(const struct sp_capture_options *o, struct sp_profile *p, struct sp_workers *w,
		   struct sp_capture **ret_capture)
{
	struct sp_capture *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->o = *o;
	c->profile = p;
	c->workers = w;
	c->backend = o->backend == SP_BACKEND_PERF ? &sp_backend_perf : &sp_backend_bpf;
	c->stats_fd = c->uevents = c->episodes_fd = c->segments.maps_fd = c->segments.first_fd = -1;
	c->began_ns = sp_time_ns(CLOCK_MONOTONIC);
	c->swap_interval_ns = sp_capture_swap_interval(o);
	r = capture_open(c);
	if (r < 0) {
		sp_capture_free(c);
		return r;
	}
	*ret_capture = c;
	return 0;
}

void sp_capture_let_go(struct sp_capture *c)
{
	c->is_over = true;
}

void sp_capture_free(struct sp_capture *c)
{
	if (!c)
		return;
	if (c->attached)
		c->backend->detach(c);
	sp_pending_free(c);
	sp_machinery_done(c);
	sp_objects_done(c);
	sp_wakers_done(c);
	sp_files_done(c);
	sp_tables_free(c->tables);
	sp_cache_close(c->cache);
	if (c->backend)
		c->backend->done(c);
	sp_numbers_done(&c->process_keys);
	sp_numbers_done(&c->pid_pairs);
	sp_numbers_done(&c->cgroups);
	sp_numbers_done(&c->words);
	sp_numbers_done(&c->stacks);
	free(c->process);
	free(c->code_known);
	free(c->jit);
	sp_stack_share_done(&c->share);
	free(c);
}

int sp_capture_target_add(struct sp_capture *c, uint32_t number, enum sp_target state)
{
	return c->backend->target_add(c, number, state);
}

int sp_capture_targets_fd(const struct sp_capture *c)
{
	return c->targets_fd;
}

/* --- running --- */
static int callback_failure(struct sp_capture *c)
{
	int r = c->failure;

	c->failure = 0;
	return r;
}

int sp_capture_take_in(struct sp_capture *c)
{
	int r = c->backend->read(c);

	if (r < 0)
		return r;
	r = sp_workers_dispatch(c->workers);
	if (r < 0)
		return r;
	if (c->waiting) {
		r = sp_pending_try(c, false);
		if (r < 0)
			return r;
	}
	r = sp_guarded_look(c);
	return r < 0 ? r : callback_failure(c);
}

/* --- slices --- */
/*
 * A difference between recordings is judged by how much the slices of each vary. How long a recording will be is not
 * known before its end: slices begin short, and when there are too many, each two become one. So from the time on when
 * there are SP_MAX_SLICES units, there are always at least half as many slices.
 */
static void slices_begin(struct sp_capture *c)
{
	if (!c->o.slices)
		return;
	c->shared.slicing->mask = UINT32_MAX;
	sp_profile_info(c->profile)->slice_ns = UINT64_C(1) << SP_SLICE_SHIFT;
	c->shared.slicing->from_ns = sp_time_ns(CLOCK_MONOTONIC);
}

static int slices_widen(struct sp_capture *c)
{
	uint64_t units = (sp_time_ns(CLOCK_MONOTONIC) - c->shared.slicing->from_ns) >> SP_SLICE_SHIFT;
	unsigned int by = 0;

	if (!c->shared.slicing->from_ns)
		return 0;
	while (units >> (c->slice_shift + by) >= SP_MAX_SLICES)
		by++;
	c->slice_shift += by;
	c->shared.slicing->mask = UINT32_MAX << c->slice_shift;
	return by ? sp_profile_widen_slices(c->profile, by) : 0;
}

/*
 * Whether programs may still run that belong to the window before. Those of clocks run in an interrupt, and whoever
 * detached their event has interrupted its CPU to do so: none is left.
 */
static bool may_still_run(const struct sp_capture *c)
{
	return c->attached || !sp_recipes_are_clocks(&c->o);
}

int sp_capture_swap_and_drain(struct sp_capture *c)
{
	sp_u32 old = *c->shared.drain;
	int r = slices_widen(c);

	if (r >= 0 && c->backend->flush)
		r = c->backend->flush(c);
	if (r < 0)
		return r;
	*c->shared.drain = old + 1;
	c->n_table_changes++; /* an evicted table may be loaded again from now on */
	sp_tables_begin_drain(c->tables, old + 1);
	r = may_still_run(c) ? sp_tables_grace(c->tables) : 0;
	if (r >= 0)
		r = sp_capture_take_in(c); /* before the counts: the frames that they refer to */
	if (r >= 0 && c->stats.n_later + c->n_crowded + c->over.n)
		sp_files_begin_drain(c, old);
	c->swap_at_ns = sp_time_ns(CLOCK_MONOTONIC) + c->swap_interval_ns;
	sp_stack_share_renew(&c->share, c->swap_at_ns);
	return r < 0 ? r : c->backend->swap_counts(c, old & 1);
}

static int attach(struct sp_capture *c)
{
	int r = c->backend->attach(c);

	c->attached = r >= 0;
	c->stats.load_ns = sp_time_ns(CLOCK_MONOTONIC) - c->began_ns;
	if (r >= 0 && c->backend->blocked)
		r = c->backend->blocked(c, sp_time_ns(CLOCK_MONOTONIC), -1);
	return r;
}

/*
 * Takes in answers of the workers until all have come, no sample waits for one any more (at the end), or the time is
 * over.
 */
static int workers_settle(struct sp_capture *c, uint64_t most_ms, bool at_end)
{
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + most_ms * 1000000ULL;

	while (sp_workers_outstanding(c->workers) && (c->waiting || !at_end) && sp_time_ns(CLOCK_MONOTONIC) < end) {
		struct pollfd fd = {.fd = sp_workers_fd(c->workers), .events = POLLIN};
		int r;

		poll(&fd, 1, sp_ms_sooner(sp_workers_timeout_ms(c->workers), 100));
		r = sp_capture_take_in(c);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether a recipe counts events: these may be more than could wait for tables. */
static bool counts_all(const struct sp_capture_options *o)
{
	bool all = false;

	for (unsigned i = 0; o->recipes[i]; i++)
		all = all || sp_recipe_counts(o->recipes[i]);
	return all;
}

/*
 * The whole machine is sampled at once; samples that meet a file before its table is loaded wait for it. Where the
 * processes are known, or each event counts, the tables are loaded first.
 */
int sp_capture_start(struct sp_capture *c)
{
	bool first = sp_capture_knows_targets(&c->o) || (counts_all(&c->o) && !c->o.no_seek);
	int r = first ? 0 : attach(c);

	c->swap_at_ns = sp_time_ns(CLOCK_MONOTONIC) + c->swap_interval_ns;
	if (r >= 0 && !c->o.no_seek)
		r = c->backend->seek(c);
	if (r >= 0)
		r = sp_capture_take_in(c);
	if (r >= 0 && first)
		r = workers_settle(c, SP_SETTLE_MS, false);
	return r >= 0 && first ? attach(c) : r;
}

static int wait_ms(const struct sp_capture *c, uint64_t end, uint64_t also)
{
	uint64_t due = SP_MIN(SP_MIN(c->swap_at_ns, also), sp_guarded_next_ns(c)), until = end && end < due ? end : due;

	return c->pending_unread ? 0 : sp_ms_sooner(sp_ms_until(until), sp_workers_timeout_ms(c->workers));
}

int sp_capture_run(struct sp_capture *c, uint64_t duration_ns, int stop_fd, int child_fd)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), end = duration_ns ? now + duration_ns : 0;
	struct pollfd fds[] = {{.fd = c->backend->poll_fd(c, 0), .events = POLLIN},
			       {.fd = c->backend->poll_fd(c, 1), .events = POLLIN},
			       {.fd = sp_workers_fd(c->workers), .events = POLLIN},
			       {.fd = stop_fd, .events = POLLIN},
			       {.fd = child_fd, .events = POLLIN},
			       {.events = POLLIN}};
	int watch = c->backend->poll_fd(c, SP_POLL_WATCH);
	uint64_t watch_at = 0; /* when it is looked at again */

	slices_begin(c);

	while (!end || now < end) {
		int n, r;

		fds[5].fd = now < watch_at ? -1 : watch;
		n = poll(fds, SP_COUNT(fds), wait_ms(c, end, fds[5].fd < watch ? watch_at : UINT64_MAX));

		if (n < 0 && errno != EINTR)
			return sp_fail(-errno, "poll");
		if (n > 0 && fds[5].revents)
			watch_at = sp_time_ns(CLOCK_MONOTONIC) + WATCH_EVERY_NS;
		r = sp_capture_take_in(c);
		if (r < 0)
			return r;
		if (n > 0 && (fds[3].revents || fds[4].revents))
			return 1;
		now = sp_time_ns(CLOCK_MONOTONIC);
		if (now >= c->swap_at_ns) {
			r = sp_capture_swap_and_drain(c);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static void tables_stats(struct sp_capture *c)
{
	struct sp_tables_stats tables = sp_tables_stats(c->tables);

	c->stats.table_bytes = tables.used_bytes;
	c->stats.n_evicted = tables.n_evicted;
}

int sp_capture_finish(struct sp_capture *c)
{
	struct sp_profile_info *info = sp_profile_info(c->profile);
	int r;

	info->duration_ns = sp_time_ns(CLOCK_MONOTONIC) - c->began_ns; /* the wall clock may be set meanwhile */
	r = c->backend->stamped ? c->backend->stamped(c, -1) : 0;
	c->backend->detach(c);
	c->attached = false;
	if (r >= 0)
		r = sp_capture_swap_and_drain(c);
	if (r >= 0)
		r = sp_drain_episodes(c, sp_time_ns(CLOCK_MONOTONIC));
	if (r < 0)
		return r;
	r = workers_settle(c, SP_FINISH_MS, true);
	if (r >= 0)
		r = sp_pending_try(c, true); /* what still waits is cut */
	if (r >= 0)
		r = sp_objects_finish(c);
	if (r < 0)
		return r;
	tables_stats(c);
	c->backend->stats(c, true);
	return callback_failure(c);
}

uint64_t sp_capture_began_ns(const struct sp_capture *c)
{
	return c->began_ns;
}

void sp_capture_stats(struct sp_capture *c, struct sp_capture_stats *ret_stats)
{
	sp_stack_share_stats(&c->share, &c->stats);
	c->stats.deleted_bytes = sp_files_deleted_bytes(c, true);
	*ret_stats = c->stats;
}
