/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gprof.c: counted calls as GNU gprof prints them with -b, for programs that read gprof's output: the flat profile, the
 * call graph, and the index of functions.
 *
 * The layout is that of gprof 2.40, column by column. Callers outside of the libraries that were counted have entries
 * of their own in the graph and in the index, as gprof -z gives them: who called whom is what the graph is for. So has
 * a cycle that nobody calls, which gprof forgets.
 */
#include "view/calls/gprof.h"

#include "base/mem.h"
#include "base/sum.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_WIDTH = 26, INDEX_COLUMNS = 3, NUMBER_WIDTH = 5 };

struct printer {
	const struct sp_call_graph *g;
	const struct sp_gprof *p;
	double hz;
	FILE *out;
};

/* --- the flat profile --- */
static int compare_flat(const void *a, const void *b, void *arg)
{
	const struct printer *pr = arg;
	uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	const struct sp_gprof_node *left = &pr->p->nodes[l], *right = &pr->p->nodes[r];
	int by;

	if (left->self < right->self || left->self > right->self)
		return left->self < right->self ? 1 : -1;
	if (left->calls != right->calls)
		return left->calls < right->calls ? 1 : -1;
	by = strcmp(pr->g->nodes[l].name, pr->g->nodes[r].name);
	return by ? by : (l > r) - (l < r);
}

/* The unit prefix by which the most expensive call is 1 to 1,000; without any time the first one, as in gprof. */
static char prefix_for(const struct printer *pr, double *ret_scale)
{
	static const char prefixes[] = "TGMK munpfa";
	double dearest_s = 0;
	size_t i = 0;

	for (size_t node = 0; node < pr->p->n_nodes; node++) {
		const struct sp_gprof_node *n = &pr->p->nodes[node];
		double each_s = n->calls ? (n->self + n->child) / (double)n->calls / pr->hz : 0;

		dearest_s = SP_MAX(dearest_s, each_s);
	}
	*ret_scale = 1e-12;
	for (; dearest_s > 0 && i + 2 < sizeof(prefixes) && dearest_s * *ret_scale < 1; i++)
		*ret_scale *= 1e3;
	return prefixes[i];
}

static void put_flat_head(const struct printer *pr, char prefix)
{
	char unit[] = {prefix, 's', '/', 'c', 'a', 'l', 'l', 0};

	fprintf(pr->out, "Flat profile:\n\nEach sample counts as %g seconds.\n", 1.0 / pr->hz);
	if (!pr->g->ticks)
		fputs(" no time accumulated\n\n", pr->out);
	fprintf(pr->out, "%5.5s %10.10s %8.8s %8.8s %8.8s %8.8s  %-8.8s\n", "%  ", "cumulative", "self  ", "", "self  ",
		"total ", "");
	fprintf(pr->out, "%5.5s %9.9s  %8.8s %8.8s %8.8s %8.8s  %-8.8s\n", "time", "seconds", "seconds", "calls", unit,
		unit, "name");
}

static void put_flat_line(const struct printer *pr, uint32_t node, double scale, double *so_far)
{
	const struct sp_gprof_node *n = &pr->p->nodes[node];
	double all = pr->g->ticks ? (double)pr->g->ticks : 1;

	if (!n->calls && n->self <= 0)
		return;
	*so_far += n->self;
	fprintf(pr->out, "%6.2f %9.2f %8.2f", 100 * n->self / all, *so_far / pr->hz, n->self / pr->hz);
	if (n->calls)
		fprintf(pr->out, " %8" PRId64 " %8.2f %8.2f  ", n->calls, scale * n->self / pr->hz / (double)n->calls,
			scale * (n->self + n->child) / pr->hz / (double)n->calls);
	else
		fprintf(pr->out, " %8.8s %8.8s %8.8s  ", "", "", "");
	fprintf(pr->out, "%s\n", pr->g->nodes[node].name);
}

