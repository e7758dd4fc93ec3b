/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c: a request's checks, its route, and its answer. */
#include "base/mem.h"
#include "http/gate.h"
#include "http/priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NOTHING_ALLOWED "default-src 'none'; frame-ancestors 'none'"

/* --- the request --- */
const char *sp_http_path(const struct sp_http_request *q)
{
	return q->path;
}

const char *sp_http_query(const struct sp_http_request *q)
{
	return q->query;
}

const char *sp_http_header(const struct sp_http_request *q, const char *name)
{
	return sp_mhd.lookup_connection_value(q->connection->mhd, MHD_HEADER_KIND, name);
}

uint64_t sp_http_client(const struct sp_http_request *q)
{
	return q->connection->client;
}

bool sp_http_accepts(const struct sp_http_request *q, const char *coding)
{
	const char *accepts = sp_http_header(q, "Accept-Encoding");

	return accepts && sp_http_coding_accepted(accepts, coding);
}

/* --- answers --- */
static const struct {
	const char *name, *value;
} default_headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Vary", "Accept-Encoding, Authorization"},
};

static void put_header(struct MHD_Response *r, const char *name, const char *value)
{
	if (value)
		sp_mhd.add_response_header(r, name, value);
}

static void put_header_format(struct MHD_Response *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put_header_format(struct MHD_Response *r, const char *name, const char *format, ...)
{
	char value[512];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	put_header(r, name, value);
}

static bool is_configured(const struct sp_web_config *web, const char *name)
{
	for (size_t i = 0; web && i < web->n_headers; i++)
		if (!strcasecmp(web->headers[i].name, name))
			return true;
	return false;
}

static void put_all_headers(const struct sp_http *h, struct MHD_Response *r, const struct sp_http_answer *a)
{
	const struct sp_web_config *web = h->config.web;

	for (size_t i = 0; i < SP_COUNT(default_headers); i++)
		if (!is_configured(web, default_headers[i].name))
			put_header(r, default_headers[i].name, default_headers[i].value);
	for (size_t i = 0; web && i < web->n_headers; i++)
		put_header(r, web->headers[i].name, web->headers[i].value);
	put_header(r, "Content-Type", a->type);
	put_header(r, "Content-Encoding", a->coding);
	put_header(r, "Content-Security-Policy", a->policy ? a->policy : NOTHING_ALLOWED);
	put_header(r, "Cache-Control", a->etag ? "no-cache" : "no-store");
	if (a->etag)
		put_header_format(r, "ETag", "\"%s\"", a->etag);
	if (a->filename)
		put_header_format(r, "Content-Disposition", "attachment; filename=\"%s\"", a->filename);
	if (a->retry_after_s)
		put_header_format(r, "Retry-After", "%u", a->retry_after_s);
	if (a->status == 401)
		put_header(r, "WWW-Authenticate",
			   web && web->n_users ? "Basic realm=\"soprof\"" : "Bearer realm=\"soprof\"");
	if (a->status == 405)
		put_header(r, "Allow", "GET, HEAD");
}

static struct MHD_Response *make_response(const struct sp_http_answer *a)
{
	if (a->has_fd)
		return sp_mhd.create_response_from_fd_at_offset64(a->n, a->fd, a->offset);
	if (a->text)
		return sp_mhd.create_response_from_buffer((size_t)a->n, a->text, MHD_RESPMEM_MUST_FREE);
	return sp_mhd.create_response_from_buffer((size_t)a->n, (void *)(uintptr_t)a->bytes, MHD_RESPMEM_PERSISTENT);
}

/* The client's copy is this very body. */
static bool is_client_current(const struct sp_http_request *q, const struct sp_http_answer *a)
{
	const char *etags = a->etag && a->status == 200 ? sp_http_header(q, "If-None-Match") : NULL;

	return etags && strstr(etags, a->etag);
}

void sp_http_answer(struct sp_http_request *q, const struct sp_http_answer *a)
{
	struct sp_http_answer final = *a;

	if (is_client_current(q, a)) /* 304 has no body: the answer's is freed below */
		final = (struct sp_http_answer){.status = 304, .etag = a->etag, .policy = a->policy};
	q->response = make_response(&final);
	q->status = final.status;
	if (q->response)
		put_all_headers(q->http, q->response, &final);
	if (!q->response || final.status == 304) {
		free(a->text);
		if (a->has_fd)
			close(a->fd);
	}
	q->is_deferred = false;
	if (!q->is_suspended)
		return;
	q->is_suspended = false;
	sp_connection_watch_hangup(q->http, q->connection, NULL);
	sp_mhd.resume_connection(q->connection->mhd);
	q->http->has_resumed = true;
}

void sp_http_say(struct sp_http_request *q, unsigned status, const char *format, ...)
{
	struct sp_http_answer a = {.status = status, .type = "text/plain; charset=utf-8"};
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&a.text, format, args);
	va_end(args);
	if (n < 0)
		a.text = NULL;
	a.n = n < 0 ? 0 : (uint64_t)n;
	if (status == 503 || status == 429)
		a.retry_after_s = status == 429 ? 1 : 5;
	sp_http_answer(q, &a);
}

