/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls.c: see calls.h. */
#include "view/calls/calls.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/identity.h"
#include "profile/profile.h"
#include "profile/values.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_RATE_HZ = 1000000, USUAL_RATE_HZ = 100, MAX_TICKS = 50000000 };

struct ends {
	uint32_t library, func;
};
struct link {
	uint32_t from, to;
};

struct builder {
	const struct sp_profile *p;
	bool external;
	struct sp_identity same;
	int64_t *called; /* by library: number of calls to it; not 0 for targets */
	struct sp_intern *ends, *links;
	int64_t *times, *calls; /* by number of the above */
	size_t n_times, n_calls;
	uint32_t calls_value;
	int time_value; /* -1 = none */
	int64_t unit_ns;
};

/* --- which values --- */
/* The value that counts calls; -ENODATA: the profile has none. */
static int calls_value_index(const struct sp_profile *p)
{
	int value = sp_profile_find_value(p, "calls", NULL);

	if (value >= 0)
		return value;
	return sp_fail_said(-ENODATA, "no calls were counted in this profile; `soprof calls` counts them, and --format "
				      "callgrind shows what sampled stacks tell of callers");
}

static int64_t nanoseconds_in(const char *unit)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1000000}, {"seconds", 1000000000}};

	for (size_t i = 0; i < SP_COUNT(units); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* The time value: the one asked for, if it is a time, else the first one except "latency", the duration of calls. */
static void choose_time(struct builder *b, uint32_t wanted)
{
	uint32_t n = sp_profile_n_value_types(b->p);

	b->time_value = -1;
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_value_type *type = sp_profile_value_type(b->p, i);
		int64_t ns = nanoseconds_in(sp_profile_string(b->p, type->unit));

		if (!ns ||
		    (i != wanted && (b->time_value >= 0 || !strcmp(sp_profile_string(b->p, type->name), "latency"))))
			continue;
		b->time_value = (int)i;
		b->unit_ns = ns;
	}
}

/* --- rows to nodes and arcs --- */
/* The first frame from `at` on that is not inlined; the last frame in any case; NULL: none is left. */
static const struct sp_frame *frame_from(const struct sp_profile *p, const struct sp_stack *stack, uint32_t *at)
{
	for (; *at < stack->n_frames; (*at)++) {
		const struct sp_frame *f = sp_profile_frame(p, stack->frames[*at]);

		if (!(f->flags & SP_FRAMEF_INLINED) || *at + 1 == stack->n_frames)
			return f;
	}
	return NULL;
}

/* Whether it stands for a whole library: at its beginning, or named "[LIBRARY]". */
static bool is_whole(const struct builder *b, const struct sp_frame *f)
{
	const struct sp_func *func = sp_profile_func(b->p, f->func);
	const char *name = sp_profile_string(b->p, func->name);
	const char *library = sp_profile_string(b->p, sp_profile_file(b->p, f->file)->name);
	size_t n = strlen(library);

	if (*name == '[')
		return n && !strncmp(name + 1, library, n) && !strcmp(name + 1 + n, "]");
	return !f->offset && func->is_range;
}

static struct ends ends_of(const struct builder *b, uint32_t number, const struct sp_frame *f)
{
	struct ends e = {b->same.library_of[number], b->same.function_of[number]};

	if (is_whole(b, f))
		e.func = 0;
	if (b->external && !b->called[e.library])
		e = (struct ends){0};
	return e;
}

static int64_t node_of(struct builder *b, struct ends e)
{
	return sp_intern_add_to(b->ends, &e, sizeof(e), &b->times, &b->n_times, sizeof(*b->times), NULL);
}

static int add_arc(struct builder *b, int64_t from, int64_t to, int64_t calls)
{
	struct link l = {(uint32_t)from, (uint32_t)to};
	int64_t arc = sp_intern_add_to(b->links, &l, sizeof(l), &b->calls, &b->n_calls, sizeof(*b->calls), NULL);

	if (arc < 0)
		return (int)arc;
	sp_saturating_add(&b->calls[arc], calls);
	return 0;
}

static int calls_add_row(struct builder *b, const struct sp_row *row)
{
	struct sp_stack stack = sp_profile_stack(b->p, row->user);
	int64_t calls = row->values[b->calls_value], time = b->time_value < 0 ? 0 : row->values[b->time_value];
	uint32_t at = 0;
	const struct sp_frame *leaf = frame_from(b->p, &stack, &at), *caller;
	struct ends to, from = {0};
	int64_t to_node, from_node;

	if (!leaf || (calls <= 0 && (time <= 0 || !b->called[b->same.library_of[stack.frames[at]]])))
		return 0;
	to = ends_of(b, stack.frames[at], leaf);
	to_node = node_of(b, to);
	if (to_node < 0)
		return -ENOMEM;
	if (time > 0 && b->called[to.library])
		sp_saturating_add(&b->times[to_node],
				  __builtin_mul_overflow(time, b->unit_ns, &time) ? INT64_MAX : time);
	if (calls <= 0)
		return 0;
	at++;
	caller = frame_from(b->p, &stack, &at);
	if (caller)
		from = ends_of(b, stack.frames[at], caller);
	from_node = node_of(b, from);
	return from_node < 0 ? -ENOMEM : add_arc(b, from_node, to_node, calls);
}

