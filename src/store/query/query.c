/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query.c: sp_store_query(), sp_store_intervals() and sp_stored_intervals(): plan, gather, narrow, choose stacks, make
 * a profile; or give the rows as they are.
 */
#include "base/error.h"
#include "base/mem.h"
#include "store/files/scan.h"
#include "store/intervals.h"
#include "store/query/answer.h"
#include "store/query/answer_stacks.h"
#include "store/query/gather.h"
#include "store/query/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Up to MANY_STACKS no stack is shortened; above, those below 1/LEAST_SHARE of the sum. */
enum { MANY_STACKS = 30000, LEAST_SHARE = 10000 };

/* Sum and stacks of the rows of a dictionary. */
struct dict_share {
	struct sp_wanted wanted;
	double sum;
	size_t n_stacks;
};

static int measure_dicts(const struct sp_gathered *g, const struct sp_store_query *q, struct dict_share *shares)
{
	int r = 0;

	for (size_t i = 0; i < g->n_dicts && r == 0; i++) {
		if (g->dicts[i]->is_tree)
			continue;
		r = sp_match_nodes(g->dicts[i], q, &shares[i].wanted);
		if (r == 0)
			r = sp_count_wanted_nodes(g, (uint32_t)i, &shares[i].wanted, MANY_STACKS + 1, &shares[i].sum,
						  &shares[i].n_stacks);
	}
	return r;
}

/*
 * The value below which stacks are shortened; 0: none is. Divided by the number of dictionaries, since each has only a
 * part of a stack's rows. share: of all rows of the plan.
 */
static double shorten_limit(const struct dict_share *shares, size_t n, double share)
{
	double sum = 0;
	size_t n_stacks = 0;

	for (size_t i = 0; i < n; i++) {
		sum += shares[i].sum;
		n_stacks += shares[i].n_stacks;
	}
	return (double)n_stacks <= MANY_STACKS * share ? 0 : SP_MAX(sum / LEAST_SHARE / (double)n, 1);
}

/* Adds the rows gathered last to the answer. */
static int add_gathered_rows(struct sp_gathered *g, const struct sp_store_query *q, double share,
			     struct sp_answer_stacks *slots, struct sp_answer_writer *writer)
{
	SP_FREE struct dict_share *shares = calloc(g->n_dicts + 1, sizeof(*shares));
	int r = !shares ? -ENOMEM : measure_dicts(g, q, shares);
	double least = r < 0 || q->exact ? 0 : shorten_limit(shares, g->n_dicts, share);

	for (size_t i = 0; i < g->n_dicts && r == 0; i++) {
		r = sp_answer_stacks_make(g, (uint32_t)i, &shares[i].wanted, least, slots);
		if (r == 0)
			r = sp_answer_add(writer, (uint32_t)i, slots);
	}
	for (size_t i = 0; i < g->n_dicts && shares; i++)
		sp_wanted_done(&shares[i].wanted);
	return r;
}

/* The share of the plan's rows in these windows. */
static double row_share(const struct sp_plan *plan, size_t first, size_t end)
{
	uint64_t all = 0, these = 0;

	for (size_t i = 0; i < plan->n_windows; i++) {
		all += plan->windows[i].n_rows;
		these += i >= first && i < end ? plan->windows[i].n_rows : 0;
	}
	return all == 0 ? 1 : (double)these / (double)all;
}

static int make_answer(struct sp_store *s, const struct sp_store_query *q, const struct sp_plan *plan,
		       struct sp_gathered *g, struct sp_answer_writer *writer)
{
	struct sp_answer_stacks slots = {0};
	int r = 0;

	for (size_t at = 0, first; at < plan->n_windows && r == 0;) {
		first = at;
		r = sp_gather(g, s, q, plan, &at);
		if (r == 0)
			r = sp_gathered_narrow(g, s);
		if (r == 0)
			r = add_gathered_rows(g, q, row_share(plan, first, at), &slots, writer);
		sp_gathered_release(g);
	}
	sp_answer_stacks_done(&slots);
	return r;
}

