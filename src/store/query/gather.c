/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/query/gather.h"

#include "base/error.h"
#include "base/mem.h"
#include "profile/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys or groups that match the query; each is checked once. */
struct wanted {
	const struct sp_store_query *q;
	const struct sp_dict *dict;
	uint8_t *matched; /* by who: 0 = not checked, 1 = no, 2 = yes */
	size_t capacity;
	bool by_group, all;
};

/* Limit for all open dictionaries together; a node takes about 16 bytes. */
enum { NODES_AT_ONCE = 2 << 20 };

/* --- filter by who --- */
static bool asks_for_all(const struct sp_store_query *q)
{
	return q->all_users && !q->process && !q->cgroup;
}

static bool process_matches(const struct sp_dict *d, uint32_t pid, const struct sp_dict_group *g, const char *glob)
{
	const struct sp_file *exe = &d->files[g->exe < d->n_files ? g->exe : 0];
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%" PRIu32, pid);
	return sp_glob_matches(glob, sp_dict_string(d, g->comm)) || sp_glob_matches(glob, digits) ||
	       (g->exe != 0 && sp_glob_matches_file(glob, sp_dict_string(d, exe->name), sp_dict_string(d, exe->path)));
}

static bool matches_query(const struct wanted *w, uint32_t who)
{
	const struct sp_dict *d = w->dict;
	const struct sp_dict_key *key = w->by_group || who >= d->n_keys ? NULL : &d->keys[who];
	uint32_t number = key ? key->group : w->by_group ? who : 0;
	const struct sp_dict_group *g = &d->groups[number < d->n_groups ? number : 0];

	if (!w->q->all_users && g->uid != w->q->uid)
		return false;
	if (w->q->cgroup && !sp_glob_matches_cgroup(w->q->cgroup, sp_dict_string(d, g->cgroup_path)))
		return false;
	return !w->q->process || process_matches(d, !key ? 0 : key->pid, g, w->q->process);
}

static int wanted_set_dict(struct wanted *w, const struct sp_scan_window *window)
{
	bool by_group = window->resolution != SP_RES_10S;
	uint32_t n = by_group ? window->dict->n_groups : window->dict->n_keys;

	if (w->all)
		return 0;
	if (w->matched && (w->dict != window->dict || w->by_group != by_group))
		memset(w->matched, 0, w->capacity);
	w->dict = window->dict;
	w->by_group = by_group;
	return sp_grow(&w->matched, &w->capacity, n, 1);
}

static bool is_wanted(struct wanted *w, uint32_t who)
{
	if (w->all)
		return true;
	if (who >= w->capacity)
		return false;
	if (w->matched[who] == 0)
		w->matched[who] = matches_query(w, who) ? 2 : 1;
	return w->matched[who] == 2;
}

/* --- rows --- */
static void free_window(struct sp_gathered_window *w)
{
	free(w->runs);
	free(w->nodes);
	free(w->small);
	free(w->large);
	for (uint32_t k = 0; k < SP_MAX_VALUES; k++)
		free(w->columns[k]);
}

static uint32_t map_who(const struct sp_gathered *g, const struct sp_scan_window *w, uint32_t row)
{
	const struct sp_dict *d = w->dict;
	uint32_t who = w->who[row];

	if (g->who == SP_WHO_NOTHING)
		return 0;
	if (g->who == SP_WHO_WHOLE && !g->by_group)
		return who;
	const struct sp_dict_key *key = w->resolution == SP_RES_10S && who < d->n_keys ? &d->keys[who] : NULL;
	uint32_t group = key ? key->group : w->resolution == SP_RES_10S ? 0 : who;
	if (g->who == SP_WHO_WHOLE)
		return group;
	return key && key->thread != 0 ? key->thread : d->groups[group < d->n_groups ? group : 0].comm;
}

/* Finds the runs of wanted rows; from: by run, index of its first row in the window. */
static int copy_runs(const struct sp_gathered *g, struct wanted *wanted, const struct sp_scan_window *w,
		     struct sp_gathered_window *copy, uint32_t **from)
{
	size_t capacity = 0, from_capacity = 0;

	for (uint32_t i = 0, end; i < w->n_rows; i = end) {
		for (end = i + 1; end < w->n_rows && (g->who == SP_WHO_NOTHING || w->who[end] == w->who[i]);)
			end++;
		if (!is_wanted(wanted, w->who[i]))
			continue;
		if (sp_grow(&copy->runs, &capacity, (size_t)copy->n_runs + 1, sizeof(*copy->runs)) < 0 ||
		    sp_grow(from, &from_capacity, (size_t)copy->n_runs + 1, sizeof(**from)) < 0)
			return -ENOMEM;
		(*from)[copy->n_runs] = i;
		copy->runs[copy->n_runs++] = (struct sp_gathered_run){map_who(g, w, i), copy->n_rows};
		copy->n_rows += end - i;
	}
	return 0;
}

