/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/sampler.h"
#include "agent/daemon/limits.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/lasting.h"
#include "capture/recipe_ops.h"
#include "proc/cgroup.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "symbol/symbol.h"
#include "worker/worker.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* At a renewal files are forgotten that no sample hit for so many windows, if there are more than a limit. */
enum {
	FORGET_AFTER_WINDOWS = 360,
	IDENTIFY_MS = 2000,
	CGROUP_ENTRIES = 1000, /* some ms, in a turn of the loop */
	PACKAGES_INTERVAL_S = 300,
	NAMES_MAX_AGE_S = 3600,
	MAX_ROUNDS = 3,
	SECOND_PASS_MS = 20
};
/* A file is asked about so often before its table is made; by then most have all functions that will ever be hit. */
enum { MAX_SINGLE_QUERIES = 8 };
/* In the kernel: counts between two steps (lasting.h), and stacks that were sent already. */
enum {
	MAX_COUNTS = 16384,
	MAX_STACKS = 8192,
	MIN_RING_BYTES = 4 << 20,
	MAX_RING_BYTES = 8 << 20,
	RING_BYTES_A_CPU = 256 << 10
};

/* --- start and stop --- */
/* In bytes: a profile's share of the memory limit, with its numbers. */
static uint64_t profile_budget(const struct sp_sampler *s)
{
	return sp_limits_profile_bytes(s->env->config->max_memory_bytes) / s->env->config->n_sources;
}

/* A sample that waits for its unwind table takes 30 KiB. They are rare but at the start, when reading may be late. */
static uint32_t ring_bytes(size_t n_cpus)
{
	uint32_t bytes = MIN_RING_BYTES;

	while (bytes < MAX_RING_BYTES && bytes < n_cpus * RING_BYTES_A_CPU)
		bytes *= 2;
	return bytes;
}

static int fill_options(const struct sp_sampler *s, struct sp_capture_options *o)
{
	const struct sp_sampler_env *env = s->env;

	*o = (struct sp_capture_options){
	    .recipes = {s->recipe},
	    .backend = SP_BACKEND_BPF,
	    .cpus = env->cpus,
	    .n_cpus = env->n_cpus,
	    .all_cpus = true,
	    .user = true,
	    .kernel = true,
	    .unwind = SP_UNWIND_AUTO,
	    .max_memory_bytes = env->config->max_memory_bytes / 7 / env->config->n_sources, /* for unwind tables */
	    .max_deleted_bytes = sp_limits_deleted_bytes(env->config->max_memory_bytes) / env->config->n_sources,
	    .hash_entries = MAX_COUNTS,
	    .stack_entries = MAX_STACKS,
	    .ring_bytes = ring_bytes(env->n_cpus),
	    .event = s->event,
	    .frequency_hz = s->wanted_millihertz / 1000,
	    .forgets = true,
	    .no_seek = true,
	    .time_own = true,
	    .drain_ns = SP_AGENT_WINDOW_NS,
	    .users = &env->users,
	    .user_nodes = sp_limits_user_nodes(env->config->max_memory_bytes) / env->config->n_sources,
	    .cpu_changed = env->cpu_changed,
	    .cpu_changed_arg = env->arg,
	    .broker = env->broker,
	};
	return env->config->cgroup ? sp_cgroup_id(env->config->cgroup, &o->cgroup, &o->cgroup_level) : 0;
}

static void init_naming(struct sp_sampler *s)
{
	s->naming = (struct sp_naming){.workers = s->env->workers,
				       .capture = s->capture,
				       .profile = s->profile,
				       .kallsyms = s->env->kallsyms,
				       .debug_dirs = s->env->config->debug_dirs,
				       .no_fetch = !s->env->config->debuginfod,
				       .keeps_kernel = true,
				       .shortens_names = true,
				       .share.bytes = sp_limits_user_name_bytes(s->env->config->max_memory_bytes) /
						      s->env->config->n_sources,
				       .n_asks_first = MAX_SINGLE_QUERIES,
				       .may_parse = s->env->may_parse,
				       .may_parse_arg = s->env->arg,
				       .parsed = s->env->users.parsed,
				       /* the store writes a file's name and build id only once */
				       .identify_ms = IDENTIFY_MS};
}

