/* SPDX-License-Identifier: GPL-2.0-or-later */
/* covered.c: sp_fleet_covered(): when hosts sampled, also where no row of an answer says so; a part of query.h. */
#include "base/mem.h"
#include "base/time.h"
#include "fleet/question.h"
#include <inttypes.h>
#include <string.h>

static void statement_put(struct sp_fleet_question *q, const struct sp_fleet_slices *s)
{
	sp_fleet_print(&q->sql,
		       "SELECT slice, max(c) FROM (SELECT toUInt32(intDiv(toUInt32(ts) - %" PRIu64 ", %" PRIu64
		       ")) AS slice, host, sum(covered) AS c FROM windows WHERE ",
		       s->from_ns / SP_NS_PER_S, SP_MAX(s->each_ns / SP_NS_PER_S, UINT64_C(1)));
	sp_fleet_put_text(&q->sql, &q->range);
	sp_fleet_print(&q->sql, " AND ts >= toDateTime(%" PRIu64 ")", s->from_ns / SP_NS_PER_S);
	sp_fleet_put_chosen(q, &q->sql);
	sp_fleet_print(&q->sql, " AND source = ");
	sp_fleet_quote(&q->sql, q->q->source ? q->q->source : "cpu");
	sp_fleet_print(&q->sql, " GROUP BY slice, host) AS one GROUP BY slice");
}

int sp_fleet_covered(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q,
		     const struct sp_fleet_slices *slices, uint64_t *ret_covered_ns)
{
	struct sp_fleet_question ask = {.f = f, .filter = filter, .q = q};
	struct sp_row_reader row;
	int r = sp_fleet_question_begin(&ask);

	memset(ret_covered_ns, 0, slices->n * sizeof(*ret_covered_ns));
	if (r == 0) {
		statement_put(&ask, slices);
		r = sp_fleet_question_ask(&ask, &row);
	}
	while (r == 0 && sp_row_is_there(&row)) {
		uint32_t slice = sp_row_u32(&row);
		uint64_t ns = sp_row_u64(&row);

		row.bad |= slice >= slices->n;
		r = sp_fleet_row_check(&ask, &row);
		if (r == 0)
			ret_covered_ns[slice] = ns;
	}
	sp_fleet_question_done(&ask);
	return r;
}
