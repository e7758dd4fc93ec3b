/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the server's parts: http.c has the sockets and connections, request.c what is asked over them.
 *
 * libmicrohttpd gets its connections from us (MHD_add_connection), so that we decide who is let in and who has to go;
 * it reads, parses and writes, and closes them. A connection is ours from sp_connection_started() to its end, a request
 * from its first line to sp_request_completed(). To end a connection its socket is shut down: libmicrohttpd notices and
 * closes it. Everything belongs to the server and to its one thread.
 */
#ifndef SP_HTTP_PRIV_H
#define SP_HTTP_PRIV_H

#include "http/auth.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/mhd.h"
#include "http/web_config.h"

struct sp_connection {
	struct sp_connection *next, *previous; /* in the order of idleness, the longest first */
	struct MHD_Connection *mhd;
	int fd;
	uint64_t client;                 /* sp_address_client() */
	uint64_t deadline_ns;            /* CLOCK_MONOTONIC; 0 = none: the owner has to answer */
	bool is_busy;                    /* a request has come and is not answered */
	bool is_ended;                   /* its socket was shut down */
	struct sp_http_request *waiting; /* deferred */
	bool is_allowed;                 /* by its client's certificate: it was looked at */
};

struct sp_http_request {
	struct sp_http *http;
	struct sp_http_request *next; /* of those that wait for the same password */
	struct sp_connection *connection;
	char *path, *query; /* one allocation */
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
	int listeners[SP_HTTP_MAX_LISTEN];
	size_t n_listeners;
	char host[256]; /* the machine's own name, in lower case */
	struct sp_connection *first, *last;
	struct sp_auth auth;
	struct sp_http_request *authorizing;
	uint64_t n_open; /* connections, without those that are ended */
	uint64_t paused_ns;
	bool has_resumed; /* a connection, which libmicrohttpd is to look at */
	struct sp_http_stats stats;
};

enum { SP_HTTP_HEADER_S = 10, SP_HTTP_IDLE_S = 90, SP_HTTP_ANSWER_S = 120 };

void sp_connection_end(struct sp_http *h, struct sp_connection *c);
/* A time from now; the connection has done something, and is the last to be ended for another. */
void sp_connection_touch(struct sp_http *h, struct sp_connection *c, uint64_t seconds);
/* While nobody reads from it: tell when the client goes. */
void sp_connection_attend(struct sp_http *h, struct sp_connection *c, struct sp_http_request *q);
/* request.c: libmicrohttpd's callbacks, with struct sp_http as their closure. */
void *sp_request_started(void *http, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result sp_request_access(void *http, struct MHD_Connection *mhd, const char *url, const char *method,
				  const char *version, const char *data, size_t *data_size, void **request);
void sp_request_completed(void *http, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode why);
/* authorize.c: false: the request is answered, or waits until a password has been looked at. */
bool sp_request_certified(struct sp_http_request *q);
bool sp_request_authorized(struct sp_http_request *q, bool is_open);
/* The client does not wait any more. */
void sp_request_gone(struct sp_http_request *q);

#endif
