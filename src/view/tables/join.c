/* SPDX-License-Identifier: GPL-2.0-or-later */
/* join.c: see join.h. */
#include "view/tables/join.h"

#include "base/mem.h"
#include "base/search.h"
#include "profile/values.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	const struct sp_total *row;
	size_t cost;
};
struct join {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_joined *to;
};

static int by_group(const void *a, const void *b)
{
	const struct sp_total *x = a, *y = b;

	return SP_RISING(x->none, y->none) ?: SP_RISING(x->id, y->id) ?: SP_RISING(x->file, y->file);
}

static int by_order(const void *a, const void *b, void *arg)
{
	const struct sp_joined_group *x = a, *y = b;
	const struct join *c = arg;
	int r = 0;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (c->o->sort == SP_SORT_NAME && c->o->by != SP_TOTAL_BY_USER)
		r = strcmp(sp_total_name(c->p, c->o->by, x->any), sp_total_name(c->p, c->o->by, y->any));
	return r ? r : by_group(x->any, y->any);
}

/* What a value adds to a group's weight: values have units of their own, so that only shares of them can be added. */
static double weight_of(const struct join *c, const struct entry *e)
{
	int64_t all = c->to->totals[e->cost].value;

	switch (c->o->sort) {
	case SP_SORT_NAME:
		return 0;
	case SP_SORT_SAMPLES:
		return (double)e->row->n_samples;
	case SP_SORT_TOTAL:
		return sp_percent(e->row->total, all);
	default:
		return sp_percent(e->row->self, all);
	}
}

static int by_entry(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return by_group(x->row, y->row);
}

/* Joins what the values have of each group; entries are sorted by group. */
static void groups_fill(struct join *c, const struct entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &entries[i];
		struct sp_joined_group *g;

		if (!i || by_entry(e - 1, e))
			c->to->groups[c->to->n_groups++].any = e->row;
		g = &c->to->groups[c->to->n_groups - 1];
		g->row[e->cost] = e->row;
		g->weight += weight_of(c, e);
	}
}

static int groups_make(struct join *c)
{
	SP_FREE struct entry *entries = NULL;
	size_t n = 0, at = 0;

	for (size_t k = 0; k < c->to->n_values; k++)
		n += c->to->totals[k].n_rows;
	entries = calloc(n + 1, sizeof(*entries));
	c->to->groups = calloc(n + 1, sizeof(*c->to->groups));
	if (!entries || !c->to->groups)
		return -ENOMEM;
	for (size_t k = 0; k < c->to->n_values; k++)
		for (size_t i = 0; i < c->to->totals[k].n_rows; i++)
			entries[at++] = (struct entry){&c->to->totals[k].rows[i], k};
	qsort(entries, n, sizeof(*entries), by_entry);
	groups_fill(c, entries, n);
	qsort_r(c->to->groups, c->to->n_groups, sizeof(*c->to->groups), by_order, c);
	return 0;
}

int sp_join_sort(const struct sp_profile *p, const struct sp_view_options *o, struct sp_joined *j)
{
	struct join c = {p, o, j};

	free(j->groups);
	j->groups = NULL;
	j->n_groups = 0;
	return groups_make(&c);
}

int sp_join(const struct sp_profile *p, const struct sp_view_options *o, struct sp_joined *ret_joined)
{
	struct sp_joined j = {0};
	struct join c = {p, o, &j};
	int samples = sp_profile_find_value(p, "samples", NULL), r = 0;

	for (uint32_t i = 0; i < sp_profile_n_value_types(p) && r >= 0; i++) {
		if ((int)i == samples)
			continue;
		r = sp_totals_by(p, (enum sp_total_by)o->by, i, &j.totals[j.n_values]);
		if (r >= 0)
			j.value[j.n_values++] = i;
	}
	if (r >= 0)
		r = groups_make(&c);
	if (r < 0)
		sp_join_done(&j);
	else
		*ret_joined = j;
	return SP_MIN(r, 0);
}

void sp_join_done(struct sp_joined *j)
{
	for (size_t i = 0; i < j->n_values; i++)
		sp_totals_done(&j->totals[i]);
	free(j->groups);
	*j = (struct sp_joined){0};
}
