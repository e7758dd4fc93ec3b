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

/* The event whose cost is the largest, of those that can be thinned, unless they cost next to nothing. -1: none. */
static int costliest(const struct sp_guard *g, const struct sp_guard_use *use, bool can_thin)
{
	uint64_t sum = 0;
	int best = -1;

	for (int i = 0; i < SP_MAX_RECIPES; i++) {
		const struct sp_guard_event *e = &g->events[i];

		if (!is_active(e))
			continue;
		sum += use->kernel_ns[i];
		if ((!can_thin || e->one_in < SP_GUARD_MOST) && (best < 0 || use->kernel_ns[i] > use->kernel_ns[best]))
			best = i;
	}
	return best >= 0 && can_thin && use->kernel_ns[best] < sum / 4 ? -1 : best;
}

static uint64_t cost_of(const struct sp_guard *g, const struct sp_guard_use *use)
{
	uint64_t sum = 0;

	for (int i = 0; i < SP_MAX_RECIPES; i++)
		sum += is_active(&g->events[i]) ? use->kernel_ns[i] : 0;
	return sum + SP_MIN(sum, use->own_ns);
}

static struct sp_guard_step over(struct sp_guard *g, const struct sp_guard_use *use, uint64_t cost, uint64_t may)
{
	int i = costliest(g, use, true);
	struct sp_guard_event *e;
	uint32_t by = 2;

	if (i < 0) {
		i = costliest(g, use, false);
		if (i < 0 || ++g->events[i].n_helpless < SP_GUARD_PATIENCE)
			return (struct sp_guard_step){.act = SP_GUARD_STAYS};
		g->events[i].is_detached = true;
		g->events[i].n_helpless = 0;
		return (struct sp_guard_step){.act = SP_GUARD_DETACHES, .event = (unsigned)i};
	}
	e = &g->events[i];
	while (by < MOST_STEP && cost > may * by)
		by *= 2;
	e->one_in = SP_MIN(e->one_in * by, (uint32_t)SP_GUARD_MOST);
	e->most = SP_MAX(e->most, e->one_in);
	e->n_helpless = 0;
	return (struct sp_guard_step){.act = SP_GUARD_THINS, .event = (unsigned)i, .one_in = e->one_in};
}

/* More of an event is taken when that would fit in half the budget for some looks in a row. */
static struct sp_guard_step within(struct sp_guard *g, const struct sp_guard_use *use, uint64_t cost, uint64_t may)
{
	for (unsigned i = 0; i < SP_MAX_RECIPES; i++) {
		struct sp_guard_event *e = &g->events[i];
		uint64_t own = 2 * use->kernel_ns[i];
		uint32_t by = 1;

		e->n_helpless = 0;
		if (!is_active(e) || e->one_in == 1)
			continue;
		while (by < MOST_BACK && by < e->one_in && cost + (2 * by - 1) * own < may / 2)
			by *= 2;
		e->n_calm = by > 1 ? e->n_calm + 1 : 0;
		if (e->n_calm < SP_GUARD_PATIENCE)
			continue;
		e->n_calm = 0;
		e->one_in /= by;
		return (struct sp_guard_step){.act = SP_GUARD_RESTORES, .event = i, .one_in = e->one_in};
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
	return step;
}

uint32_t sp_guard_cap(unsigned percent, unsigned hit_ns)
{
	uint64_t ns = (1ULL << SP_GUARD_SHIFT) / 100 * percent * CAP_TIMES, n = ns / SP_MAX(hit_ns, 1000);

	return (uint32_t)SP_MIN(SP_MAX(n, (uint64_t)LEAST_CAP), (uint64_t)UINT32_MAX);
}
