/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_request.c: any bytes as a line that a client sends to the agent, or the agent to a client.
 *
 * What is understood as a request can be written again, and that is understood as the same request; so are words, of
 * whatever names and values.
 */
#include "agent/request.h"
#include "base/error.h"
#include "require.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char *written(const struct sp_request *q)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	require(out != NULL);
	sp_request_write(q, out);
	require(fclose(out) == 0 && n > 0 && text[n - 1] == '\n' && strlen(text) == n);
	text[n - 1] = '\0';
	return text;
}

static void as_request(char *line)
{
	struct sp_request q, again;
	int r = sp_request_parse(line, &q);
	char *text, *copy, *second;

	require(r == 0 || r == -EBADMSG);
	if (r < 0)
		return;
	require(q.query.from_ns <= q.query.to_ns);
	text = written(&q);
	copy = strdup(text);
	if (strlen(text) < SP_LINE_MAX) { /* bytes that were sent plain are written as three */
		require(sp_request_parse(copy, &again) == 0 && again.what == q.what);
		second = written(&again);
		require(strcmp(text, second) == 0);
		free(second);
	}
	free(copy);
	free(text);
}

static void as_answer(char *line, bool with_first)
{
	struct sp_store_answer a;
	struct sp_line l;
	int r = sp_line_parse(line, with_first, &l);

	require(r == 0 || r == -EBADMSG);
	if (r < 0)
		return;
	require(l.n <= SP_LINE_MAX_WORDS);
	for (size_t i = 0; i < l.n; i++)
		require(sp_line_word(&l, l.words[i].name) == l.words[i].value);
	r = sp_answer_parse(&l, &a);
	require(r == 0 || r == -EBADMSG);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	char *line;

	if (size > SP_LINE_MAX)
		return 0;
	for (int i = 0; i < 3; i++) {
		line = strndup((const char *)data, size);
		require(line != NULL);
		if (i == 0)
			as_request(line);
		else
			as_answer(line, i == 1);
		free(line);
	}
	sp_error_clear();
	return 0;
}
