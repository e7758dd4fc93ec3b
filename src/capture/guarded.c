/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/guarded.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/backend.h"
#include "capture/capture.h"
#include "capture/priv.h"
#include "event/guard.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

/* What a run of a program costs beside the program, which is not in the kernel's statistics: getting there and back. */
enum { RAW_NS = 50, PERF_NS = 400 };

/*
 * The windows of an event, or the trials of a detached one. The time is in periods, each of as many parts as a window's
 * events count times; one part of each, chosen at random, is the window.
 */
struct windows {
	uint64_t period_ns; /* when the period began; 0: there are no windows */
	uint64_t next_ns;   /* when the window opens or closes */
	uint64_t opened_ns, cost_ns;
	double share; /* of the time that it would cost if it were attached all the time */
	bool is_open, has_share;
	uint32_t n_skipped; /* periods before this one that had no window: this one's counts for them, too */
};

struct sp_guarded {
	struct sp_guard guard;
	struct windows windows[SP_MAX_RECIPES];
	int orders_fd, counts_fd, cpu_program;
	uint64_t looked_ns, look_ns; /* the last look, the next one */
	uint32_t n_changes;
	uint64_t own_ns, kernel_ns[SP_MAX_RECIPES]; /* as of the last look */
};

static uint32_t cap_of(const struct sp_capture *c, unsigned i);

/* until_ns: of a window, 0: there are none; is_open: whether anything is taken. */
static int order_write(const struct sp_capture *c, unsigned i, bool is_open, uint64_t until_ns)
{
	const struct sp_guarded *g = c->guarded;
	const struct sp_guard_event *e = &g->guard.events[i];
	struct sp_guard_order order = {.one_in = e->one_in,
				       .times = is_open ? e->one_in * e->windows * (1 + g->windows[i].n_skipped) : 0,
				       .until_ns = until_ns,
				       .cap = cap_of(c, i),
				       .has_gaps = g->n_changes > 0,
				       .change = g->n_changes};
	uint32_t key = i;

	return bpf_map_update_elem(g->orders_fd, &key, &order, BPF_ANY) ? sp_fail(-errno, "write to the guard's map")
									: 0;
}

static uint32_t cap_of(const struct sp_capture *c, unsigned i)
{
	const struct sp_guard_event *e = &c->guarded->guard.events[i];

	return e->is_guarded && !e->is_final ? sp_guard_cap(c->o.max_overhead_percent, c->o.recipes[i]->hit_ns) : 0;
}

int sp_guarded_open(struct sp_capture *c)
{
	struct sp_guarded *g;
	int r = 0;

	_Static_assert((int)SP_MAX_RECIPES <= (int)SP_N_GUARDS, "one for each");
	if (!sp_guard_is_wanted(&c->o))
		return 0;
	g = c->guarded = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->guard.percent = c->o.max_overhead_percent;
	g->guard.left_ns =
	    (int64_t)(SP_NS_PER_S / 100 * g->guard.percent); /* the first second's: it may begin with a burst */
	g->orders_fd = bpf_object__find_map_fd_by_name(c->recipe.object, "guards");
	g->counts_fd = bpf_object__find_map_fd_by_name(c->recipe.object, "guard_counts");
	g->cpu_program = bpf_program__fd(bpf_object__find_program_by_name(c->recipe.object, "sp_cpu"));
	for (unsigned i = 0; c->o.recipes[i] && !r; i++) {
		bool counts = sp_recipe_is_guarded(c->o.recipes[i]);

		/* a wait is known by both its ends, which are seldom in one window */
		g->guard.events[i] = (struct sp_guard_event){.is_guarded = counts,
							     .can_window = counts && !c->o.recipes[i]->min_ns &&
									   !c->o.recipes[i]->is_live,
							     .no_thin = c->o.recipes[i]->is_live,
							     .is_final = c->o.recipes[i]->is_live,
							     .one_in = 1,
							     .most = 1,
							     .windows = 1,
							     .most_windows = 1};
		r = order_write(c, i, true, 0);
	}
	return r;
}