static int put_flat(const struct printer *pr)
{
	SP_FREE uint32_t *order = calloc(pr->p->n_nodes + 1, sizeof(*order));
	double scale, so_far = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < pr->p->n_nodes; i++)
		order[i] = i;
	qsort_r(order, pr->p->n_nodes, sizeof(*order), compare_flat, (void *)(uintptr_t)pr);
	put_flat_head(pr, prefix_for(pr, &scale));
	for (size_t i = 0; i < pr->p->n_nodes; i++)
		put_flat_line(pr, order[i], scale, &so_far);
	return 0;
}

/* --- the call graph --- */
static void gprof_put_name(const struct printer *pr, uint32_t node)
{
	fputs(pr->g->nodes[node].name, pr->out);
	if (pr->p->nodes[node].cycle)
		fprintf(pr->out, " <cycle %" PRIu32 ">", pr->p->nodes[node].cycle);
	fprintf(pr->out, " [%" PRIu32 "]\n", pr->p->nodes[node].index);
}

enum rank { RANK_SELF, RANK_IN_CYCLE, RANK_OTHER };

static enum rank rank_of(const struct sp_gprof *p, const struct sp_call_arc *a)
{
	if (a->from == a->to)
		return RANK_SELF;
	return sp_gprof_whole(p, a->from) == sp_gprof_whole(p, a->to) ? RANK_IN_CYCLE : RANK_OTHER;
}

static int compare_arcs(const struct sp_gprof *p, uint32_t l, uint32_t r)
{
	const struct sp_call_arc *left = &p->g->arcs[l], *right = &p->g->arcs[r];
	enum rank left_rank = rank_of(p, left), right_rank = rank_of(p, right);
	double diff = p->arcs[l].self + p->arcs[l].child - (p->arcs[r].self + p->arcs[r].child);

	if (left_rank != right_rank)
		return left_rank < right_rank ? -1 : 1;
	if (left_rank == RANK_OTHER && (diff < 0 || diff > 0))
		return diff < 0 ? -1 : 1;
	return (left->calls > right->calls) - (left->calls < right->calls);
}

static int compare_parents(const void *a, const void *b, void *arg)
{
	uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	int by = compare_arcs(arg, l, r);

	return by ? by : (l > r) - (l < r);
}

static int compare_children(const void *a, const void *b, void *arg)
{
	uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	int by = compare_arcs(arg, r, l);

	return by ? by : (l > r) - (l < r);
}

/* The line of an arc: of a caller above the function, or of a callee below it. other: that caller or callee. */
static void put_arc(const struct printer *pr, uint32_t arc, uint32_t other)
{
	const struct sp_call_arc *a = &pr->g->arcs[arc];
	const struct sp_gprof_arc *time = &pr->p->arcs[arc];

	if (rank_of(pr->p, a) == RANK_OTHER)
		fprintf(pr->out, "%6.6s %5.5s %7.2f %7.2f %7" PRId64 "/%-7" PRId64 "     ", "", "", time->self / pr->hz,
			time->child / pr->hz, a->calls, pr->p->nodes[sp_gprof_whole(pr->p, a->to)].calls);
	else
		fprintf(pr->out, "%6.6s %5.5s %7.7s %7.7s %7" PRId64 " %7.7s     ", "", "", "", "", a->calls, "");
	gprof_put_name(pr, other);
}

static void put_parents(const struct printer *pr, uint32_t node, uint32_t *room)
{
	uint32_t n = 0;

	for (uint32_t i = pr->p->first_in[node]; i < pr->p->first_in[node + 1]; i++)
		room[n++] = i;
	if (!n)
		fprintf(pr->out, "%6.6s %5.5s %7.7s %7.7s %7.7s %7.7s     <spontaneous>\n", "", "", "", "", "", "");
	qsort_r(room, n, sizeof(*room), compare_parents, (void *)(uintptr_t)pr->p);
	for (uint32_t i = 0; i < n; i++)
		put_arc(pr, room[i], pr->g->arcs[room[i]].from);
}

static void put_children(const struct printer *pr, uint32_t node, uint32_t *room)
{
	uint32_t n = 0;

	for (uint32_t i = pr->p->first_out[node]; i < pr->p->first_out[node + 1]; i++)
		room[n++] = pr->p->out[i];
	qsort_r(room, n, sizeof(*room), compare_children, (void *)(uintptr_t)pr->p);
	for (uint32_t i = 0; i < n; i++)
		put_arc(pr, room[i], pr->g->arcs[room[i]].to);
}

