/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h: answers requests on the agent's Unix socket (the protocol is in ask.h).
 *
 * Clients are identified by the kernel (SO_PEERCRED, SO_PEERGROUPS): root and members of the group see all rows, others
 * those of their own uid. The status is answered at once. A query of the store is answered by a process of its own:
 * this program, executed again, with a deadline and limits of CPU and memory, which writes to the client itself.
 * Limits: max_clients (an ordinary user may have a quarter of them), 8 KiB and 10 s for a request, max_queries at once;
 * others wait until their deadline, and users and the page's clients take turns. An answer of which nothing is read
 * ends after a third of the query's timeout, 10 s at most. An ordinary user who has used up the CPU time of share.h
 * waits for a second and is refused then, until it has come again. Nothing blocks: the owner polls sp_server_fd() for
 * reading, and calls sp_server_dispatch() then and after sp_server_timeout_ms(). Strings of the configuration belong to
 * the caller, and must be valid until the next sp_server_configure(). One thread. 0 or a negative errno with
 * sp_error_text().
 */
#ifndef SP_AGENT_SOCKET_SERVER_H
#define SP_AGENT_SOCKET_SERVER_H

#include "agent/config.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_agent_asked;
struct sp_server;

/* Callbacks, called from sp_server_dispatch(). */
struct sp_server_owner {
	void *arg;
	/* Writes name=value lines (see `soprof status`), with sp_line_put() of request.h. */
	int (*status)(void *arg, FILE *out);
	/*
	 * Asks for the current window of a source with names, as sp_agent_current() does, for queries whose range
	 * reaches now and API requests that want it (request.h), at most once a second. A negative errno: there is
	 * none, and it will not come. NULL: there is never one.
	 */
	int (*current)(void *arg, const char *source, const struct sp_agent_asked *asked);
	/* So much CPU time was used by a process that answered. NULL: it does not matter. */
	void (*used)(void *arg, uint64_t cpu_ns);
	/* Words that tell processes what to ask in place of the store (answer/api_fleet.h). NULL: the store is asked.
	 */
	const char *place;
	/*
	 * Clients of sp_server_submit() have shares of CPU time as ordinary users have, and none may run all queries
	 * at once. False: who may ask there is as good as root.
	 */
	bool limits_clients;
};

/*
 * Makes the socket, mode 0666, and its directory; no socket if the path is "". A socket that nobody listens on is
 * replaced.
 */
int sp_server_new(const struct sp_agent_config *c, const struct sp_server_owner *owner, struct sp_server **ret_server);
void sp_server_free(struct sp_server *s); /* kills running queries, and removes the socket */
/*
 * A request by the agent itself, with access to all rows. `line` is as in request.h, without newline. A process writes
 * the answer into the file `output`, which stays the caller's. done() is called once, from sp_server_dispatch(): with
 * 0, or with a negative errno and sp_error_text(). sp_server_cancel() ends the request before that, without done().
 * -EBUSY: too many requests wait, or too many of this client. -EDQUOT: it has used up its CPU time.
 */
struct sp_server_own_request {
	const char *line;
	int output;
	uint64_t client; /* for whom (sp_http_client()); 0 = for nobody but itself */
	void (*done)(void *arg, int r);
	void *arg;
};
struct sp_client;
int sp_server_submit(struct sp_server *s, const struct sp_server_own_request *q, struct sp_client **ret_client);
void sp_server_cancel(struct sp_server *s, struct sp_client *c);

/* After a reload; the path does not change. */
void sp_server_configure(struct sp_server *s, const struct sp_agent_config *c);

int sp_server_fd(const struct sp_server *s);
int sp_server_timeout_ms(const struct sp_server *s); /* -1 = none */
void sp_server_dispatch(struct sp_server *s);

struct sp_server_stats {
	uint64_t n_clients, n_queries;            /* now */
	uint64_t n_answered, n_refused, n_failed; /* since the start: requests; clients beyond the limits; queries */
};
void sp_server_stats(const struct sp_server *s, struct sp_server_stats *ret_stats);

/* Makes the directory of path, but not those above it. */
int sp_server_directory(const char *path);

#endif
