/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/guarded.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "capture/priv.h"
#include "event/guard.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

/* What a run of a program costs beside the program, which is not in the kernel's statistics: getting there and back. */
enum { RAW_NS = 50, PERF_NS = 400 };

struct sp_guarded {
	struct sp_guard guard;
	int orders_fd, counts_fd, cpu_program;
	uint64_t looked_ns, next_ns;
	uint32_t n_changes;
	uint64_t own_ns, kernel_ns[SP_MAX_RECIPES]; /* as of the last look */
};

static int order_write(const struct sp_guarded *g, unsigned i, uint32_t one_in, uint32_t cap, bool has_gaps)
{
	struct sp_guard_order order = {.one_in = one_in, .cap = cap, .has_gaps = has_gaps, .change = g->n_changes};
	uint32_t key = i;

	return bpf_map_update_elem(g->orders_fd, &key, &order, BPF_ANY) ? sp_fail(-errno, "write to the guard's map")
									: 0;
}

static uint32_t cap_of(const struct sp_capture *c, unsigned i)
{
	return c->guarded->guard.events[i].is_guarded ? sp_guard_cap(c->o.max_overhead_percent, c->o.recipes[i]->hit_ns)
						      : 0;
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
		g->guard.events[i] =
		    (struct sp_guard_event){.is_guarded = sp_recipe_counts(c->o.recipes[i]), .one_in = 1, .most = 1};
		r = order_write(g, i, 1, cap_of(c, i), false);
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

/* The program of perf events runs for all of them: a recipe's part of it is that of its hits. */
static uint64_t perf_ns(const struct sp_guarded *g, uint64_t n_hits)
{
	uint64_t n_runs, ns = run_ns(g->cpu_program, PERF_NS, &n_runs);

	return n_runs ? (uint64_t)((double)ns / (double)n_runs * (double)n_hits) : 0;
}

/*
 * Of fronts the kernel's statistics tell it, sinks included. Where it keeps none, each hit costs what its recipe says;
 * and so would those have done that the cap kept out.
 */
static uint64_t kernel_ns(const struct sp_capture *c, unsigned recipe, size_t *front)
{
	const struct sp_recipe *r = c->o.recipes[recipe];
	struct sp_guard_count counts = counts_of(c->guarded, recipe);
	uint64_t ns = 0, n_runs, all_runs = 0;
	size_t n_fronts = 0;
	bool is_perf = false;

	for (size_t i = 0; i < SP_MAX_POINTS && r->points[i].at; i++) {
		is_perf |= r->points[i].at == SP_AT_PERF;
		if (r->points[i].at == SP_AT_PERF)
			continue;
		n_fronts++;
		ns += run_ns(r->ground->front(&c->recipe, (*front)++), RAW_NS, &n_runs);
		all_runs += n_runs;
	}
	if (is_perf && !n_fronts)
		all_runs = ns = perf_ns(c->guarded, counts.n_taken);
	return (all_runs ? ns : counts.n_taken * r->hit_ns) + counts.n_skipped * r->hit_ns;
}

static struct sp_guard_use use_take(struct sp_capture *c, uint64_t now)
{
	struct sp_guarded *g = c->guarded;
	uint64_t own = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct sp_guard_use use = {.ns = now - g->looked_ns, .own_ns = own - g->own_ns};
	size_t front = 0;

	for (unsigned i = 0; c->o.recipes[i]; i++) {
		uint64_t ns = kernel_ns(c, i, &front);

		use.kernel_ns[i] = ns - SP_MIN(g->kernel_ns[i], ns);
		g->kernel_ns[i] = ns;
	}
	g->looked_ns = now;
	g->own_ns = own;
	return use;
}

/* --- what is done --- */
static int event_detach(struct sp_capture *c, unsigned i, uint64_t now)
{
	int r = c->o.recipes[i]->ground->drop(&c->recipe, i);

	c->guarded->guard.events[i].detached_ns = now;
	if (r >= 0)
		r = sp_capture_take_in(c); /* the stacks of waits that are still open */
	return r < 0 ? r : sp_drain_episodes_end(c, i, now);
}

static int step_do(struct sp_capture *c, const struct sp_guard_step *step, uint64_t now)
{
	int r;

	if (step->act == SP_GUARD_STAYS)
		return 0;
	c->guarded->n_changes++;
	if (step->act == SP_GUARD_DETACHES)
		r = event_detach(c, step->event, now);
	else
		r = order_write(c->guarded, step->event, step->one_in, cap_of(c, step->event), true);
	if (r >= 0 && c->o.guard_told)
		c->o.guard_told(c->o.guard_told_arg, c->o.recipes[step->event], step);
	return r;
}

int sp_guarded_look(struct sp_capture *c)
{
	struct sp_guarded *g = c->guarded;
	uint64_t now = g ? sp_time_ns(CLOCK_MONOTONIC) : 0;
	struct sp_guard_step step;
	struct sp_guard_use use;
	bool is_first;

	if (!g || !c->attached || c->is_closed || now < g->next_ns)
		return 0;
	is_first = !g->looked_ns;
	g->next_ns = now + SP_GUARD_LOOK_MS * 1000000ULL;
	use = use_take(c, now);
	if (is_first)
		return 0;
	step = sp_guard_decide(&g->guard, &use);
	return step_do(c, &step, now);
}

uint64_t sp_guarded_next_ns(const struct sp_capture *c)
{
	return c->guarded ? c->guarded->next_ns : UINT64_MAX;
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