int sp_sampler_new(struct sp_sampler_env *env, const struct sp_agent_source *source, struct sp_sampler *s)
{
	struct sp_capture_options o;
	int r;

	*s = (struct sp_sampler){.env = env,
				 .recipe = source->recipe,
				 .cgroups_walk = {.pace = &env->cgroups_pace, .n_entries = CGROUP_ENTRIES}};
	s->event = source->event ? strdup(source->event) : NULL;
	if (source->event && !s->event)
		return -ENOMEM;
	s->wanted_millihertz = s->rate_millihertz =
	    1000 * (source->frequency_hz ? source->frequency_hz : env->config->frequency_hz);
	s->queue.store = env->store;
	s->queue.listeners = &env->listeners;
	r = fill_options(s, &o);
	if (r >= 0)
		r = sp_profile_new(&s->profile);
	if (r >= 0)
		r = sp_capture_new(&o, s->profile, env->workers, &s->capture);
	if (r >= 0)
		init_naming(s);
	return r;
}

int sp_sampler_start(struct sp_sampler *s, const struct sp_clock *now)
{
	s->window_began = *now;
	s->rate_since_ns = now->boot_ns;
	s->names_since_ns = sp_time_ns(CLOCK_BOOTTIME);
	return sp_capture_start(s->capture);
}

int sp_sampler_step(struct sp_sampler *s)
{
	return s->is_closed ? sp_workers_dispatch(s->env->workers) : sp_capture_step(s->capture);
}

uint64_t sp_sampler_next_ns(const struct sp_sampler *s)
{
	int ms = s->is_closed ? sp_workers_timeout_ms(s->env->workers) : -1;
	uint64_t next = ms < 0 ? UINT64_MAX : sp_time_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;

	if (s->is_labelling || (s->current.came && !s->is_naming))
		return 0;
	if (!s->is_closed)
		next = sp_capture_next_ns(s->capture);
	if (s->is_naming && s->naming.identify_until_ns)
		next = SP_MIN(next, s->naming.identify_until_ns);
	return s->is_naming && s->env->give_up_ns ? SP_MIN(next, s->env->give_up_ns) : next;
}

void sp_sampler_done(struct sp_sampler *s)
{
	sp_window_queue_done(&s->queue);
	sp_naming_done(&s->naming);
	sp_enrich_walk_done(&s->cgroups_walk);
	if (s->capture)
		sp_capture_let_go(s->capture);
	sp_capture_free(sp_take_ptr(s->capture));
	sp_profile_free(sp_take_ptr(s->profile));
	sp_unnamed_done(&s->unnamed);
	free(sp_take_ptr(s->event));
}

/* --- windows --- */
static void log_failure(struct sp_sampler *s, const char *what, int r)
{
	s->env->n_errors++;
	sp_log(SP_LOG_WARNING, "%s: %s: %s", s->recipe->name, what, sp_error_text(r));
	sp_error_clear();
}

/* Stopping the agent must not wait for names. */
static bool is_too_late(const struct sp_sampler *s)
{
	return s->env->give_up_ns && sp_time_ns(CLOCK_MONOTONIC) >= s->env->give_up_ns;
}

static bool is_excluded(const struct sp_profile *p, const struct sp_row *row, const struct sp_agent_config *c)
{
	uint32_t process = sp_profile_key(p, row->key)->process;
	size_t i;

	for (i = 0; i < c->n_exclude; i++)
		if (sp_profile_process_matches(p, process, c->exclude[i]))
			return true;
	return false;
}

static int drop_excluded_rows(struct sp_sampler *s)
{
	const struct sp_agent_config *c = s->env->config;
	struct sp_profile *p = s->profile;
	struct sp_profile_rows rows;
	int r = 0;

	if (!c->n_exclude)
		return 0;
	rows = sp_profile_take_rows(p);
	for (size_t i = 0; r >= 0 && i < rows.n; i++) {
		const struct sp_row *row = (const void *)((const char *)rows.rows + i * (rows.bytes / rows.n));

		if (!is_excluded(p, row, c))
			r = sp_profile_add(p, row->key, row->user, row->kernel, row->values);
	}
	sp_profile_rows_done(&rows);
	return r;
}

/*
 * Reads all packages' lists, so not for every new file, nor when it is too late: who asks for packages looks up what
 * was not looked up here.
 */
static void add_packages(struct sp_sampler *s)
{
	uint64_t now = sp_time_ns(CLOCK_BOOTTIME);
	int r;

	if (is_too_late(s) || (s->labelled_ns && now - s->labelled_ns < PACKAGES_INTERVAL_S * SP_NS_PER_S) ||
	    !sp_enrich_packages_wanted(s->profile))
		return;
	s->labelled_ns = now;
	r = sp_enrich_packages(s->profile, s->capture);
	if (r < 0)
		log_failure(s, "packages", r);
}

