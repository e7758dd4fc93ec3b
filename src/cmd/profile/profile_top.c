/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_top.c: the stacks with most, and no others. */
#include "base/mem.h"
#include "base/search.h"
#include "cmd/profile/profile_parts.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct stack_sum {
	uint32_t stack;
	int64_t sum;
	bool is_shown;
};

static int compare_by_sum(const void *a, const void *b)
{
	const struct stack_sum *x = a, *y = b;

	return SP_FALLING(x->sum, y->sum) ?: SP_RISING(x->stack, y->stack);
}

SP_ORDER_BY(compare_by_stack, struct stack_sum, stack);

static bool is_shown(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	const struct stack_sum *sums = arg;

	(void)p;
	return sums[row->user].is_shown;
}

static void sums_make(const struct sp_profile *p, uint32_t value, struct stack_sum *sums, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sums[i].stack = i;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		sums[sp_profile_row(p, i)->user].sum += sp_profile_row(p, i)->values[value];
}

/* On those that are not shown. */
static void rest_tell(const struct sp_profile *p, uint32_t value, const struct stack_sum *sums, uint32_t n,
		      uint64_t top)
{
	const char *unit = sp_profile_string(p, sp_profile_value_type(p, value)->unit);
	uint64_t n_more = 0, sum = 0;
	char text[32];

	for (uint32_t i = (uint32_t)SP_MIN(top, n); i < n; i++) {
		n_more += sums[i].sum > 0;
		sum += sums[i].sum > 0 ? (uint64_t)sums[i].sum : 0;
	}
	if (!n_more)
		return;
	sp_unit_write(unit, sum, text, sizeof(text));
	fprintf(stderr, "soprof: %" PRIu64 " more stacks with %s are not shown (--top)\n", n_more, text);
}

int sp_profile_top(struct sp_profile_session *s)
{
	struct sp_profile *p = s->sampling.profile, *kept;
	uint32_t n = sp_profile_n_stacks(p), value = sp_profile_default_value(p);
	SP_FREE struct stack_sum *sums = calloc((size_t)n + 1, sizeof(*sums));
	struct sp_filter_result result;
	int r;

	if (!sums)
		return -ENOMEM;
	sums_make(p, value, sums, n);
	qsort(sums, n, sizeof(*sums), compare_by_sum);
	for (uint32_t i = 0; i < SP_MIN(s->args->top, n); i++)
		sums[i].is_shown = true;
	rest_tell(p, value, sums, n, s->args->top);
	qsort(sums, n, sizeof(*sums), compare_by_stack);
	r = sp_profile_filter(p, is_shown, sums, &kept, &result);
	if (r < 0)
		return r;
	sp_profile_free(p);
	s->sampling.profile = kept;
	return 0;
}
