/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_sums.h: exact sums by library of long ranges, from those that the store keeps beside its windows.
 *
 * What the store answers of a long range has rare stacks shortened, and trees for long ranges more so: self and total
 * of libraries that are summed up from it are too small or in the wrong place. Of the whole machine, from
 * SP_STORE_ROUGH_NS on, there are the store's own, of the same windows.
 * Owns its memory. 0 or a negative errno; has nothing (n = 0) where there are no such sums. One thread.
 */
#ifndef SP_AGENT_ANSWER_API_SUMS_H
#define SP_AGENT_ANSWER_API_SUMS_H

#include "agent/answer/api_priv.h"
#include "store/totals.h"

enum { SP_API_SUMS = 2 };

struct sp_api_sum {
	struct sp_store_chart *chart;
	uint32_t *files; /* by library of the chart: of the profile; 0 = none known */
	int64_t whole;
};
struct sp_api_sums {
	struct sp_api_sum of[SP_API_SUMS]; /* by value: the one asked for, and samples */
	uint32_t n;
	struct sp_store_answer answer;
};

/* Whether there are such sums of what is asked. */
bool sp_api_sums_wanted(const struct sp_store_query *q);
/* p: gets the libraries that it does not have yet. */
int sp_api_sums_new(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_profile *p,
		    struct sp_api_sums *ret_sums);
void sp_api_sums_done(struct sp_api_sums *s);

#endif
