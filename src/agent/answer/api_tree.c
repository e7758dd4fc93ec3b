/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api_tree.c: call trees as JSON, without nodes too narrow to be seen: of a range, and of the difference of two. */
#include "agent/answer/api_fleet.h"
#include "agent/answer/api_priv.h"
#include "agent/answer/api_sums.h"
#include "agent/answer/tree_columns.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/diff.h"
#include "profile/diff_significance.h"
#include "profile/filter.h"
#include "profile/totals.h"
#include "view/html/html_noise.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- focus --- */
/* The frames of the function and library whose callers and callees are wanted. */
static int make_focus(const struct sp_api_ask *ask, struct sp_tree_columns *s, bool **ret_focus)
{
	bool *focus = calloc(sp_profile_n_frames(s->p) + 1U, sizeof(*focus));

	for (uint32_t i = 1; focus && i < sp_profile_n_frames(s->p); i++) {
		uint32_t func = s->t.same.function_of[i], file = s->t.same.library_of[i];
		const char *name = func ? sp_profile_string(s->p, sp_profile_func(s->p, func)->name) : "[unknown]";
		focus[i] = (!ask->focus || !strcmp(ask->focus, name)) &&
			   (!ask->focus_library || !strcmp(ask->focus_library, sp_api_library_name(s->p, file)));
	}
	*ret_focus = focus;
	return focus ? 0 : -ENOMEM;
}

static struct sp_tree_options options(const struct sp_api_ask *ask, const struct sp_tree_columns *s, int direction,
				      const bool *focus)
{
	return (struct sp_tree_options){
	    .value = s->value,
	    .has_second = s->has_second,
	    .second = s->second,
	    .direction = direction == SP_API_CALLERS ? SP_TREE_CALLERS : SP_TREE_CALLEES,
	    .granularity = ask->fold ? SP_TREE_LIBRARIES : SP_TREE_FUNCTIONS,
	    .fold_recursion = ask->recursion,
	    .comms = true,
	    .marks = true,
	    .by_name = true,
	    .drawn = true,
	    .focus = focus,
	    .focus_run = focus && !ask->focus,
	    .min_drawn = ask->root ? 0 : ask->least,
	};
}

static int put_tree(const struct sp_api_ask *ask, struct sp_tree_columns *s, int direction, const bool *focus,
		    struct sp_json *j)
{
	struct sp_tree_options o = options(ask, s, direction, focus);
	struct sp_tree tree = {0};
	int r = sp_tree_new(s->p, &o, &tree);

	if (r == 0)
		r = sp_tree_columns_put(s, &tree, ask->root, ask->least, j);
	sp_tree_done(&tree);
	return r;
}

static int put_trees(const struct sp_api_ask *ask, struct sp_tree_columns *s, struct sp_json *j)
{
	SP_FREE bool *focus = NULL;
	int r = ask->focus || ask->focus_library ? make_focus(ask, s, &focus) : 0;

	sp_json_format(j, "least", "%.9g", ask->least);
	sp_json_array(j, "trees");
	sp_json_lines(j);
	if (r == 0)
		r = put_tree(ask, s, ask->direction == SP_API_BOTH ? SP_API_CALLERS : ask->direction, focus, j);
	if (r == 0 && ask->direction == SP_API_BOTH)
		r = put_tree(ask, s, SP_API_CALLEES, focus, j);
	sp_json_end(j);
	sp_json_line(j);
	return r;
}

/* --- sums by library, with what is narrow --- */
/* What the number of a library is called. */
static void member_name(struct sp_tree_columns *s, uint32_t file, char ret_name[static 24])
{
	snprintf(ret_name, 24, "%" PRIu32, sp_html_add_library(&s->t, file));
}

static void put_sum(struct sp_tree_columns *s, const struct sp_api_sum *sum, struct sp_json *j)
{
	const struct sp_store_chart *c = sum->chart;

	sp_json_object(j, NULL);
	for (int is_total = 0; is_total < 2; is_total++) {
		sp_json_object(j, is_total ? "total" : "self");
		for (uint32_t i = 0; i < c->n_libraries; i++) {
			char name[24];
			member_name(s, s->t.same.files[sum->files[i]], name);
			sp_json_int(j, name, is_total ? c->libraries[i].total : c->libraries[i].self);
		}
		sp_json_end(j);
	}
	sp_json_int(j, "whole", sum->whole);
	sp_json_end(j);
}

