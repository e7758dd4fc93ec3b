/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request.h: writes and parses the lines that agent and clients exchange (the protocol is in ask.h).
 *
 * A line is words with one space between, each NAME=VALUE; in values every byte but letters, digits and
 * -._/:*?[]@+,~!^ is %XX. Parsing decodes values in place, so they point into the line. Lines are untrusted: -EBADMSG
 * for more than SP_LINE_MAX bytes, a name given twice, NUL or control characters. Unknown names are errors, too,
 * because an agent older than its client must not answer a different request. 0 or a negative errno with
 * sp_error_text(). No state.
 */
#ifndef SP_AGENT_REQUEST_H
#define SP_AGENT_REQUEST_H

#include "store/store.h"
#include <stdbool.h>
#include <stdio.h>

enum { SP_LINE_MAX = 8192, SP_LINE_MAX_WORDS = 32 };

struct sp_line {
	const char *first; /* a first word without a value; "" = none */
	struct {
		const char *name, *value;
	} words[SP_LINE_MAX_WORDS];
	size_t n;
};
/* text: without newline, NUL-terminated. with_first: the first word has no value. */
int sp_line_parse(char *text, bool with_first, struct sp_line *ret_line);
const char *sp_line_word(const struct sp_line *l, const char *name); /* NULL = not there */
int sp_line_number(const struct sp_line *l, const char *name, uint64_t *ret_number);

void sp_line_put(FILE *out, const char *name, const char *value); /* " NAME=VALUE"; nothing if value is NULL */
void sp_line_put_number(FILE *out, const char *name, uint64_t number);

enum sp_request_kind {
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
	enum sp_request_kind what;
	struct sp_store_query query; /* EVENTS: from_ns, to_ns; TOTALS: source, too */
	bool by_function;            /* TOTALS */
	uint64_t span_ns;            /* UPGRADES: see upgrade.h; from the agent itself only */
	/* API: path and query of api.h, as the client sent them; accepted coding ("gzip"; NULL = none). */
	const char *path, *params, *coding;
	const char *hash, *password; /* PASSWORD: do they match? From the agent itself only */
	bool wants_current;          /* API: with the current window */
};
/* Strings point into text. all_users and uid are what the client asks for, before its rights are checked. */
int sp_request_parse(char *text, struct sp_request *ret_request);
void sp_request_write(const struct sp_request *q, FILE *out); /* with newline */

void sp_answer_write(const struct sp_store_answer *a, FILE *out); /* words only */
int sp_answer_parse(const struct sp_line *l, struct sp_store_answer *ret_answer);

#endif