static uint32_t run_length(const struct sp_gathered_window *copy, uint32_t run)
{
	return (run + 1 < copy->n_runs ? copy->runs[run + 1].first : copy->n_rows) - copy->runs[run].first;
}

static bool fits_32(const struct sp_scan_window *w)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < w->n_rows; i++)
		all |= (uint64_t)w->values[0][i];
	return all <= UINT32_MAX;
}

/* Whether value k is the same multiple of the first value in all rows. */
static bool find_multiple(const struct sp_scan_window *w, uint32_t k, int64_t *ret_multiple)
{
	const int64_t *first = w->values[0], *value = w->values[k];
	int64_t m = w->n_rows > 0 && first[0] != 0 ? value[0] / first[0] : 0;
	bool differs = false;

	for (uint32_t i = 0; i < w->n_rows; i++)
		differs |= (uint64_t)first[i] * (uint64_t)m != (uint64_t)value[i];
	*ret_multiple = m;
	return !differs && m >= 0 && m <= UINT32_MAX && fits_32(w); /* then nothing overflowed */
}

static int64_t *copy_column(const struct sp_gathered_window *copy, const uint32_t *from, const int64_t *values)
{
	int64_t *column = calloc(SP_MAX(copy->n_rows, 1U), sizeof(*column));

	for (uint32_t i = 0; i < copy->n_runs && column; i++)
		memcpy(column + copy->runs[i].first, values + from[i], run_length(copy, i) * sizeof(*column));
	return column;
}

static uint32_t *copy_small(const struct sp_gathered_window *copy, const uint32_t *from, const int64_t *values)
{
	uint32_t *column = calloc(SP_MAX(copy->n_rows, 1U), sizeof(*column));

	for (uint32_t i = 0; i < copy->n_runs && column; i++)
		for (uint32_t k = 0, n = run_length(copy, i); k < n; k++)
			column[copy->runs[i].first + k] = (uint32_t)values[from[i] + k];
	return column;
}

static int copy_values(const struct sp_scan_window *w, struct sp_gathered_window *copy, const uint32_t *from)
{
	if (fits_32(w))
		copy->small = copy_small(copy, from, w->values[0]);
	else
		copy->large = copy_column(copy, from, w->values[0]);
	if (!copy->small && !copy->large)
		return -ENOMEM;
	for (uint32_t k = 1; k < w->n_values; k++) {
		if (find_multiple(w, k, &copy->multiple[k]))
			continue;
		copy->columns[k] = copy_column(copy, from, w->values[k]);
		if (!copy->columns[k])
			return -ENOMEM;
	}
	return 0;
}

static int copy_rows(const struct sp_gathered *g, struct wanted *wanted, const struct sp_scan_window *w,
		     struct sp_gathered_window *copy)
{
	SP_FREE uint32_t *from = NULL;
	int r = copy_runs(g, wanted, w, copy, &from);

	if (r == 0)
		copy->nodes = calloc(SP_MAX(copy->n_rows, 1U), sizeof(*copy->nodes));
	if (r < 0 || !copy->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < copy->n_runs; i++)
		memcpy(copy->nodes + copy->runs[i].first, w->node + from[i], run_length(copy, i) * sizeof(*w->node));
	return copy_values(w, copy, from);
}

/* --- windows --- */
/* If two scans have the same generation, the larger dictionary includes the other. */
static int64_t add_dict(struct sp_gathered *g, const struct sp_dict *d)
{
	for (size_t i = g->n_dicts; i-- > 0;) {
		const struct sp_dict *there = g->dicts[i];
		if (there->generation != d->generation || there->day_s != d->day_s)
			continue;
		if (d->n_nodes > there->n_nodes || (d->n_nodes == there->n_nodes && d->n_keys > there->n_keys))
			g->dicts[i] = d;
		return (int64_t)i;
	}
	if (sp_grow(&g->dicts, &g->dict_capacity, g->n_dicts + 1, sizeof(struct sp_dict *)) < 0)
		return -ENOMEM;
	g->dicts[g->n_dicts] = d;
	return (int64_t)g->n_dicts++;
}