/* False: it goes on in another turn of the loop. */
static bool add_labels(struct sp_sampler *s)
{
	int r = sp_enrich_cgroups(s->profile, &s->cgroups_walk);

	if (r > 0)
		return false;
	if (r < 0)
		log_failure(s, "cgroups", r);
	add_packages(s);
	return true;
}

static void count_rows(struct sp_sampler *s)
{
	const struct sp_profile *p = s->profile;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		unsigned how = sp_profile_stack(p, row->user).stack_class;

		s->status.n_samples += (uint64_t)row->values[0];
		s->status.n_complete += how == SP_CLASS_COMPLETE ? (uint64_t)row->values[0] : 0;
		s->status.n_cut += how == SP_CLASS_CUT ? (uint64_t)row->values[0] : 0;
	}
}

static uint64_t sum_lost(const struct sp_capture_stats *stats)
{
	return stats->counter[SP_N_LOST_COUNTS] + stats->counter[SP_N_LOST_NESTED];
}

static uint64_t sum_taken(const uint64_t *counter)
{
	return counter[SP_N_SAMPLES] + counter[SP_N_IDLE] + counter[SP_N_FILTERED] + counter[SP_N_LOST_NESTED];
}

/*
 * The store's key of a window is the millisecond of the wall clock when it began. When the clock was set back, and
 * passes a time again, windows get keys some milliseconds beside those of the first pass.
 */
static uint64_t window_key_ns(const struct sp_sampler *s)
{
	uint64_t wall_ns = s->window_began.wall_ns, beside_ms = (1 + s->env->n_set_back % 24) * SECOND_PASS_MS;

	return wall_ns >= s->env->latest_wall_ns ? wall_ns : wall_ns + beside_ms * 1000000;
}

/* The mean over the window, if the rate was changed in it. */
static uint64_t mean_rate_millihertz(const struct sp_sampler *s, const struct sp_clock *now)
{
	double all = (double)(now->boot_ns - s->window_began.boot_ns);

	if (!s->rate_millihertz_ns || all <= 0)
		return s->rate_millihertz;
	return (
	    uint64_t)((s->rate_millihertz_ns + (double)s->rate_millihertz * (double)(now->boot_ns - s->rate_since_ns)) /
			  all +
		      0.5);
}

static struct sp_store_window describe_window(struct sp_sampler *s, const struct sp_clock *now, uint64_t suspended_ns,
					      struct sp_capture_stats *ret_stats)
{
	uint64_t all = now->boot_ns - s->window_began.boot_ns, off = suspended_ns + s->paused_ns;

	sp_capture_look(s->capture, false);
	sp_capture_stats(s->capture, ret_stats);
	return (struct sp_store_window){.wall_ns = window_key_ns(s),
					.boot_ns = s->window_began.boot_ns,
					.duration_ns = all - SP_MIN(off, all),
					.rate_millihertz = mean_rate_millihertz(s, now),
					.n_cpus = s->env->n_online,
					.n_lost = sum_lost(ret_stats) - s->lost_before,
					.source = s->recipe->name};
}

static void count_window(struct sp_sampler *s, const struct sp_store_window *w, const struct sp_capture_stats *stats)
{
	s->expected = (double)w->duration_ns / 1e12 * (double)w->rate_millihertz * w->n_cpus;
	s->taken = (double)(sum_taken(stats->counter) - sum_taken(s->before));
	s->status.n_expected += (uint64_t)s->expected;
	s->status.n_taken += (uint64_t)s->taken;
	s->status.n_lost += w->n_lost;
	s->status.n_lost_full += stats->counter[SP_N_LOST_COUNTS] - s->before[SP_N_LOST_COUNTS];
	s->status.n_lost_nested += stats->counter[SP_N_LOST_NESTED] - s->before[SP_N_LOST_NESTED];
	s->lost_before = sum_lost(stats);
	if (stats->n_unsampled_cpus > s->unsampled_before) {
		s->env->n_errors++;
		sp_log(SP_LOG_WARNING, "%s: a CPU that came online could not be sampled", s->recipe->name);
	}
	s->unsampled_before = stats->n_unsampled_cpus;
	sp_sampler_log_lacks(s, stats);
	memcpy(s->before, stats->counter, sizeof(s->before));
	count_rows(s);
	sp_unnamed_count(&s->unnamed, s->profile);
}

/* --- renewal --- */
static bool is_renewal_due(const struct sp_sampler *s)
{
	struct sp_capture_size size;
	uint64_t bytes, budget = profile_budget(s);
	bool is_busy = sp_capture_is_waiting(s->capture) || s->queue.n;

	sp_capture_size(s->capture, &size);
	bytes = sp_profile_memory_bytes(s->profile) + size.memory_bytes;
	if (bytes > 2 * budget || size.n_files > 2 * s->env->max_files || size.n_ids > SP_MAX_FILES / 8 * 7)
		return true;
	return !is_busy && (s->wants_renewal || bytes > budget || size.n_files > s->env->max_files ||
			    size.n_ids > SP_MAX_FILES / 4 * 3);
}