static int find_targets(struct builder *b)
{
	b->called = calloc(sp_profile_n_files(b->p), sizeof(*b->called));
	if (!b->called)
		return -ENOMEM;
	for (uint32_t i = 0; i < sp_profile_n_rows(b->p); i++) {
		const struct sp_row *row = sp_profile_row(b->p, i);
		struct sp_stack stack = sp_profile_stack(b->p, row->user);
		uint32_t at = 0;

		if (row->values[b->calls_value] > 0 && frame_from(b->p, &stack, &at))
			sp_saturating_add(&b->called[b->same.library_of[stack.frames[at]]],
					  row->values[b->calls_value]);
	}
	return 0;
}

static int calls_build_rows(struct builder *b, const struct sp_view_options *o)
{
	int r = calls_value_index(b->p);

	if (r < 0)
		return r;
	b->calls_value = (uint32_t)r;
	choose_time(b, o->value);
	r = sp_identity_new(b->p, &b->same);
	if (r >= 0)
		r = find_targets(b);
	if (r >= 0)
		r = sp_intern_new(&b->ends);
	if (r >= 0)
		r = sp_intern_new(&b->links);
	for (uint32_t i = 0; r >= 0 && i < sp_profile_n_rows(b->p); i++)
		r = calls_add_row(b, sp_profile_row(b->p, i));
	return r;
}

static void builder_done(struct builder *b)
{
	sp_identity_done(&b->same);
	sp_intern_free(b->ends);
	sp_intern_free(b->links);
	free(b->called);
	free(b->times);
	free(b->calls);
}

/* --- the graph --- */
/* The name of a node that is no function of a target. */
static char *outside_name(const struct sp_profile *p, const struct ends *e)
{
	const char *library = sp_profile_string(p, sp_profile_file(p, e->library)->name);
	const struct sp_func *func = sp_profile_func(p, e->func);
	const char *name = sp_profile_string(p, func->name);
	char *text = NULL;
	int n;

	if (!e->func)
		n = *library ? asprintf(&text, "<%s>", library) : asprintf(&text, "<external>");
	else
		n = func->is_range || !*library ? asprintf(&text, "%s", name) : asprintf(&text, "%s:%s", library, name);
	return n < 0 ? NULL : text;
}

static char *calls_name_of(const struct builder *b, const struct ends *e)
{
	SP_FREE char *outside = b->called[e->library] && e->func ? NULL : outside_name(b->p, e);

	if (b->called[e->library] && e->func)
		return sp_encoded(SP_ENCODE_TERMINAL, sp_profile_string(b->p, sp_profile_func(b->p, e->func)->name));
	return outside ? sp_encoded(SP_ENCODE_TERMINAL, outside) : NULL;
}

static int fill_nodes(const struct builder *b, struct sp_call_graph *g)
{
	g->n_nodes = sp_intern_count(b->ends);
	g->nodes = calloc(g->n_nodes + 1, sizeof(*g->nodes));
	if (!g->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct ends *e = sp_intern_get(b->ends, (uint32_t)i, NULL);
		const struct sp_func *func = sp_profile_func(b->p, e->func);

		g->nodes[i] = (struct sp_call_node){.library = e->library,
						    .func = e->func,
						    .is_target = b->called[e->library] > 0 && (e->library || e->func),
						    .address = func->vaddr ? func->vaddr : func->start,
						    .size = func->size,
						    .time = b->times[i],
						    .name = calls_name_of(b, e)};
		if (!g->nodes[i].name)
			return -ENOMEM;
	}
	return 0;
}

struct order {
	const struct builder *b;
	const struct sp_call_graph *g;
};

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	const struct sp_call_node *l = &o->g->nodes[*(const uint32_t *)a], *r = &o->g->nodes[*(const uint32_t *)b];
	int by = SP_FALLING(l->is_target, r->is_target);

	if (!by && l->is_target)
		by = SP_FALLING(o->b->called[l->library], o->b->called[r->library])
		       ?: SP_RISING(l->library, r->library)
		       ?: SP_RISING(l->address, r->address);
	return by ?: strcmp(l->name, r->name) ?: SP_RISING(l->library, r->library) ?: SP_RISING(l->func, r->func);
}

