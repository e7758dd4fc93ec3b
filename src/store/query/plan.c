/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/query/plan.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS (3600 * SP_NS_PER_S)
#define NS_PER_MS UINT64_C(1000000)

static const uint64_t period_ns[SP_N_RESOLUTIONS + 1] = {10 * SP_NS_PER_S, 60 * SP_NS_PER_S, HOUR_NS, 24 * HOUR_NS};

uint64_t sp_plan_period_ns(int resolution)
{
	return period_ns[resolution];
}

/* --- existing windows --- */
/* Windows of one resolution, sorted by day, source, generation and time; and which are in the plan. */
struct found_windows {
	struct sp_plan_window *windows;
	size_t n, capacity;
	uint8_t *used;
};

int sp_plan_compare_period(const struct sp_plan_window *a, const struct sp_plan_window *b, int resolution)
{
	uint64_t period_ms = period_ns[resolution] / NS_PER_MS;

	return SP_RISING(a->day_s, b->day_s)
	       ?: SP_RISING(a->source, b->source)
	       ?: SP_RISING(a->generation, b->generation)
	       ?: SP_RISING(a->t_ms / period_ms, b->t_ms / period_ms);
}

static int by_series(const void *a, const void *b)
{
	const struct sp_plan_window *x = a, *y = b;

	/* of the same day */
	return sp_plan_compare_period(x, y, SP_N_RESOLUTIONS) ?: SP_RISING(x->t_ms, y->t_ms);
}

static int by_time(const void *a, const void *b)
{
	const struct sp_plan_window *x = a, *y = b;

	return SP_RISING(x->t_ms, y->t_ms)
	       ?: SP_RISING(x->resolution, y->resolution)
	       ?: SP_RISING(x->source, y->source);
}

static struct sp_plan_window plan_window(const struct sp_scan_window *w)
{
	return (struct sp_plan_window){.from_ns = w->w.wall_ns,
				       .to_ns = w->end_ns,
				       .covered_ns = w->w.duration_ns,
				       .n_lost = w->w.n_lost,
				       .t_ms = w->t_ms,
				       .generation = w->generation,
				       .day_s = w->day_s,
				       .n_rows = w->n_rows,
				       .source = w->source,
				       .resolution = w->resolution};
}

static int add_window(struct sp_plan_window **windows, size_t *n, size_t *capacity, const struct sp_plan_window *w)
{
	int r = sp_grow(windows, capacity, *n + 1, sizeof(**windows));

	if (r == 0)
		(*windows)[(*n)++] = *w;
	return r;
}

static int find_windows(struct sp_store *s, const struct sp_scan_options *o, struct found_windows *f)
{
	struct sp_scan_window w;
	struct sp_scan *scan;
	int r = sp_scan_open(s, o, &scan);

	if (r < 0)
		return r;
	while ((r = sp_scan_next(scan, &w)) == 1) {
		struct sp_plan_window found = plan_window(&w);
		r = add_window(&f->windows, &f->n, &f->capacity, &found);
		if (r < 0)
			break;
	}
	sp_scan_close(scan);
	if (f->n > 1)
		qsort(f->windows, f->n, sizeof(*f->windows), by_series);
	if (r == 0)
		f->used = calloc(f->n + 1, 1);
	return r == 0 && !f->used ? -ENOMEM : r;
}

/* Whether w's series has a window in this period. used: one that is in the plan. */
static bool has_window_in_period(const struct found_windows *f, const struct sp_plan_window *w, int resolution,
				 bool used)
{
	size_t i = SP_N_WHILE(f->n, k, sp_plan_compare_period(&f->windows[k], w, resolution) < 0);

	for (; i < f->n && sp_plan_compare_period(&f->windows[i], w, resolution) == 0; i++)
		if (!used || f->used[i])
			return true;
	return false;
}

/* --- choice --- */
static bool begins_in(const struct sp_plan *p, const struct sp_plan_window *w)
{
	return w->from_ns >= p->from_ns && w->from_ns < p->to_ns;
}

/* Whether its whole period is in the range. */
static bool lies_in(const struct sp_plan *p, const struct sp_plan_window *w)
{
	uint64_t begin = w->t_ms * NS_PER_MS / period_ns[w->resolution] * period_ns[w->resolution];

	return begin >= p->from_ns && begin < p->to_ns && p->to_ns - begin >= period_ns[w->resolution];
}

