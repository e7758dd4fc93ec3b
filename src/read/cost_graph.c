/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/callgrind.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "read/named.h"
#include "read/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The least that a caller is given is 1/LEAST of the whole. A stack of more than MAX_DEPTH functions is cut. */
enum { LEAST = 100000, MAX_DEPTH = 1024, N = SP_CALLGRIND_MAX_EVENTS };
#define NOBODY UINT32_MAX

struct function {
	int64_t own[N];
	uint32_t frame;
	uint32_t first_call, n_calls; /* those that it is the callee of */
	uint32_t way, n_away;         /* the caller on the shortest way to a root, and how long that is; NOBODY: none */
	uint32_t n_on_path;
	bool is_root, is_none;
};
struct call_ends {
	uint32_t to, from;
};
struct call {
	struct call_ends ends;
	int64_t calls, costs[N];
	double owed[N]; /* of what went up from the callee, what its share was and has not been given yet */
};

struct sp_cost_graph {
	struct sp_profile *p;
	struct sp_intern *names, *ends;
	struct function *functions;
	struct call *calls; /* sorted by callee in the end */
	size_t function_capacity, call_capacity;
	uint32_t n_functions, n_calls, n_events;
	int64_t least[N];
	uint32_t frames[MAX_DEPTH]; /* leaf first */
	size_t depth;
};

int sp_cost_graph_new(struct sp_profile *p, struct sp_cost_graph **ret_graph)
{
	struct sp_cost_graph *g = calloc(1, sizeof(*g));
	int r = g ? sp_intern_new(&g->names) : -ENOMEM;

	if (r >= 0)
		r = sp_intern_new(&g->ends);
	if (r < 0) {
		sp_cost_graph_free(g);
		return r;
	}
	g->p = p;
	*ret_graph = g;
	return 0;
}

void sp_cost_graph_free(struct sp_cost_graph *g)
{
	if (!g)
		return;
	sp_intern_free(g->names);
	sp_intern_free(g->ends);
	free(g->functions);
	free(g->calls);
	free(g);
}

/* --- functions and calls --- */
/* Valgrind's "fib'2" is fib, called by itself. */
static char *name_without_level(const char *name)
{
	const char *quote = strrchr(name, '\'');
	size_t n = strlen(name);

	if (quote && quote > name && quote[1] && quote[1 + strspn(quote + 1, "0123456789")] == 0)
		n = (size_t)(quote - name);
	return strndup(name, n);
}

/* A function without a name is "<libz.so.1>" in what soprof writes. */
static bool is_nameless(const char *name, const char *object)
{
	const char *last = strrchr(object, '/');
	size_t n = strlen(name);

	last = last ? last + 1 : object;
	return n > 2 && *name == '<' && name[n - 1] == '>' && strlen(last) == n - 2 && !strncmp(name + 1, last, n - 2);
}

static int64_t frame_add(struct sp_cost_graph *g, const struct sp_cost_function *f)
{
	const char *object = sp_profile_string(g->p, f->object), *name = sp_profile_string(g->p, f->name);
	SP_FREE char *file = strdup(object), *source = strdup(sp_profile_string(g->p, f->source));
	SP_FREE char *bare = is_nameless(name, object) ? strdup("") : name_without_level(name);
	struct sp_read_named named = {.name = bare, .file = file, .source = source};

	return file && source && bare ? sp_read_named_frame(g->p, &named) : -ENOMEM;
}

int64_t sp_cost_graph_function(struct sp_cost_graph *g, const struct sp_cost_function *function, bool is_root,
			       bool is_none)
{
	bool is_new;
	int64_t number = sp_intern_add_to(g->names, function, sizeof(*function), &g->functions, &g->function_capacity,
					  sizeof(*g->functions), &is_new);
	int64_t frame = number >= 0 && is_new && !is_root && !is_none ? frame_add(g, function) : 0;

	if (number < 0 || frame < 0)
		return number < 0 ? number : frame;
	if (is_new) {
		g->functions[number].frame = (uint32_t)frame;
		g->functions[number].is_root = is_root;
		g->functions[number].is_none = is_none;
		g->n_functions++;
	}
	return number;
}

void sp_cost_graph_add_own(struct sp_cost_graph *g, uint32_t function, const int64_t *costs)
{
	for (uint32_t e = 0; e < N; e++)
		sp_saturating_add(&g->functions[function].own[e], costs[e]);
}

