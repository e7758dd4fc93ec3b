/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_priv.h: shared by the API's files: api.c has requests and errors, api_tree.c call trees, api_chart.c the
 * overview, api_table.c tables, api_file.c files.
 *
 * A route writes the members of the JSON object that is open.
 * -EINVAL, -EACCES and -ENOENT with sp_error_text() are the asker's fault; others are ours. One thread.
 */
#ifndef SP_AGENT_ANSWER_API_PRIV_H
#define SP_AGENT_ANSWER_API_PRIV_H

#include "agent/answer/api.h"
#include "base/json.h"
#include "profile/profile.h"

enum sp_api_direction { SP_API_CALLEES, SP_API_CALLERS, SP_API_BOTH };

/* A parsed request. Strings point into `text`. */
struct sp_api_ask {
	char text[SP_API_MAX_QUERY + 1];
	struct sp_store_query q; /* range and filters */
	uint64_t from2_ns, to2_ns;
	bool has_second,
	    is_live;        /* live: the last seconds, with the current window, which the store's sums do not have */
	const char *value;  /* a name, NULL = CPU time */
	const char *format; /* a view's name, NULL = pprof */
	uint32_t width, limit, depth;
	uint64_t root; /* the node to be shown in detail, 0 = none */
	double least;  /* share of the whole; narrower nodes are left out */
	int direction; /* enum sp_api_direction */
	bool fold, recursion;
	const char *focus, *focus_library; /* a function and its library, or the library alone */
	const char *called, *caller;       /* a cell of the caller matrix: names of libraries */
	const char *host, *label;          /* of a fleet; */
	const char *host2, *label2;        /* of the old side of a difference */
	const struct sp_api_fleet *fleet;  /* that was asked; NULL = none */
};

/* The profile of q's range and filters, with the current window. */
int sp_api_profile(const struct sp_api *a, const struct sp_store_query *q, struct sp_profile **ret_profile,
		   struct sp_store_answer *ret_answer);
/* The number of the value with this name. */
int sp_api_value(const struct sp_profile *p, const char *name, uint32_t *ret_value);

/* --- JSON --- */
void sp_api_put_seconds(struct sp_json *j, const char *name, uint64_t ns); /* a time or a length */
/* from, to, covered_seconds, windows, resolution ... of an answer. */
void sp_api_put_answer(const struct sp_api_ask *ask, const struct sp_store_answer *answer, struct sp_json *j);

/* --- routes --- */
int sp_api_overview(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j);
int sp_api_events(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j);
int sp_api_flame(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j);
/* The same tree as rows, for Grafana. */
int sp_api_flame_rows(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j);
int sp_api_diff(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j);
int sp_api_table(const struct sp_api *a, const struct sp_api_ask *ask, int by,
		 struct sp_json *j); /* enum sp_total_by */
int sp_api_matrix(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j);
/* No JSON, but a file. */
int sp_api_file(const struct sp_api *a, const struct sp_api_ask *ask, FILE *out);

#endif
