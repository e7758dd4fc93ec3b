/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_own.c: a sampling session that lasts as long as `top` runs; its windows go through a slide (top_slide.h).
 *
 * A profile never forgets what it has interned, so beyond its budget a new one replaces it, as in the agent; the slide
 * first copies what it needs of the old one.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "bpf/wire.h"
#include "capture/capture.h"
#include "capture/lasting.h"
#include "cmd/guard_tell.h"
#include "cmd/sampling.h"
#include "cmd/top/top_source.h"
#include "naming/enrich.h"
#include "naming/naming.h"
#include "proc/usage.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "worker/worker.h"

enum { IDENTIFY_MS = 1000, PACKAGES_S = 60, KEEP_WINDOWS = 120, MAX_FILES = 4096 };
enum { BUDGET_BYTES = 64 << 20, DRAIN_MS = 5000 };

struct source {
	struct sp_top_wants wants;
	struct sp_sampling sampling;
	struct sp_naming naming;
	struct sp_slide slide;
	uint64_t began_ns;     /* of the window; CLOCK_MONOTONIC */
	uint64_t lost, own_ns; /* until then */
	uint64_t labelled_ns;  /* when packages were looked for last */
	bool is_closed;        /* the profile takes nothing more */
	bool is_naming;        /* what was taken last */
};

/* --- what the session asks for --- */
static size_t fds(void *source, int ret_fds[SP_TOP_MAX_FDS])
{
	_Static_assert((int)SP_TOP_MAX_FDS >= (int)SP_CAPTURE_MAX_FDS, "room for all of the session's");

	return sp_capture_fds(((struct source *)source)->sampling.capture, ret_fds);
}

static uint64_t next_ns(void *source)
{
	struct source *s = source;
	int ms = sp_workers_timeout_ms(s->sampling.workers);
	uint64_t next = ms < 0 ? UINT64_MAX : sp_time_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;

	if (!s->is_closed)
		next = sp_capture_next_ns(s->sampling.capture);
	return s->naming.identify_until_ns ? SP_MIN(next, s->naming.identify_until_ns) : next;
}

static int step(void *source)
{
	struct source *s = source;

	return s->is_closed ? sp_workers_dispatch(s->sampling.workers) : sp_capture_step(s->sampling.capture);
}

/* --- names --- */
/* All packages' lists are read for it: not at every new file. What fails costs labels, and nothing else. */
static void label(struct source *s)
{
	struct sp_profile *p = s->sampling.profile;
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	if (sp_enrich_cgroups(p, NULL) < 0)
		sp_error_clear();
	if ((s->labelled_ns && now - s->labelled_ns < PACKAGES_S * SP_NS_PER_S) || !sp_enrich_packages_wanted(p))
		return;
	s->labelled_ns = now;
	if (sp_enrich_packages(p, s->sampling.capture) < 0)
		sp_error_clear();
}

/* --- windows --- */
static uint64_t own_ns(const struct source *s, const struct sp_capture_stats *stats)
{
	struct sp_workers_stats workers;
	struct sp_usage own = {0};

	sp_workers_stats(s->sampling.workers, &workers);
	if (sp_usage_get(0, &own) < 0)
		sp_error_clear();
	return own.user_ns + own.system_ns + workers.cpu_ns + stats->bpf_ns;
}

static struct sp_slide_time time_take(struct source *s)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), lost, own;
	struct sp_capture_stats stats;
	struct sp_slide_time time;

	sp_capture_look(s->sampling.capture, false);
	sp_capture_stats(s->sampling.capture, &stats);
	lost = stats.n_over_budget + stats.counter[SP_N_LOST_COUNTS] + stats.counter[SP_N_LOST_NESTED] +
	       stats.counter[SP_N_LOST_ENDS] + stats.counter[SP_N_LOST_EPISODES] + stats.n_missed;
	own = own_ns(s, &stats);
	time = (struct sp_slide_time){
	    .duration_ns = now - s->began_ns, .n_lost = lost - s->lost, .own_ns = own - SP_MIN(s->own_ns, own)};
	s->began_ns = now;
	s->lost = lost;
	s->own_ns = own;
	return time;
}

static bool is_renewal_due(const struct source *s)
{
	struct sp_capture_size size;
	uint64_t bytes;

	sp_capture_size(s->sampling.capture, &size);
	bytes = sp_profile_memory_bytes(s->sampling.profile) + size.memory_bytes;
	if (bytes > 2ULL * BUDGET_BYTES || size.n_ids > SP_MAX_FILES / 8 * 7)
		return true;
	return !sp_capture_is_waiting(s->sampling.capture) &&
	       (bytes > BUDGET_BYTES || size.n_files > MAX_FILES || size.n_ids > SP_MAX_FILES / 4 * 3);
}