/* "[12]    34.5    0.10    2.00", of a function or a cycle. */
static void put_self(const struct printer *pr, const struct sp_gprof_node *n)
{
	double all = pr->g->ticks ? (double)pr->g->ticks : 1;
	char number[16];

	snprintf(number, sizeof(number), "[%" PRIu32 "]", n->index);
	fprintf(pr->out, "%-6.6s %5.1f %7.2f %7.2f", number, 100 * (n->self + n->child) / all, n->self / pr->hz,
		n->child / pr->hz);
}

static void put_calls(const struct printer *pr, const struct sp_gprof_node *n)
{
	fprintf(pr->out, " %7" PRId64, n->calls);
	if (n->self_calls)
		fprintf(pr->out, "+%-7" PRId64, n->self_calls);
	else
		fprintf(pr->out, " %7.7s", "");
}

static void gprof_put_function(const struct printer *pr, uint32_t node, uint32_t *room)
{
	const struct sp_gprof_node *n = &pr->p->nodes[node];

	put_parents(pr, node, room);
	put_self(pr, n);
	if (n->calls || n->self_calls)
		put_calls(pr, n);
	else
		fprintf(pr->out, " %7.7s %7.7s", "", "");
	fputc(' ', pr->out);
	gprof_put_name(pr, node);
	put_children(pr, node, room);
}

static int compare_members(const void *a, const void *b, void *arg)
{
	const struct sp_gprof *p = arg;
	uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	const struct sp_gprof_node *left = &p->nodes[l], *right = &p->nodes[r];
	double diff = left->self + left->child - (right->self + right->child);
	int64_t left_calls = left->calls, right_calls = right->calls;

	if (diff < 0 || diff > 0)
		return diff < 0 ? 1 : -1;
	sp_saturating_add(&left_calls, left->self_calls);
	sp_saturating_add(&right_calls, right->self_calls);
	return left_calls != right_calls ? (left_calls < right_calls ? 1 : -1) : (l > r) - (l < r);
}

/* members: nodes, sorted by cycle. */
static void put_cycle(const struct printer *pr, uint32_t node, uint32_t *members, uint32_t n_members)
{
	const struct sp_gprof_node *whole = &pr->p->nodes[node];

	put_self(pr, whole);
	put_calls(pr, whole);
	fprintf(pr->out, " <cycle %" PRIu32 " as a whole> [%" PRIu32 "]\n", whole->cycle, whole->index);
	qsort_r(members, n_members, sizeof(*members), compare_members, (void *)(uintptr_t)pr->p);
	for (uint32_t i = 0; i < n_members; i++) {
		const struct sp_gprof_node *n = &pr->p->nodes[members[i]];

		fprintf(pr->out, "%6.6s %5.5s %7.2f %7.2f", "", "", n->self / pr->hz, n->child / pr->hz);
		put_calls(pr, n);
		fputs("     ", pr->out);
		gprof_put_name(pr, members[i]);
	}
}

/* Sorts nodes by cycle: members of a cycle are at ret_ends[cycle - 1] to ret_ends[cycle] in *ret_members. */
static int find_members(const struct sp_gprof *p, uint32_t **ret_members, uint32_t **ret_ends)
{
	uint32_t *members = calloc(p->n_nodes + 1, sizeof(*members)), *ends = calloc(p->n_cycles + 2, sizeof(*ends));

	if (!members || !ends) {
		free(members);
		free(ends);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].cycle)
			ends[p->nodes[i].cycle + 1]++;
	for (size_t i = 1; i < p->n_cycles + 2; i++)
		ends[i] += ends[i - 1];
	for (uint32_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].cycle)
			members[ends[p->nodes[i].cycle]++] = i;
	*ret_members = members;
	*ret_ends = ends;
	return 0;
}

