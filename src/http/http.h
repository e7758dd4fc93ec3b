/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http.h: a small HTTP server that takes part in its owner's loop: libmicrohttpd's parser behind our own gate.
 *
 * The gate (gate.h) refuses, before a route's handler is called, everything but GET and HEAD with an allowed Host, no
 * foreign Origin, no body, and the token where the route wants it. Bounded are connections (of one address at most
 * three quarters; for one more the one that has been idle longest is closed), the header (8 KiB, within 10 s), the time
 * of keeping alive and of taking an answer. Paths match exactly, as they were sent; nothing is ever looked up in a file
 * system. Every request is answered once: in the handler, or later (sp_http_defer) from the owner's loop.
 * The owner polls sp_http_fd() for reading, and calls sp_http_dispatch() then and when sp_http_timeout_ms() is over;
 * nothing blocks. libmicrohttpd is loaded when a server is made: without one it costs nothing (-ELIBACC: it is not
 * there). Strings of the configuration are the caller's and stay. One thread. 0 or a negative errno, sp_error_text().
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
	const char *path; /* "/x" is itself only; "/x/" everything that begins so; NULL ends a list of routes */
	enum sp_http_access access;
	bool is_page; /* a link on another site may lead there: what it shows tells nothing by itself */
	void (*handle)(void *arg, struct sp_http_request *q);
};

enum { SP_HTTP_MAX_LISTEN = 16, SP_HTTP_MAX_HOSTS = 64, SP_HTTP_HEADER_MAX = 8192 };

struct sp_http_config {
	const char *listen[SP_HTTP_MAX_LISTEN]; /* "127.0.0.1:9877", "[::1]:9877", ":9877" (all addresses) */
	size_t n_listen;
	const int *sockets; /* listening ones that others made; ours from here on, also on failure */
	size_t n_sockets;
	const char *hosts[SP_HTTP_MAX_HOSTS]; /* names beside localhost and the addresses that are listened on */
	size_t n_hosts;
	uint64_t max_connections;
	const char *token; /* for SP_HTTP_TOKEN; NULL: nobody is let in there */
	/*
	 * TLS and users; NULL = none. With users everything asks for one of them, or for the token. verify: compares a
	 * password with a hash, which takes a while, elsewhere: it calls sp_http_verified() once, later; or fails.
	 */
	const struct sp_web_config *web;
	int (*verify)(void *arg, const char *hash, const char *password);
	const struct sp_http_route *routes;
	void *arg; /* the handlers' */
};

int sp_http_new(const struct sp_http_config *c, struct sp_http **ret_http);
/* Whether certificate and key can be used. */
int sp_http_web_check(const struct sp_web_config *web);
/* Other hosts, limits, token, and web configuration; with another one of these connections end. The rest stays. */
int sp_http_configure(struct sp_http *h, const struct sp_http_config *c);
void sp_http_verified(struct sp_http *h, bool is_right);
void sp_http_free(struct sp_http *h); /* requests that wait for an answer are gone */
int sp_http_fd(const struct sp_http *h);
int sp_http_timeout_ms(const struct sp_http *h); /* -1 = nothing waits */
void sp_http_dispatch(struct sp_http *h);
/* "127.0.0.1:9877": of the i-th listener, with the port that it got; false behind the last. */
bool sp_http_address(const struct sp_http *h, size_t i, char *ret_text, size_t size);
const char *sp_http_scheme(const struct sp_http *h); /* "http", "https" */
/* Whether the text is an address to listen on: -EINVAL with what is wrong. */
int sp_http_address_check(const char *text);

struct sp_http_stats {
	uint64_t n_connections;                    /* now */
	uint64_t n_requests, n_refused, n_evicted; /* answered by routes; by the gate; connections closed for others */
	uint64_t n_timed_out, n_gone;              /* connections too slow; clients that did not wait for the answer */
};
void sp_http_stats(const struct sp_http *h, struct sp_http_stats *ret_stats);

/* --- in a handler --- */
const char *sp_http_path(const struct sp_http_request *q);
const char *sp_http_query(const struct sp_http_request *q); /* as it was sent, without the '?'; "" = none */
const char *sp_http_header(const struct sp_http_request *q, const char *name); /* NULL = not there */
/* Whether the client takes a body in this coding ("gzip", "zstd"). */
bool sp_http_accepts(const struct sp_http_request *q, const char *coding);

struct sp_http_answer {
	unsigned status;
	const char *type;     /* of the body: "application/json" */
	const char *coding;   /* NULL = none */
	const char *policy;   /* Content-Security-Policy; NULL = nothing is allowed */
	const char *etag;     /* without quotes; NULL = not to be kept by anybody */
	const char *filename; /* NULL = not for a file */
	unsigned retry_after_s;
	/* The body: bytes that stay for ever, or text that is free()d, or so many bytes of a descriptor that is closed.
	 */
	const void *bytes;
	char *text;
	bool has_fd;
	int fd;
	uint64_t offset, n;
};
void sp_http_answer(struct sp_http_request *q, const struct sp_http_answer *a);
/* One line of text. */
void sp_http_say(struct sp_http_request *q, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The answer comes later. gone: the client has, or the server; then the request is no more, and not to be answered. */
void sp_http_defer(struct sp_http_request *q, void (*gone)(void *arg), void *arg);

#endif
