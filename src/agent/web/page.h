/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page.h: what the agent serves over HTTP (src/http).
 *
 * Answered from memory: `/` the page, /-/healthy, /-/ready; /metrics by the owner. Answered by a process (server.h):
 * /api/v1/... (api.h), and /debug/pprof/profile, as pprof, of the last N seconds or, with wait=1, the next. The process
 * writes into a memory file, which is sent as it is; the agent itself neither reads profiles nor holds answers. All but
 * the page, metrics and health need the token: 32 random bytes in a file that the agent's group may read. Clients send
 * it in a header (Authorization: Bearer). It is no cookie, because browsers send cookies to every port of a host, and
 * so to other users' servers on this machine. Strings of the configuration belong to the caller, and must be valid
 * until the next sp_page_configure(). One thread; 0 or a negative errno.
 */
#ifndef SP_AGENT_WEB_PAGE_H
#define SP_AGENT_WEB_PAGE_H

#include "agent/config.h"
#include "http/http.h"

struct sp_page;
struct sp_server;
struct sp_web_config;

struct sp_page_owner {
	void *arg;
	struct sp_server *server;
	const int *sockets; /* from the service manager; replace configured addresses */
	size_t n_sockets;
	int peers; /* from the service manager, too (http/http.h) */
	/* Whether sampling has begun and the store takes windows. NULL: always true. */
	bool (*is_ready)(void *arg);
	void (*metrics)(void *arg, struct sp_http_request *q); /* answers before it returns. NULL: none (404) */
	bool is_fleet; /* the server asks one: the page says so to itself, and there is no /debug/pprof/profile */
};

int sp_page_new(const struct sp_agent_config *c, const struct sp_page_owner *owner, struct sp_page **ret_page);
void sp_page_free(struct sp_page *p); /* before the server */
/*
 * A reload has two steps: sp_page_web_read() reads and checks the file c->web_config (NULL: none) before anything is
 * changed; sp_page_configure() takes the result, which the page then owns. Addresses and token do not change.
 */
int sp_page_web_read(const struct sp_agent_config *c, struct sp_web_config **ret_web);
void sp_page_configure(struct sp_page *p, const struct sp_agent_config *c, struct sp_web_config *web);
int sp_page_fd(const struct sp_page *p);
int sp_page_timeout_ms(const struct sp_page *p);
void sp_page_dispatch(struct sp_page *p);
/* "http://127.0.0.1:9877/": of the i-th listener; false after the last. */
bool sp_page_url(const struct sp_page *p, size_t i, char *ret_url, size_t size);
/*
 * The page's address for who is elsewhere: by the first of the configured hosts' names, else by this host's own where
 * it listens on all addresses; else, and where it listens on this machine only, as it listens. false: it does not.
 */
bool sp_page_link(const struct sp_page *p, const struct sp_agent_config *c, char *ret_url, size_t size);
void sp_page_stats(const struct sp_page *p, struct sp_http_stats *ret_stats);

/* token.c: the path of the token file: the socket's path with .token instead of .sock. */
enum { SP_TOKEN_TEXT = 64 + 1 };
void sp_token_path(const char *socket, char *ret_path, size_t size);
/* Reads the token; makes a new one unless the file is ours and no one else can write it. The group may read it. */
int sp_token_make(const char *path, const char *group, char ret_token[SP_TOKEN_TEXT]);
int sp_token_read(const char *path, char ret_token[SP_TOKEN_TEXT]);

#endif