static bool is_used(const struct sp_plan *p, const struct found_windows found[SP_N_RESOLUTIONS],
		    const struct sp_plan_window *w, int coarsest)
{
	for (int i = w->resolution + 1; i < SP_N_RESOLUTIONS; i++)
		if (has_window_in_period(&found[i], w, i, true))
			return false;
	if (w->resolution > SP_RES_10S && w->resolution <= coarsest && lies_in(p, w))
		return true;
	for (int i = w->resolution - 1; i >= SP_RES_10S; i--)
		if (has_window_in_period(&found[i], w, w->resolution, false))
			return false;
	return begins_in(p, w);
}

/* Coarser windows come first, since they replace finer ones. */
static int use_windows(struct sp_plan *p, struct found_windows found[SP_N_RESOLUTIONS], int coarsest)
{
	int r = 0;

	for (int i = SP_RES_1H; i >= SP_RES_10S; i--)
		for (size_t k = 0; k < found[i].n && r == 0; k++) {
			const struct sp_plan_window *w = &found[i].windows[k];
			found[i].used[k] = is_used(p, found, w, coarsest);
			if (!found[i].used[k])
				continue;
			p->coarsest = SP_MAX(p->coarsest, i);
			r = add_window(&p->windows, &p->n_windows, &p->capacity, w);
		}
	return r;
}

/* Reads all hours that the range touches completely, to know which periods are complete. */
static int find_range_windows(const struct sp_plan *p, struct sp_store *s, const struct sp_store_query *q,
			      struct found_windows found[SP_N_RESOLUTIONS])
{
	struct sp_scan_options o = {.from_ns = p->from_ns / HOUR_NS * HOUR_NS,
				    .no_rows = true,
				    .missed_from_ns = p->from_ns,
				    .missed_to_ns = p->to_ns};
	uint64_t left = HOUR_NS - 1 - (p->to_ns - 1) % HOUR_NS;
	int r = 0;

	o.source = !q->source ? "cpu" : q->source;
	o.to_ns = p->to_ns + SP_MIN(left, UINT64_MAX - p->to_ns);
	for (o.resolution = SP_RES_10S; o.resolution <= SP_RES_1H && r == 0; o.resolution++)
		if (q->resolution < 0 || q->resolution == o.resolution)
			r = find_windows(s, &o, &found[o.resolution]);
	return r;
}

static void free_found_windows(struct found_windows found[SP_N_RESOLUTIONS])
{
	for (int i = SP_RES_10S; i <= SP_RES_1H; i++) {
		free(found[i].windows);
		free(found[i].used);
	}
}

/* Only windows of 10 s have process ids. */
static bool is_pid(const char *glob)
{
	return glob && *glob != '\0' && strspn(glob, "0123456789") == strlen(glob);
}

int sp_plan_coarsest(const struct sp_store_query *q)
{
	if (q->resolution >= 0 || is_pid(q->process) || q->to_ns - q->from_ns <= SP_PLAN_SHORT_NS)
		return SP_RES_10S;
	return q->by_minute ? SP_RES_1M : SP_RES_1H;
}

static void fill_answer(const struct sp_plan *p, struct sp_store_answer *answer)
{
	for (size_t i = 0; i < p->n_windows; i++) {
		const struct sp_plan_window *w = &p->windows[i];
		answer->from_ns = i == 0 ? w->from_ns : SP_MIN(answer->from_ns, w->from_ns);
		answer->to_ns = SP_MAX(answer->to_ns, w->to_ns);
		answer->covered_ns += w->covered_ns;
		answer->n_lost += w->n_lost;
	}
	answer->n_windows = p->n_windows;
	answer->resolution = p->coarsest;
}

static int check_query(const struct sp_store_query *q)
{
	if (q->from_ns >= q->to_ns)
		return sp_fail_said(-EINVAL, "the range is empty: it ends before it begins");
	if (q->resolution < -1 || q->resolution >= SP_N_RESOLUTIONS)
		return sp_fail_said(-EINVAL, "there is no resolution %d", q->resolution);
	return 0;
}

static int plan_from(const struct sp_plan *range, struct found_windows found[SP_N_RESOLUTIONS], int coarsest,
		     struct sp_plan *ret_plan)
{
	struct sp_plan p = {.from_ns = range->from_ns, .to_ns = range->to_ns, .coarsest = SP_RES_10S};
	int r = use_windows(&p, found, coarsest);

	if (p.n_windows > 1)
		qsort(p.windows, p.n_windows, sizeof(*p.windows), by_time);
	if (r < 0)
		sp_plan_done(&p);
	else
		*ret_plan = p;
	return r;
}

