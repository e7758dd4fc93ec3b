/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http.c: listening sockets, connections and their deadlines. */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "http/priv.h"
#include "http/tls.h"

#include <ctype.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MAX_EVENTS = 64, MAX_ACCEPTS = 16, POOL_BYTES = 20 << 10, MAX_CONNECTIONS = 1024, SPARE_CONNECTIONS = 64 };
#define KIND_LISTEN UINT64_C(1)
#define KIND_MHD UINT64_C(2)

static uint64_t now(void)
{
	return sp_time_ns(CLOCK_MONOTONIC);
}

static int watch(struct sp_http *h, int op, int fd, uint32_t events, uint64_t tag)
{
	struct epoll_event e = {.events = events, .data.u64 = tag};

	return epoll_ctl(h->epoll, op, fd, &e) < 0 ? sp_fail(-errno, "watch a descriptor") : 0;
}

/* --- connections --- */
static void unlink_connection(struct sp_http *h, struct sp_connection *c)
{
	*(c->previous ? &c->previous->next : &h->first) = c->next;
	*(c->next ? &c->next->previous : &h->last) = c->previous;
	c->next = c->previous = NULL;
}

static void link_connection(struct sp_http *h, struct sp_connection *c)
{
	c->previous = h->last;
	*(h->last ? &h->last->next : &h->first) = c;
	h->last = c;
}

void sp_connection_touch(struct sp_http *h, struct sp_connection *c, uint64_t seconds)
{
	c->deadline_ns = seconds ? now() + seconds * SP_NS_PER_S : 0;
	unlink_connection(h, c);
	link_connection(h, c);
}

void sp_connection_end(struct sp_http *h, struct sp_connection *c)
{
	if (c->is_ended)
		return;
	c->is_ended = true;
	h->n_open--;
	shutdown(c->fd, SHUT_RDWR);
}

void sp_connection_authorize(struct sp_http *h, struct sp_connection *c)
{
	c->is_authorized = true;
	sp_handshakes_know(&h->handshakes, c->client);
}