static void put_graph_head(const struct printer *pr)
{
	double all = (double)pr->g->ticks;

	fputs("\f\n\t\t\tCall graph\n\n\ngranularity: each sample hit covers 2 byte(s)", pr->out);
	if (pr->g->ticks)
		fprintf(pr->out, " for %.2f%% of %.2f seconds\n\n", 100.0 / all, all / pr->hz);
	else
		fputs(" no time propagated\n\n", pr->out);
	fputs("index % time    self  children    called     name\n", pr->out);
}

static int put_graph(const struct printer *pr)
{
	const struct sp_gprof *p = pr->p;
	SP_FREE uint32_t *room = calloc(p->g->n_arcs + 1, sizeof(*room)), *members = NULL, *ends = NULL;
	int r = room ? find_members(p, &members, &ends) : -ENOMEM;

	if (r < 0)
		return r;
	put_graph_head(pr);
	for (size_t i = 0; i < p->n_nodes + p->n_cycles; i++) {
		uint32_t node = p->by_index[i], cycle = p->nodes[node].cycle;

		if (sp_gprof_is_cycle(p, node))
			put_cycle(pr, node, members + ends[cycle - 1], ends[cycle] - ends[cycle - 1]);
		else
			gprof_put_function(pr, node, room);
		fputs("-----------------------------------------------\n", pr->out);
	}
	return 0;
}

/* --- the index --- */
static int compare_names(const void *a, const void *b, void *arg)
{
	const struct sp_gprof *p = arg;
	uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;
	int by = sp_gprof_is_cycle(p, l) - sp_gprof_is_cycle(p, r);

	if (!by && !sp_gprof_is_cycle(p, l))
		by = strcmp(p->g->nodes[l].name, p->g->nodes[r].name);
	return by ? by : (l > r) - (l < r);
}

/* Columns are counted as gprof does it: without the spaces around the number. */
static void put_index_entry(const struct printer *pr, uint32_t node, size_t start, size_t *column)
{
	char number[16], cycle[32];
	const char *name = cycle;

	snprintf(cycle, sizeof(cycle), "<cycle %" PRIu32 ">", pr->p->nodes[node].cycle);
	if (!sp_gprof_is_cycle(pr->p, node))
		name = pr->g->nodes[node].name;
	*column += (size_t)snprintf(number, sizeof(number), "[%" PRIu32 "]", pr->p->nodes[node].index);
	for (; *column < start + NUMBER_WIDTH; (*column)++)
		fputc(' ', pr->out);
	fprintf(pr->out, " %s %s", number, name);
	*column += strlen(name);
}

static void put_index(const struct printer *pr)
{
	size_t n = pr->p->n_nodes + pr->p->n_cycles, n_rows = (n + INDEX_COLUMNS - 1) / INDEX_COLUMNS;
	uint32_t *order = pr->p->by_index; /* not needed any more */

	qsort_r(order, n, sizeof(*order), compare_names, (void *)(uintptr_t)pr->p);
	fputs("\f\nIndex by function name\n\n", pr->out);
	for (size_t row = 0; row < n_rows; row++) {
		size_t column = 0, start = 0;

		for (size_t i = row; i < n; i += n_rows, start += INDEX_WIDTH)
			put_index_entry(pr, order[i], start, &column);
		fputc('\n', pr->out);
	}
}

static int gprof_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_call_graph g = {0};
	struct sp_gprof gprof = {0};
	struct printer pr = {&g, &gprof, 1, out};
	int r = sp_call_graph_new(p, o, &g);

	if (r >= 0)
		r = sp_gprof_new(&g, &gprof);
	pr.hz = g.rate_hz;
	if (r >= 0)
		r = put_flat(&pr);
	if (r >= 0)
		r = put_graph(&pr);
	if (r >= 0)
		put_index(&pr);
	sp_gprof_done(&gprof);
	sp_call_graph_done(&g);
	return r;
}

const struct sp_view sp_view_gprof = {
    .name = "gprof",
    .suffix = ".gprof",
    .mime = "text/plain; charset=utf-8",
    .summary = "counted calls as GNU gprof -b prints them",
    .calls = true,
    .write = gprof_write,
};
