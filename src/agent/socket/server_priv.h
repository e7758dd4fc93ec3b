/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_priv.h: the server's parts: server.c has the clients, server_child.c the processes that answer for it.
 *
 * A client goes one way: READING its request, WAITING for its turn, ANSWERED by a process that writes to it; or WRITING
 * what was made at once. At each step a time is set at which it is over for it. Everything belongs to the server and to
 * its one thread.
 */
#ifndef SP_AGENT_SOCKET_SERVER_PRIV_H
#define SP_AGENT_SOCKET_SERVER_PRIV_H

#include "agent/request.h"
#include "agent/socket/server.h"
#include <sys/types.h>

enum {
	SP_SERVER_SLOTS = 1024,
	SP_SERVER_READ_MS = 10000,
	SP_SERVER_WRITE_MS = 30000,
	SP_SERVER_UNREAPED = 256,
	SP_SERVER_SOURCE = 32
};

enum sp_client_state { SP_CLIENT_FREE, SP_CLIENT_READING, SP_CLIENT_WAITING, SP_CLIENT_ANSWERED, SP_CLIENT_WRITING };

struct sp_client {
	enum sp_client_state state;
	int fd;
	uid_t uid;
	bool sees_all;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	uint64_t turn;        /* WAITING: the lowest is next */
	char *text;           /* READING: SP_LINE_MAX + 1 bytes; WAITING: the request; WRITING: the answer */
	size_t n, at;
	bool wants_current; /* WAITING: the window that is not stored yet, too, of this source */
	char source[SP_SERVER_SOURCE];
	pid_t pid; /* ANSWERED */
	int pidfd;
	/* The agent's own question (sp_server_ask): fd is a file, and not ours. */
	void (*done)(void *arg, int r);
	void *arg;
};

struct sp_server {
	struct sp_server_owner owner;
	struct sp_client *clients; /* SP_SERVER_SLOTS */
	size_t n_slots;            /* used so far */
	int epoll, listen, self;   /* self: what is executed to answer */
	char path[112];
	bool is_ours;       /* the path, to be removed */
	uint64_t paused_ns; /* no descriptors are left: no accept(2) until then */
	gid_t group;        /* with has_group */
	bool has_group;
	uint64_t max_clients, max_queries, query_timeout_ns, query_memory_bytes;
	char *store;
	uint64_t n_turns;
	/* The window that is not stored yet, as the answering processes are given it; good for a second. */
	char *current;
	size_t current_bytes;
	uint64_t current_ns;
	char current_source[SP_SERVER_SOURCE];
	/* The owner makes it, and may come back to sp_server_dispatch() meanwhile: then nobody's turn comes. */
	bool is_renewing;
	uint64_t n_own; /* questions of the agent itself */
	bool has_new;   /* one of them came: whose turn is it? */
	struct sp_server_stats stats;
	/* Processes that were killed and had not gone yet: nobody waits for them, they are looked after now and then.
	 */
	pid_t unreaped[SP_SERVER_UNREAPED];
	size_t n_unreaped;
};

/* Which descriptor an event is of. */
enum sp_server_event { SP_SERVER_LISTEN, SP_SERVER_CLIENT, SP_SERVER_CHILD };
int sp_server_watch(struct sp_server *s, int op, int fd, uint32_t events, enum sp_server_event kind, size_t client);

/* What the client's request wants of the window that is not stored yet; and brings it up to date, if need be. */
void sp_server_current_wanted(const struct sp_server *s, const struct sp_request *q, struct sp_client *c);
bool sp_server_current_is_fresh(const struct sp_server *s, const struct sp_client *c);
void sp_server_current_renew(struct sp_server *s, const char *source);

/* Starts the process that answers the client's request (c->text), or a negative errno. */
int sp_server_child_start(struct sp_server *s, struct sp_client *c);
/* Ends it, if it has not ended by itself: true if it had answered. */
bool sp_server_child_end(struct sp_server *s, struct sp_client *c);
void sp_server_reap(struct sp_server *s);
/* Executes `self` for an answer. In a process group of its own, with no signal blocked or ignored. */
int sp_server_spawn(int input, int output, int self, pid_t *ret_pid);

/*
 * answer.c, in the process: what it is given on descriptor 0 is a line of words, the request's line, and a profile in
 * pprof's form if the line says so; it writes the answer to descriptor 1.
 */
#define SP_ANSWER_ARGUMENT "--answer"

#endif
