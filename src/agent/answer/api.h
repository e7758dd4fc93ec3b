/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.h: answers requests of /api/v1 as JSON. man/soprof-api.5 describes each route.
 *
 * A function over the store, run by the answering process (answer.h) and by tests. Requests are untrusted: at most
 * SP_API_MAX_QUERY bytes, known names once each, numbers within limits; anything else is status 400 with a sentence in
 * the body. own_only leaves out other users' rows, and refuses sums of all users (403). Names may be any bytes; the
 * JSON is valid UTF-8. No state. One thread.
 */
#ifndef SP_AGENT_ANSWER_API_H
#define SP_AGENT_ANSWER_API_H

#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_api_fleet;
struct sp_profile;

enum { SP_API_MAX_QUERY = 4096 };

struct sp_api {
	struct sp_store *store;     /* may be made by `ready` */
	struct sp_api_fleet *fleet; /* NULL = none; else asked in place of the store (api_fleet.h) */
	uint64_t now_ns;            /* wall clock */
	bool own_only;
	uint32_t uid; /* with own_only */
	/*
	 * Adds the current window to the store's answer to q (rows and coverage), if it is within the range. May be
	 * NULL.
	 */
	int (*current)(void *arg, const struct sp_store_query *q, struct sp_profile *into,
		       struct sp_store_answer *answer);
	/*
	 * Called once a request has been read, before anything is looked for; asks_for_names: names of users will be,
	 * for which the C library makes system calls of its own. NULL: nothing is to be done then.
	 */
	int (*ready)(void *arg, bool asks_for_names);
	void *arg;
};

/*
 * path: "/api/v1/NAME"; query: the part of the URL after '?', still encoded; "" = none. Writes the body to out;
 * *ret_status is 200, 400, 403, 404 or 500, of a fleet also 413, 502 or 504; *ret_is_file: the body is no JSON. 0, or a
 * negative errno: there is no body.
 */
int sp_api_answer(const struct sp_api *a, const char *path, const char *query, FILE *out, int *ret_status,
		  bool *ret_is_file);
/* False for kinds of events that name programs and libraries, which may be of other users. */
bool sp_api_event_is_for_all(const char *kind);

#endif
