/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.h: what the agent answers under /api/v1, from a request to JSON. man/soprof-api.5 tells each route.
 *
 * It is a function over the store, run by the process that answers one question (answer.h), and by tests. A request
 * may be anybody's: at most SP_API_MAX_QUERY bytes, known names once each, numbers with bounds; anything else is
 * status 400 with a sentence in the body. What the asker may not see is left out: with own_only other users' rows, and
 * the sums of all users are refused (403). Names are text of any kind; the JSON is valid UTF-8 whatever they are.
 * Nothing is kept between calls. One thread.
 */
#ifndef SP_AGENT_ANSWER_API_H
#define SP_AGENT_ANSWER_API_H

#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_profile;

enum { SP_API_MAX_QUERY = 4096 };

struct sp_api {
	struct sp_store *store;
	uint64_t now_ns; /* wall clock */
	bool own_only;
	uint32_t uid; /* with own_only */
	/*
	 * Adds the window that the store does not have yet to what it answered to q (rows and coverage), if it lies in
	 * the range. May be NULL.
	 */
	int (*current)(void *arg, const struct sp_store_query *q, struct sp_profile *into,
		       struct sp_store_answer *answer);
	void *arg;
};

/*
 * path: "/api/v1/NAME"; query: what stands behind the question mark, encoded as it came, without it; "" = nothing. The
 * body goes to out in any case; its status is 200, 400, 403, 404, or 500. 0, or a negative errno: there is no body.
 */
int sp_api_answer(const struct sp_api *a, const char *path, const char *query, FILE *out, int *ret_status);

#endif
