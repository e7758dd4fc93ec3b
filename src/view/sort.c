/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sort.c: sorts groups as asked for. sp_totals_by() gives them by descending self. */
#include "profile/totals.h"
#include "view/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const sp_view_sorts[SP_N_SORTS] = {
    [SP_SORT_SELF] = "self", [SP_SORT_TOTAL] = "total", [SP_SORT_SAMPLES] = "samples", [SP_SORT_NAME] = "name"};

struct order {
	const struct sp_profile *p;
	enum sp_total_by by;
	enum sp_sort sort;
};

static int falling(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

/* Equal keys are ordered as before: by self, total and number. */
static int compare(const void *x, const void *y, void *arg)
{
	const struct sp_total *a = x, *b = y;
	const struct order *o = arg;
	int r = 0;

	if (o->sort == SP_SORT_TOTAL)
		r = falling(a->total, b->total);
	else if (o->sort == SP_SORT_SAMPLES)
		r = falling(a->n_samples, b->n_samples);
	else if (o->by == SP_TOTAL_BY_USER)
		r = falling(b->id, a->id);
	else
		r = strcmp(sp_total_name(o->p, o->by, a), sp_total_name(o->p, o->by, b));
	if (!r)
		r = falling(a->self, b->self);
	if (!r)
		r = falling(a->total, b->total);
	if (!r)
		r = falling(b->id, a->id);
	return r ? r : falling(b->file, a->file);
}

static void sort(const struct sp_profile *p, const struct sp_view_options *o, struct sp_totals *t)
{
	struct order order = {p, o->by, o->sort};

	if (o->sort != SP_SORT_SELF && t->n_rows)
		qsort_r(t->rows, t->n_rows, sizeof(*t->rows), compare, &order);
}

static int totals_copy(const struct sp_totals *from, struct sp_totals *ret_totals)
{
	struct sp_totals t = *from;

	t.rows = malloc((t.n_rows + 1) * sizeof(*t.rows));
	if (!t.rows)
		return -ENOMEM;
	memcpy(t.rows, from->rows, t.n_rows * sizeof(*t.rows));
	*ret_totals = t;
	return 0;
}

int sp_view_totals(const struct sp_profile *p, const struct sp_view_options *o, struct sp_totals *ret_totals)
{
	int r = o->totals ? totals_copy(o->totals, ret_totals) : sp_totals_by(p, o->by, o->value, ret_totals);

	if (r >= 0)
		sort(p, o, ret_totals);
	return r;
}
