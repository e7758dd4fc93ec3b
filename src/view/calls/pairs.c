/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pairs.c: who called whom and how often, one line a pair, in the columns of glibc's sprof -c.
 *
 * Where sprof has <UNKNOWN> there is the caller's name, and the pairs with most calls come first. Columns are as wide
 * as sprof's, and longer names push what follows them to the right.
 */
#include "view/calls/calls.h"

#include "base/search.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const struct sp_call_arc *l = a, *r = b;

	return SP_FALLING(l->calls, r->calls) ?: SP_RISING(l->from, r->from) ?: SP_RISING(l->to, r->to);
}

static int pairs_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_call_graph g;
	int r = sp_call_graph_new(p, o, &g);

	if (r < 0)
		return r;
	qsort(g.arcs, g.n_arcs, sizeof(*g.arcs), compare);
	for (size_t i = 0; i < g.n_arcs; i++)
		fprintf(out, "%-34s %-34s %9" PRId64 "\n", g.nodes[g.arcs[i].from].name, g.nodes[g.arcs[i].to].name,
			g.arcs[i].calls);
	sp_call_graph_done(&g);
	return 0;
}

const struct sp_view sp_view_pairs = {
    .name = "pairs",
    .suffix = ".pairs",
    .mime = "text/plain; charset=utf-8",
    .summary = "counted calls by caller and callee, as sprof -c prints them",
    .calls = true,
    .write = pairs_write,
};