void sp_http_defer(struct sp_http_request *q, void (*gone)(void *arg), void *arg)
{
	q->is_deferred = true;
	q->gone = gone;
	q->gone_arg = arg;
}

void sp_request_gone(struct sp_http_request *q)
{
	if (!q || !q->is_deferred)
		return;
	q->http->stats.n_gone++;
	if (q->gone)
		q->gone(q->gone_arg);
	sp_connection_end(q->http, q->connection);
	sp_http_say(q, 503, "gone\n");
}

/* --- checks --- */
static bool is_own_name(const struct sp_http_request *q, const char *name)
{
	const struct sp_http_config *c = &q->http->config;
	struct sp_address here = {.len = sizeof(here.at)};
	char text[SP_ADDRESS_TEXT];

	for (size_t i = 0; i < c->n_hosts; i++)
		if (!strcasecmp(c->hosts[i], name))
			return true;
	if (getsockname(q->connection->fd, (struct sockaddr *)&here.at, &here.len) < 0)
		return false;
	sp_address_text(&here, text);
	if (here.at.ss_family == AF_UNIX || sp_address_is_loopback(&here))
		return !strcmp(name, "localhost") || !strcmp(name, "127.0.0.1") || !strcmp(name, "::1") ||
		       !strcmp(name, text);
	return !strcmp(name, text) || (*q->http->host && !strcmp(name, q->http->host));
}

static bool is_host_allowed(struct sp_http_request *q, const char *host)
{
	char name[SP_HTTP_NAME_MAX];

	if (!host || !sp_http_host_name(host, name))
		sp_http_say(q, 400, "The request has no Host that can be understood.\n");
	else if (!is_own_name(q, name))
		sp_http_say(q, 421, "%s is not a name of this agent; what it may be called is set by `hosts`.\n", name);
	else
		return true;
	return false;
}

