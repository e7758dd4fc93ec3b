/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request.h: the words that the agent and its clients exchange (see ask.h), written and taken apart.
 *
 * A line is words with one space between, each NAME=VALUE; in a value every byte but letters, digits and
 * -._/:*?[]@+,~!^ is %XX. Taking apart happens in place: values are decoded where they stand, and point into the line.
 * The line may be anybody's: at most SP_LINE_MAX bytes, a word of each name once, no NUL, no control characters; what
 * is not so is -EBADMSG. Unknown names are refused, not passed over: an agent that is older than its client must not
 * answer another question. 0 or a negative errno with sp_error_text(). No state.
 */
#ifndef SP_AGENT_REQUEST_H
#define SP_AGENT_REQUEST_H

#include "store/store.h"
#include <stdbool.h>
#include <stdio.h>

enum { SP_LINE_MAX = 8192, SP_LINE_MAX_WORDS = 32 };

struct sp_line {
	const char *first; /* the word without a value that it begins with; "" = none */
	struct {
		const char *name, *value;
	} words[SP_LINE_MAX_WORDS];
	size_t n;
};
/* text: without the newline, a NUL behind it. with_first: the first word is a bare one. */
int sp_line_parse(char *text, bool with_first, struct sp_line *ret_line);
const char *sp_line_word(const struct sp_line *l, const char *name); /* NULL = not there */
int sp_line_number(const struct sp_line *l, const char *name, uint64_t *ret_number);
/* -EBADMSG when there is a word of another name than these; NULL ends them. */
int sp_line_only(const struct sp_line *l, const char *const *names);

void sp_line_put(FILE *out, const char *name, const char *value); /* " NAME=VALUE"; nothing for a NULL value */
void sp_line_put_number(FILE *out, const char *name, uint64_t number);

enum sp_what {
	SP_ASK_STATUS,
	SP_ASK_QUERY,
	SP_ASK_EVENTS,
	SP_ASK_TOTALS,
	SP_ASK_UPGRADES,
	SP_ASK_API,
	SP_ASK_PASSWORD,
	SP_N_ASKS
};
struct sp_request {
	enum sp_what what;
	struct sp_store_query query; /* EVENTS: from_ns and to_ns only; TOTALS: source, too */
	bool by_function;            /* TOTALS */
	uint64_t span_ns;            /* UPGRADES: see upgrade.h; the agent asks that itself */
	/* API: what api.h answers; its query as it came. The codings that the client takes ("gzip"); NULL = none. */
	const char *path, *params, *coding;
	const char *hash, *password; /* PASSWORD: whether they belong together; the agent asks that itself */
	bool wants_current;          /* API: the window that is not stored yet, too */
};
/* Strings of the request point into text. all_users and uid are what is asked for, not what is granted. */
int sp_request_parse(char *text, struct sp_request *ret_request);
void sp_request_write(const struct sp_request *q, FILE *out); /* with the newline */

void sp_answer_write(const struct sp_store_answer *a, FILE *out); /* words */
int sp_answer_parse(const struct sp_line *l, struct sp_store_answer *ret_answer);

#endif
