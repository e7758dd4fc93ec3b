/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.c: questions to the store: windows planned, rows gathered, stacks folded, a profile made of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/answer.h"
#include "store/fold.h"
#include "store/gather.h"
#include "store/plan.h"
#include "store/scan.h"

/* So many stacks are shown as they are; of more, those with less than this share of all are shortened. */
enum { MANY_STACKS = 30000, LEAST_SHARE = 10000 };

/* What a dictionary's rows come to. */
struct share {
	struct sp_wanted wanted;
	double sum;
	size_t n_stacks;
};

/* A process id alone is known to windows of 10 s only. */
static bool is_pid(const char *glob)
{
	return glob != NULL && *glob != '\0' && strspn(glob, "0123456789") == strlen(glob);
}

static void tell_plan(const struct sp_plan *plan, struct sp_store_answer *answer)
{
	for (size_t i = 0; i < plan->n_windows; i++) {
		answer->to_ns = SP_MAX(answer->to_ns, plan->windows[i].to_ns);
		answer->covered_ns += plan->windows[i].covered_ns;
		answer->n_lost += plan->windows[i].n_lost;
	}
	answer->from_ns = plan->n_windows > 0 ? plan->windows[0].from_ns : 0;
	answer->n_windows = plan->n_windows;
	answer->resolution = plan->coarsest;
}

static int measure(const struct sp_gathered *g, const struct sp_store_query *q, struct share *shares)
{
	int r = 0;

	for (size_t i = 0; i < g->n_dicts && r == 0; i++) {
		r = sp_nodes_wanted(g->dicts[i], q, &shares[i].wanted);
		if (r == 0)
			r = sp_nodes_count(g, (uint32_t)i, &shares[i].wanted, MANY_STACKS + 1, &shares[i].sum,
					   &shares[i].n_stacks);
	}
	return r;
}

/*
 * Below which value stacks are shortened: 0 = none is. Of a stack that several dictionaries know each one sees a part:
 * what is rare in all of them has to be rare together.
 */
static double least_value(const struct share *shares, size_t n)
{
	double sum = 0;
	size_t n_stacks = 0;

	for (size_t i = 0; i < n; i++) {
		sum += shares[i].sum;
		n_stacks += shares[i].n_stacks;
	}
	return n_stacks <= MANY_STACKS ? 0 : SP_MAX(sum / LEAST_SHARE / (double)n, 1);
}

static int answer_add(struct sp_gathered *g, const struct sp_store_query *q, const struct share *shares,
		      struct sp_answer_writer *writer, uint64_t *n_shortened)
{
	double least = q->exact ? 0 : least_value(shares, g->n_dicts);
	struct sp_slots slots = {0};
	int r = 0;

	for (size_t i = 0; i < g->n_dicts && r == 0; i++) {
		r = sp_slots_make(g, (uint32_t)i, &shares[i].wanted, least, &slots);
		if (r == 0)
			r = sp_answer_add(writer, (uint32_t)i, &slots);
	}
	sp_slots_done(&slots);
	return r < 0 ? r : sp_answer_finish(writer, n_shortened);
}

static int answer_make(struct sp_gathered *g, const struct sp_store_query *q, struct sp_profile *into,
		       struct sp_store_answer *answer)
{
	SP_FREE struct share *shares = calloc(g->n_dicts + 1, sizeof(*shares));
	struct sp_answer_writer *writer = NULL;
	int r = shares == NULL ? -ENOMEM : sp_answer_new(g, q->source, into, &writer);

	if (r == 0)
		r = measure(g, q, shares);
	if (r == 0)
		r = answer_add(g, q, shares, writer, &answer->n_shortened);
	for (size_t i = 0; i < g->n_dicts && shares != NULL; i++)
		sp_wanted_done(&shares[i].wanted);
	sp_answer_free(writer);
	answer->n_damaged = g->n_damaged;
	answer->slice_ns = g->slice_ns;
	return r;
}

static int query_run(struct sp_store *s, const struct sp_store_query *q, struct sp_profile *into,
		     struct sp_store_answer *answer)
{
	struct sp_gathered gathered = {0};
	struct sp_plan plan = {0};
	int r = sp_plan_make(s, q, is_pid(q->process), &plan);

	if (r == 0) {
		tell_plan(&plan, answer);
		r = sp_gather(s, q, &plan, &gathered);
	}
	sp_plan_done(&plan);
	if (r == 0)
		r = answer_make(&gathered, q, into, answer);
	sp_gathered_done(&gathered);
	return r;
}

int sp_store_query(struct sp_store *s, const struct sp_store_query *q, struct sp_profile *into,
		   struct sp_store_answer *ret_answer)
{
	struct sp_store_answer answer = {0};
	struct sp_store_query asked = *q;

	if (q->from_ns >= q->to_ns)
		return sp_fail_said(-EINVAL, "the range is empty: it ends before it begins");
	if (q->resolution < -1 || q->resolution >= SP_N_RESOLUTIONS)
		return sp_fail_said(-EINVAL, "there is no resolution %d", q->resolution);
	if (asked.source == NULL)
		asked.source = "cpu";
	int r = query_run(s, &asked, into, &answer);
	if (r < 0)
		return r;
	struct sp_profile_info *info = sp_profile_info(into);
	info->time_ns = answer.from_ns;
	info->duration_ns = answer.covered_ns;
	*ret_answer = answer;
	return 0;
}
