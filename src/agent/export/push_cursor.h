/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push_cursor.h: how far a server has got, by source: a small file beside the store (push.h).
 *
 * A line of text for each source: its name, where the interval begins that is to be sent next, where it ends, and the
 * last service of it that was taken ("=": none), as services go in the order of their names. It is written in one
 * piece after each answer, so a sender that is killed begins where it was. The file of another server, or one that
 * cannot be read, is begun anew. 0 or a negative errno with sp_error_text(). One process at a time.
 */
#ifndef SP_AGENT_EXPORT_PUSH_CURSOR_H
#define SP_AGENT_EXPORT_PUSH_CURSOR_H

#include "agent/export/push_priv.h"

enum { SP_PUSH_SOURCE_MAX = 64 };
struct sp_push_at {
	char source[SP_PUSH_SOURCE_MAX + 1];
	uint64_t from_ns, to_ns; /* from 0: nothing was sent yet */
	char service[SP_PUSH_SERVICE_MAX + 1];
};
struct sp_push_cursor {
	int fd;
	uint64_t target;
	struct sp_push_at at[SP_AGENT_MAX_SOURCES];
	size_t n;
};
/* target: a number of the server. */
int sp_push_cursor_open(const char *path, uint64_t target, struct sp_push_cursor *ret_cursor);
void sp_push_cursor_close(struct sp_push_cursor *c);
/* The source's place, which is made if there is none; NULL: there are too many, or its name is too long. */
struct sp_push_at *sp_push_cursor_of(struct sp_push_cursor *c, const char *source);
int sp_push_cursor_keep(const struct sp_push_cursor *c);

#endif
