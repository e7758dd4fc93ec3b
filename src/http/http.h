/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http.h: a small HTTP server for its owner's event loop, with libmicrohttpd as parser and checks of our own.
 *
 * Refused before a handler is called: methods except GET and HEAD, a Host that is not allowed (gate.h), a foreign
 * Origin, a body, and, if the route requires it, a missing token. Limits: connections (one client may have three
 * quarters of them, and requests without token or user may wait for answers on half of them; at the limit the one idle
 * longest is closed, and who does not read his answer is idle), the header (8 KiB, 10 s), and the times for idling and
 * reading an answer. Paths match exactly; none reaches a file system. A request gets one answer: from its handler,
 * or later from the owner's loop (sp_http_defer). The owner polls sp_http_fd() for reading, and calls
 * sp_http_dispatch() then and after sp_http_timeout_ms(). Nothing blocks. The first server loads libmicrohttpd
 * (-ELIBACC: not installed). Strings of the configuration belong to the caller and must outlive the server. One
 * thread. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_HTTP_HTTP_H
#define SP_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_http;
struct sp_http_request;
struct sp_web_config;

enum sp_http_access { SP_HTTP_TOKEN, SP_HTTP_OPEN };

struct sp_http_route {
	const char *path; /* "/x" matches itself, "/x/" all that begins so; NULL ends a list of routes */
	enum sp_http_access access;
	bool is_page; /* links on other sites may lead here, so it must show nothing by itself */
	void (*handle)(void *arg, struct sp_http_request *q);
};

enum { SP_HTTP_MAX_LISTEN = 16, SP_HTTP_MAX_HOSTS = 64, SP_HTTP_HEADER_MAX = 8192 };

struct sp_http_config {
	const char *listen[SP_HTTP_MAX_LISTEN]; /* "127.0.0.1:9877", "[::1]:9877", ":9877" (all addresses) */
	size_t n_listen;
	const int *sockets; /* already listening; owned by the server from here on, also on failure */
	size_t n_sockets;
	/* A socket of sock_diag(7) by which users of this machine are told apart, owned as those are; 0: its own. */
	int peers;
	const char *hosts[SP_HTTP_MAX_HOSTS]; /* beside localhost and the addresses that it listens on */
	size_t n_hosts;
	uint64_t max_connections;
	const char *token; /* for SP_HTTP_TOKEN; NULL: such routes refuse everybody */
	/*
	 * TLS and users; NULL = none. With users, every route asks for one of them or the token. `verify` starts to
	 * compare a password with a hash, and has sp_http_verified() called once, later; or fails.
	 */
	const struct sp_web_config *web;
	int (*verify)(void *arg, const char *hash, const char *password);
	const struct sp_http_route *routes;
	void *arg; /* the handlers' */
};

int sp_http_new(const struct sp_http_config *c, struct sp_http **ret_http);
/* Whether certificate and key can be used. */
int sp_http_web_check(const struct sp_web_config *web);
/* Takes hosts, limits, token and web configuration of c; another web configuration ends all connections. */
int sp_http_configure(struct sp_http *h, const struct sp_http_config *c);
void sp_http_verified(struct sp_http *h, bool is_right);
void sp_http_free(struct sp_http *h); /* requests that wait for an answer are dropped: `gone` */
int sp_http_fd(const struct sp_http *h);
int sp_http_timeout_ms(const struct sp_http *h); /* -1 = none */
void sp_http_dispatch(struct sp_http *h);
/* "127.0.0.1:9877": the i-th listener, with its real port; false after the last. */
bool sp_http_address(const struct sp_http *h, size_t i, char *ret_text, size_t size);
const char *sp_http_scheme(const struct sp_http *h); /* "http", "https" */
/* Whether it is an address to listen on: -EINVAL with what is wrong. */
int sp_http_address_check(const char *text);

struct sp_http_stats {
	uint64_t n_connections;                    /* now */
	uint64_t n_requests, n_refused, n_evicted; /* by routes; by checks; idle ones closed to make room */
	uint64_t n_timed_out, n_gone;              /* too slow; client left before the answer */
	uint64_t n_unpaid;                         /* of those refused: had used up the CPU time for TLS handshakes */
	char unpaid[64];                           /* the last of these: "user 1000", an address; "" = none */
};
void sp_http_stats(const struct sp_http *h, struct sp_http_stats *ret_stats);
const char *sp_http_unpaid(const struct sp_http *h); /* the same; NULL = none */

/* --- for handlers --- */
const char *sp_http_path(const struct sp_http_request *q);
const char *sp_http_query(const struct sp_http_request *q);                    /* as sent, without the '?'; "" = none */
const char *sp_http_header(const struct sp_http_request *q, const char *name); /* NULL = not sent */
uint64_t sp_http_client(const struct sp_http_request *q); /* what counts as one: an address, a user over loopback */
/* Whether the client accepts a body in this coding ("gzip", "zstd"). */
bool sp_http_accepts(const struct sp_http_request *q, const char *coding);

struct sp_http_answer {
	unsigned status;
	const char *type;     /* of the body: "application/json" */
	const char *coding;   /* NULL = none */
	const char *policy;   /* Content-Security-Policy; NULL = "default-src 'none'" */
	const char *etag;     /* without quotes; NULL = not to be cached */
	const char *filename; /* for Content-Disposition; NULL = none */
	unsigned retry_after_s;
	/*
	 * The body is one of: bytes that live as long as the server; text, which is free()d; n bytes of fd from offset,
	 * which is closed.
	 */
	const void *bytes;
	char *text;
	bool has_fd;
	int fd;
	uint64_t offset, n;
};
void sp_http_answer(struct sp_http_request *q, const struct sp_http_answer *a);
/* Answers with text/plain. */
void sp_http_say(struct sp_http_request *q, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The answer comes later. After gone() (client or server are gone) the request does not exist and needs no answer. */
void sp_http_defer(struct sp_http_request *q, void (*gone)(void *arg), void *arg);

#endif
