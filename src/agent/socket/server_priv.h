/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_priv.h: the server's structs: server.c has requests, server_client.c who clients are, server_child.c the
 * processes that answer, server_place.c the socket's path.
 *
 * States of a client: HELD, since its user has used up his share, READING its request, WAITING for a free query slot,
 * ANSWERED by a process that writes to it, or WRITING an answer that was made here. Each state has a deadline, after
 * which one that is HELD is read. The server owns everything. One thread.
 */
#ifndef SP_AGENT_SOCKET_SERVER_PRIV_H
#define SP_AGENT_SOCKET_SERVER_PRIV_H

#include "agent/request.h"
#include "agent/socket/server.h"
#include "base/share.h"
#include <sys/types.h>

enum {
	SP_SERVER_SLOTS = 1024,
	SP_SERVER_ROOT_CLIENTS = 4, /* beyond max_clients, for those who see all */
	SP_SERVER_HELD_MS = 1000,   /* what is refused at once is asked again at once */
	SP_SERVER_READ_MS = 10000,
	SP_SERVER_WRITE_MS = 30000,
	SP_SERVER_STALL_MS = 10000, /* an answer of which nothing is read for so long ends */
	SP_SERVER_UNREAPED = 256,
	SP_SERVER_SOURCE = 32
};

enum sp_client_state {
	SP_CLIENT_FREE,
	SP_CLIENT_HELD,
	SP_CLIENT_READING,
	SP_CLIENT_WAITING,
	SP_CLIENT_ANSWERED,
	SP_CLIENT_WRITING
};

struct sp_client {
	enum sp_client_state state;
	int fd;
	uid_t uid;
	bool sees_all;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	uint64_t turn;        /* WAITING, ANSWERED: a user's own are one behind the other, users' side by side */
	uint64_t ticket;      /* WAITING: of one turn the lowest is next */
	char *text;           /* READING: SP_LINE_MAX + 1 bytes; WAITING: the request; WRITING: the answer */
	size_t n, at;
	bool wants_current; /* WAITING: with the current window of `source` */
	char source[SP_SERVER_SOURCE];
	pid_t pid; /* ANSWERED */
	int pidfd;
	/* A request of the agent itself (sp_server_submit): fd is a file of the caller. */
	uint64_t client;
	void (*done)(void *arg, int r);
	void *arg;
};

struct sp_server {
	struct sp_server_owner owner;
	struct sp_client *clients; /* SP_SERVER_SLOTS */
	size_t n_slots;            /* highest one used so far */
	int epoll, listen, self;   /* self: the program, to be executed */
	char path[112];
	bool is_ours;             /* we made the socket at path */
	uint64_t accept_again_ns; /* no descriptors were left: no accept(2) until then */
	gid_t group;              /* if has_group */
	bool has_group;
	uint64_t max_clients, max_queries, query_timeout_ns, query_memory_bytes;
	char *store;
	uint64_t turn, n_tickets; /* turn: the latest that has begun */
	/* The current window, as input of answering processes; used for a second. */
	char *current;
	size_t current_bytes;
	uint64_t current_ns;
	char current_source[SP_SERVER_SOURCE];
	bool is_current_asked; /* for which requests wait */
	uint64_t n_own;        /* requests of the agent itself */
	bool has_new;          /* such a request came since the last dispatch */
	struct sp_server_stats stats;
	/* Killed processes that had not ended yet; waited for later, without blocking. */
	struct sp_unreaped {
		pid_t pid;
		bool is_counted, is_own; /* its time is a user's; a client's of sp_server_submit() */
		uint64_t who;
	} unreaped[SP_SERVER_UNREAPED];
	size_t n_unreaped;
	struct sp_shares shares, all_shares; /* of ordinary users: of each, and of all of them as of one */
	struct sp_shares client_shares;      /* if the owner limits clients */
	/* Refusals cost something, too: beyond so many in a period nobody is accepted until its end. */
	uint64_t refusals_ns; /* its beginning */
	unsigned n_refusals;
};

/* server_client.c: sets the client's user and what he sees, by its socket. */
int sp_server_identify(const struct sp_server *s, struct sp_client *c);
/* An ordinary user may not take all connections from the others. */
bool sp_server_has_room(const struct sp_server *s, const struct sp_client *c);
/* For its answer: of which nothing is read, that holds one of the few places for no longer. */
void sp_server_limit_stall(const struct sp_server *s, int fd);
/* Whether both are of one user of the socket, or of one client of sp_server_submit(). */
bool sp_server_is_same(const struct sp_client *a, const struct sp_client *b);
/* Users take turns: who asks for much at once waits for himself, and others for no more than one query of his. */
void sp_server_enqueue(struct sp_server *s, struct sp_client *c);
bool sp_server_is_before(const struct sp_client *a, const struct sp_client *b);

/* server_place.c: listens at s->path. */
int sp_server_listen(struct sp_server *s);

/* The kind of descriptor that an event is of. */
enum sp_server_event { SP_SERVER_LISTEN, SP_SERVER_CLIENT, SP_SERVER_CHILD };

/*
 * Sets c->wants_current and c->source by the client's request. Then: whether the server's copy is recent; asks for a
 * new one.
 */
void sp_server_set_current(const struct sp_server *s, const struct sp_request *q, struct sp_client *c);
bool sp_server_current_is_fresh(const struct sp_server *s, const struct sp_client *c);
void sp_server_current_ask(struct sp_server *s, const char *source);
void sp_server_queries_start(struct sp_server *s);
void sp_server_take_share(struct sp_server *s, uid_t uid, uint64_t cpu_ns); /* what an ordinary user has used */

/* Starts the process that answers c->text. */
int sp_server_child_start(struct sp_server *s, struct sp_client *c);
/* Kills the process if it has not ended. True: it had answered. */
bool sp_server_child_end(struct sp_server *s, struct sp_client *c);
void sp_server_reap(struct sp_server *s);
/* Executes `self` to answer, in a process group of its own, with no signal blocked or ignored. */
int sp_server_spawn(int input, int output, int self, pid_t *ret_pid);

/*
 * answer.c, in that process. Input on descriptor 0: a line of words, the request's line, and a profile as pprof if the
 * first line says so. Output on descriptor 1: the answer.
 */
#define SP_ANSWER_ARGUMENT "--answer"

#endif