/* At high rates a window may need more memory than there is: it ends early. */
bool sp_sampler_is_full(const struct sp_sampler *s, const struct sp_clock *now)
{
	return !s->is_closed && !s->is_naming && now->boot_ns - s->window_began.boot_ns >= SP_NS_PER_S &&
	       sp_profile_memory_bytes(s->profile) > profile_budget(s) / 4 * 5;
}

/*
 * Finding names again costs more than keeping them while stacks are most of the memory. But kernel modules come and go,
 * and debug files appear later.
 */
static bool may_keep_names(const struct sp_sampler *s)
{
	return !s->wants_renewal && sp_profile_memory_bytes(s->profile) <= profile_budget(s) / 2 &&
	       sp_profile_n_files(s->profile) <= s->env->max_files &&
	       sp_time_ns(CLOCK_BOOTTIME) - s->names_since_ns < NAMES_MAX_AGE_S * SP_NS_PER_S;
}

/* What the store has not taken of the old profile is dropped. */
static int renew_profile(struct sp_sampler *s)
{
	struct sp_profile *old = s->profile, *fresh = old;
	int r;

	if (s->queue.n)
		sp_window_queue_release(&s->queue);
	r = sp_profile_renew(old);
	if (r >= 0 && !may_keep_names(s))
		r = sp_profile_new(&fresh);
	if (r < 0)
		return r;
	s->profile = fresh;
	r = sp_capture_renew(s->capture, fresh);
	if (fresh != old)
		s->names_since_ns = sp_time_ns(CLOCK_BOOTTIME);
	if (r >= 0)
		r = sp_naming_renew(&s->naming, fresh);
	if (fresh != old)
		sp_profile_free(old);
	s->wants_renewal = s->is_closed = false;
	malloc_trim(0);
	return r;
}

/* --- the end of a window --- */
static void check_upgrades(struct sp_sampler *s, const struct sp_store_window *w)
{
	int r = sp_upgrades_check_window(&s->env->upgrades, s->profile, w->wall_ns);

	if (r < 0)
		log_failure(s, "upgrades", r);
}

/* is_end: the profile takes nothing more after it. */
static int drain_capture(struct sp_sampler *s, bool is_end, bool is_last)
{
	const struct sp_capture_keep keep = {.max_files = s->env->max_files / 2, .n_drains = FORGET_AFTER_WINDOWS};
	int r = is_end ? sp_capture_close(s->capture, &keep) : sp_capture_drain(s->capture);

	s->is_closed = is_end && r >= 0;
	s->is_last = is_last;
	return r;
}

int sp_sampler_end_window(struct sp_sampler *s, const struct sp_clock *now, uint64_t suspended_ns, bool is_last)
{
	bool is_end = is_last || (!s->is_naming && is_renewal_due(s));
	struct sp_capture_size before, after;
	struct sp_capture_stats stats;
	struct sp_store_window w;
	int r;

	if (s->is_closed) /* until the flush is over samples wait in the kernel */
		return 0;
	sp_capture_size(s->capture, &before);
	r = drain_capture(s, is_end, is_last);
	if (r < 0)
		return r;
	w = describe_window(s, now, suspended_ns, &stats);
	r = drop_excluded_rows(s);
	if (r < 0)
		log_failure(s, "exclude", r);
	count_window(s, &w, &stats);
	check_upgrades(s, &w);
	sp_window_queue_push(&s->queue, s->profile, &w);
	s->window_began = *now;
	s->rate_since_ns = now->boot_ns;
	s->rate_millihertz_ns = 0;
	sp_capture_size(s->capture, &after);
	s->paused_ns = after.paused_ns - before.paused_ns; /* by this end, within the next window's time */
	return 0;
}

/* Only windows that were not counted by an earlier flush. */
static void count_unnamed(struct sp_sampler *s, bool some_came_late)
{
	size_t n = SP_MIN(s->queue.n_pushed - s->n_unnamed_counted, s->queue.n);

	s->n_unnamed_counted = s->queue.n_pushed;
	for (size_t i = s->queue.n - n; (s->naming.namer.n_later || some_came_late) && i < s->queue.n; i++)
		s->status.n_unnamed_samples += sp_unnamed_samples(s->profile, &s->queue.windows[i].rows);
}