/* Pruned trees cannot be filtered and cover whole hours. */
static bool may_be_rough(const struct sp_store_query *q)
{
	bool all = !q->library && !q->function && !q->process && !q->cgroup && q->all_users;

	return q->rough && !q->exact && all && q->resolution < 0 && q->n_slices == 0 &&
	       q->to_ns - q->from_ns >= SP_STORE_ROUGH_NS;
}

/* --- intervals --- */
struct intervals {
	uint64_t from_ns, length_ns; /* length 0: none */
	struct sp_store_interval *all;
	size_t n;
	uint64_t max_rows; /* 0 = any number */
	size_t *ret_n;     /* NULL = nobody asks */
};

static uint64_t interval_of(const struct intervals *in, const struct sp_plan_window *w)
{
	return (w->from_ns - in->from_ns) / in->length_ns;
}

/* How many intervals have no more rows than are wanted at once; with at least one that has rows. */
static size_t intervals_at_once(const struct intervals *in, const struct sp_plan *plan)
{
	uint64_t before = 0, here = 0, at = 0;

	for (size_t i = 0; i < plan->n_windows && in->max_rows; i++) {
		uint64_t number = interval_of(in, &plan->windows[i]);
		before += number > at ? here : 0;
		here = (number > at ? 0 : here) + plan->windows[i].n_rows;
		at = SP_MAX(at, number);
		if (before && before + here > in->max_rows)
			return at;
	}
	return in->n;
}

/* Leaves what is not read now out of the plan. */
static void intervals_limit(const struct intervals *in, struct sp_plan *plan)
{
	size_t n_at_once, n = 0;

	if (!in->length_ns)
		return;
	n_at_once = intervals_at_once(in, plan);
	for (size_t i = 0; i < plan->n_windows; i++)
		if (interval_of(in, &plan->windows[i]) < n_at_once)
			plan->windows[n++] = plan->windows[i];
	plan->n_windows = n;
	if (in->ret_n)
		*in->ret_n = n_at_once;
}

/* Each is a slice, also where windows are longer: they belong to the slice in which they begin. */
static void lay_out_intervals(const struct intervals *in, const struct sp_plan *plan, struct sp_gathered *g)
{
	if (!in->length_ns)
		return;
	g->first_ns = in->from_ns;
	g->slice_ns = in->length_ns;
	for (size_t i = 0; i < plan->n_windows; i++) {
		const struct sp_plan_window *w = &plan->windows[i];
		uint64_t number = interval_of(in, w);
		in->all[number].n_windows++;
		in->all[number].covered_ns += w->covered_ns;
		in->all[number].n_lost += w->n_lost;
	}
}

/* --- all --- */
/* What is made of the rows. */
struct output {
	struct sp_profile *profile;
	const struct sp_stored_reader *reader; /* in place of a profile; NULL = none */
};

static int visit_all(struct sp_store *s, const struct sp_store_query *q, const struct sp_plan *plan,
		     struct sp_gathered *g, const struct sp_stored_reader *reader)
{
	uint64_t n_dicts = 0;
	int r = 0;

	g->types_of_all = g->one_dict = true;
	for (size_t at = 0; at < plan->n_windows && r == 0;) {
		r = sp_gather_narrowed(g, s, q, plan, &at);
		if (r == 0)
			r = sp_gathered_visit(g, n_dicts, reader);
		n_dicts += g->n_dicts;
		sp_gathered_release(g);
	}
	return r;
}

static int make_profile(struct sp_store *s, const struct sp_store_query *q, const struct sp_plan *plan,
			struct sp_gathered *g, struct sp_profile *into, struct sp_store_answer *answer)
{
	struct sp_answer_writer *writer = NULL;
	int r = sp_answer_new(g, q->source, into, &writer);

	if (r == 0)
		r = make_answer(s, q, plan, g, writer);
	if (r == 0)
		r = sp_answer_finish(writer, &answer->n_shortened);
	sp_answer_free(writer);
	return r;
}

