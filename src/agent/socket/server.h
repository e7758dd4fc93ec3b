/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h: who asks the agent, over its Unix socket, gets an answer (the protocol is in ask.h).
 *
 * The kernel tells who the client is (SO_PEERCRED, SO_PEERGROUPS): root and members of the group see all, others the
 * rows of their own uid. What is quick is answered at once; a query of the store by a process of its own: this program,
 * executed again, with a deadline and limits on CPU and memory, that writes to the client itself. Clients are bounded:
 * max_clients (of one ordinary user at most a quarter), a request of 8 KiB within 10 s, max_queries at once, the others
 * wait for their turn until their deadline. Nothing here blocks: the owner polls sp_server_fd() for reading and
 * calls sp_server_dispatch() then, and when sp_server_timeout_ms() is over. Strings given belong to the caller and must
 * stay until the next sp_server_configure(). One thread. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_AGENT_SOCKET_SERVER_H
#define SP_AGENT_SOCKET_SERVER_H

#include "agent/config.h"
#include <stdio.h>

struct sp_profile;
struct sp_server;

/* What the server asks its owner, from sp_server_dispatch(). */
struct sp_server_owner {
	void *arg;
	/* name=value lines about the agent (see `soprof status`); values are encoded by sp_line_put() of request.h. */
	int (*status)(void *arg, FILE *out);
	/*
	 * The window of this source that is not in the store yet, for who asks for the time until now: brought up to
	 * date, with names, if that takes no more than some ms (asked for at most once a second). -ENOENT: there is
	 * none. The profile stays the owner's and is only read, before the function returns to the server. NULL: never.
	 */
	int (*current)(void *arg, const char *source, const struct sp_profile **ret_profile,
		       struct sp_store_window *ret_window);
};

/*
 * Makes the socket, mode 0666, with its directory if need be; none if its path is "". A socket that nobody listens on
 * any more is replaced.
 */
int sp_server_new(const struct sp_agent_config *c, const struct sp_server_owner *owner, struct sp_server **ret_server);
void sp_server_free(struct sp_server *s); /* ends what is being answered, and removes the socket */
/*
 * A question of the agent itself, for somebody who may see all: the request's line (request.h, without a newline) is
 * answered in its turn, by a process, into `output`, which stays the caller's and is a file. done() is called once,
 * from sp_server_dispatch(): with 0, and the answer is in the file; or with a negative errno and sp_error_text(). Until
 * then sp_server_forget() ends it without a word. -EBUSY: too many are waiting.
 */
struct sp_server_question {
	const char *line;
	int output;
	void (*done)(void *arg, int r);
	void *arg;
};
struct sp_client;
int sp_server_ask(struct sp_server *s, const struct sp_server_question *q, struct sp_client **ret_client);
void sp_server_forget(struct sp_server *s, struct sp_client *c);

/* After a reload; the socket's place stays. */
void sp_server_configure(struct sp_server *s, const struct sp_agent_config *c);

int sp_server_fd(const struct sp_server *s);
int sp_server_timeout_ms(const struct sp_server *s); /* -1 = nothing waits */
void sp_server_dispatch(struct sp_server *s);

struct sp_server_stats {
	uint64_t n_clients, n_queries;            /* now */
	uint64_t n_answered, n_refused, n_failed; /* since the start: requests; clients beyond the limits; queries */
};
void sp_server_stats(const struct sp_server *s, struct sp_server_stats *ret_stats);

/* Makes the directory that path lies in, if need be; not those above it. */
int sp_server_directory(const char *path);

#endif
