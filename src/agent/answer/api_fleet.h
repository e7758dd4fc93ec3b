/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_fleet.h: the API's answers about a fleet (fleet/query.h), in place of a store.
 *
 * Routes and answers are the same, with two more parameters, host and label, a route, hosts, and members that tell of
 * how many hosts an answer is and what the server lacks. What a fleet does not have is refused with a sentence: what
 * is under way now, and users by name, since each host has its own. Events it has none. A range of which nothing was
 * sent is an empty answer with a note. What the server does not answer is -EREMOTEIO, in its words. The caller opens
 * and closes; one thread.
 */
#ifndef SP_AGENT_ANSWER_API_FLEET_H
#define SP_AGENT_ANSWER_API_FLEET_H

#include "fleet/query.h"

struct sp_api;
struct sp_api_ask;
struct sp_json;
struct sp_line;

struct sp_api_fleet {
	struct sp_fleet *f;
	struct sp_fleet_filter filter; /* of the request */
	struct sp_fleet_answer answer; /* of its last question */
	char note[400];                /* why it is empty */
};

/* words: fleet=URL password=PATH ca=PATH. Whether they are of a fleet. */
bool sp_api_fleet_is_meant(const struct sp_line *words);
int sp_api_fleet_open(const struct sp_line *words, uint64_t timeout_ns, struct sp_api_fleet *ret_fleet);
void sp_api_fleet_close(struct sp_api_fleet *fleet);

/* Takes the request's host and label; refuses what no fleet can answer. */
int sp_api_fleet_take(struct sp_api_fleet *fleet, const struct sp_api_ask *ask, bool asks_for_user_by_name);
/* The hosts of one side of a difference: the old side's are others, if the request names any. */
void sp_api_fleet_choose(struct sp_api_fleet *fleet, const struct sp_api_ask *ask, bool is_new);
/* As sp_fleet_query(); an empty profile if there is nothing. */
int sp_api_fleet_profile(struct sp_api_fleet *fleet, const struct sp_store_query *q, struct sp_profile **ret_profile,
			 struct sp_store_answer *ret_answer);
/* When hosts sampled, as sp_fleet_covered(); never, if there is nothing. */
int sp_api_fleet_covered(struct sp_api_fleet *fleet, const struct sp_store_query *q,
			 const struct sp_fleet_slices *slices, uint64_t *ret_covered_ns);
/* Members of an answer. */
void sp_api_fleet_put(const struct sp_api_fleet *fleet, struct sp_json *j);
/* The route. */
int sp_api_hosts(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j);

#endif