int sp_cost_graph_add_call(struct sp_cost_graph *g, uint32_t from, uint32_t to, int64_t calls, const int64_t *costs)
{
	const struct call_ends ends = {to, from};
	bool is_new;
	int64_t number =
	    sp_intern_add_to(g->ends, &ends, sizeof(ends), &g->calls, &g->call_capacity, sizeof(*g->calls), &is_new);
	struct call *call;

	if (number < 0)
		return (int)number;
	call = &g->calls[number];
	call->ends = ends;
	g->n_calls += is_new;
	sp_saturating_add(&call->calls, calls);
	for (uint32_t e = 0; e < N; e++)
		sp_saturating_add(&call->costs[e], costs[e]);
	return 0;
}

/* --- the graph --- */
static int by_callee(const void *left, const void *right)
{
	const struct call_ends *a = &((const struct call *)left)->ends, *b = &((const struct call *)right)->ends;

	return SP_RISING(a->to, b->to) ?: SP_RISING(a->from, b->from);
}

static void calls_sort(struct sp_cost_graph *g)
{
	if (g->n_calls)
		qsort(g->calls, g->n_calls, sizeof(*g->calls), by_callee);
	for (uint32_t i = g->n_calls; i-- > 0;) {
		struct function *f = &g->functions[g->calls[i].ends.to];

		f->first_call = i;
		f->n_calls++;
	}
}

static bool is_called(const struct sp_cost_graph *g, const struct function *f)
{
	for (uint32_t i = 0; i < f->n_calls; i++)
		if (g->calls[f->first_call + i].ends.from != g->calls[f->first_call].ends.to)
			return true;
	return false;
}

/* How far each function is from one that nobody calls. */
static void ways_find(struct sp_cost_graph *g)
{
	bool changed = true;

	for (uint32_t i = 0; i < g->n_functions; i++) {
		struct function *f = &g->functions[i];

		f->way = NOBODY;
		f->n_away = is_called(g, f) ? NOBODY : 0;
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < g->n_calls; i++) {
			const struct function *from = &g->functions[g->calls[i].ends.from];
			struct function *to = &g->functions[g->calls[i].ends.to];

			if (from->n_away == NOBODY || to->n_away <= from->n_away + 1)
				continue;
			to->n_away = from->n_away + 1;
			to->way = g->calls[i].ends.from;
			changed = true;
		}
	}
}

static void least_set(struct sp_cost_graph *g)
{
	for (uint32_t e = 0; e < N; e++) {
		int64_t sum = 0;

		for (uint32_t i = 0; i < g->n_functions; i++)
			sp_saturating_add(&sum, g->functions[i].own[e] < 0 ? 0 : g->functions[i].own[e]);
		g->least[e] = SP_MAX(sum / LEAST, 1);
	}
}

/* --- rows --- */
static int row_add(struct sp_cost_graph *g, const int64_t *costs, bool is_guessed, bool is_cut)
{
	struct sp_read_path path = {.frames = g->frames,
				    .n = g->depth,
				    .leaf_first = true,
				    .is_guessed = is_guessed && !is_cut,
				    .is_cut = is_cut};
	int64_t values[SP_MAX_VALUES] = {0};

	memcpy(values, costs, g->n_events * sizeof(*values));
	return sp_read_path_add(g->p, 0, &path, values);
}

static bool is_candidate(const struct sp_cost_graph *g, const struct call *call)
{
	return !g->functions[call->ends.from].n_on_path && call->ends.from != call->ends.to;
}

/* Adds each candidate's share of the costs to what it is owed. Which of them is owed most; NOBODY: there are none. */
static uint32_t owed_add(struct sp_cost_graph *g, const struct function *f, const int64_t *costs, uint32_t *ret_n)
{
	double all[N] = {0}, all_calls = 0, most = -1;
	uint32_t heaviest = NOBODY, n = 0;

	for (uint32_t i = 0; i < f->n_calls; i++) {
		const struct call *call = &g->calls[f->first_call + i];

		if (!is_candidate(g, call))
			continue;
		n++;
		all_calls += (double)SP_MAX(call->calls, 1);
		for (uint32_t e = 0; e < g->n_events; e++)
			all[e] += (double)SP_MAX(call->costs[e], 0);
	}
	for (uint32_t i = 0; i < f->n_calls; i++) {
		struct call *call = &g->calls[f->first_call + i];
		double owed = 0;

		if (!is_candidate(g, call))
			continue;
		for (uint32_t e = 0; e < g->n_events; e++) {
			double share = all[e] > 0 ? (double)SP_MAX(call->costs[e], 0) / all[e]
						  : (double)SP_MAX(call->calls, 1) / all_calls;

			call->owed[e] += (double)costs[e] * share;
			owed += call->owed[e] / (double)g->least[e];
		}
		if (heaviest == NOBODY || owed > most) {
			most = owed;
			heaviest = f->first_call + i;
		}
	}
	*ret_n = n;
	return heaviest;
}

