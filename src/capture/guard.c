/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/guard.h"
#include "base/mem.h"
#include "base/time.h"
#include "event/guard.h"

enum { CAP_TIMES = 1, LEAST_CAP = 64, MOST_STEP = 64, MOST_BACK = 4 };

static bool is_active(const struct sp_guard_event *e)
{
	return e->is_guarded && !e->is_detached;
}

static uint64_t allowed(const struct sp_guard *g, uint64_t ns)
{
	return ns / 100 * g->percent;
}

enum means { DETACH, THIN, WINDOW };

static bool may_have(const struct sp_guard_event *e, enum means means)
{
	return means == THIN     ? !e->no_thin && e->one_in < SP_GUARD_MOST
	       : means == WINDOW ? e->can_window && e->windows < SP_GUARD_MOST_WINDOWS
				 : true;
}

/* The event whose cost is the largest, of those for which these means are left, unless they cost next to nothing. -1:
 * none. */
static int costliest(const struct sp_guard *g, const struct sp_guard_use *use, enum means means)
{
	uint64_t sum = 0;
	int best = -1;

	for (int i = 0; i < SP_MAX_RECIPES; i++) {
		const struct sp_guard_event *e = &g->events[i];

		if (!is_active(e))
			continue;
		sum += use->kernel_ns[i];
		if (may_have(e, means) && (best < 0 || use->kernel_ns[i] > use->kernel_ns[best]))
			best = i;
	}
	return best >= 0 && means != DETACH && use->kernel_ns[best] < sum / 4 ? -1 : best;
}

static uint64_t cost_of(const struct sp_guard *g, const struct sp_guard_use *use)
{
	uint64_t sum = 0;

	for (int i = 0; i < SP_MAX_RECIPES; i++)
		sum += is_active(&g->events[i]) ? use->kernel_ns[i] : 0;
	return sum + SP_MIN(sum, use->own_ns);
}

static struct sp_guard_step step_of(const struct sp_guard *g, enum sp_guard_act act, unsigned i)
{
	return (struct sp_guard_step){
	    .act = act, .event = i, .one_in = g->events[i].one_in, .windows = g->events[i].windows};
}

static struct sp_guard_step helpless(struct sp_guard *g, const struct sp_guard_use *use)
{
	int i = costliest(g, use, DETACH);
	struct sp_guard_event *e = i < 0 ? NULL : &g->events[i];

	if (!e || ++e->n_helpless < SP_GUARD_PATIENCE)
		return (struct sp_guard_step){.act = SP_GUARD_STAYS};
	e->is_detached = true;
	e->n_detached++;
	e->n_helpless = 0;
	return step_of(g, SP_GUARD_DETACHES, (unsigned)i);
}

static struct sp_guard_step over(struct sp_guard *g, const struct sp_guard_use *use, uint64_t cost, uint64_t may)
{
	int thin = costliest(g, use, THIN), window = thin < 0 ? costliest(g, use, WINDOW) : -1;
	struct sp_guard_event *e;
	uint32_t by = 2;

	if (thin < 0 && window < 0)
		return helpless(g, use);
	while (by < MOST_STEP && cost > may * by)
		by *= 2;
	e = &g->events[thin < 0 ? window : thin];
	e->n_helpless = 0;
	if (thin < 0) {
		e->windows = SP_MIN(e->windows * by, (uint32_t)SP_GUARD_MOST_WINDOWS);
		e->most_windows = SP_MAX(e->most_windows, e->windows);
		return step_of(g, SP_GUARD_WINDOWS, (unsigned)window);
	}
	e->one_in = SP_MIN(e->one_in * by, (uint32_t)SP_GUARD_MOST);
	e->most = SP_MAX(e->most, e->one_in);
	return step_of(g, SP_GUARD_THINS, (unsigned)thin);
}

/* How many times as much of an event would fit in half the budget: a power of two up to `most`. */
static uint32_t room_for(uint64_t own, uint64_t cost, uint64_t may, uint32_t most)
{
	uint32_t by = 1;

	while (by < MOST_BACK && by < most && cost + (2 * by - 1) * own < may / 2)
		by *= 2;
	return by;
}

/* Whether a detached event would fit, by the trial that there was, if there was one. */
static bool attaches(struct sp_guard_event *e, uint64_t own_ns, uint64_t cost, uint64_t may)
{
	if (own_ns == SP_GUARD_UNKNOWN)
		return false;
	e->n_calm = cost + 2 * own_ns < may / 2 ? e->n_calm + 1 : 0;
	return e->n_calm >= SP_GUARD_TRIALS;
}

/* More of an event is taken when that would fit in half the budget for some looks in a row. */
static bool restores(struct sp_guard_event *e, uint64_t own_ns, uint64_t cost, uint64_t may)
{
	uint32_t *part = e->windows > 1 ? &e->windows : &e->one_in, by = room_for(2 * own_ns, cost, may, *part);

	e->n_calm = by > 1 ? e->n_calm + 1 : 0;
	if (e->n_calm < SP_GUARD_PATIENCE)
		return false;
	*part /= by;
	return true;
}

static struct sp_guard_step within(struct sp_guard *g, const struct sp_guard_use *use, uint64_t cost, uint64_t may)
{
	for (unsigned i = 0; i < SP_MAX_RECIPES; i++) {
		struct sp_guard_event *e = &g->events[i];

		e->n_helpless = 0;
		if (!e->is_guarded || (e->is_detached ? e->is_final : e->one_in == 1 && e->windows == 1))
			continue;
		if (!(e->is_detached ? attaches : restores)(e, use->kernel_ns[i], cost, may))
			continue;
		e->n_calm = 0;
		if (!e->is_detached)
			return step_of(g, SP_GUARD_RESTORES, i);
		e->is_detached = false;
		return step_of(g, SP_GUARD_ATTACHES, i);
	}
	return (struct sp_guard_step){.act = SP_GUARD_STAYS};
}

struct sp_guard_step sp_guard_decide(struct sp_guard *g, const struct sp_guard_use *use)
{
	uint64_t cost = cost_of(g, use), may = SP_MAX(allowed(g, use->ns), 1);
	struct sp_guard_step step;

	g->left_ns += (int64_t)may - (int64_t)cost;
	g->left_ns = SP_MIN(g->left_ns, (int64_t)allowed(g, SP_NS_PER_S));
	if (g->left_ns < 0 && cost > may) {
		for (unsigned i = 0; i < SP_MAX_RECIPES; i++)
			g->events[i].n_calm = 0;
		step = over(g, use, cost, may);
	} else {
		step = within(g, use, cost, may);
	}
	g->left_ns = SP_MAX(g->left_ns, 0);
	step.percent = use->ns ? (unsigned)((double)cost * 100 / (double)use->ns + 0.5) : 0;
	step.limit = g->percent;
	if (step.act != SP_GUARD_STAYS && !g->events[step.event].n_steps++)
		g->events[step.event].first = step;
	return step;
}

uint32_t sp_guard_cap(unsigned percent, unsigned hit_ns)
{
	uint64_t ns = (1ULL << SP_GUARD_SHIFT) / 100 * percent * CAP_TIMES, n = ns / SP_MAX(hit_ns, 1000);

	return (uint32_t)SP_MIN(SP_MAX(n, (uint64_t)LEAST_CAP), (uint64_t)UINT32_MAX);
}
