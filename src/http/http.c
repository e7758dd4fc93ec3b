/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http.c: the listening sockets, who is let in, and when it is over for a connection. */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "http/priv.h"
#include "http/tls.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 64, ACCEPTS = 16, POOL_BYTES = 20 << 10, MOST = 1024, SPARE = 64 };
#define KIND_LISTEN UINT64_C(1)
#define KIND_MHD UINT64_C(2)

static uint64_t now(void)
{
	return sp_time_ns(CLOCK_MONOTONIC);
}

static int watch(struct sp_http *h, int op, int fd, uint32_t events, uint64_t what)
{
	struct epoll_event e = {.events = events, .data.u64 = what};

	return epoll_ctl(h->epoll, op, fd, &e) < 0 ? sp_fail(-errno, "watch a descriptor") : 0;
}

/* --- connections --- */
static void leave(struct sp_http *h, struct sp_connection *c)
{
	*(c->previous ? &c->previous->next : &h->first) = c->next;
	*(c->next ? &c->next->previous : &h->last) = c->previous;
	c->next = c->previous = NULL;
}

static void join(struct sp_http *h, struct sp_connection *c)
{
	c->previous = h->last;
	*(h->last ? &h->last->next : &h->first) = c;
	h->last = c;
}

void sp_connection_touch(struct sp_http *h, struct sp_connection *c, uint64_t seconds)
{
	c->deadline_ns = seconds ? now() + seconds * SP_NS_PER_S : 0;
	leave(h, c);
	join(h, c);
}

void sp_connection_end(struct sp_http *h, struct sp_connection *c)
{
	if (c->is_ended)
		return;
	c->is_ended = true;
	h->n_open--;
	shutdown(c->fd, SHUT_RDWR);
}

