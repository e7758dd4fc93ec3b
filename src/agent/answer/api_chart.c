/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api_chart.c: CPU time by library over time, and events. */
#include "agent/answer/api_fleet.h"
#include "agent/answer/api_priv.h"
#include "agent/answer/tree_columns.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/time.h"
#include "profile/frames.h"
#include "profile/identity.h"
#include "store/totals.h"
#include "view/svg/svg_palette.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define MINUTE_NS (60 * SP_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)
/* For so short ranges the windows of 10 s are read. */
#define SHORT_NS (30 * MINUTE_NS)
enum { MAX_SERIES = 12, MAX_EVENTS = 2000 };

/* --- events --- */
struct events {
	const struct sp_api *a;
	struct sp_json *j;
	size_t n, n_left_out;
	struct gap {
		uint64_t from_ns, to_ns;
	} * gaps;
	size_t n_gaps, capacity;
};

bool sp_api_event_is_for_all(const char *kind)
{
	static const char *const all_may[] = {"gap", "rate", "clock", "drop"};

	for (size_t i = 0; i < SP_COUNT(all_may); i++)
		if (!strcmp(all_may[i], kind))
			return true;
	return false;
}

static void put_event(struct sp_json *j, const struct sp_store_event *e)
{
	sp_json_object(j, NULL);
	sp_api_put_seconds(j, "from", e->from_ns);
	sp_api_put_seconds(j, "to", e->to_ns);
	sp_json_string(j, "kind", e->kind);
	sp_json_string(j, "subject", e->subject);
	sp_json_string(j, "text", e->text);
	sp_json_string(j, "data", e->data);
	sp_json_end(j);
}

static int handle_event(void *arg, const struct sp_store_event *e)
{
	struct events *l = arg;

	if (l->a->own_only && !sp_api_event_is_for_all(e->kind))
		return 0;
	if (!strcmp(e->kind, "gap")) {
		if (sp_grow(&l->gaps, &l->capacity, l->n_gaps + 1, sizeof(*l->gaps)) < 0)
			return -ENOMEM;
		l->gaps[l->n_gaps++] = (struct gap){e->from_ns, e->to_ns};
	}
	if (l->n++ < MAX_EVENTS)
		put_event(l->j, e);
	else
		l->n_left_out++;
	return 0;
}

/* Writes "events":[...] and how many were left out; the gaps among them stay in l. */
static int put_events(struct events *l, uint64_t from_ns, uint64_t to_ns)
{
	sp_json_array(l->j, "events");
	sp_json_lines(l->j);
	int r = l->a->fleet ? 0 : sp_store_events(l->a->store, from_ns, to_ns, handle_event, l);
	sp_json_end(l->j);
	sp_json_int(l->j, "events_left_out", (int64_t)l->n_left_out);
	return r;
}

int sp_api_events(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	struct events l = {.a = a, .j = j};

	sp_api_put_seconds(j, "from", ask->q.from_ns);
	sp_api_put_seconds(j, "to", ask->q.to_ns);
	int r = put_events(&l, ask->q.from_ns, ask->q.to_ns);
	free(l.gaps);
	return r;
}

/* --- sums of rows: short ranges, and filtered ones --- */
static uint32_t find_leaf(const struct sp_profile *p, const struct sp_row *row)
{
	const struct sp_frames frames = sp_profile_frames(p, row);

	return frames.n ? sp_frames_at(&frames, 0) : 0;
}

static int set_library(const struct sp_profile *p, uint32_t file, struct sp_store_chart_library *l)
{
	const struct sp_file *f = sp_profile_file(p, file);
	uint8_t *id = malloc(SP_BUILD_ID_MAX);

	l->name = strdup(sp_api_library_name(p, file));
	l->build_id = id;
	l->build_id_len = SP_MIN(f->build_id_len, SP_BUILD_ID_MAX);
	if (!l->name || !id)
		return -ENOMEM;
	memcpy(id, f->build_id, l->build_id_len);
	return 0;
}