/* --- what it costs --- */
static struct sp_guard_count counts_of(const struct sp_guarded *g, uint32_t recipe)
{
	int n = libbpf_num_possible_cpus();
	SP_FREE struct sp_guard_count *each = calloc((size_t)SP_MAX(n, 1), sizeof(*each));
	struct sp_guard_count sum = {0};

	if (!each || n < 1 || bpf_map_lookup_elem(g->counts_fd, &recipe, each))
		return sum;
	for (int i = 0; i < n; i++) {
		sum.n_taken += each[i].n_taken;
		sum.n_skipped += each[i].n_skipped;
		sum.n_left_out += each[i].n_left_out;
	}
	return sum;
}

static uint64_t run_ns(int program, uint64_t beside_ns, uint64_t *ret_n_runs)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);

	*ret_n_runs = 0;
	if (program < 0 || bpf_obj_get_info_by_fd(program, &info, &size))
		return 0;
	*ret_n_runs = info.run_cnt;
	return info.run_time_ns + info.run_cnt * beside_ns;
}

/* The program of perf events runs for all of them: a recipe's part of it is that of its events. */
static uint64_t perf_ns(const struct sp_guarded *g, uint64_t n_hits)
{
	uint64_t n_runs, ns = run_ns(g->cpu_program, PERF_NS, &n_runs);

	return n_runs ? (uint64_t)((double)ns / (double)n_runs * (double)n_hits) : 0;
}

/*
 * Of fronts the kernel's statistics tell it, sinks included. Where it keeps none, each hit costs what its recipe says;
 * and so would those have done that the cap kept out.
 */
static uint64_t kernel_ns(const struct sp_capture *c, unsigned recipe)
{
	const struct sp_recipe *r = c->o.recipes[recipe];
	struct sp_guard_count counts = counts_of(c->guarded, recipe);
	uint64_t ns = 0, n_runs, all_runs = 0;
	unsigned of, trap_ns, n_fronts = 0;
	int front;

	for (size_t i = 0; (front = r->ground->front(&c->recipe, i, &of, &trap_ns)) >= 0; i++) {
		if (of != recipe)
			continue;
		n_fronts++;
		ns += run_ns(front, trap_ns ? trap_ns : RAW_NS, &n_runs);
		all_runs += n_runs;
	}
	if (!n_fronts)
		all_runs = ns = perf_ns(c->guarded, r->ground->hits(&c->recipe, &c->o, recipe));
	return (all_runs ? ns : counts.n_taken * r->hit_ns) + counts.n_skipped * r->hit_ns;
}

/* What an event costs in windows, or would if it were attached again, by its last window or trial. */
static uint64_t windows_ns(struct sp_guarded *g, unsigned i, uint64_t ns)
{
	const struct sp_guard_event *e = &g->guard.events[i];
	struct windows *w = &g->windows[i];
	bool has_share = w->has_share;

	if (e->is_detached)
		w->has_share = false; /* a trial counts once */
	if (e->is_detached && !has_share)
		return SP_GUARD_UNKNOWN;
	return (uint64_t)(w->share * (double)ns / e->windows);
}

static struct sp_guard_use use_take(struct sp_capture *c, uint64_t now)
{
	struct sp_guarded *g = c->guarded;
	uint64_t own = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct sp_guard_use use = {.ns = now - g->looked_ns, .own_ns = own - g->own_ns};

	for (unsigned i = 0; c->o.recipes[i]; i++) {
		uint64_t ns = kernel_ns(c, i);

		use.kernel_ns[i] = ns - SP_MIN(g->kernel_ns[i], ns);
		g->kernel_ns[i] = ns;
		if (g->windows[i].period_ns)
			use.kernel_ns[i] = windows_ns(g, i, use.ns);
		else if (use.ns)
			g->windows[i].share = (double)use.kernel_ns[i] / (double)use.ns;
	}
	g->looked_ns = now;
	g->own_ns = own;
	return use;
}