void sp_connection_attend(struct sp_http *h, struct sp_connection *c, struct sp_http_request *q)
{
	if (c->waiting)
		epoll_ctl(h->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	c->waiting = q;
	if (q && watch(h, EPOLL_CTL_ADD, c->fd, EPOLLRDHUP, (uintptr_t)c) < 0)
		sp_error_clear(); /* then his going is seen when he is answered */
}

static struct sp_connection *connection_new(struct sp_http *h, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *fd = sp_mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sp_connection *c = calloc(1, sizeof(*c));
	struct sp_address a = {.len = sizeof(a.at)};

	if (!c)
		return NULL;
	c->mhd = mhd;
	c->fd = fd->connect_fd;
	if (getpeername(c->fd, (struct sockaddr *)&a.at, &a.len) == 0)
		c->client = sp_address_client(&a);
	join(h, c);
	sp_connection_touch(h, c, SP_HTTP_HEADER_S);
	h->n_open++;
	return c;
}

static void connection_free(struct sp_http *h, struct sp_connection *c)
{
	if (!c)
		return;
	h->n_open -= !c->is_ended;
	sp_connection_attend(h, c, NULL);
	leave(h, c);
	free(c);
}

static void connection_changed(void *http, struct MHD_Connection *mhd, void **context,
			       enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*context = connection_new(http, mhd);
	else
		connection_free(http, sp_take_ptr(*context));
}

/* The one that has been idle longest; of this client only, if `of` is not NULL. */
static bool evict(struct sp_http *h, const uint64_t *of)
{
	for (struct sp_connection *c = h->first; c; c = c->next) {
		if (c->is_busy || c->is_ended || (of && c->client != *of))
			continue;
		sp_connection_end(h, c);
		h->stats.n_evicted++;
		return true;
	}
	return false;
}

static uint64_t n_of(const struct sp_http *h, uint64_t client)
{
	uint64_t n = 0;

	for (const struct sp_connection *c = h->first; c; c = c->next)
		n += !c->is_ended && c->client == client;
	return n;
}

static bool has_room(struct sp_http *h, uint64_t client)
{
	uint64_t most = h->config.max_connections;

	if (n_of(h, client) >= SP_MAX(most * 3 / 4, 1) && !evict(h, &client))
		return false;
	return h->n_open < most || evict(h, NULL);
}

/* --- who comes --- */
static void take(struct sp_http *h, int fd, const struct sp_address *a)
{
	if (has_room(h, sp_address_client(a))) {
		sp_mhd.add_connection(h->daemon, fd, (const struct sockaddr *)&a->at, a->len);
		return;
	}
	h->stats.n_refused++;
	close(fd);
}

static void listeners_watch(struct sp_http *h, uint32_t events)
{
	for (size_t i = 0; i < h->n_listeners; i++)
		watch(h, EPOLL_CTL_MOD, h->listeners[i], events, (uint64_t)h->listeners[i] << 2 | KIND_LISTEN);
}

/* Without descriptors the one that waits would wake us again and again: we look after it a second later. */
static void pause_accepting(struct sp_http *h)
{
	h->paused_ns = now() + SP_NS_PER_S;
	listeners_watch(h, 0);
}

static void accept_some(struct sp_http *h, int listener)
{
	for (int i = 0; i < ACCEPTS; i++) {
		struct sp_address a = {.len = sizeof(a.at)};
		int fd = accept4(listener, (struct sockaddr *)&a.at, &a.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			take(h, fd, &a);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			return pause_accepting(h);
		else if (errno == EAGAIN)
			return;
	}
}

/* --- the loop --- */
static void enforce_deadlines(struct sp_http *h)
{
	uint64_t t = now();

	if (h->paused_ns && t >= h->paused_ns) {
		h->paused_ns = 0;
		listeners_watch(h, EPOLLIN);
	}
	for (struct sp_connection *c = h->first; c; c = c->next) {
		if (c->is_ended || !c->deadline_ns || t < c->deadline_ns)
			continue;
		sp_connection_end(h, c);
		h->stats.n_timed_out++;
	}
}

static bool is_connection(const struct sp_http *h, uint64_t what)
{
	for (const struct sp_connection *c = h->first; c; c = c->next)
		if ((uintptr_t)c == what)
			return true;
	return false;
}

void sp_http_dispatch(struct sp_http *h)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(h->epoll, events, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		uint64_t what = events[i].data.u64;
		if (!(what & 3) && is_connection(h, what)) /* one may have ended another's */
			sp_request_gone(((struct sp_connection *)(uintptr_t)what)->waiting);
	}
	for (int i = 0; i < n; i++) /* now that there is room */
		if ((events[i].data.u64 & 3) == KIND_LISTEN)
			accept_some(h, (int)(events[i].data.u64 >> 2));
	enforce_deadlines(h);
	h->has_resumed = false;
	sp_mhd.run(h->daemon);
}

int sp_http_fd(const struct sp_http *h)
{
	return h->epoll;
}

int sp_http_timeout_ms(const struct sp_http *h)
{
	uint64_t t = now(), nearest = h->paused_ns ? h->paused_ns : UINT64_MAX, ms;
	MHD_UNSIGNED_LONG_LONG mhd;

	for (const struct sp_connection *c = h->first; c; c = c->next)
		if (c->deadline_ns && !c->is_ended)
			nearest = SP_MIN(nearest, c->deadline_ns);
	ms = nearest == UINT64_MAX ? UINT64_MAX : nearest <= t ? 0 : (nearest - t) / 1000000 + 1;
	if (h->has_resumed)
		return 0;
	if (sp_mhd.get_timeout(h->daemon, &mhd) == MHD_YES)
		ms = SP_MIN(ms, mhd);
	return ms == UINT64_MAX ? -1 : (int)SP_MIN(ms, UINT64_C(3600000));
}

bool sp_http_address(const struct sp_http *h, size_t i, char *ret_text, size_t size)
{
	struct sp_address a = {.len = sizeof(a.at)};
	char text[SP_ADDRESS_TEXT];

	if (i >= h->n_listeners || getsockname(h->listeners[i], (struct sockaddr *)&a.at, &a.len) < 0)
		return false;
	sp_address_text(&a, text);
	snprintf(ret_text, size, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, sp_address_port(&a));
	return true;
}

const char *sp_http_scheme(const struct sp_http *h)
{
	return h->config.web && h->config.web->has_tls ? "https" : "http";
}

void sp_http_stats(const struct sp_http *h, struct sp_http_stats *ret_stats)
{
	*ret_stats = h->stats;
	ret_stats->n_connections = h->n_open;
}

/* --- beginning and end --- */
static int daemon_start(struct sp_http *h)
{
	const struct sp_web_config *web = h->config.web;
	const union MHD_DaemonInfo *info;
	char priorities[SP_TLS_PRIORITIES];
	struct MHD_OptionItem tls[5] = {{MHD_OPTION_END, 0, NULL}};
	unsigned flags = 0;

	if (web && web->has_tls) {
		sp_tls_priorities(web, priorities);
		flags = MHD_USE_TLS;
		tls[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, web->cert};
		tls[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, web->key};
		tls[2] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities};
		tls[3] = (struct MHD_OptionItem){web->ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0, web->ca};
		tls[4] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	}
	h->daemon = sp_mhd.start_daemon(
	    flags | MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
	    sp_request_access, h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST + SPARE,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)SP_HTTP_IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
	    MHD_OPTION_NOTIFY_CONNECTION, connection_changed, h, MHD_OPTION_URI_LOG_CALLBACK, sp_request_started, h,
	    MHD_OPTION_NOTIFY_COMPLETED, sp_request_completed, h, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	info = h->daemon ? sp_mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return sp_fail_said(-EIO, "libmicrohttpd does not start");
	h->mhd_epoll = info->epoll_fd;
	return watch(h, EPOLL_CTL_ADD, h->mhd_epoll, EPOLLIN, KIND_MHD);
}