int sp_plan_make(struct sp_store *s, const struct sp_store_query *q, int coarsest, struct sp_plan *ret_plan,
		 struct sp_store_answer *answer)
{
	struct sp_plan range = {.from_ns = sp_store_end(q, q->from_ns), .to_ns = sp_store_end(q, q->to_ns)},
		       finest = {0};
	struct found_windows found[SP_N_RESOLUTIONS] = {0};
	int r = check_query(q);

	r = r < 0 ? r : find_range_windows(&range, s, q, found);
	r = r < 0 ? r : plan_from(&range, found, sp_plan_coarsest(q), &finest);
	if (r == 0)
		fill_answer(&finest, answer);
	sp_plan_done(&finest);
	r = r < 0 ? r : plan_from(&range, found, coarsest, ret_plan);
	free_found_windows(found);
	return r;
}

void sp_plan_done(struct sp_plan *p)
{
	free(p->windows);
	*p = (struct sp_plan){0};
}

/* --- days --- */
/*
 * Whether the plan has the day, by the sampled time: after the clock was set back, an hour may be missing from the
 * day's sums.
 */
bool sp_plan_has_day(const struct sp_plan *p, const struct sp_scan_window *day)
{
	uint64_t begin = day->day_s * SP_NS_PER_S, covered = 0;

	if (begin < p->from_ns || p->to_ns < begin || p->to_ns - begin < period_ns[SP_N_RESOLUTIONS])
		return false;
	for (size_t i = 0; i < p->n_windows; i++) {
		const struct sp_plan_window *w = &p->windows[i];
		if (w->day_s == day->day_s && w->source == day->source && w->resolution == SP_RES_1H)
			covered += w->covered_ns;
	}
	return covered > 0 && covered == day->w.duration_ns;
}

static bool is_whole_day(const void *plan, const struct sp_scan_window *w)
{
	return sp_plan_has_day(plan, w);
}

/* Whether this hour belongs to a day in `days`. */
static bool has_hour(const struct found_windows *days, const struct sp_plan_window *w)
{
	for (size_t i = 0; i < days->n && w->resolution == SP_RES_1H; i++)
		if (days->windows[i].day_s == w->day_s && days->windows[i].source == w->source)
			return true;
	return false;
}

int sp_plan_use_days(struct sp_plan *p, struct sp_store *s, const char *source)
{
	struct sp_scan_options o = {.from_ns = p->from_ns,
				    .to_ns = p->to_ns,
				    .source = source,
				    .resolution = SP_N_RESOLUTIONS,
				    .no_rows = true,
				    .trees = true,
				    .is_wanted = is_whole_day,
				    .arg = p};
	struct found_windows days = {0};
	size_t n = 0;
	int r = find_windows(s, &o, &days);

	for (size_t i = 0; i < p->n_windows && r == 0; i++)
		if (!has_hour(&days, &p->windows[i]))
			p->windows[n++] = p->windows[i];
	p->n_windows = r == 0 ? n : p->n_windows;
	for (size_t i = 0; i < days.n && r == 0; i++)
		r = add_window(&p->windows, &p->n_windows, &p->capacity, &days.windows[i]);
	if (p->n_windows > 1)
		qsort(p->windows, p->n_windows, sizeof(*p->windows), by_time);
	free(days.windows);
	free(days.used);
	return r;
}

/* --- parts --- */
size_t sp_plan_part_length(const struct sp_plan *p, size_t first)
{
	size_t n = 1;

	while (first + n < p->n_windows && p->windows[first + n].resolution == p->windows[first].resolution)
		n++;
	return n;
}

size_t sp_plan_find_from(const struct sp_plan *p, uint64_t t_ms)
{
	return SP_N_BELOW(p->windows, p->n_windows, t_ms, t_ms);
}

void sp_plan_remove(struct sp_plan *p, const uint8_t *which)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_windows; i++)
		if (which[i] == 0)
			p->windows[n++] = p->windows[i];
	p->n_windows = n;
}

size_t sp_plan_find(const struct sp_plan *p, size_t first, size_t n, const struct sp_scan_window *w)
{
	struct sp_plan_window key = plan_window(w);
	const struct sp_plan_window *found = n == 0 ? NULL : bsearch(&key, &p->windows[first], n, sizeof(key), by_time);

	return !found ? SIZE_MAX : (size_t)(found - p->windows);
}