static void store_windows(struct sp_sampler *s)
{
	char before[sizeof(s->queue.error)];
	int r;

	memcpy(before, s->queue.error, sizeof(before));
	r = sp_window_queue_flush(&s->queue, &s->env->events, s->profile);
	if (r < 0 && strcmp(before, s->queue.error) != 0)
		sp_log(SP_LOG_ERROR, "the store takes nothing: %s; windows wait in memory", s->queue.error);
	else if (r >= 0 && *before)
		sp_log(SP_LOG_NOTICE, "the store takes windows again");
}

/* --- names, and what waits for them --- */
static void begin_names(struct sp_sampler *s)
{
	s->is_naming = true;
	s->n_seen_pushed = s->queue.n_pushed;
	sp_unnamed_report(&s->unnamed, &s->naming);
	sp_naming_start(&s->naming);
}

static int end_flush(struct sp_sampler *s)
{
	s->is_flush_wanted = false;
	count_unnamed(s, s->n_seen_pushed != s->queue.n_pushed);
	store_windows(s);
	return s->is_closed && !s->is_last ? renew_profile(s) : 0;
}

static void tell_current(struct sp_sampler *s, int r)
{
	struct sp_agent_asked asked = s->current;
	struct sp_clock now = sp_clock_read();
	struct sp_capture_stats stats;
	struct sp_store_window w = describe_window(s, &now, 0, &stats);

	s->current = (struct sp_agent_asked){0};
	asked.came(asked.arg, r < 0 ? r : drop_excluded_rows(s), s->profile, &w);
}

static void log_fetching(struct sp_sampler *s)
{
	if (s->naming.fetch_failure && !s->fetch_failure) {
		s->env->n_errors++;
		sp_log(SP_LOG_WARNING, "%s: debuginfod: %s; it is asked again in ten minutes", s->recipe->name,
		       s->naming.fetch_failure);
	}
	s->fetch_failure = s->naming.fetch_failure;
}

/* Windows that end while names are made have new functions, too: up to MAX_ROUNDS. */
static int end_names(struct sp_sampler *s)
{
	s->is_naming = false;
	log_fetching(s);
	if (++s->n_rounds < MAX_ROUNDS && s->n_seen_pushed != s->queue.n_pushed) {
		begin_names(s);
		return 0;
	}
	s->n_rounds = 0;
	if (s->current.came)
		tell_current(s, 0);
	return s->is_flush_wanted ? end_flush(s) : 0;
}

/* False: it goes on in another turn of the loop. */
static bool name_and_label(struct sp_sampler *s)
{
	int r;

	s->naming.is_over = s->cgroups_walk.is_over = is_too_late(s);
	r = s->is_labelling ? 0 : sp_naming_step(&s->naming);
	if (r > 0)
		return false;
	if (r < 0)
		log_failure(s, "names", r);
	s->is_labelling = !add_labels(s);
	return !s->is_labelling;
}

int sp_sampler_work(struct sp_sampler *s)
{
	bool is_first = !s->is_naming && s->current.came;
	int r = !is_first ? 0 : s->is_closed ? -EAGAIN : sp_capture_drain(s->capture);

	if (r < 0)
		tell_current(s, r);
	else if (is_first)
		begin_names(s);
	for (r = 0; r >= 0 && s->is_naming; r = end_names(s))
		if (!name_and_label(s))
			return 0;
	return r;
}

bool sp_sampler_is_working(const struct sp_sampler *s)
{
	return s->is_naming || s->current.came;
}

void sp_sampler_flush(struct sp_sampler *s)
{
	s->is_flush_wanted = true;
	if (!s->is_naming)
		begin_names(s);
}

int sp_sampler_current(struct sp_sampler *s, const struct sp_agent_asked *asked)
{
	if (sp_sampler_is_working(s) || s->is_closed)
		return -EAGAIN;
	s->current = *asked;
	return 0;
}

/* --- rate --- */
int sp_sampler_set_rate(struct sp_sampler *s, uint64_t wanted_millihertz, unsigned halvings)
{
	uint64_t rate_millihertz = SP_MAX(wanted_millihertz >> halvings, 1000), now = sp_time_ns(CLOCK_BOOTTIME);
	int r;

	s->wanted_millihertz = wanted_millihertz;
	if (rate_millihertz == s->rate_millihertz)
		return 0;
	r = sp_capture_rate(s->capture, rate_millihertz);
	if (r < 0)
		return r;
	s->rate_millihertz_ns += (double)s->rate_millihertz * (double)(now - s->rate_since_ns);
	s->rate_since_ns = now;
	s->rate_millihertz = rate_millihertz;
	return 0;
}
