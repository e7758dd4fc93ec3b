/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h: what an opener answered, kept for the test that asked: opened() is the callback, with a struct answer of
 * zeros as its argument; answer_done() closes and frees what came. Behind tool.h. A test program has one of each, so
 * all of it is static inline.
 */
#ifndef TEST_WORKER_ANSWER_H
#define TEST_WORKER_ANSWER_H

#include "base/error.h"
#include "tool.h"

struct answer {
	int n; /* how many came */
	struct sp_open_result result;
	char error[200];
};

static inline void opened(void *arg, struct sp_open_result *result)
{
	struct answer *a = arg;
	a->n++;
	a->result = *result;
	snprintf(a->error, sizeof(a->error), "%s", result->r < 0 ? sp_error_text(result->r) : "");
}

static inline void answer_done(struct answer *a)
{
	if (a->result.fd >= 0)
		close(a->result.fd);
	free(a->result.path);
}

#endif
