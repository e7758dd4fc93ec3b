/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_http.c: any bytes as what a client sends over a connection, to a server with routes of each kind, and as a file
 * of a web configuration.
 *
 * The first byte says which. What is behind the gate is never reached without the token, which no input can know; the
 * server serves the next one as before, and all its connections end.
 */
#include "base/error.h"
#include "http/gate.h"
#include "http/http.h"
#include "http/web_config.h"
#include "require.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS = 64, CHUNK = 700 };

static struct sp_http *http;
static struct sp_http_request *late;
static char token[65];
static unsigned n_served;

static void say(void *arg, struct sp_http_request *q)
{
	(void)arg;
	n_served++;
	require(strlen(sp_http_path(q)) + strlen(sp_http_query(q)) <= SP_HTTP_HEADER_MAX);
	sp_http_say(q, 200, "%s %s %d", sp_http_path(q), sp_http_query(q), sp_http_accepts(q, "gzip"));
}

static void secret(void *arg, struct sp_http_request *q)
{
	(void)arg, (void)q;
	abort();
}

static void gone(void *arg)
{
	require(arg == late);
	late = NULL;
}

static void defer(void *arg, struct sp_http_request *q)
{
	(void)arg;
	if (late)
		return sp_http_say(q, 503, "one at a time");
	late = q;
	sp_http_defer(q, gone, q);
}

static const struct sp_http_route routes[] = {{"/", SP_HTTP_OPEN, true, say},
					      {"/a/", SP_HTTP_OPEN, false, say},
					      {"/late", SP_HTTP_OPEN, false, defer},
					      {"/secret", SP_HTTP_TOKEN, false, secret},
					      {0}};

static void begin(void)
{
	struct sp_http_config c = {
	    .listen = {"127.0.0.1:0"}, .n_listen = 1, .max_connections = 8, .routes = routes, .token = token};

	for (size_t i = 0; i + 1 < sizeof(token); i++) {
		unsigned char byte;
		require(getrandom(&byte, 1, 0) == 1);
		token[i] = (char)('a' + byte % 16);
	}
	require(sp_http_new(&c, &http) == 0);
}

static int client(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	char address[64];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct linger now = {.l_onoff = 1}; /* or the kernel runs out of ports */

	require(fd >= 0 && sp_http_address(http, 0, address, sizeof(address)));
	a.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	require(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 || errno == EINPROGRESS);
	return fd;
}

static void as_requests(const uint8_t *data, size_t size)
{
	struct sp_http_stats s;
	char answer[4096];
	int fd = client();

	for (size_t at = 0; at < size; at += CHUNK) {
		size_t n = size - at < CHUNK ? size - at : CHUNK;
		if (send(fd, data + at, n, MSG_NOSIGNAL) < 0)
			break;
		sp_http_dispatch(http);
	}
	for (int i = 0; i < 4; i++) {
		sp_http_dispatch(http);
		if (late)
			sp_http_say(late, 200, "late");
		late = NULL;
	}
	while (recv(fd, answer, sizeof(answer), 0) > 0)
		;
	close(fd);
	for (int i = 0; i < TURNS; i++) {
		sp_http_dispatch(http);
		sp_http_stats(http, &s);
		if (!s.n_connections)
			break;
	}
	require(s.n_connections == 0 && !late);
}

static void as_web_config(const uint8_t *data, size_t size)
{
	struct sp_web_config *c = NULL, *again = NULL;
	char *text = calloc(1, size + 1);
	int r;

	require(text != NULL);
	memcpy(text, data, size);
	r = sp_web_config_parse("x", text, size, false, &c);
	require(r == 0 || r == -EINVAL);
	if (r == 0) {
		require(sp_web_config_parse("x", text, size, false, &again) == 0 && sp_web_config_equal(c, again));
		for (size_t i = 0; i < c->n_users; i++)
			require(strlen(c->users[i].value) == 60);
	}
	sp_web_config_free(c);
	sp_web_config_free(again);
	free(text);
}

static void as_strings(const uint8_t *data, size_t size)
{
	char name[SP_HTTP_NAME_MAX], *text = strndup((const char *)data, size);
	struct sp_http_credentials c;
	struct sp_http_origin o = {.host = "localhost:1", .origin = text};

	if (sp_http_host_name(text, name))
		require(*name && strlen(name) < sizeof(name) && !strpbrk(name, "[]/@ ,\\"));
	if (sp_http_credentials(text, &c))
		require(!c.token != !c.user && !sp_http_secret_equals(c.token ? c.token : c.password, token));
	if (sp_http_origin_allowed(&o, true))
		require(!strcasecmp(text, "http://localhost:1") || !strcasecmp(text, "https://localhost:1"));
	sp_http_coding_accepted(text, "gzip");
	free(text);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	if (!http)
		begin();
	if (!size || size > 40000)
		return 0;
	if (data[0] % 4 == 1)
		as_web_config(data + 1, size - 1);
	else if (data[0] % 4 == 2)
		as_strings(data + 1, size - 1);
	else
		as_requests(data + 1, size - 1);
	sp_error_clear();
	return 0;
}
