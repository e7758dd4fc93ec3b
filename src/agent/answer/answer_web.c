/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/answer/answer_web.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/gzip.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_BYTES = 4096, LEVEL = 4 };

static bool wants_gzip(const struct sp_web_request *q, size_t n)
{
	return n >= LARGE_BYTES && q->coding && !strcmp(q->coding, "gzip");
}

int sp_web_answer(const struct sp_web_request *q, FILE *out)
{
	char *text SP_FREE = NULL, *small SP_FREE = NULL;
	size_t n = 0, n_small = 0;
	FILE *body = open_memstream(&text, &n);
	int status = 500, r;
	bool is_small, is_file = false;

	if (!body)
		return -ENOMEM;
	r = sp_api_answer(&q->api, q->path, q->params, body, &status, &is_file);
	if (fclose(body) && r == 0)
		r = -ENOMEM;
	is_small = r == 0 && wants_gzip(q, n);
	if (is_small)
		r = sp_gzip(text, n, LEVEL, &small, &n_small);
	if (r < 0)
		return r;
	sp_line_put_number(out, "status", (uint64_t)status);
	sp_line_put(out, "type", is_file ? "application/octet-stream" : "application/json");
	if (is_small)
		sp_line_put(out, "coding", "gzip");
	fputc('\n', out);
	fwrite(is_small ? small : text, 1, is_small ? n_small : n, out);
	return ferror(out) ? -ENOMEM : 0;
}
