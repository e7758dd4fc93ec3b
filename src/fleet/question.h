/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question.h: what all questions about a range of time and some hosts have in common: which windows count, and the
 * conditions of SQL that say so.
 *
 * The caller fills in f, filter and q, and begins; then writes statements into `sql` and asks them one by one. Names
 * of hosts and labels come from the server and never go back to it. Errors as in query.h. Private to src/fleet. Not
 * thread-safe.
 */
#ifndef SP_FLEET_QUESTION_H
#define SP_FLEET_QUESTION_H

#include "base/suggest.h"
#include "fleet/query.h"

struct sp_fleet_question {
	struct sp_fleet *f;
	const struct sp_fleet_filter *filter;
	const struct sp_store_query *q;
	uint64_t seed; /* of the ids */
	uint64_t from_s, to_s;
	uint32_t slice_s;
	struct sp_bytes range;    /* SQL: which rows of `samples` and `windows` are looked at */
	struct sp_bytes hosts;    /* which hosts with which labels: " AND (host, ...) IN (...)", or nothing */
	struct sp_bytes host_ids; /* the hosts alone */
	struct sp_bytes chosen;   /* which windows: "(SELECT host, ts, max(run) ...)" */
	struct sp_bytes narrowed; /* " AND ...": rows of `samples` that the query's filters may want; or nothing */
	struct sp_bytes sql, answer;
};
/* -ENOENT: no tables; -ENODATA: no such hosts. */
int sp_fleet_question_begin(struct sp_fleet_question *q);
void sp_fleet_question_done(struct sp_fleet_question *q);
/* Has samples left out, from then on, that the query's library, function, process or cgroup cannot be about. */
int sp_fleet_question_narrow(struct sp_fleet_question *q);

/* Asks what `sql` says, which is empty afterwards; the rows are valid until the next. */
int sp_fleet_question_ask(struct sp_fleet_question *q, struct sp_row_reader *ret_row);
/* -EIO if the rows were not what was asked for. */
int sp_fleet_row_check(const struct sp_fleet_question *q, const struct sp_row_reader *row);
char *sp_fleet_row_copy(struct sp_row_reader *row);      /* a text; NULL: out of memory */
int sp_fleet_nothing_found(struct sp_fleet_question *q); /* -ENODATA, and what there is instead */
/* Names that do not stay: the nearest to .suggest.word is kept. Free it. */
struct sp_fleet_near {
	struct sp_suggest suggest;
	char *kept;
};
void sp_fleet_near_offer(struct sp_fleet_near *n, const char *name);
/* Whether a label, NAME=VALUE, is one that the filter's wants. */
bool sp_fleet_label_matches(const char *wanted, const char *label);

/* Conditions: "day >= ... AND day <= ..." */
void sp_fleet_put_days(const struct sp_fleet_question *q, struct sp_bytes *sql);
void sp_fleet_put_text(struct sp_bytes *sql, const struct sp_bytes *text);
/* " WHERE ...": rows of `samples`: at least those that are asked for, which is enough for names. */
void sp_fleet_put_samples_where(const struct sp_fleet_question *q, struct sp_bytes *sql);
/* " AND ...": of `samples` and `windows` those that count */
void sp_fleet_put_chosen(const struct sp_fleet_question *q, struct sp_bytes *sql);

#endif