/* number: by file, its library + 1. */
static int sum_rows(const struct sp_profile *p, const struct sp_identity *same, uint32_t value, uint32_t *number,
		    struct sp_store_chart *c)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p) && r == 0; i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		uint32_t leaf = find_leaf(p, row), file = leaf ? same->library_of[leaf] : 0;
		uint32_t slice = sp_profile_key(p, row->key)->slice;
		if (!number[file]) {
			r = set_library(p, file, &c->libraries[c->n_libraries]);
			number[file] = ++c->n_libraries;
		}
		uint32_t at = SP_MIN(slice > 0 ? slice - 1 : c->n_slices - 1, c->n_slices - 1), n = number[file] - 1;
		sp_saturating_add(&c->libraries[n].self, row->values[value]);
		sp_saturating_add(&c->self[(size_t)n * c->n_slices + at],
				  row->values[value]); /* transposed at the end */
		c->covered_ns[at] = c->slice_ns;
	}
	return r;
}

static int chart_of_rows(const struct sp_profile *p, uint32_t value, struct sp_store_chart *c)
{
	size_t n_files = sp_profile_n_files(p);
	SP_FREE uint32_t *number = calloc(n_files + 1, sizeof(*number));
	struct sp_identity same = {0};
	const struct sp_value_type *type = sp_profile_value_type(p, value);

	snprintf(c->value, sizeof(c->value), "%s", sp_profile_string(p, type->name));
	snprintf(c->unit, sizeof(c->unit), "%s", sp_profile_string(p, type->unit));
	c->libraries = calloc(n_files + 1, sizeof(*c->libraries));
	c->self = calloc((n_files + 1) * c->n_slices, sizeof(*c->self));
	c->covered_ns = calloc(c->n_slices + 1U, sizeof(*c->covered_ns));
	if (!number || !c->libraries || !c->self || !c->covered_ns)
		return -ENOMEM;
	int r = sp_identity_new(p, &same);
	if (r == 0)
		r = sum_rows(p, &same, value, number, c);
	sp_identity_done(&same);
	return r;
}

/* --- the chart --- */
/* by_library: self[] is ordered by library, as in a chart of rows. */
struct chart {
	struct sp_store_chart *c;
	bool by_library;
	uint32_t *order; /* libraries, largest self first */
};

static int64_t self_at(const struct chart *g, uint32_t library, uint32_t slice)
{
	const struct sp_store_chart *c = g->c;

	return g->by_library ? c->self[(size_t)library * c->n_slices + slice]
			     : c->self[(size_t)slice * c->n_libraries + library];
}