static int put_sums_of(struct sp_tree_columns *s, uint32_t value, double scale, struct sp_json *j)
{
	struct sp_totals t = {0};
	int r = sp_totals_by(s->p, SP_TOTAL_BY_LIBRARY, value, &t);

	sp_json_object(j, NULL);
	for (int is_total = 0; is_total < 2; is_total++) {
		sp_json_object(j, is_total ? "total" : "self");
		for (size_t i = 0; r == 0 && i < t.n_rows; i++) {
			const struct sp_total *row = &t.rows[i];
			char name[24];
			member_name(s, row->none ? 0 : row->id, name);
			sp_json_format(j, name, "%.0f", (double)(is_total ? row->total : row->self) * scale);
		}
		sp_json_end(j);
	}
	sp_json_end(j);
	sp_totals_done(&t);
	return r;
}

/* In the order of the trees' values. exact: the store's own sums; NULL or n = 0: there are none. */
static int put_sums(struct sp_tree_columns *s, const struct sp_api_sums *exact, struct sp_json *j)
{
	int r = 0;

	sp_json_array(j, "sums");
	sp_json_lines(j);
	for (uint32_t i = 0; i < s->n_columns && r == 0; i++)
		if (exact && i < exact->n)
			put_sum(s, &exact->of[i], j);
		else
			r = put_sums_of(s, s->columns[i].of, s->columns[i].scale, j);
	sp_json_end(j);
	sp_json_line(j);
	return r;
}

/* --- one range --- */
static int begin_shape(const struct sp_api_ask *ask, const struct sp_profile *p, struct sp_tree_columns *s)
{
	uint32_t value = 0;
	int r = sp_api_value(p, ask->value, &value);

	return r == 0 ? sp_tree_columns_new(p, value, s) : r;
}

static int put_flame(const struct sp_api_ask *ask, const struct sp_profile *p, const struct sp_api_sums *exact,
		     struct sp_json *j)
{
	struct sp_tree_columns s = {0};
	int r = begin_shape(ask, p, &s);

	if (r == 0)
		r = put_trees(ask, &s, j);
	if (r == 0)
		r = put_sums(&s, exact, j);
	if (r == 0)
		sp_tree_columns_end(&s, j);
	sp_tree_columns_done(&s);
	return r;
}

/* Only trees that were pruned by day and hour are read in time for such ranges. */
static bool is_very_long(const struct sp_api *a, const struct sp_store_query *q)
{
	return sp_api_sums_wanted(a, q) && q->to_ns - q->from_ns >= SP_STORE_LONG_NS;
}

int sp_api_flame(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	struct sp_store_query q = ask->q;
	struct sp_store_answer answer = {0};
	struct sp_api_sums exact = {0};
	struct sp_profile *p = NULL;
	int r;

	/* rare stacks keep the frames of the focus, unless there are too many */
	if (!is_very_long(a, &q) && !q.function)
		q.function = ask->focus;
	if (!is_very_long(a, &q) && !q.library && !ask->focus)
		q.library = ask->focus_library;
	q.rough = !ask->root;
	r = sp_api_profile(a, &q, &p, &answer);
	if (r == 0 && sp_api_sums_wanted(a, &q))
		r = sp_api_sums_new(a, ask, p, &exact);
	if (r == 0) {
		sp_api_put_answer(ask, &answer, j);
		r = put_flame(ask, p, &exact, j);
	}
	sp_api_sums_done(&exact);
	sp_profile_free(p);
	return r;
}

/* --- as rows --- */
static const char *row_label(const struct sp_profile *p, const struct sp_tree *t, uint32_t i)
{
	switch (t->labels[t->nodes[i].label].kind) {
	case SP_TREE_ALL:
		return "all";
	case SP_TREE_CUT:
		return "[truncated]";
	case SP_TREE_NO_STACK:
		return "[no user stack]";
	default:
		return *sp_tree_name(p, t, i) ? sp_tree_name(p, t, i) : "[unknown]";
	}
}

static uint32_t next_wide(const struct sp_tree *t, uint32_t i, double least)
{
	while (i && (double)t->nodes[i].total < least * (double)t->nodes[0].total)
		i = t->nodes[i].next;
	return i;
}

