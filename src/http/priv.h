/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the server's structs: http.c has sockets and connections, request.c requests and answers.
 *
 * We accept connections and pass them to libmicrohttpd (MHD_add_connection), so that we decide whom to accept and whom
 * to close; it reads, parses, writes and closes. A struct sp_connection exists between its notifications STARTED and
 * CLOSED, a request from its first line to sp_request_completed(). To end a connection we shut down its socket;
 * libmicrohttpd then closes it. The server owns everything. One thread.
 */
#ifndef SP_HTTP_PRIV_H
#define SP_HTTP_PRIV_H

#include "http/auth.h"
#include "http/handshakes.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/mhd.h"
#include "http/peer.h"
#include "http/web_config.h"

struct sp_connection {
	struct sp_connection *next, *previous; /* by last use, oldest first */
	struct MHD_Connection *mhd;
	int fd;
	uint64_t client;                 /* sp_peer_client() */
	uint64_t deadline_ns;            /* CLOCK_MONOTONIC; 0 = none: an answer is being made */
	bool is_greeted;                 /* of TLS: something was sent to it, which was our part of the handshake */
	bool is_busy;                    /* a request has no answer yet */
	bool is_sending;                 /* its answer is being read by the client */
	bool is_authorized;              /* has shown the token, or a user's password */
	uint64_t n_read;                 /* bytes that the client had taken when it was looked at last */
	bool is_ended;                   /* its socket was shut down */
	struct sp_http_request *waiting; /* deferred request */
	bool is_allowed;                 /* its client certificate was checked */
};

struct sp_http_request {
	struct sp_http *http;
	struct sp_http_request *next; /* of those that wait for the same password */
	struct sp_connection *connection;
	char *path, *query; /* in one allocation, which is path's */
	bool is_seen, is_served, is_deferred, is_suspended;
	struct MHD_Response *response;
	unsigned status;
	void (*gone)(void *arg);
	void *gone_arg;
};

struct sp_http {
	struct sp_http_config config;
	struct MHD_Daemon *daemon;
	int epoll, mhd_epoll;
	struct sp_peers peers;
	int listeners[SP_HTTP_MAX_LISTEN];
	size_t n_listeners;
	char host[256]; /* the machine's own name, in lower case */
	struct sp_connection *first, *last;
	uint64_t accepted; /* the client of the connection that is accepted now */
	struct sp_auth auth;
	struct sp_handshakes handshakes;
	struct sp_http_request *wait_password;
	uint64_t n_open; /* connections that are not ended */
	uint64_t accept_again_ns;
	bool has_resumed; /* libmicrohttpd has to run for a resumed connection */
	struct sp_http_stats stats;
};

enum { SP_HTTP_HEADER_S = 10, SP_HTTP_IDLE_S = 90, SP_HTTP_ANSWER_S = 120 };

void sp_connection_end(struct sp_http *h, struct sp_connection *c);
/* It has shown the token, or a user's password. */
void sp_connection_authorize(struct sp_http *h, struct sp_connection *c);
/* Whether a request without token or user may wait for its answer: half of all places are kept for others. */
bool sp_connection_has_place_for_stranger(const struct sp_http *h);
/* Sets the deadline, and makes the connection the last to be evicted. */
void sp_connection_touch(struct sp_http *h, struct sp_connection *c, uint64_t seconds);
/* Watches for the client's hangup while the request is suspended; NULL: no more. */
void sp_connection_watch_hangup(struct sp_http *h, struct sp_connection *c, struct sp_http_request *q);
/* request.c: libmicrohttpd's callbacks; the closure is struct sp_http. */
void *sp_request_started(void *http, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result sp_request_access(void *http, struct MHD_Connection *mhd, const char *url, const char *method,
				  const char *version, const char *data, size_t *data_size, void **request);
void sp_request_completed(void *http, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode why);
/* authorize.c. False: the request has its answer, or waits for a password's comparison. */
bool sp_request_check_certificate(struct sp_http_request *q);
bool sp_request_authorize(struct sp_http_request *q, bool is_open);
/* The client has hung up. */
void sp_request_gone(struct sp_http_request *q);

#endif
