/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gprof_graph.c: see gprof.h. Cycles are found by Tarjan's algorithm (Depth-first search and linear graph algorithms,
 * 1972) with a stack of its own, since a chain of calls may be as long as there are functions.
 */
#include "view/calls/gprof.h"

#include "base/mem.h"
#include "base/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- arcs by both ends --- */
static int sort_arcs(struct sp_gprof *p)
{
	const struct sp_call_graph *g = p->g;
	SP_FREE uint32_t *next = calloc(g->n_nodes + 1, sizeof(*next));

	p->first_out = calloc(g->n_nodes + 2, sizeof(*p->first_out));
	p->first_in = calloc(g->n_nodes + 2, sizeof(*p->first_in));
	p->out = calloc(g->n_arcs + 1, sizeof(*p->out));
	if (!next || !p->first_out || !p->first_in || !p->out)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_arcs; i++) {
		p->first_out[g->arcs[i].from + 1]++;
		p->first_in[g->arcs[i].to + 1]++;
	}
	for (size_t i = 0; i < g->n_nodes; i++) {
		p->first_out[i + 1] += p->first_out[i];
		p->first_in[i + 1] += p->first_in[i];
		next[i] = p->first_out[i];
	}
	for (uint32_t i = 0; i < g->n_arcs; i++)
		p->out[next[g->arcs[i].from]++] = i;
	return 0;
}

/* --- cycles --- */
struct visit {
	uint32_t node, next; /* the next arc, from the last to the first, as in gprof */
};
struct search {
	struct sp_gprof *p;
	uint32_t *number, *low, *head; /* head: by node, the first node visited of its cycle */
	uint32_t *open;                /* nodes whose cycle is not known yet */
	bool *is_open;
	struct visit *path;
	size_t n_open, n_path, n_numbers, n_orders;
};

static void enter(struct search *s, uint32_t node)
{
	s->number[node] = s->low[node] = (uint32_t)++s->n_numbers;
	s->open[s->n_open++] = node;
	s->is_open[node] = true;
	s->path[s->n_path++] = (struct visit){node, s->p->first_out[node + 1]};
}

/* All open nodes up to this one are a cycle. */
static void leave(struct search *s, uint32_t node)
{
	uint32_t member;

	s->n_orders++;
	do {
		member = s->open[--s->n_open];
		s->is_open[member] = false;
		s->head[member] = node;
		s->p->nodes[member].order = (uint32_t)s->n_orders;
	} while (member != node);
}

static void gprof_graph_visit(struct search *s)
{
	struct visit *v = &s->path[s->n_path - 1];
	uint32_t node = v->node, to;

	if (v->next > s->p->first_out[node]) {
		to = s->p->g->arcs[s->p->out[--v->next]].to;
		if (!s->number[to])
			enter(s, to);
		else if (s->is_open[to])
			s->low[node] = SP_MIN(s->low[node], s->number[to]);
		return;
	}
	if (s->low[node] == s->number[node])
		leave(s, node);
	s->n_path--;
	if (s->n_path)
		s->low[s->path[s->n_path - 1].node] = SP_MIN(s->low[s->path[s->n_path - 1].node], s->low[node]);
}

static void search_done(struct search *s)
{
	free(s->number);
	free(s->low);
	free(s->head);
	free(s->open);
	free(s->is_open);
	free(s->path);
}

/* Cycles are numbered by their heads. */
static int number_cycles(struct sp_gprof *p, const uint32_t *head)
{
	SP_FREE uint32_t *members = calloc(p->n_nodes + 1, sizeof(*members));

	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_nodes; i++)
		members[head[i]]++;
	for (size_t i = 0; i < p->n_nodes; i++)
		if (members[i] > 1)
			p->nodes[i].cycle = (uint32_t)++p->n_cycles;
	for (size_t i = 0; i < p->n_nodes; i++) {
		p->nodes[i].cycle = p->nodes[head[i]].cycle;
		p->nodes[sp_gprof_whole(p, (uint32_t)i)].cycle = p->nodes[i].cycle;
	}
	return 0;
}

static int find_cycles(struct sp_gprof *p)
{
	size_t n = p->n_nodes + 1;
	struct search s = {.p = p,
			   .number = calloc(n, sizeof(*s.number)),
			   .low = calloc(n, sizeof(*s.low)),
			   .head = calloc(n, sizeof(*s.head)),
			   .open = calloc(n, sizeof(*s.open)),
			   .is_open = calloc(n, sizeof(*s.is_open)),
			   .path = calloc(n, sizeof(*s.path))};
	int r = s.number && s.low && s.head && s.open && s.is_open && s.path ? 0 : -ENOMEM;

	for (uint32_t i = 0; r >= 0 && i < p->n_nodes; i++) {
		if (!s.number[i])
			enter(&s, i);
		while (s.n_path)
			gprof_graph_visit(&s);
	}
	if (r >= 0)
		r = number_cycles(p, s.head);
	search_done(&s);
	return r;
}