/* --- windows --- */
static int event_switch(struct sp_capture *c, unsigned i, bool is_on)
{
	return c->o.recipes[i]->ground->set(&c->recipe, &c->o, i, is_on);
}

static uint64_t part_ns(const struct sp_guard_event *e)
{
	return (e->is_detached ? SP_GUARD_TRIAL_MS : SP_GUARD_WINDOW_MS) * 1000000ULL;
}

/* Begins a period: chooses one of its parts. A detached event is looked at once in a while. */
static void period_begin(struct sp_guarded *g, unsigned i, uint64_t at_ns)
{
	const struct sp_guard_event *e = &g->guard.events[i];
	struct windows *w = &g->windows[i];
	uint32_t part = 0;

	w->period_ns = at_ns;
	if (e->is_detached) {
		w->next_ns = at_ns + SP_GUARD_TRIAL_EVERY_MS * 1000000ULL;
		return;
	}
	if (getrandom(&part, sizeof(part), GRND_NONBLOCK) != sizeof(part))
		part = (uint32_t)(sp_time_ns(CLOCK_MONOTONIC) / 1000);
	w->next_ns = at_ns + (part & (e->windows - 1)) * part_ns(e);
}

/* A window is as long as it should be, however late it opens: it ends when the kernel half says so. */
static int window_open(struct sp_capture *c, unsigned i)
{
	struct windows *w = &c->guarded->windows[i];
	const struct sp_guard_event *e = &c->guarded->guard.events[i];
	int r = order_write(c, i, false, 0);

	w->cost_ns = kernel_ns(c, i);
	if (r >= 0)
		r = event_switch(c, i, true);
	w->is_open = r >= 0;
	w->opened_ns = sp_time_ns(CLOCK_MONOTONIC);
	w->next_ns = w->opened_ns + part_ns(e);
	return r < 0 || e->is_detached ? r : order_write(c, i, true, w->next_ns);
}

static int window_close(struct sp_capture *c, unsigned i)
{
	struct windows *w = &c->guarded->windows[i];
	int r = event_switch(c, i, false);
	uint64_t ns = sp_time_ns(CLOCK_MONOTONIC) - w->opened_ns;

	w->is_open = false;
	w->share = (double)(kernel_ns(c, i) - w->cost_ns) / (double)SP_MAX(ns, 1);
	w->has_share = true;
	return r;
}

/* Periods that are over before anybody has looked had no window: how long they were is told. The next has theirs. */
static void period_end(struct sp_guarded *g, unsigned i, uint64_t now)
{
	struct sp_guard_event *e = &g->guard.events[i];
	uint64_t length = e->windows * part_ns(e), at = g->windows[i].period_ns;

	if (e->is_detached) {
		period_begin(g, i, now);
		return;
	}
	g->windows[i].n_skipped = 0;
	for (at += length; at + length <= now; at += length) {
		e->missed_ns += length;
		g->windows[i].n_skipped++;
	}
	period_begin(g, i, at);
}

/* Opens and closes the windows for which it is time. */
static int windows_turn(struct sp_capture *c, uint64_t now)
{
	struct sp_guarded *g = c->guarded;
	int r = 0;

	for (unsigned i = 0; c->o.recipes[i] && r >= 0; i++) {
		struct windows *w = &g->windows[i];

		if (!w->period_ns || now < w->next_ns)
			continue;
		if (!w->is_open) {
			r = window_open(c, i);
			continue;
		}
		r = window_close(c, i);
		period_end(g, i, now);
	}
	return r;
}

/* From now on there are windows, others, trials, or none of these. */
static int windows_begin(struct sp_capture *c, unsigned i, bool are_wanted, uint64_t now)
{
	struct windows *w = &c->guarded->windows[i];
	int r = 0;

	if (are_wanted && (!w->period_ns || w->is_open))
		r = event_switch(c, i, false);
	else if (!are_wanted && w->period_ns && !w->is_open)
		r = event_switch(c, i, true);
	w->is_open = w->has_share = false;
	w->period_ns = w->next_ns = 0;
	w->n_skipped = 0;
	if (are_wanted)
		period_begin(c->guarded, i, now);
	return r;
}

