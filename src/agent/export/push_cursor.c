/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/push_cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A page, so that a write is all or nothing to who is killed in it. */
enum { MAX_BYTES = 4096 };
#define HEAD "soprof-sent 1 %016" PRIx64 "\n"
#define END "end\n" /* what stands behind it is of a longer text before */
#define NONE "="    /* no service has that in its name */

static void text_parse(struct sp_push_cursor *c, char *text)
{
	char head[64], *rest = strstr(text, "\n" END);

	snprintf(head, sizeof(head), HEAD, c->target);
	if (!rest || strncmp(text, head, strlen(head)) != 0)
		return;
	*rest = '\0';
	rest = text + strlen(head) - 1; /* at the line break */
	while (*rest && c->n < SP_AGENT_MAX_SOURCES) {
		struct sp_push_at *at = &c->at[c->n];
		int n = 0;
		if (sscanf(rest, "\n%64[^ \n] %" SCNu64 " %" SCNu64 " %100[^ \n]%n", at->source, &at->from_ns,
			   &at->to_ns, at->service, &n) != 4)
			break;
		if (!strcmp(at->service, NONE))
			*at->service = '\0';
		rest += n;
		c->n++;
	}
}

int sp_push_cursor_open(const char *path, uint64_t target, struct sp_push_cursor *ret_cursor)
{
	char text[MAX_BYTES + 1];
	ssize_t n;

	*ret_cursor = (struct sp_push_cursor){.target = target};
	ret_cursor->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (ret_cursor->fd < 0)
		return sp_fail(-errno, "open %s", path);
	n = sp_read_most_at(ret_cursor->fd, text, MAX_BYTES, 0);
	if (n < 0) {
		sp_push_cursor_close(ret_cursor);
		return sp_fail((int)n, "read %s", path);
	}
	text[n] = '\0';
	text_parse(ret_cursor, text);
	return 0;
}

void sp_push_cursor_close(struct sp_push_cursor *c)
{
	sp_cleanup_close(&c->fd);
}

struct sp_push_at *sp_push_cursor_of(struct sp_push_cursor *c, const char *source)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->at[i].source, source))
			return &c->at[i];
	if (c->n == SP_AGENT_MAX_SOURCES || strlen(source) > SP_PUSH_SOURCE_MAX)
		return NULL;
	c->at[c->n] = (struct sp_push_at){0};
	snprintf(c->at[c->n].source, sizeof(c->at->source), "%s", source);
	return &c->at[c->n++];
}

int sp_push_cursor_keep(const struct sp_push_cursor *c)
{
	char text[MAX_BYTES];
	int n = snprintf(text, sizeof(text), HEAD, c->target), r;

	for (size_t i = 0; i < c->n; i++) {
		const struct sp_push_at *at = &c->at[i];
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s %" PRIu64 " %" PRIu64 " %s\n", at->source,
			      at->from_ns, at->to_ns, *at->service ? at->service : NONE);
	}
	n += snprintf(text + n, sizeof(text) - (size_t)n, END);
	r = sp_write_at(c->fd, text, (size_t)n, 0);
	return r < 0 ? sp_fail(r, "keep what was sent") : 0;
}
