/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_priv.h: the API's parts: api.c has requests and errors, api_tree.c call trees, api_chart.c the overview,
 * api_table.c tables.
 *
 * A route writes the members of one JSON object, without its braces, each with a comma behind it but for the last one.
 * -EINVAL, -EACCES and -ENOENT with words are the asker's fault; others are ours. One thread.
 */
#ifndef SP_AGENT_ANSWER_API_PRIV_H
#define SP_AGENT_ANSWER_API_PRIV_H

#include "agent/answer/api.h"
#include "profile/profile.h"

enum sp_api_direction { SP_API_CALLEES, SP_API_CALLERS, SP_API_BOTH };

/* A request, taken apart. Strings are of `text`. */
struct sp_api_ask {
	char text[SP_API_MAX_QUERY + 1];
	struct sp_store_query q; /* the range and the filters */
	uint64_t from2_ns, to2_ns;
	bool has_second, is_live; /* live: of the last seconds, with the window at hand, which sums do not know */
	const char *value;        /* its name, NULL = CPU time */
	uint32_t width, limit, depth;
	uint64_t root; /* the node to be told in detail, 0 = none */
	double least;  /* share of the whole */
	int direction; /* enum sp_api_direction */
	bool fold, recursion;
	const char *focus, *focus_library; /* a function and its library, or the library alone */
	const char *called, *caller;       /* one cell of the matrix: libraries' names */
};

/* The profile that the filters and the range of q come to, with the window at hand. */
int sp_api_profile(const struct sp_api *a, const struct sp_store_query *q, struct sp_profile **ret_profile,
		   struct sp_store_answer *ret_answer);
/* The number of the value asked for. */
int sp_api_value(const struct sp_profile *p, const char *name, uint32_t *ret_value);

/* --- JSON --- */
void sp_api_put_string(FILE *out, const char *text);
void sp_api_put_time(FILE *out, const char *name, uint64_t ns);    /* "NAME":seconds, */
void sp_api_put_seconds(FILE *out, const char *name, uint64_t ns); /* the same, of a length */
void sp_api_put_build_id(FILE *out, const uint8_t *id, uint32_t n);
/* from, to, covered_seconds, windows, resolution ... of an answer. */
void sp_api_put_answer(const struct sp_api_ask *ask, const struct sp_store_answer *answer, FILE *out);
/* Gaps and the like; others' programs and libraries are none of an ordinary user's business. */
bool sp_api_event_is_for_all(const char *kind);

/* --- routes --- */
int sp_api_overview(const struct sp_api *a, const struct sp_api_ask *ask, FILE *out);
int sp_api_events(const struct sp_api *a, const struct sp_api_ask *ask, FILE *out);
int sp_api_flame(const struct sp_api *a, const struct sp_api_ask *ask, FILE *out);
int sp_api_diff(const struct sp_api *a, const struct sp_api_ask *ask, FILE *out);
int sp_api_table(const struct sp_api *a, const struct sp_api_ask *ask, int by, FILE *out); /* enum sp_total_by */
int sp_api_matrix(const struct sp_api *a, const struct sp_api_ask *ask, FILE *out);

#endif