/* --- what is done --- */
static int event_detach(struct sp_capture *c, unsigned i, uint64_t now)
{
	int r;

	if (c->guarded->guard.events[i].is_final) {
		c->guarded->guard.events[i].detached_ns = now;
		return event_switch(c, i, false);
	}
	r = c->backend->stamped ? c->backend->stamped(c, (int)i) : 0;

	if (r >= 0)
		r = windows_begin(c, i, true, now);
	c->guarded->guard.events[i].detached_ns = now;
	if (r >= 0)
		r = sp_capture_take_in(c); /* the stacks of waits that are still open */
	return r < 0 ? r : sp_drain_episodes_end(c, i, now);
}

/* Threads that wait already have a part in it from now on. */
static int event_attach(struct sp_capture *c, unsigned i, uint64_t now)
{
	struct sp_guard_event *e = &c->guarded->guard.events[i];
	int r = order_write(c, i, true, 0);

	e->away_ns += now - SP_MIN(e->detached_ns, now);
	if (r >= 0)
		r = windows_begin(c, i, e->windows > 1, now);
	if (r >= 0 && c->o.recipes[i]->min_ns && c->backend->blocked)
		r = c->backend->blocked(c, sp_time_ns(CLOCK_MONOTONIC), (int)i);
	return r;
}

static int step_do(struct sp_capture *c, const struct sp_guard_step *step, uint64_t now)
{
	unsigned i = step->event;
	int r;

	if (step->act == SP_GUARD_STAYS)
		return 0;
	c->guarded->n_changes++;
	if (step->act == SP_GUARD_DETACHES)
		r = event_detach(c, i, now);
	else if (step->act == SP_GUARD_ATTACHES)
		r = event_attach(c, i, now);
	else if (step->windows > 1 || c->guarded->windows[i].period_ns)
		r = windows_begin(c, i, step->windows > 1, now);
	else
		r = 0;
	if (r >= 0 && step->act != SP_GUARD_DETACHES && step->windows == 1)
		r = order_write(c, i, true, 0);
	return r;
}

int sp_guarded_look(struct sp_capture *c)
{
	struct sp_guarded *g = c->guarded;
	uint64_t now = g ? sp_time_ns(CLOCK_MONOTONIC) : 0;
	struct sp_guard_step step;
	struct sp_guard_use use;
	bool is_first;
	int r;

	if (!g || !c->attached || c->is_closed || now < sp_guarded_next_ns(c))
		return 0;
	r = windows_turn(c, now);
	if (r < 0 || now < g->look_ns)
		return r;
	is_first = !g->looked_ns;
	g->look_ns = now + SP_GUARD_LOOK_MS * 1000000ULL;
	use = use_take(c, now);
	if (is_first)
		return 0;
	step = sp_guard_decide(&g->guard, &use);
	return step_do(c, &step, now);
}

uint64_t sp_guarded_next_ns(const struct sp_capture *c)
{
	uint64_t next = c->guarded ? c->guarded->look_ns : UINT64_MAX;

	for (unsigned i = 0; c->guarded && c->o.recipes[i]; i++)
		if (c->guarded->windows[i].period_ns)
			next = SP_MIN(next, c->guarded->windows[i].next_ns);
	return next;
}

void sp_guarded_stats(struct sp_capture *c)
{
	c->stats.n_over_budget = 0;
	for (unsigned i = 0; c->guarded && c->o.recipes[i]; i++)
		c->stats.n_over_budget += counts_of(c->guarded, i).n_left_out;
}

void sp_guarded_done(struct sp_capture *c)
{
	free(sp_take_ptr(c->guarded));
}

const struct sp_guard *sp_capture_guard(const struct sp_capture *c)
{
	return c->guarded ? &c->guarded->guard : NULL;
}
