/* SPDX-License-Identifier: GPL-2.0-or-later */
/* totals.c: sp_store_totals(). */
#include "store/totals.h"

#include "store/format/sums.h"
#include "store/query/planned.h"

struct receiver {
	int (*each)(void *arg, const struct sp_store_total *t);
	void *arg;
};

static int report_totals(void *arg, const struct sp_scan_totals *from)
{
	const struct receiver *to = arg;
	const struct sp_dict *d = from->dict;
	int r = 0;

	for (size_t i = 0; i < from->sums->n && r == 0; i++) {
		struct sp_account account = from->sums->accounts[i];
		const int64_t *sums = sp_sums_at(from->sums, i);
		const struct sp_file *file = &d->files[account.file];
		struct sp_store_total total = {.wall_ns = from->window.w.wall_ns,
					       .file = sp_dict_string(d, file->name),
					       .function = sp_dict_string(d, d->funcs[account.func].name),
					       .build_id = file->build_id,
					       .build_id_len = file->build_id_len,
					       .n_values = from->window.n_values};
		for (uint32_t v = 0; v < total.n_values; v++) {
			total.self[v] = sums[2 * v];
			total.total[v] = sums[2 * v + 1];
			total.value_names[v] = from->window.types[v].name;
			total.value_units[v] = from->window.types[v].unit;
		}
		r = to->each(to->arg, &total);
	}
	return r;
}

static int report_plan(struct sp_planned *p, const struct sp_store_query *q)
{
	/* days are no windows of a single resolution */
	int r = q->resolution < 0 ? sp_planned_report_days(p) : 0;

	return r == 0 ? sp_planned_report(p) : r;
}

int sp_store_totals(struct sp_store *s, const struct sp_store_query *q, bool by_function,
		    int (*each)(void *arg, const struct sp_store_total *t), void *arg,
		    struct sp_store_answer *ret_answer)
{
	struct sp_store_answer answer = {0};
	struct receiver totals = {each, arg};
	struct sp_plan plan = {0};
	struct sp_planned p = {.store = s,
			       .source = !q->source ? "cpu" : q->source,
			       .plan = &plan,
			       .by_function = by_function,
			       .each = report_totals,
			       .arg = &totals};
	int r = sp_plan_make(s, q, SP_RES_1H, &plan, &answer);

	if (r == 0)
		r = report_plan(&p, q);
	sp_plan_done(&plan);
	if (r == 0) {
		answer.n_damaged = p.n_damaged;
		answer.n_incomplete = p.n_incomplete;
		answer.n_salvaged = p.n_salvaged;
		*ret_answer = answer;
	}
	return r;
}