static bool has_body(const struct sp_http_request *q)
{
	const char *length = sp_http_header(q, "Content-Length");

	return sp_http_header(q, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static bool is_form_allowed(struct sp_http_request *q, const char *method)
{
	const union MHD_ConnectionInfo *size =
	    sp_mhd.get_connection_info(q->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		sp_http_say(q, 405, "Only GET and HEAD: nothing can be changed here.\n");
	else if (size && size->header_size > SP_HTTP_HEADER_MAX)
		sp_http_say(q, 431, "A header of more than %d bytes.\n", SP_HTTP_HEADER_MAX);
	else if (has_body(q))
		sp_http_say(q, 413, "A request has no body here.\n");
	else
		return true;
	return false;
}

static bool is_origin_allowed(struct sp_http_request *q, const char *host, const struct sp_http_route *route)
{
	struct sp_http_origin o = {.host = host,
				   .origin = sp_http_header(q, "Origin"),
				   .site = sp_http_header(q, "Sec-Fetch-Site"),
				   .mode = sp_http_header(q, "Sec-Fetch-Mode")};

	if (sp_http_origin_allowed(&o, route && route->is_page))
		return true;
	sp_http_say(q, 403, "A page of another site may not ask here.\n");
	return false;
}

static const struct sp_http_route *find_route(const struct sp_http *h, const char *path)
{
	for (const struct sp_http_route *r = h->config.routes; r && r->path; r++) {
		size_t n = strlen(r->path);
		if (!strcmp(r->path, path) || (n > 1 && r->path[n - 1] == '/' && !strncmp(r->path, path, n)))
			return r;
	}
	return NULL;
}

static bool is_allowed(struct sp_http_request *q, const struct sp_http_route *route)
{
	const char *host = sp_http_header(q, "Host");

	return sp_request_check_certificate(q) && is_host_allowed(q, host) && is_origin_allowed(q, host, route) &&
	       sp_request_authorize(q, !route || route->access == SP_HTTP_OPEN);
}

static void serve_route(struct sp_http_request *q, const struct sp_http_route *route)
{
	if (route && !q->connection->is_authorized && !sp_connection_has_place_for_stranger(q->http)) {
		q->http->stats.n_refused++;
		sp_http_say(q, 503, "Too many wait for answers.\n");
		return;
	}
	q->http->stats.n_requests++;
	if (route)
		route->handle(q->http->config.arg, q);
	else
		sp_http_say(q, 404, "There is nothing at this path.\n");
}

void sp_http_verified(struct sp_http *h, bool is_right)
{
	struct sp_http_request *q = sp_take_ptr(h->wait_password), *next;

	is_right = sp_auth_verified(&h->auth, is_right);
	for (; q; q = next) {
		next = q->next;
		if (is_right) {
			sp_connection_authorize(h, q->connection);
			serve_route(q, find_route(h, q->path));
			continue;
		}
		h->stats.n_refused++;
		sp_http_say(q, 401, "There is no such user, or the password is another.\n");
	}
}

static void serve_request(struct sp_http_request *q)
{
	const struct sp_http_route *route = find_route(q->http, q->path);

	if (is_allowed(q, route))
		serve_route(q, route);
	else if (!q->is_deferred)
		q->http->stats.n_refused++;
}

/* --- libmicrohttpd's callbacks --- */
void *sp_request_started(void *http, const char *uri, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = sp_mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct sp_http_request *q = info && info->socket_context ? calloc(1, sizeof(*q)) : NULL;

	if (!q)
		return NULL;
	q->http = http;
	q->connection = info->socket_context;
	q->path = strdup(uri);
	if (!q->path) {
		free(q);
		return NULL;
	}
	q->query = strchrnul(q->path, '?');
	if (*q->query)
		*q->query++ = '\0';
	return q;
}

enum MHD_Result sp_request_access(void *http, struct MHD_Connection *mhd, const char *url, const char *method,
				  const char *version, const char *data, size_t *data_size, void **request)
{
	struct sp_http_request *q = *request;
	struct MHD_Response *response;
	enum MHD_Result result;

	(void)url, (void)version, (void)data, (void)data_size;
	if (!q)
		return MHD_NO;
	if (!q->is_seen) { /* Only the header has come. An answer now, before the body, ends the connection. */
		q->is_seen = true;
		if (is_form_allowed(q, method))
			return MHD_YES;
		q->http->stats.n_refused++;
	} else if (!q->is_served) {
		q->is_served = q->connection->is_busy = true;
		sp_connection_touch(http, q->connection, 0);
		serve_request(q);
		if (q->is_deferred) {
			q->is_suspended = true;
			sp_connection_watch_hangup(http, q->connection, q);
			sp_mhd.suspend_connection(mhd);
			return MHD_YES;
		}
	}
	response = sp_take_ptr(q->response);
	if (!response)
		return MHD_NO;
	q->connection->is_busy = false;
	q->connection->is_sending = true;
	sp_connection_touch(http, q->connection, SP_HTTP_ANSWER_S);
	result = sp_mhd.queue_response(mhd, q->status, response);
	sp_mhd.destroy_response(response);
	return result;
}

void sp_request_completed(void *http, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode why)
{
	struct sp_http_request *q = sp_take_ptr(*request);

	(void)mhd, (void)why;
	if (!q)
		return;
	q->connection->is_busy = q->connection->is_sending = false;
	sp_connection_touch(http, q->connection, SP_HTTP_IDLE_S);
	if (q->response)
		sp_mhd.destroy_response(q->response);
	free(q->path);
	free(q);
}