/* Takes what this caller is owed from what is left, if it is worth a row of its own. */
static bool part_take(const struct sp_cost_graph *g, struct call *call, int64_t *left, int64_t *ret_part)
{
	bool is_worth = false;

	for (uint32_t e = 0; e < g->n_events; e++) {
		double owed = SP_MIN(SP_MAX(call->owed[e], 0), (double)SP_MAX(left[e], 0));

		ret_part[e] = SP_MIN((int64_t)SP_MIN(owed, 0x1p62), SP_MAX(left[e], 0));
		is_worth |= ret_part[e] >= g->least[e];
	}
	for (uint32_t e = 0; is_worth && e < g->n_events; e++) {
		left[e] -= ret_part[e];
		call->owed[e] -= (double)ret_part[e];
	}
	return is_worth;
}

static int go_up(struct sp_cost_graph *g, uint32_t number, const int64_t *costs, bool is_guessed);

static int callers_share(struct sp_cost_graph *g, const struct function *f, const int64_t *costs, bool is_guessed)
{
	int64_t left[N], part[N];
	uint32_t n, heaviest = owed_add(g, f, costs, &n);
	int r = 0;

	if (heaviest == NOBODY) /* all callers are on the path already */
		return f->way == NOBODY ? row_add(g, costs, is_guessed, false) : go_up(g, f->way, costs, true);
	memcpy(left, costs, sizeof(left));
	for (uint32_t i = f->first_call; r >= 0 && i < f->first_call + f->n_calls; i++)
		if (i != heaviest && is_candidate(g, &g->calls[i]) && part_take(g, &g->calls[i], left, part))
			r = go_up(g, g->calls[i].ends.from, part, true);
	for (uint32_t e = 0; e < g->n_events; e++)
		g->calls[heaviest].owed[e] -= (double)left[e];
	return r < 0 ? r : go_up(g, g->calls[heaviest].ends.from, left, is_guessed || n > 1);
}

static bool are_nothing(const struct sp_cost_graph *g, const int64_t *costs)
{
	for (uint32_t e = 0; e < g->n_events; e++)
		if (costs[e])
			return false;
	return true;
}

/* These costs were caused by this function, below all that are on the path. */
static int go_up(struct sp_cost_graph *g, uint32_t number, const int64_t *costs, bool is_guessed)
{
	struct function *f = &g->functions[number];
	int r;

	if (are_nothing(g, costs))
		return 0;
	if (f->is_root || f->is_none)
		return row_add(g, costs, is_guessed, false);
	if (g->depth == MAX_DEPTH)
		return row_add(g, costs, is_guessed, true);
	g->frames[g->depth++] = f->frame;
	f->n_on_path++;
	r = callers_share(g, f, costs, is_guessed);
	f->n_on_path--;
	g->depth--;
	return r;
}

/* Numbers of calls are rows of two functions, which cost nothing else. */
static int calls_add(struct sp_cost_graph *g, int calls_value)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < g->n_calls; i++) {
		const struct call *call = &g->calls[i];
		const struct function *from = &g->functions[call->ends.from], *to = &g->functions[call->ends.to];
		const uint32_t frames[] = {from->frame, to->frame};
		struct sp_read_path path = {.frames = frames, .n = 2};
		int64_t values[SP_MAX_VALUES] = {0};

		values[calls_value] = call->calls;
		if (call->calls > 0 && from->frame && to->frame)
			r = sp_read_path_add(g->p, 0, &path, values);
	}
	return r;
}

int sp_cost_graph_finish(struct sp_cost_graph *g, const struct sp_input *in, uint32_t n_events, int calls_value)
{
	int r = 0;

	g->n_events = n_events;
	calls_sort(g);
	ways_find(g);
	least_set(g);
	for (uint32_t i = 0; r >= 0 && i < g->n_functions; i++) {
		r = go_up(g, i, g->functions[i].own, false);
		if (r >= 0)
			r = sp_input_check_memory(in);
	}
	return r >= 0 && calls_value >= 0 ? calls_add(g, calls_value) : r;
}