/* new_of: from the builder's numbers to the graph's. */
static int sort_nodes(const struct builder *b, struct sp_call_graph *g, uint32_t **ret_new_of)
{
	struct order order = {b, g};
	SP_FREE uint32_t *old = calloc(g->n_nodes + 1, sizeof(*old)), *new_of = calloc(g->n_nodes + 1, sizeof(*new_of));
	struct sp_call_node *sorted = calloc(g->n_nodes + 1, sizeof(*sorted));

	if (!old || !new_of || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < g->n_nodes; i++)
		old[i] = i;
	qsort_r(old, g->n_nodes, sizeof(*old), compare_nodes, &order);
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		sorted[i] = g->nodes[old[i]];
		new_of[old[i]] = i;
	}
	free(g->nodes);
	g->nodes = sorted;
	*ret_new_of = sp_take_ptr(new_of);
	return 0;
}

static int compare_arcs(const void *a, const void *b)
{
	const struct sp_call_arc *l = a, *r = b;

	return SP_RISING(l->to, r->to) ?: SP_FALLING(l->calls, r->calls) ?: SP_RISING(l->from, r->from);
}

static int fill_arcs(const struct builder *b, const uint32_t *new_of, struct sp_call_graph *g)
{
	g->n_arcs = sp_intern_count(b->links);
	g->arcs = calloc(g->n_arcs + 1, sizeof(*g->arcs));
	if (!g->arcs)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_arcs; i++) {
		const struct link *l = sp_intern_get(b->links, i, NULL);

		g->arcs[i] = (struct sp_call_arc){new_of[l->from], new_of[l->to], b->calls[i]};
		sp_saturating_add(&g->nodes[g->arcs[i].to].calls, b->calls[i]);
	}
	qsort(g->arcs, g->n_arcs, sizeof(*g->arcs), compare_arcs);
	return 0;
}

/* --- time --- */
/* The duration of a sample: the profile's period, or its time divided by its samples; 0 = not known. */
static double period_of(const struct builder *b)
{
	const struct sp_profile_info *info = sp_profile_info(b->p);
	int64_t unit_ns = nanoseconds_in(sp_profile_string(b->p, info->period_type.unit));
	double period_ns = (double)info->period * (double)unit_ns, time = 0, samples = 0;

	if (period_ns > 0 || b->same.samples == UINT32_MAX)
		return period_ns;
	for (uint32_t i = 0; i < sp_profile_n_rows(b->p); i++) {
		const struct sp_row *row = sp_profile_row(b->p, i);

		time += (double)row->values[b->time_value] * (double)b->unit_ns;
		samples += (double)row->values[b->same.samples];
	}
	return samples > 0 ? time / samples : 0;
}

static uint32_t rate_of(const struct builder *b, double all_s)
{
	double period_ns = all_s > 0 ? period_of(b) : 0;
	uint32_t rate = DEFAULT_RATE_HZ;

	if (all_s <= 0) /* profil(2)'s usual rate */
		return USUAL_RATE_HZ;
	if (period_ns >= 1e3 && period_ns <= 1e9)
		rate = (uint32_t)lround(1e9 / period_ns);
	while (rate > 9 && all_s * rate > MAX_TICKS)
		rate /= 10;
	return rate;
}

static void fill_ticks(const struct builder *b, struct sp_call_graph *g)
{
	double all_s = 0;

	for (size_t i = 0; i < g->n_nodes; i++)
		all_s += (double)g->nodes[i].time / 1e9;
	g->rate_hz = rate_of(b, all_s);
	for (size_t i = 0; i < g->n_nodes; i++) {
		g->nodes[i].ticks = llround((double)g->nodes[i].time / 1e9 * g->rate_hz);
		sp_saturating_add(&g->ticks, g->nodes[i].ticks);
	}
}

int sp_call_graph_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_call_graph *ret_graph)
{
	struct builder b = {.p = p, .external = o->external};
	struct sp_call_graph g = {0};
	SP_FREE uint32_t *new_of = NULL;
	int r = calls_build_rows(&b, o);

	if (r >= 0)
		r = fill_nodes(&b, &g);
	if (r >= 0)
		r = sort_nodes(&b, &g, &new_of);
	if (r >= 0)
		r = fill_arcs(&b, new_of, &g);
	if (r >= 0)
		fill_ticks(&b, &g);
	builder_done(&b);
	if (r < 0)
		sp_call_graph_done(&g);
	else
		*ret_graph = g;
	return r < 0 ? r : 0;
}

void sp_call_graph_done(struct sp_call_graph *g)
{
	for (size_t i = 0; g->nodes && i < g->n_nodes; i++)
		free(g->nodes[i].name);
	free(g->nodes);
	free(g->arcs);
	*g = (struct sp_call_graph){0};
}
