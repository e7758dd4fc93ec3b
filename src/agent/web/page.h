/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page.h: what the agent serves over HTTP (src/http), and who answers it.
 *
 * At once, from memory: `/` the page, /-/healthy, /-/ready, and /metrics by its owner. By a process that answers
 * questions (server.h): /api/v1/... (api.h), and /debug/pprof/profile, as pprof, of the last N seconds, or, with
 * wait=1, of the next. The process writes into a memory file, which goes to the client as it is: the agent's own
 * process neither reads a profile nor holds an answer. A token, 32 random bytes in a file that the agent's group may
 * read, lets in to all but the page itself, metrics and health. The token is sent in a header (Authorization: Bearer),
 * never as a cookie: those go to every port of a host, and so to other users' servers on this machine. Strings of the
 * configuration stay the caller's until sp_page_configure(). One thread; 0 or a negative errno.
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
	const int *sockets; /* that the service manager made: in place of the addresses that are configured */
	size_t n_sockets;
	/* Everything runs: sampling has begun, and the store takes windows. NULL: always. */
	bool (*is_ready)(void *arg);
	void (*metrics)(void *arg, struct sp_http_request *q); /* answers at once. NULL: there are none (404) */
};

int sp_page_new(const struct sp_agent_config *c, const struct sp_page_owner *owner, struct sp_page **ret_page);
void sp_page_free(struct sp_page *p); /* before the server */
/*
 * A reload: what c->web_config says is read and checked (NULL: nothing is configured) before anything is changed; then
 * it is taken over, and belongs to the page. Addresses and token stay.
 */
int sp_page_web_read(const struct sp_agent_config *c, struct sp_web_config **ret_web);
void sp_page_configure(struct sp_page *p, const struct sp_agent_config *c, struct sp_web_config *web);
int sp_page_fd(const struct sp_page *p);
int sp_page_timeout_ms(const struct sp_page *p);
void sp_page_dispatch(struct sp_page *p);
/* "http://127.0.0.1:9877/": of the i-th place; false behind the last. */
bool sp_page_url(const struct sp_page *p, size_t i, char *ret_url, size_t size);
void sp_page_stats(const struct sp_page *p, struct sp_http_stats *ret_stats);

/* token.c: where the token of the agent at this socket is. The socket's own name, with .token for .sock at its end. */
enum { SP_TOKEN_TEXT = 64 + 1 };
void sp_token_path(const char *socket, char *ret_path, size_t size);
/* Makes one, if there is none that is ours and nobody else's to write; the group may read it. */
int sp_token_make(const char *path, const char *group, char ret_token[SP_TOKEN_TEXT]);
int sp_token_read(const char *path, char ret_token[SP_TOKEN_TEXT]);

#endif