static int run_query(struct sp_store *s, const struct sp_store_query *q, const struct intervals *in,
		     const struct output *out, struct sp_store_answer *answer)
{
	struct sp_gathered g = {0};
	struct sp_plan plan = {0};
	int r = sp_plan_make(s, q, sp_plan_coarsest(q), &plan, answer);

	if (r == 0 && q->rough)
		r = sp_plan_use_days(&plan, s, q->source);
	if (r == 0) {
		intervals_limit(in, &plan);
		sp_gather_begin(&g, q, &plan);
		lay_out_intervals(in, &plan, &g);
		r = out->reader ? visit_all(s, q, &plan, &g, out->reader)
				: make_profile(s, q, &plan, &g, out->profile, answer);
	}
	answer->n_damaged = g.n_damaged;
	answer->n_incomplete = g.n_incomplete;
	answer->n_salvaged = g.n_salvaged;
	answer->slice_ns = g.slice_ns;
	sp_gathered_done(&g);
	sp_plan_done(&plan);
	return r;
}

static int answer_query(struct sp_store *s, const struct sp_store_query *q, const struct intervals *in,
			const struct output *out, struct sp_store_answer *ret_answer)
{
	struct sp_store_answer answer = {0};
	struct sp_store_query resolved = *q;

	if (!resolved.source)
		resolved.source = "cpu";
	resolved.rough = may_be_rough(q);
	int r = run_query(s, &resolved, in, out, &answer);
	if (r < 0)
		return r;
	if (out->profile) {
		struct sp_profile_info *info = sp_profile_info(out->profile);
		info->time_ns = answer.from_ns;
		info->duration_ns = answer.covered_ns;
	}
	*ret_answer = answer;
	return 0;
}

int sp_store_query(struct sp_store *s, const struct sp_store_query *q, struct sp_profile *into,
		   struct sp_store_answer *ret_answer)
{
	return answer_query(s, q, &(struct intervals){0}, &(struct output){.profile = into}, ret_answer);
}

/* In so short a range no window of 10 s is replaced by a longer one. */
_Static_assert(SP_STORE_INTERVALS_NS <= SP_PLAN_SHORT_NS, "so an interval has what a query about it has");
static int answer_intervals(struct sp_store *s, const struct sp_store_query *q, struct intervals in,
			    const struct output *out, struct sp_store_answer *ret_answer)
{
	if (q->from_ns >= q->to_ns || q->to_ns - q->from_ns > SP_STORE_INTERVALS_NS)
		return sp_fail_said(-EINVAL, "the range is empty, or too long for intervals");
	in.from_ns = q->from_ns / in.length_ns * in.length_ns;
	in.n = sp_store_n_intervals(q, in.length_ns);
	memset(in.all, 0, in.n * sizeof(*in.all));
	return answer_query(s, q, &in, out, ret_answer);
}

int sp_store_intervals(struct sp_store *s, const struct sp_store_query *q, uint64_t length_ns, struct sp_profile *into,
		       struct sp_store_interval *ret_intervals, struct sp_store_answer *ret_answer)
{
	struct intervals in = {.length_ns = length_ns, .all = ret_intervals};

	return answer_intervals(s, q, in, &(struct output){.profile = into}, ret_answer);
}

int sp_stored_intervals(struct sp_store *s, const struct sp_store_query *q, uint64_t length_ns,
			const struct sp_stored_reader *reader, struct sp_store_interval *ret_intervals, size_t *ret_n,
			struct sp_store_answer *ret_answer)
{
	struct intervals in = {
	    .length_ns = length_ns, .all = ret_intervals, .max_rows = reader->max_rows, .ret_n = ret_n};

	if (q->library || q->function || !q->exact || q->who != SP_WHO_WHOLE)
		return -EINVAL;
	return answer_intervals(s, q, in, &(struct output){.reader = reader}, ret_answer);
}
