/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "store/scan.h"

/* A piece of the range that no window covers yet; and how far windows that fill it may reach. */
struct hole {
	uint64_t from_ns, to_ns, low_ns, high_ns;
};
struct holes {
	struct hole *holes;
	size_t n, capacity;
};

enum { MANY_HOLES = 8 }; /* one look at all of the range is cheaper then */
/* From there on hours are taken whole that lie in the range by a part: their minutes would take longer than the rest.
 */
#define ROUGH_HOURS_NS (UINT64_C(20) * 3600 * 1000000000)
#define ROUGH_EDGE_NS (UINT64_C(7200) * 1000000000)

static int by_time(const void *a, const void *b)
{
	const struct sp_plan_window *x = a, *y = b;

	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int add_hole(struct holes *h, struct hole hole, uint64_t least_ns)
{
	if (hole.to_ns <= hole.from_ns || hole.to_ns - hole.from_ns < least_ns)
		return 0;
	int r = sp_grow(&h->holes, &h->capacity, h->n + 1, sizeof(*h->holes));
	if (r == 0)
		h->holes[h->n++] = hole;
	return r;
}

/* What is left of the range between the windows that were taken so far, where it is as long as that. */
static int find_holes(struct sp_plan *p, const struct sp_store_query *q, uint64_t least_ns, struct holes *h)
{
	uint64_t at = q->from_ns, low = 0;
	int r = 0;

	if (p->n_windows > 1)
		qsort(p->windows, p->n_windows, sizeof(*p->windows), by_time);
	h->n = 0;
	for (size_t i = 0; i < p->n_windows && r == 0; i++) {
		const struct sp_plan_window *w = &p->windows[i];
		r = add_hole(h, (struct hole){at, SP_MIN(w->from_ns, q->to_ns), low, w->from_ns}, least_ns);
		at = SP_MAX(at, w->to_ns);
		low = SP_MAX(low, w->to_ns);
	}
	return r < 0 ? r : add_hole(h, (struct hole){at, q->to_ns, low, UINT64_MAX}, least_ns);
}

static bool fits(const struct hole *hole, const struct sp_scan_window *w)
{
	bool low = w->w.wall_ns >= hole->low_ns || hole->low_ns - w->w.wall_ns < SP_PLAN_SLACK_NS;
	bool high = w->end_ns <= hole->high_ns || w->end_ns - hole->high_ns < SP_PLAN_SLACK_NS;

	return low && high && w->w.wall_ns < hole->to_ns && w->end_ns > hole->from_ns;
}

/* Holes lie in the order of time: the first that ends behind the window's beginning, or the next, is it. */
static bool is_wanted(const struct holes *h, const struct sp_scan_window *w)
{
	size_t low = SP_N_UP_TO(h->holes, h->n, to_ns, w->w.wall_ns);
	return (low < h->n && fits(&h->holes[low], w)) || (low + 1 < h->n && fits(&h->holes[low + 1], w));
}

static int take_windows(struct sp_plan *p, struct sp_store *s, const struct sp_scan_options *o, const struct holes *h)
{
	struct sp_scan_window w;
	struct sp_scan *scan;
	int r = sp_scan_open(s, o, &scan);

	if (r < 0)
		return r;
	while ((r = sp_scan_next(scan, &w)) == 1) {
		if (!is_wanted(h, &w))
			continue;
		r = sp_grow(&p->windows, &p->capacity, p->n_windows + 1, sizeof(*p->windows));
		if (r < 0)
			break;
		p->windows[p->n_windows++] =
		    (struct sp_plan_window){w.w.wall_ns, w.end_ns, w.w.duration_ns, w.w.n_lost, w.n_rows, w.resolution};
		p->coarsest = SP_MAX(p->coarsest, w.resolution);
	}
	sp_scan_close(scan);
	return r;
}

/* Fills what is left with windows of this resolution; inside: of such as lie in the range as a whole. */
static int fill(struct sp_plan *p, struct sp_store *s, const struct sp_store_query *q, int resolution, bool inside,
		uint64_t least_ns)
{
	struct sp_scan_options o = {
	    .source = q->source, .resolution = resolution, .no_rows = true, .trees = resolution == SP_N_RESOLUTIONS};
	struct holes h = {0};
	int r = find_holes(p, q, SP_MAX(least_ns, SP_PLAN_SLACK_NS), &h);

	for (size_t i = 0; i < h.n && inside; i++) {
		h.holes[i].low_ns = SP_MAX(h.holes[i].low_ns, q->from_ns);
		h.holes[i].high_ns = SP_MIN(h.holes[i].high_ns, q->to_ns);
	}
	bool at_once = h.n > MANY_HOLES;
	size_t n_looks = at_once ? 1 : h.n;
	for (size_t i = 0; i < n_looks && r == 0; i++) {
		o.from_ns = h.holes[i].from_ns;
		o.to_ns = h.holes[at_once ? h.n - 1 : i].to_ns;
		r = take_windows(p, s, &o, &(struct holes){&h.holes[at_once ? 0 : i], at_once ? h.n : 1, 0});
	}
	free(h.holes);
	return r;
}

int sp_plan_make(struct sp_store *s, const struct sp_store_query *q, bool fine, struct sp_plan *ret_plan)
{
	struct sp_plan p = {.coarsest = SP_RES_10S};
	uint64_t length = q->to_ns - q->from_ns;
	uint64_t least = q->rough ? SP_MIN(length / 100, ROUGH_EDGE_NS) : length / 1000;
	bool is_long = q->resolution < 0 && !fine && length > SP_PLAN_SHORT_NS;
	bool whole_hours = q->rough && length >= ROUGH_HOURS_NS;
	int r = 0;

	for (int i = q->rough ? SP_N_RESOLUTIONS : SP_RES_1H; i >= SP_RES_10S && is_long && r == 0; i--)
		r = fill(&p, s, q, i, i != SP_RES_1H || !whole_hours, i >= SP_RES_1H ? 0 : least);
	for (int i = SP_RES_10S; i <= SP_RES_1H && r == 0; i++)
		if (q->resolution < 0 || q->resolution == i)
			r = fill(&p, s, q, i, false, is_long ? least : 0);
	if (r == 0 && p.n_windows > 1)
		qsort(p.windows, p.n_windows, sizeof(*p.windows), by_time);
	if (r < 0)
		sp_plan_done(&p);
	else
		*ret_plan = p;
	return r;
}

void sp_plan_done(struct sp_plan *p)
{
	free(p->windows);
	*p = (struct sp_plan){0};
}

size_t sp_plan_part(const struct sp_plan *p, size_t first)
{
	size_t n = 1;

	while (first + n < p->n_windows && p->windows[first + n].resolution == p->windows[first].resolution)
		n++;
	return n;
}

size_t sp_plan_find(const struct sp_plan *p, size_t first, size_t n, uint64_t from_ns)
{
	struct sp_plan_window key = {.from_ns = from_ns};
	const struct sp_plan_window *found = n == 0 ? NULL : bsearch(&key, &p->windows[first], n, sizeof(key), by_time);

	return found == NULL ? SIZE_MAX : (size_t)(found - p->windows);
}