void sp_connection_watch_hangup(struct sp_http *h, struct sp_connection *c, struct sp_http_request *q)
{
	if (c->waiting)
		epoll_ctl(h->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	c->waiting = q;
	if (q && watch(h, EPOLL_CTL_ADD, c->fd, EPOLLRDHUP, (uintptr_t)c) < 0)
		sp_error_clear(); /* then it is seen when the answer is written */
}

static struct sp_connection *new_connection(struct sp_http *h, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *fd = sp_mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sp_connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->mhd = mhd;
	c->fd = fd->connect_fd;
	c->client = h->accepted; /* libmicrohttpd tells of it while it is added */
	link_connection(h, c);
	sp_connection_touch(h, c, SP_HTTP_HEADER_S);
	h->n_open++;
	return c;
}

static void free_connection(struct sp_http *h, struct sp_connection *c)
{
	if (!c)
		return;
	h->n_open -= !c->is_ended;
	sp_connection_watch_hangup(h, c, NULL);
	unlink_connection(h, c);
	free(c);
}

static void on_connection_change(void *http, struct MHD_Connection *mhd, void **context,
				 enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*context = new_connection(http, mhd);
	else
		free_connection(http, sp_take_ptr(*context));
}

/* Nothing is sent into a full window, which opens when the client reads. (Acknowledgements may come 40 ms later.) */
static uint64_t n_bytes_read(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ? 0
								      : info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
}

/*
 * Who reads its answer is used, and who does not is idle, however much of the answer is left. Those that have read
 * since they were looked at last become the last to be evicted.
 */
static void touch_readers(struct sp_http *h)
{
	struct sp_connection *last = h->last, *next;

	for (struct sp_connection *c = h->first; c; c = c == last ? NULL : next) {
		uint64_t n = c->is_sending && !c->is_ended ? n_bytes_read(c->fd) : c->n_read;

		next = c->next;
		if (n == c->n_read)
			continue;
		c->n_read = n;
		unlink_connection(h, c);
		link_connection(h, c);
	}
}

/* Ends the connection that has been idle longest; of this client only, if not NULL; of strangers only. */
static bool evict(struct sp_http *h, const uint64_t *only_client, bool only_strangers)
{
	for (struct sp_connection *c = h->first; c; c = c->next) {
		if (c->is_busy || c->is_ended || (only_client && c->client != *only_client) ||
		    (only_strangers && c->is_authorized))
			continue;
		sp_connection_end(h, c);
		h->stats.n_evicted++;
		return true;
	}
	return false;
}

static bool evict_idle(struct sp_http *h, const uint64_t *only_client)
{
	return evict(h, only_client, true) || evict(h, only_client, false);
}

bool sp_connection_has_place_for_stranger(const struct sp_http *h)
{
	uint64_t n = 0;

	for (const struct sp_connection *c = h->first; c; c = c->next)
		n += !c->is_ended && c->is_busy && !c->is_authorized;
	return n <= SP_MAX(h->config.max_connections / 2, 1);
}

static uint64_t count_connections(const struct sp_http *h, uint64_t client)
{
	uint64_t n = 0;

	for (const struct sp_connection *c = h->first; c; c = c->next)
		n += !c->is_ended && c->client == client;
	return n;
}

static bool has_room(struct sp_http *h, uint64_t client)
{
	uint64_t max = h->config.max_connections;

	touch_readers(h);
	if (count_connections(h, client) >= SP_MAX(max * 3 / 4, 1) && !evict_idle(h, &client))
		return false;
	return h->n_open < max || evict_idle(h, NULL);
}

/* --- accepting --- */
static bool has_tls(const struct sp_http *h)
{
	return h->config.web && h->config.web->has_tls;
}

static void accept_client(struct sp_http *h, int fd, const struct sp_address *a)
{
	bool is_paid;

	h->accepted = sp_peer_client(&h->peers, fd, a);
	is_paid = !has_tls(h) || sp_handshakes_may(&h->handshakes, h->accepted, now());
	if (is_paid && has_room(h, h->accepted)) {
		sp_mhd.add_connection(h->daemon, fd, (const struct sockaddr *)&a->at, a->len);
		return;
	}
	h->stats.n_refused++;
	h->stats.n_unpaid += !is_paid;
	if (!is_paid)
		sp_peer_text(h->accepted, h->stats.unpaid);
	close(fd);
}

static void watch_listeners(struct sp_http *h, uint32_t events)
{
	for (size_t i = 0; i < h->n_listeners; i++)
		watch(h, EPOLL_CTL_MOD, h->listeners[i], events, (uint64_t)h->listeners[i] << 2 | KIND_LISTEN);
}

/* Without free descriptors a pending connection would wake the loop again and again, so accepting pauses a second. */
static void pause_accepting(struct sp_http *h)
{
	h->accept_again_ns = now() + SP_NS_PER_S;
	watch_listeners(h, 0);
}

static void accept_clients(struct sp_http *h, int listener)
{
	for (int i = 0; i < MAX_ACCEPTS; i++) {
		struct sp_address a = {.len = sizeof(a.at)};
		int fd = accept4(listener, (struct sockaddr *)&a.at, &a.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			accept_client(h, fd, &a);
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

	if (h->accept_again_ns && t >= h->accept_again_ns) {
		h->accept_again_ns = 0;
		watch_listeners(h, EPOLLIN);
	}
	for (struct sp_connection *c = h->first; c; c = c->next) {
		if (c->is_ended || !c->deadline_ns || t < c->deadline_ns)
			continue;
		sp_connection_end(h, c);
		h->stats.n_timed_out++;
	}
}

static bool is_connection(const struct sp_http *h, uint64_t tag)
{
	for (const struct sp_connection *c = h->first; c; c = c->next)
		if ((uintptr_t)c == tag)
			return true;
	return false;
}

/* Those that are greeted may be gone when it has run. */
static void run_mhd(struct sp_http *h)
{
	uint64_t greeting[MAX_CONNECTIONS + SPARE_CONNECTIONS], began_ns;
	size_t n = 0;

	if (!has_tls(h)) {
		sp_mhd.run(h->daemon);
		return;
	}
	for (struct sp_connection *c = h->first; c && n < SP_COUNT(greeting); c = c->next) {
		c->is_greeted = c->is_greeted || n_bytes_read(c->fd);
		if (!c->is_greeted)
			greeting[n++] = c->client;
	}
	began_ns = sp_time_ns(CLOCK_THREAD_CPUTIME_ID);
	sp_mhd.run(h->daemon);
	sp_handshakes_took(&h->handshakes, greeting, n, now(), sp_time_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}

void sp_http_dispatch(struct sp_http *h)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(h->epoll, events, MAX_EVENTS, 0);

	for (int i = 0; i < n; i++) {
		uint64_t tag = events[i].data.u64;
		if (!(tag & 3) && is_connection(h, tag)) /* an earlier event may have ended it */
			sp_request_gone(((struct sp_connection *)(uintptr_t)tag)->waiting);
	}
	for (int i = 0; i < n; i++) /* after the loop above, which made room */
		if ((events[i].data.u64 & 3) == KIND_LISTEN)
			accept_clients(h, (int)(events[i].data.u64 >> 2));
	enforce_deadlines(h);
	h->has_resumed = false;
	run_mhd(h);
}

int sp_http_fd(const struct sp_http *h)
{
	return h->epoll;
}

int sp_http_timeout_ms(const struct sp_http *h)
{
	uint64_t nearest = h->accept_again_ns ? h->accept_again_ns : UINT64_MAX;
	MHD_UNSIGNED_LONG_LONG mhd;

	for (const struct sp_connection *c = h->first; c; c = c->next)
		if (c->deadline_ns && !c->is_ended)
			nearest = SP_MIN(nearest, c->deadline_ns);
	if (h->has_resumed)
		return 0;
	if (sp_mhd.get_timeout(h->daemon, &mhd) == MHD_NO)
		return sp_ms_until(nearest);
	return sp_ms_sooner(sp_ms_until(nearest), (int)SP_MIN(mhd, 3600000U));
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
	return has_tls(h) ? "https" : "http";
}

void sp_http_stats(const struct sp_http *h, struct sp_http_stats *ret_stats)
{
	*ret_stats = h->stats;
	ret_stats->n_connections = h->n_open;
}

const char *sp_http_unpaid(const struct sp_http *h)
{
	return *h->stats.unpaid ? h->stats.unpaid : NULL;
}

/* --- start and stop --- */
static int start_mhd(struct sp_http *h)
{
	const struct sp_web_config *web = h->config.web;
	const union MHD_DaemonInfo *info;
	char priorities[SP_TLS_PRIORITIES];
	struct MHD_OptionItem tls[5] = {{MHD_OPTION_END, 0, NULL}};
	unsigned flags = 0;

	if (has_tls(h)) {
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
	    sp_request_access, h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS + SPARE_CONNECTIONS,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)SP_HTTP_IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection_change, h, MHD_OPTION_URI_LOG_CALLBACK, sp_request_started, h,
	    MHD_OPTION_NOTIFY_COMPLETED, sp_request_completed, h, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	info = h->daemon ? sp_mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return sp_fail_said(-EIO, "libmicrohttpd does not start");
	h->mhd_epoll = info->epoll_fd;
	return watch(h, EPOLL_CTL_ADD, h->mhd_epoll, EPOLLIN, KIND_MHD);
}

static void stop_mhd(struct sp_http *h)
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

static int open_listeners(struct sp_http *h)
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
	sp_handshakes_init(&h->handshakes, now());
	sp_peers_open(&h->peers, c->peers ? c->peers : -1);
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = h->epoll < 0 ? sp_fail(-errno, "serve HTTP") : open_listeners(h);
	if (r == 0)
		r = sp_auth_init(&h->auth);
	if (r == 0)
		r = start_mhd(h);
	if (r < 0) {
		sp_http_free(h);
		return r;
	}
	*ret_http = h;
	return 0;
}

/* If the new configuration does not start, the old one does again. */
static int restart_mhd(struct sp_http *h, const struct sp_http_config *old)
{
	int r;

	stop_mhd(h);
	sp_auth_forget(&h->auth);
	r = start_mhd(h);
	if (r == 0)
		return 0;
	h->config = *old;
	if (start_mhd(h) < 0)
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
	return sp_web_config_equal(old.web, c->web) ? 0 : restart_mhd(h, &old);
}

void sp_http_free(struct sp_http *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_listeners; i++)
		close(h->listeners[i]);
	stop_mhd(h);
	if (h->epoll >= 0)
		close(h->epoll);
	sp_peers_close(&h->peers);
	free(h);
}
