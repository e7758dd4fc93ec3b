/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_sums.h: exact sums by library of long ranges, from those that the store keeps beside its windows.
 *
 * For long ranges the store shortens rare stacks, and prunes trees more, so self and total summed from them are too
 * small or at the wrong library. For the whole machine, from SP_STORE_ROUGH_NS on, the store's own sums of the same
 * windows are used. The struct owns its memory. 0 or a negative errno; n = 0 if there are no such sums. One thread.
 */
#ifndef SP_AGENT_ANSWER_API_SUMS_H
#define SP_AGENT_ANSWER_API_SUMS_H

#include "agent/answer/api_priv.h"
#include "store/totals.h"

enum { SP_API_SUMS = 2 };

struct sp_api_sum {
	struct sp_store_chart *chart;
	uint32_t *files; /* by library of the chart: file of the profile; 0 = none */
	int64_t whole;
};
struct sp_api_sums {
	struct sp_api_sum of[SP_API_SUMS]; /* by value: the requested one, and samples */
	uint32_t n;
	struct sp_store_answer answer;
};

/* Whether there are such sums for q. */
bool sp_api_sums_wanted(const struct sp_api *a, const struct sp_store_query *q);
/* Adds libraries to p that it does not have yet. */
int sp_api_sums_new(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_profile *p,
		    struct sp_api_sums *ret_sums);
void sp_api_sums_done(struct sp_api_sums *s);

#endif