static int64_t add_type(struct sp_gathered *g, const struct sp_scan_value *v)
{
	uint32_t i = 0;

	while (i < g->n_types && (strcmp(g->types[i].name, v->name) != 0 || strcmp(g->types[i].unit, v->unit) != 0))
		i++;
	if (i < g->n_types)
		return i;
	if (i == SP_MAX_VALUES)
		return sp_fail_said(-E2BIG, "the windows of this range have more than %d kinds of values",
				    SP_MAX_VALUES);
	g->types[i] = (struct sp_stored_type){strdup(v->name), strdup(v->unit)};
	g->n_types++;
	return !g->types[i].name || !g->types[i].unit ? -ENOMEM : (int64_t)i;
}

static uint32_t slice_of(const struct sp_gathered *g, const struct sp_scan_window *w)
{
	uint64_t begin = w->w.wall_ns;

	return g->slice_ns == 0 ? 0 : 1 + (uint32_t)((begin - SP_MIN(begin, g->first_ns)) / g->slice_ns);
}

static int add_types(struct sp_gathered *g, const struct sp_scan_window *w, uint32_t ret_types[SP_MAX_VALUES])
{
	for (uint32_t k = 0; k < w->n_values; k++) {
		int64_t type = add_type(g, &w->types[k]);
		if (type < 0)
			return (int)type;
		ret_types[k] = (uint32_t)type;
	}
	return 0;
}

static int copy_window(struct sp_gathered *g, struct wanted *wanted, const struct sp_scan_window *w)
{
	struct sp_gathered_window copy = {.n_values = w->n_values, .slice = slice_of(g, w)};
	int64_t dict = add_dict(g, w->dict);
	int r = dict < 0 ? (int)dict : wanted_set_dict(wanted, w);

	copy.dict = (uint32_t)dict;
	if (r == 0)
		r = add_types(g, w, copy.type);
	if (r == 0)
		r = sp_grow(&g->windows, &g->window_capacity, g->n_windows + 1, sizeof(*g->windows));
	if (r == 0)
		r = copy_rows(g, wanted, w, &copy);
	if (r < 0) {
		free_window(&copy);
		return r;
	}
	g->windows[g->n_windows++] = copy;
	g->n_rows += copy.n_rows;
	g->n_incomplete += w->dict->n_lost_chunks > 0;
	return 0;
}

/* Whether another dictionary would exceed the limit. */
static bool exceeds_node_limit(const struct sp_gathered *g, const struct sp_dict *next)
{
	uint64_t n_nodes = 0;

	for (size_t i = 0; i < g->n_dicts; i++) {
		if (g->dicts[i] == next)
			return false;
		n_nodes += g->dicts[i]->n_nodes;
	}
	return n_nodes > NODES_AT_ONCE;
}

/* The part of the plan that a scan reads. */
struct wanted_part {
	const struct sp_plan *plan;
	size_t first, n;
	struct sp_gathered *g;
	int *error; /* of what is taken of windows before their rows */
};

static bool is_in_part(const void *arg, const struct sp_scan_window *w)
{
	const struct wanted_part *part = arg;
	bool found = sp_plan_find(part->plan, part->first, part->n, w) != SIZE_MAX;
	uint32_t types[SP_MAX_VALUES];
	int r = found && part->g->types_of_all ? add_types(part->g, w, types) : 0;

	*part->error = r < 0 ? r : *part->error;
	return found;
}

/* Beginning of the first and of the last window, and end of the last one. */
struct span {
	uint64_t from_ns, last_ns, to_ns;
};

static struct span plan_span(const struct sp_plan_window *windows, size_t n)
{
	struct span s = {.from_ns = UINT64_MAX};

	for (size_t i = 0; i < n; i++) {
		s.from_ns = SP_MIN(s.from_ns, windows[i].from_ns);
		s.last_ns = SP_MAX(s.last_ns, windows[i].from_ns);
		s.to_ns = SP_MAX(s.to_ns, windows[i].to_ns);
	}
	return s;
}

static int add_damage(struct sp_gathered *g, const struct sp_scan *scan)
{
	size_t n, known;
	const uint64_t *files = sp_scan_salvaged(scan, &n);

	g->n_damaged += sp_scan_n_damaged(scan);
	for (size_t i = 0; i < n; i++) {
		for (known = 0; known < g->n_salvaged && g->salvaged[known] != files[i];)
			known++;
		if (known < g->n_salvaged)
			continue;
		if (sp_grow(&g->salvaged, &g->salvaged_capacity, g->n_salvaged + 1, sizeof(*g->salvaged)) < 0)
			return -ENOMEM;
		g->salvaged[g->n_salvaged++] = files[i];
	}
	return 0;
}

/* Of one resolution, and with one_dict of one generation. */
static size_t part_length(const struct sp_gathered *g, const struct sp_plan *plan, size_t first)
{
	size_t n = sp_plan_part_length(plan, first), of_one = 1;
	const struct sp_plan_window *w = &plan->windows[first];

	if (!g->one_dict)
		return n;
	while (of_one < n && w[of_one].generation == w->generation && w[of_one].day_s == w->day_s)
		of_one++;
	return of_one;
}