static void daemon_stop(struct sp_http *h)
{
	for (struct sp_connection *c = h->first; c; c = c->next)
		if (c->waiting)
			sp_request_gone(c->waiting);
	if (!h->daemon)
		return;
	epoll_ctl(h->epoll, EPOLL_CTL_DEL, h->mhd_epoll, NULL);
	sp_mhd.run(h->daemon); /* it may not be stopped while connections are suspended */
	sp_mhd.stop_daemon(h->daemon);
	h->daemon = NULL;
}

static int listeners_open(struct sp_http *h)
{
	const struct sp_http_config *c = &h->config;
	int r = 0;

	for (size_t i = 0; i < c->n_sockets && i < SP_HTTP_MAX_LISTEN; i++)
		h->listeners[h->n_listeners++] = c->sockets[i];
	for (size_t i = 0; r == 0 && i < c->n_listen && h->n_listeners < SP_HTTP_MAX_LISTEN; i++) {
		int fd;
		r = sp_listen(c->listen[i], &fd);
		if (r == 0)
			h->listeners[h->n_listeners++] = fd;
	}
	for (size_t i = 0; r == 0 && i < h->n_listeners; i++)
		r = watch(h, EPOLL_CTL_ADD, h->listeners[i], EPOLLIN, (uint64_t)h->listeners[i] << 2 | KIND_LISTEN);
	return r;
}

int sp_http_new(const struct sp_http_config *c, struct sp_http **ret_http)
{
	struct sp_http *h;
	int r = sp_mhd_load();

	if (r == 0 && c->web)
		r = sp_tls_check(c->web);
	if (r < 0)
		return r;
	h = calloc(1, sizeof(*h));
	if (!h)
		return sp_fail(-ENOMEM, "serve HTTP");
	h->config = *c;
	if (gethostname(h->host, sizeof(h->host) - 1))
		h->host[0] = '\0';
	for (char *at = h->host; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = h->epoll < 0 ? sp_fail(-errno, "serve HTTP") : listeners_open(h);
	if (r == 0)
		r = sp_auth_init(&h->auth);
	if (r == 0)
		r = daemon_start(h);
	if (r < 0) {
		sp_http_free(h);
		return r;
	}
	*ret_http = h;
	return 0;
}

/* Where a new one does not start the old one does again: it has before. */
static int daemon_restart(struct sp_http *h, const struct sp_http_config *old)
{
	int r;

	daemon_stop(h);
	sp_auth_forget(&h->auth);
	r = daemon_start(h);
	if (r == 0)
		return 0;
	h->config = *old;
	if (daemon_start(h) < 0)
		return sp_fail(r, "nothing is served any more");
	return r;
}

int sp_http_web_check(const struct sp_web_config *web)
{
	return sp_tls_check(web);
}

int sp_http_configure(struct sp_http *h, const struct sp_http_config *c)
{
	struct sp_http_config old = h->config;
	int r = c->web ? sp_tls_check(c->web) : 0;

	if (r < 0)
		return r;
	memcpy(h->config.hosts, c->hosts, sizeof(c->hosts));
	h->config.n_hosts = c->n_hosts;
	h->config.max_connections = c->max_connections;
	h->config.token = c->token;
	h->config.web = c->web;
	return sp_web_config_equal(old.web, c->web) ? 0 : daemon_restart(h, &old);
}

void sp_http_free(struct sp_http *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_listeners; i++)
		close(h->listeners[i]);
	daemon_stop(h);
	if (h->epoll >= 0)
		close(h->epoll);
	free(h);
}
