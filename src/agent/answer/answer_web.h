/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer_web.h: what the answering process says to a question that came over HTTP: words about the body, and the body.
 *
 * The words are status=NUMBER, type=MIME, and coding=gzip where the asker takes that and the body is large; then a
 * newline and the body, all into the stream. What can be asked is api.h's; here it only gets its clothes, so that the
 * agent's own process hands out bytes that it never looked at. 0 or a negative errno with sp_error_text(): then the
 * stream holds nothing that could be sent. No state; one thread.
 */
#ifndef SP_AGENT_ANSWER_ANSWER_WEB_H
#define SP_AGENT_ANSWER_ANSWER_WEB_H

#include "agent/answer/api.h"

struct sp_web_question {
	struct sp_api api;
	const char *path, *params, *coding; /* see request.h */
};

int sp_web_answer(const struct sp_web_question *q, FILE *out);

#endif