/* --- calls and time --- */
static void count_calls(struct sp_gprof *p)
{
	const struct sp_call_graph *g = p->g;

	for (size_t i = 0; i < g->n_arcs; i++) {
		const struct sp_call_arc *a = &g->arcs[i];
		uint32_t whole = sp_gprof_whole(p, a->to);

		if (a->from == a->to) {
			p->nodes[a->to].self_calls = a->calls;
			continue;
		}
		sp_saturating_add(&p->nodes[a->to].calls, a->calls);
		if (whole != a->to && sp_gprof_whole(p, a->from) == whole)
			sp_saturating_add(&p->nodes[whole].self_calls, a->calls);
		else if (whole != a->to)
			sp_saturating_add(&p->nodes[whole].calls, a->calls);
	}
}

static void take_own_time(struct sp_gprof *p)
{
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		uint32_t whole = sp_gprof_whole(p, i);

		p->nodes[i].self = (double)p->g->nodes[i].ticks;
		if (whole != i)
			p->nodes[whole].self += p->nodes[i].self;
	}
}

static void gather(struct sp_gprof *p, uint32_t node)
{
	uint32_t whole = sp_gprof_whole(p, node);

	for (uint32_t i = p->first_out[node + 1]; i > p->first_out[node]; i--) {
		uint32_t arc = p->out[i - 1], child = sp_gprof_whole(p, p->g->arcs[arc].to);
		double share;

		if (child == whole || !p->nodes[child].calls)
			continue;
		share = (double)p->g->arcs[arc].calls / (double)p->nodes[child].calls;
		p->arcs[arc].self = p->nodes[child].self * share;
		p->arcs[arc].child = p->nodes[child].child * share;
		p->nodes[node].child += p->arcs[arc].self + p->arcs[arc].child;
		if (whole != node)
			p->nodes[whole].child += p->arcs[arc].self + p->arcs[arc].child;
	}
}

static int compare_orders(const void *a, const void *b, void *arg)
{
	const struct sp_gprof *p = arg;
	uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	uint32_t left = p->nodes[l].order, right = p->nodes[r].order;

	return left != right ? (left > right) - (left < right) : (l > r) - (l < r);
}

/* Attributes time to callers, callees first. */
static void hand_up(struct sp_gprof *p)
{
	for (uint32_t i = 0; i < p->n_nodes; i++)
		p->by_index[i] = i;
	qsort_r(p->by_index, p->n_nodes, sizeof(*p->by_index), compare_orders, p);
	for (size_t i = 0; i < p->n_nodes; i++)
		gather(p, p->by_index[i]);
}

/* --- the order in which they are printed --- */
static int compare_totals(const void *a, const void *b, void *arg)
{
	const struct sp_gprof *p = arg;
	uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	const struct sp_gprof_node *left = &p->nodes[l], *right = &p->nodes[r];
	double diff = (left->self + left->child) - (right->self + right->child);
	const char *left_name, *right_name;
	int by;

	if (diff < 0 || diff > 0)
		return diff < 0 ? 1 : -1;
	if (sp_gprof_is_cycle(p, l) || sp_gprof_is_cycle(p, r))
		return sp_gprof_is_cycle(p, l) != sp_gprof_is_cycle(p, r) ? (sp_gprof_is_cycle(p, l) ? -1 : 1)
									  : (l > r) - (l < r);
	left_name = p->g->nodes[l].name;
	right_name = p->g->nodes[r].name;
	if ((*left_name == '_') != (*right_name == '_'))
		return *left_name == '_' ? 1 : -1;
	if (left->calls != right->calls)
		return left->calls > right->calls ? -1 : 1;
	by = strcmp(left_name, right_name);
	return by ? by : (l > r) - (l < r);
}

static void number_nodes(struct sp_gprof *p)
{
	size_t n = p->n_nodes + p->n_cycles;

	for (uint32_t i = 0; i < n; i++)
		p->by_index[i] = i;
	qsort_r(p->by_index, n, sizeof(*p->by_index), compare_totals, p);
	for (uint32_t i = 0; i < n; i++)
		p->nodes[p->by_index[i]].index = i + 1;
}

int sp_gprof_new(const struct sp_call_graph *g, struct sp_gprof *ret)
{
	struct sp_gprof p = {.g = g, .n_nodes = g->n_nodes};
	size_t most = g->n_nodes + g->n_nodes / 2 + 1; /* a cycle has at least two members */
	int r;

	p.nodes = calloc(most, sizeof(*p.nodes));
	p.by_index = calloc(most, sizeof(*p.by_index));
	p.arcs = calloc(g->n_arcs + 1, sizeof(*p.arcs));
	r = p.nodes && p.by_index && p.arcs ? sort_arcs(&p) : -ENOMEM;
	if (r >= 0)
		r = find_cycles(&p);
	if (r < 0) {
		sp_gprof_done(&p);
		return r;
	}
	count_calls(&p);
	take_own_time(&p);
	hand_up(&p);
	number_nodes(&p);
	*ret = p;
	return 0;
}

void sp_gprof_done(struct sp_gprof *p)
{
	free(p->nodes);
	free(p->arcs);
	free(p->first_out);
	free(p->out);
	free(p->first_in);
	free(p->by_index);
	*p = (struct sp_gprof){0};
}
