/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.c: questions to the store: windows planned, rows gathered, stacks folded, a profile made of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/files/scan.h"
#include "store/query/answer.h"
#include "store/query/answer_stacks.h"
#include "store/query/gather.h"
#include "store/query/plan.h"

/* So many stacks are shown as they are; of more, those with less than this share of all are shortened. */
enum { MANY_STACKS = 30000, LEAST_SHARE = 10000 };

/* What a dictionary's rows come to. */
struct share {
	struct sp_wanted wanted;
	double sum;
	size_t n_stacks;
};

static int measure(const struct sp_gathered *g, const struct sp_store_query *q, struct share *shares)
{
	int r = 0;

	for (size_t i = 0; i < g->n_dicts && r == 0; i++) {
		if (g->dicts[i]->is_tree)
			continue;
		r = sp_nodes_wanted(g->dicts[i], q, &shares[i].wanted);
		if (r == 0)
			r = sp_nodes_count(g, (uint32_t)i, &shares[i].wanted, MANY_STACKS + 1, &shares[i].sum,
					   &shares[i].n_stacks);
	}
	return r;
}

/*
 * Below which value stacks are shortened: 0 = none is. Of a stack that several dictionaries know each one sees a part:
 * what is rare in all of them has to be rare together. share: of all rows asked for, how many these may be.
 */
static double least_value(const struct share *shares, size_t n, double share)
{
	double sum = 0;
	size_t n_stacks = 0;

	for (size_t i = 0; i < n; i++) {
		sum += shares[i].sum;
		n_stacks += shares[i].n_stacks;
	}
	return (double)n_stacks <= MANY_STACKS * share ? 0 : SP_MAX(sum / LEAST_SHARE / (double)n, 1);
}

/* The rows gathered last become stacks of the answer. */
static int answer_add(struct sp_gathered *g, const struct sp_store_query *q, double share,
		      struct sp_answer_stacks *slots, struct sp_answer_writer *writer)
{
	SP_FREE struct share *shares = calloc(g->n_dicts + 1, sizeof(*shares));
	int r = shares == NULL ? -ENOMEM : measure(g, q, shares);
	double least = r < 0 || q->exact ? 0 : least_value(shares, g->n_dicts, share);

	for (size_t i = 0; i < g->n_dicts && r == 0; i++) {
		r = sp_answer_stacks_make(g, (uint32_t)i, &shares[i].wanted, least, slots);
		if (r == 0)
			r = sp_answer_add(writer, (uint32_t)i, slots);
	}
	for (size_t i = 0; i < g->n_dicts && shares != NULL; i++)
		sp_wanted_done(&shares[i].wanted);
	return r;
}

/* What part of the plan's rows these windows have. */
static double share_of(const struct sp_plan *plan, size_t first, size_t end)
{
	uint64_t all = 0, these = 0;

	for (size_t i = 0; i < plan->n_windows; i++) {
		all += plan->windows[i].n_rows;
		these += i >= first && i < end ? plan->windows[i].n_rows : 0;
	}
	return all == 0 ? 1 : (double)these / (double)all;
}

static int answer_make(struct sp_store *s, const struct sp_store_query *q, const struct sp_plan *plan,
		       struct sp_gathered *g, struct sp_answer_writer *writer)
{
	struct sp_answer_stacks slots = {0};
	int r = 0;

	for (size_t at = 0, first; at < plan->n_windows && r == 0;) {
		first = at;
		r = sp_gather(g, s, q, plan, &at);
		if (r == 0)
			r = sp_gathered_narrow(g);
		if (r == 0)
			r = answer_add(g, q, share_of(plan, first, at), &slots, writer);
		sp_gathered_forget(g);
	}
	sp_answer_stacks_done(&slots);
	return r;
}

/* Trees are of everything, whoever it is of, and of all of an hour or day. */
static bool may_be_rough(const struct sp_store_query *q)
{
	bool all = q->library == NULL && q->function == NULL && q->process == NULL && q->cgroup == NULL && q->all_users;

	return q->rough && !q->exact && all && q->resolution < 0 && q->n_slices == 0 &&
	       q->to_ns - q->from_ns >= SP_STORE_ROUGH_NS;
}

static int query_run(struct sp_store *s, const struct sp_store_query *q, struct sp_profile *into,
		     struct sp_store_answer *answer)
{
	struct sp_answer_writer *writer = NULL;
	struct sp_gathered g = {0};
	struct sp_plan plan = {0};
	int r = sp_plan_make(s, q, sp_plan_longest(q), &plan, answer);

	if (r == 0 && q->rough)
		r = sp_plan_take_days(&plan, s, q->source);
	if (r == 0) {
		sp_gather_begin(&g, q, &plan);
		r = sp_answer_new(&g, q->source, into, &writer);
	}
	if (r == 0)
		r = answer_make(s, q, &plan, &g, writer);
	if (r == 0)
		r = sp_answer_finish(writer, &answer->n_shortened);
	answer->n_damaged = g.n_damaged;
	answer->slice_ns = g.slice_ns;
	sp_answer_free(writer);
	sp_gathered_done(&g);
	sp_plan_done(&plan);
	return r;
}

int sp_store_query(struct sp_store *s, const struct sp_store_query *q, struct sp_profile *into,
		   struct sp_store_answer *ret_answer)
{
	struct sp_store_answer answer = {0};
	struct sp_store_query asked = *q;

	if (asked.source == NULL)
		asked.source = "cpu";
	asked.rough = may_be_rough(q);
	int r = query_run(s, &asked, into, &answer);
	if (r < 0)
		return r;
	struct sp_profile_info *info = sp_profile_info(into);
	info->time_ns = answer.from_ns;
	info->duration_ns = answer.covered_ns;
	*ret_answer = answer;
	return 0;
}