static int renew(struct source *s)
{
	struct sp_profile *fresh, *old = s->sampling.profile;
	int r = sp_slide_settle(&s->slide, old);

	if (r >= 0)
		r = sp_profile_new(&fresh);
	if (r < 0)
		return r;
	s->sampling.profile = fresh;
	r = sp_capture_renew(s->sampling.capture, fresh);
	if (r >= 0)
		r = sp_naming_renew(&s->naming, fresh);
	sp_profile_free(old);
	s->is_closed = false;
	return r;
}

static int drain(struct source *s)
{
	const struct sp_capture_keep keep = {.max_files = MAX_FILES / 2, .n_drains = KEEP_WINDOWS};
	int r;

	if (s->is_closed) /* the renewal failed the last time */
		return 0;
	if (!is_renewal_due(s))
		return sp_capture_drain(s->sampling.capture);
	r = sp_capture_close(s->sampling.capture, &keep);
	s->is_closed = r >= 0;
	return r;
}

static int begin(struct source *s)
{
	struct sp_slide_time time;
	int r = drain(s);

	if (r < 0)
		return r;
	time = time_take(s);
	r = sp_slide_push(&s->slide, s->sampling.profile, &time);
	s->is_naming = r >= 0;
	sp_naming_start(&s->naming);
	return r;
}

static const char *event_of(const struct source *s)
{
	const struct sp_recipe *recipe = s->wants.recipes->recipes[0];

	return recipe == &sp_recipe_cpu ? NULL : recipe->name;
}

static int end(struct source *s, struct sp_profile **ret_profile, struct sp_top_info *ret_info)
{
	int r = sp_slide_sum(&s->slide, s->sampling.profile, ret_profile);

	if (r < 0)
		return r;
	*ret_info = (struct sp_top_info){
	    .time = s->slide.sum,
	    .event = event_of(s),
	    .rate_millihertz = sp_recipe_set_has_rate(s->wants.recipes) ? 1000 * s->wants.frequency_hz : 0,
	    .n_cpus = s->sampling.n_cpus,
	    .has_own = true};
	sp_guard_now(s->sampling.capture, s->wants.recipes->recipes, ret_info->guard, sizeof(ret_info->guard));
	if (s->is_closed)
		r = renew(s);
	if (r < 0)
		sp_profile_free(*ret_profile);
	return r < 0 ? r : 1;
}

static int take(void *source, struct sp_profile **ret_profile, struct sp_top_info *ret_info)
{
	struct source *s = source;
	int r = s->is_naming ? 0 : begin(s);

	r = r < 0 ? r : sp_naming_step(&s->naming);
	if (r > 0)
		return 0;
	s->is_naming = false;
	if (r < 0)
		return r;
	label(s);
	return end(s, ret_profile, ret_info);
}

/* --- beginning and end --- */
static void source_close(void *source)
{
	struct source *s = source;

	if (s->sampling.capture)
		sp_capture_let_go(s->sampling.capture);
	sp_slide_done(&s->slide);
	sp_naming_done(&s->naming);
	sp_sampling_done(&s->sampling);
	free(s);
}

static int sampling_start(struct source *s)
{
	struct sp_capture_options o = {.recipes = {s->wants.recipes->recipes[0]},
				       .event = s->wants.recipes->event,
				       .backend = SP_BACKEND_BPF,
				       .user = true,
				       .kernel = true,
				       .unwind = SP_UNWIND_AUTO,
				       .frequency_hz = s->wants.frequency_hz,
				       .forgets = true,
				       /* events that all count are too many to wait for tables */
				       .no_seek = !sp_recipe_counts(s->wants.recipes->recipes[0]),
				       /* the guard wants to know of each program */
				       .time_own = !s->wants.max_overhead_percent,
				       .max_overhead_percent = s->wants.max_overhead_percent,
				       .drain_ns = DRAIN_MS * 1000000ULL};
	int r = sp_sampling_begin(&s->sampling);

	if (r >= 0)
		r = sp_sampling_open(&s->sampling, &o);
	if (r >= 0)
		r = sp_capture_start(s->sampling.capture);
	return r < 0 ? r : sp_sampling_drop_privileges(&s->sampling);
}

int sp_top_own_open(const struct sp_top_wants *w, struct sp_top_source *ret_source)
{
	struct source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->wants = *w;
	s->sampling = SP_SAMPLING_NONE;
	s->slide.span_ns = w->span_ns;
	r = sampling_start(s);
	if (r < 0) {
		source_close(s);
		return r;
	}
	s->naming = (struct sp_naming){.workers = s->sampling.workers,
				       .capture = s->sampling.capture,
				       .profile = s->sampling.profile,
				       .kallsyms = s->sampling.kallsyms,
				       .keeps_kernel = true,
				       .identify_ms = IDENTIFY_MS,
				       .no_fetch = true};
	s->began_ns = sp_time_ns(CLOCK_MONOTONIC);
	time_take(s);
	*ret_source = (struct sp_top_source){
	    .fds = fds, .next_ns = next_ns, .step = step, .take = take, .close = source_close, .source = s};
	return 0;
}