static uint32_t next_row(const struct sp_tree *t, uint32_t i, double least)
{
	uint32_t next = next_wide(t, t->nodes[i].first, least);

	while (!next && i) {
		next = next_wide(t, t->nodes[i].next, least);
		i = t->nodes[i].parent;
	}
	return next;
}

/* In the order of a walk from the root, parents first: what Grafana's panel takes. */
static void put_tree_rows(const struct sp_profile *p, const struct sp_tree *t, double least, struct sp_json *j)
{
	uint32_t i = 0;

	sp_json_array(j, "rows");
	sp_json_lines(j);
	do {
		uint32_t file = t->labels[t->nodes[i].label].library;
		sp_json_object(j, NULL);
		sp_json_uint(j, "level", t->nodes[i].depth);
		sp_json_string(j, "label", row_label(p, t, i));
		sp_json_string(j, "library", file ? sp_api_library_name(p, file) : "");
		sp_json_ints(j, {"value", t->nodes[i].total}, {"self", t->nodes[i].self});
		sp_json_end(j);
	} while ((i = next_row(t, i, least)));
	sp_json_end(j);
	sp_json_line(j);
}

static int make_rows(const struct sp_api_ask *ask, const struct sp_profile *p, struct sp_json *j)
{
	struct sp_tree_columns s = {0};
	struct sp_tree tree = {0};
	int r = begin_shape(ask, p, &s);

	if (r == 0) {
		struct sp_tree_options o = options(ask, &s, ask->direction, NULL);
		r = sp_tree_new(p, &o, &tree);
	}
	if (r == 0)
		put_tree_rows(p, &tree, ask->least, j);
	sp_tree_done(&tree);
	sp_tree_columns_done(&s);
	return r;
}

int sp_api_flame_rows(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	struct sp_store_query q = ask->q;
	struct sp_store_answer answer = {0};
	struct sp_profile *p = NULL;

	q.rough = true;
	int r = sp_api_profile(a, &q, &p, &answer);
	if (r == 0) {
		sp_api_put_answer(ask, &answer, j);
		r = make_rows(ask, p, j);
	}
	sp_profile_free(p);
	return r;
}

/* --- of two ranges --- */
/* Entities of the trees; "[narrow]" is not judged. */
static void put_judged_entities(const struct sp_significance *judge, const struct sp_tree_columns *s, struct sp_json *j)
{
	sp_json_array(j, "entities");
	for (uint32_t i = 0; i < sp_intern_count(s->t.entities); i++)
		sp_html_noise_put(i < s->label_capacity ? sp_significance_label_row(judge, &s->label_of[i]) : NULL, j);
	sp_json_end(j);
}

/* Which changes of trees and libraries are noise, as in the html view's data (view/html/html_noise.h). */
static int put_noise(const struct sp_diff *d, struct sp_tree_columns *s, struct sp_json *j)
{
	struct sp_significance *judge;
	int r = sp_significance_new(d, &judge);

	if (r < 0)
		return r;
	sp_html_noise_begin(d, judge, 0, j);
	put_judged_entities(judge, s, j);
	for (uint32_t i = 0; i < sp_profile_n_files(d->joined); i++) /* only those that are written have rows */
		if (sp_significance_library_row(judge, i))
			sp_html_add_library(&s->t, i);
	sp_html_noise_put_libraries(judge, &s->t, j);
	sp_json_end(j);
	sp_json_line(j);
	sp_significance_free(judge);
	return 0;
}

/* The largest changes, by function. */
static void put_change(const struct sp_tree_columns *s, const struct sp_diff_row *row, struct sp_json *j)
{
	const struct sp_profile *p = s->p;
	bool is_named = row->id != 0 && !row->none;

	sp_json_object(j, NULL);
	sp_json_string(j, "name", is_named ? sp_profile_string(p, sp_profile_func(p, row->id)->name) : "[unknown]");
	sp_json_string(j, "library", sp_api_library_name(p, row->none ? 0 : row->second_id));
	sp_json_format(j, "self", "[%.6g,%.6g]", row->self.old, row->self.new);
	sp_json_format(j, "total", "[%.6g,%.6g]", row->total.old, row->total.new);
	sp_json_format(j, "half", "[%.4g,%.4g]", (row->self.high - row->self.low) / 2,
		       (row->total.high - row->total.low) / 2);
	sp_json_format(j, "q", "[%.4g,%.4g]", row->self.q, row->total.q);
	sp_json_end(j);
}