/* Gathers a part from *at on; advances *at to the first window that did not fit. */
static int gather_part(struct sp_gathered *g, struct sp_store *s, const struct sp_store_query *q,
		       const struct sp_plan *plan, size_t *at, struct wanted *wanted)
{
	size_t first = *at, n = part_length(g, plan, first);
	int error = 0;
	const struct wanted_part part = {plan, first, n, g, &error};
	struct span span = plan_span(&plan->windows[first], n);
	int resolution = plan->windows[first].resolution;
	struct sp_scan_options o = {.from_ns = span.from_ns,
				    .to_ns = span.last_ns + 1,
				    .source = q->source,
				    .resolution = resolution,
				    .trees = q->rough && resolution >= SP_RES_1H,
				    .skip_keys = g->who == SP_WHO_NOTHING,
				    .lazy = true,
				    .nodes_first = g->nodes_first,
				    .share_dicts = g->who == SP_WHO_NOTHING && g->n_scans > 0 ? g->scans[0] : NULL,
				    .last_ns = span.last_ns,
				    .is_wanted = is_in_part,
				    .arg = &part};
	struct sp_scan_window w;
	int r = sp_grow(&g->scans, &g->scan_capacity, g->n_scans + 1, sizeof(struct sp_scan *));

	if (r == 0)
		r = sp_scan_open(s, &o, &g->scans[g->n_scans]);
	if (r < 0)
		return r;
	struct sp_scan *scan = g->scans[g->n_scans++];
	*at = first + n;
	while ((r = sp_scan_next(scan, &w)) == 1) {
		size_t planned = sp_plan_find(plan, first, n, &w);
		if (planned > first && exceeds_node_limit(g, w.dict)) {
			*at = planned;
			r = 0;
			break;
		}
		r = w.n_rows > 0 && w.n_values > 0 ? copy_window(g, wanted, &w) : 0;
		if (r < 0)
			break;
	}
	r = r < 0 ? r : error;
	return r < 0 ? r : add_damage(g, scan);
}

/* A slice is a whole number of the coarsest windows; the first one begins with a window. */
static void lay_out_slices(struct sp_gathered *g, const struct sp_store_query *q, const struct sp_plan *plan)
{
	uint64_t length = sp_plan_period_ns(plan->coarsest);
	struct span span = plan_span(plan->windows, plan->n_windows);
	uint64_t from = span.from_ns, to = span.to_ns;

	if (q->n_slices == 0 || to <= from)
		return;
	from -= from % length;
	uint64_t n = (to - from + length - 1) / length, each = (n + q->n_slices - 1) / q->n_slices;
	g->first_ns = from;
	g->slice_ns = each * length;
}

void sp_gather_begin(struct sp_gathered *g, const struct sp_store_query *q, const struct sp_plan *plan)
{
	g->who = q->who == SP_WHO_NOTHING && !asks_for_all(q) ? SP_WHO_WHOLE : q->who;
	g->by_group = g->who == SP_WHO_NOTHING || plan->coarsest != SP_RES_10S;
	if (plan->n_windows > 0)
		lay_out_slices(g, q, plan);
}

int sp_gather(struct sp_gathered *g, struct sp_store *s, const struct sp_store_query *q, const struct sp_plan *plan,
	      size_t *at)
{
	struct wanted wanted = {.q = q, .all = asks_for_all(q)};
	int r = 0;

	while (*at < plan->n_windows && r == 0) {
		size_t end = *at + part_length(g, plan, *at);
		r = gather_part(g, s, q, plan, at, &wanted);
		if (*at < end || g->one_dict)
			break;
	}
	free(wanted.matched);
	return r;
}

void sp_gathered_release(struct sp_gathered *g)
{
	sp_narrowed_free(g->narrowed, g->n_dicts);
	g->narrowed = NULL;
	for (size_t i = 0; i < g->n_scans; i++)
		sp_scan_close(g->scans[i]);
	g->n_scans = g->n_dicts = 0;
	g->first = g->n_windows;
}

void sp_gathered_done(struct sp_gathered *g)
{
	for (size_t i = 0; i < g->n_windows; i++)
		free_window(&g->windows[i]);
	sp_gathered_release(g);
	for (uint32_t i = 0; i < g->n_types; i++) {
		free(g->types[i].name);
		free(g->types[i].unit);
	}
	free(g->windows);
	free(g->scans);
	free(g->salvaged);
	free(g->dicts);
	*g = (struct sp_gathered){0};
}