static int compare_libraries(const void *a, const void *b, void *arg)
{
	const struct sp_store_chart_library *all = arg;
	const struct sp_store_chart_library *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int order_libraries(struct chart *g)
{
	g->order = calloc(g->c->n_libraries + 1U, sizeof(*g->order));
	for (uint32_t i = 0; g->order && i < g->c->n_libraries; i++)
		g->order[i] = i;
	if (g->order && g->c->n_libraries > 1)
		qsort_r(g->order, g->c->n_libraries, sizeof(*g->order), compare_libraries, g->c->libraries);
	return g->order ? 0 : -ENOMEM;
}

/* CPU time in seconds; other values as they are. */
static double value_scale(const struct sp_store_chart *c)
{
	return strcmp(c->unit, "nanoseconds") == 0 ? 1e-9 : 1;
}

static void put_series(const struct chart *g, uint32_t first, uint32_t end, struct sp_json *j)
{
	double scale = value_scale(g->c), all = 0;

	sp_json_array(j, "series");
	for (uint32_t slice = 0; slice < g->c->n_slices; slice++) {
		double sum = 0;
		for (uint32_t i = first; i < end; i++)
			sum += (double)self_at(g, g->order[i], slice);
		all += sum;
		sp_json_format(j, NULL, "%.5g", sum * scale);
	}
	sp_json_end(j);
	sp_json_format(j, "self", "%.9g", all * scale);
}

static void put_libraries(const struct chart *g, struct sp_json *j)
{
	uint32_t n = g->c->n_libraries, n_shown = SP_MIN(n, (uint32_t)MAX_SERIES);
	struct sp_svg_palette palette = {.tinted = NULL};

	sp_json_array(j, "libraries");
	sp_json_lines(j);
	for (uint32_t i = 0; i < n_shown; i++) {
		const struct sp_store_chart_library *l = &g->c->libraries[g->order[i]];
		const char *name = *l->name ? l->name : "[no library]";
		bool is_kernel = !strcmp(name, "[kernel]");
		sp_json_object(j, NULL);
		sp_json_string(j, "name", name);
		sp_json_hex(j, "build_id", l->build_id, l->build_id_len);
		sp_svg_palette_add(&palette, name, is_kernel);
		sp_json_format(j, "colours", "[%u,%u]", sp_svg_palette_colour(&palette, name, is_kernel, false),
			       sp_svg_palette_colour(&palette, name, is_kernel, true));
		put_series(g, i, i + 1, j);
		sp_json_end(j);
	}
	sp_json_end(j);
	sp_json_object(sp_json_line(j), "other");
	sp_json_int(j, "n", n - n_shown);
	put_series(g, n_shown, n, j);
	sp_json_end(j);
	sp_json_line(j);
}

static void put_chart(const struct chart *g, struct sp_json *j)
{
	const struct sp_store_chart *c = g->c;
	bool is_time = strcmp(c->unit, "nanoseconds") == 0;

	sp_json_string(sp_json_line(j), "value", c->value);
	sp_json_string(j, "unit", is_time ? "seconds" : c->unit);
	sp_api_put_seconds(j, "start", c->from_ns);
	sp_api_put_seconds(j, "step", c->slice_ns);
	sp_json_int(j, "n", c->n_slices);
	sp_json_array(sp_json_line(j), "covered");
	for (uint32_t i = 0; i < c->n_slices; i++)
		sp_json_format(j, NULL, "%.4g", (double)c->covered_ns[i] / 1e9);
	sp_json_end(j);
	sp_json_line(j);
	put_libraries(g, j);
	sp_json_int(j, "format", 1);
	sp_json_line(j);
}

static uint64_t overlap_ns(uint64_t from_ns, uint64_t to_ns, const struct gap *gap)
{
	uint64_t from = SP_MAX(from_ns, gap->from_ns), to = SP_MIN(to_ns, gap->to_ns);

	return to > from ? to - from : 0;
}

/* Rows do not show when nothing ran: what the answer covers, and is in no gap, was sampled. */
static void cover_time(struct sp_store_chart *c, const struct sp_store_answer *answer, const struct events *l)
{
	for (uint32_t i = 0; i < c->n_slices; i++) {
		uint64_t from = c->from_ns + i * c->slice_ns, to = from + c->slice_ns;
		struct gap found = {answer->from_ns, answer->to_ns};
		uint64_t ns = overlap_ns(from, to, &found);
		for (size_t k = 0; k < l->n_gaps; k++)
			ns -= SP_MIN(ns, overlap_ns(from, to, &l->gaps[k]));
		c->covered_ns[i] = ns > 0 || !c->covered_ns[i] ? ns : c->slice_ns;
	}
}

/* --- the source of the chart --- */
static bool is_unfiltered(const struct sp_store_query *q)
{
	return q->all_users && !q->library && !q->function && !q->process && !q->cgroup;
}

/* The shortest step that gives at most ask->width points. */
static uint64_t choose_step(const struct sp_api_ask *ask)
{
	static const uint32_t minutes[] = {1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440};
	uint64_t range = ask->q.to_ns - ask->q.from_ns, step = 0;

	for (size_t i = 0; i < SP_COUNT(minutes); i++) {
		step = minutes[i] * MINUTE_NS;
		if (range / step < ask->width)
			return step;
	}
	while (range / step >= ask->width)
		step += 24 * HOUR_NS;
	return step;
}

/* A profile of some hours is of hourly windows, which are too coarse for a chart. */
static bool is_for_minutes(const struct sp_store_query *q)
{
	return q->to_ns - q->from_ns <= 8 * HOUR_NS;
}

/* Slices begin on full ten seconds, minutes or hours, at the answer's first window. */
static int chart_from_rows(const struct sp_api *a, const struct sp_api_ask *ask, struct chart *g,
			   struct sp_store_answer *ret_answer)
{
	static const uint64_t lengths_ns[] = {10 * SP_NS_PER_S, MINUTE_NS, HOUR_NS};
	struct sp_store_query q = ask->q;
	struct sp_profile *p = NULL;
	uint32_t value = 0;

	q.n_slices = SP_MIN(ask->width, 1000);
	q.by_minute = is_for_minutes(&q);
	if (a->fleet)
		a->fleet->filter.leaves_only = true;
	int r = sp_api_profile(a, &q, &p, ret_answer);
	if (r == 0)
		r = sp_api_value(p, ask->value, &value);
	g->by_library = true;
	g->c = r == 0 ? calloc(1, sizeof(*g->c)) : NULL;
	if (g->c) {
		uint64_t first = ret_answer->from_ns;
		int resolution = SP_MIN(SP_MAX(ret_answer->resolution, 0), SP_RES_1H);
		g->c->slice_ns = ret_answer->slice_ns ? ret_answer->slice_ns : lengths_ns[resolution];
		g->c->from_ns = first - first % lengths_ns[resolution];
		uint64_t end = SP_MAX(ret_answer->to_ns, g->c->from_ns + 1);
		g->c->n_slices = (uint32_t)SP_MIN((end - g->c->from_ns - 1) / g->c->slice_ns + 1, UINT64_C(4096));
		r = chart_of_rows(p, value, g->c);
	}
	sp_profile_free(p);
	return r == 0 && !g->c ? -ENOMEM : r;
}

static int chart_from_sums(const struct sp_api *a, const struct sp_api_ask *ask, struct chart *g,
			   struct sp_store_answer *ret_answer)
{
	return sp_store_chart(a->store, &ask->q, ask->value ? ask->value : "cpu", choose_step(ask), &g->c, ret_answer);
}

static int put_store(const struct sp_api *a, struct sp_json *j)
{
	struct sp_store_stats stats = {0};
	struct utsname machine = {.nodename = ""};
	int r = a->fleet ? 0 : sp_store_stats(a->store, &stats);

	if (r < 0)
		return r;
	uname(&machine);
	sp_json_string(j, "host", a->fleet ? sp_fleet_name(a->fleet->f) : machine.nodename);
	sp_api_put_seconds(j, "store_from", stats.first_ns);
	sp_api_put_seconds(j, "store_to", stats.last_end_ns);
	sp_api_put_seconds(j, "now", a->now_ns);
	return 0;
}

int sp_api_overview(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	bool by_sums = !a->fleet && is_unfiltered(&ask->q) && !ask->is_live && ask->q.to_ns - ask->q.from_ns > SHORT_NS;
	struct chart g = {0};
	struct sp_store_answer answer = {0};
	struct events l = {.a = a, .j = j};
	int r = by_sums ? chart_from_sums(a, ask, &g, &answer) : chart_from_rows(a, ask, &g, &answer);

	if (r == 0)
		r = order_libraries(&g);
	if (r == 0 && a->fleet) {
		const struct sp_fleet_slices slices = {g.c->from_ns, g.c->slice_ns, g.c->n_slices};
		r = sp_api_fleet_covered(a->fleet, &ask->q, &slices, g.c->covered_ns);
	}
	if (r == 0)
		r = put_store(a, j);
	if (r == 0) {
		sp_api_put_answer(ask, &answer, j);
		r = put_events(&l, ask->q.from_ns, ask->q.to_ns);
	}
	if (r == 0) {
		if (!by_sums && !a->fleet)
			cover_time(g.c, &answer, &l);
		put_chart(&g, j);
	}
	sp_store_chart_free(g.c);
	free(g.order);
	free(l.gaps);
	return r;
}
