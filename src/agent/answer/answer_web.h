/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer_web.h: in the answering process: an answer of the API, with the words that the page's server needs.
 *
 * The words are status=NUMBER, type=MIME, and coding=gzip if the client accepts that and the body is large; then a
 * newline and the body. So the agent's own process can pass the body on without reading it. 0 or a negative errno with
 * sp_error_text(): then the stream has nothing that may be sent. No state; one thread.
 */
#ifndef SP_AGENT_ANSWER_ANSWER_WEB_H
#define SP_AGENT_ANSWER_ANSWER_WEB_H

#include "agent/answer/api.h"

struct sp_web_request {
	struct sp_api api;
	const char *path, *params, *coding; /* as in request.h */
};

int sp_web_answer(const struct sp_web_request *q, FILE *out);

#endif