static int put_changes(const struct sp_api_ask *ask, const struct sp_diff *d, const struct sp_tree_columns *s,
		       struct sp_json *j)
{
	struct sp_diff_rows rows;
	int r = sp_diff_rows_new(d, SP_DIFF_BY_FUNCTION, &rows);

	if (r < 0)
		return r;
	sp_json_int(j, "n_functions", (int64_t)rows.n_rows);
	sp_json_array(j, "functions");
	sp_json_lines(j);
	for (size_t i = 0; i < rows.n_rows && i < ask->limit; i++)
		put_change(s, &rows.rows[i], j);
	sp_json_end(j);
	sp_json_line(j);
	sp_diff_rows_done(&rows);
	return 0;
}

static int put_diff(const struct sp_api_ask *ask, const struct sp_diff *d, struct sp_json *j)
{
	struct sp_tree_columns s = {0};
	int r = sp_tree_columns_new_diff(d, &s);

	if (r == 0)
		r = put_trees(ask, &s, j);
	if (r == 0)
		r = put_sums(&s, NULL, j);
	if (r == 0)
		r = put_noise(d, &s, j);
	if (r == 0)
		r = put_changes(ask, d, &s, j);
	if (r == 0)
		sp_tree_columns_end(&s, j);
	sp_tree_columns_done(&s);
	return r;
}

static int make_diff(const struct sp_api_ask *ask, const struct sp_profile *before, const struct sp_profile *after,
		     struct sp_json *j)
{
	struct sp_diff_options o = {.scale = SP_DIFF_SHARES};
	struct sp_diff *d = NULL;
	int r;

	if (sp_profile_n_rows(before) == 0 || sp_profile_n_rows(after) == 0)
		return sp_fail_said(-ENOENT, "there are no samples in the %s range, so there is nothing to compare",
				    sp_profile_n_rows(before) == 0 ? "old" : "new");
	r = sp_api_value(before, ask->value, &o.old_value);
	if (r == 0)
		r = sp_api_value(after, ask->value, &o.new_value);
	if (r == 0)
		r = sp_diff_new(before, after, &o, &d);
	if (r == 0)
		r = put_diff(ask, d, j);
	if (d)
		sp_diff_free(d);
	return r;
}

enum { DIFF_SLICES = 32 };

/* If only one range is very long, the ends of both stay, so that adjacent ranges share no window. */
static int read_side(const struct sp_api *a, const struct sp_api_ask *ask, bool is_new, struct sp_profile **ret_profile,
		     struct sp_store_answer *ret_answer)
{
	struct sp_store_query sides[2] = {ask->q, ask->q}, *q = &sides[is_new];

	sides[1].from_ns = ask->from2_ns;
	sides[1].to_ns = ask->to2_ns;
	q->ends_stay = sp_store_ends_move(&sides[0]) != sp_store_ends_move(&sides[1]);
	q->rough = is_very_long(a, q);
	q->n_slices = q->rough ? 0 : DIFF_SLICES;
	if (a->fleet)
		sp_api_fleet_choose(a->fleet, ask, is_new);
	return sp_api_profile(a, q, ret_profile, ret_answer);
}

/* from, to: the old range; from2, to2: the new one. */
int sp_api_diff(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	struct sp_store_answer answer = {0}, answer2 = {0};
	struct sp_profile *before = NULL, *after = NULL;
	int r = ask->has_second ? 0 : sp_fail_said(-EINVAL, "from2 and to2, the second range, are missing");

	if (r == 0)
		r = read_side(a, ask, false, &before, &answer);
	if (r == 0)
		r = read_side(a, ask, true, &after, &answer2);
	if (r == 0) {
		sp_api_put_answer(ask, &answer, j);
		sp_api_put_seconds(j, "from2", ask->from2_ns);
		sp_api_put_seconds(j, "to2", ask->to2_ns);
		sp_api_put_seconds(j, "found_from2", answer2.from_ns);
		sp_api_put_seconds(j, "found_to2", answer2.to_ns);
		sp_api_put_seconds(j, "covered_seconds2", answer2.covered_ns);
		r = make_diff(ask, before, after, j);
	}
	sp_profile_free(before);
	sp_profile_free(after);
	return r;
}
