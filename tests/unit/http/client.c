/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client.h"
#include "base/error.h"
#include "base/time.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sp_http *http;
static char address[64], answer[1 << 20];

void server_begin(struct sp_http_config *c)
{
	int r;

	if (!c->n_listen && !c->n_sockets)
		c->listen[c->n_listen++] = "127.0.0.1:0";
	if (!c->max_connections)
		c->max_connections = 64;
	r = sp_http_new(c, &http);
	if (r < 0)
		fail_msg("no server: %s", sp_error_text(r));
	assert_true(sp_http_address(http, 0, address, sizeof(address)));
}

void server_end(void)
{
	sp_http_free(http);
	http = NULL;
}

void server_run_once(int ms)
{
	struct pollfd p = {.fd = sp_http_fd(http), .events = POLLIN};
	int own = sp_http_timeout_ms(http);

	poll(&p, 1, own >= 0 && own < ms ? own : ms);
	sp_http_dispatch(http);
}

int client_from(const char *source)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, source, &a.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);

	a.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

int client_new(void)
{
	return client_from("127.0.0.1");
}

void client_send(int fd, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	assert_true(n >= 0);
	/* the server may have closed it already */
	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) < 0)
		assert_true(errno == EPIPE || errno == ECONNRESET);
	free(text);
}

const char *client_read(int fd, const char *until)
{
	uint64_t deadline = sp_time_ns(CLOCK_MONOTONIC) + 10 * SP_NS_PER_S;
	size_t n = 0;

	answer[0] = '\0';
	while (sp_time_ns(CLOCK_MONOTONIC) < deadline) {
		ssize_t got = recv(fd, answer + n, sizeof(answer) - 1 - n, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			return answer;
		n += got > 0 ? (size_t)got : 0;
		answer[n] = '\0';
		if (until && strstr(answer, until))
			return answer;
		server_run_once(got > 0 ? 0 : 20);
	}
	fail_msg("no answer in time; so far: %s", answer);
	return NULL;
}

bool client_is_closed(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

const char *get(const char *path, const char *headers)
{
	int fd = client_new();
	const char *text;

	client_send(fd, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", path, headers);
	text = client_read(fd, NULL);
	close(fd);
	return text;
}

int status_of(const char *text)
{
	return strncmp(text, "HTTP/1.1 ", 9) != 0 ? -1 : (int)strtol(text + 9, NULL, 10);
}
