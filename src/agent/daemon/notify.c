/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/notify.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { STATUS_BYTES = 512, FIRST_SOCKET = 3, MAX_SOCKETS = 64 };

/* The interval in ns; 0: none, or meant for another process. */
static uint64_t read_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us = 0, for_pid = 0;

	if (!usec || sp_parse_number(usec, 1, UINT64_MAX / 1000, &us) < 0)
		return 0;
	if (pid && (sp_parse_number(pid, 1, INT32_MAX, &for_pid) < 0 || for_pid != (uint64_t)getpid()))
		return 0;
	return us * 1000;
}

/* A path, or an abstract name that begins with an @. */
static int parse_address(const char *text, struct sockaddr_un *ret_address, socklen_t *ret_len)
{
	size_t n = strlen(text);

	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((text[0] != '/' && text[0] != '@') || n < 2 || n >= sizeof(ret_address->sun_path))
		return sp_fail_said(-EINVAL, "NOTIFY_SOCKET is '%s', which is no address of a socket", text);
	memcpy(ret_address->sun_path, text, n);
	if (text[0] == '@')
		ret_address->sun_path[0] = '\0';
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	return 0;
}

static int open_socket(const char *text, int *ret_fd)
{
	struct sockaddr_un a;
	socklen_t len = 0;
	int r = parse_address(text, &a, &len);

	if (r < 0)
		return r;
	SP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, len) < 0)
		return sp_fail(-errno, "reach the service manager at %s", text);
	*ret_fd = sp_take_fd(&fd);
	return 0;
}

int sp_notify_open(struct sp_notify *n)
{
	const char *where = getenv("NOTIFY_SOCKET");
	int r = 0;

	*n = (struct sp_notify){.fd = -1};
	if (where)
		r = open_socket(where, &n->fd);
	if (n->fd >= 0)
		n->watchdog_ns = read_watchdog();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return r;
}

/* -1: it has none of this kind. */
static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

static bool is_prepared(int fd)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

size_t sp_notify_sockets(int *ret_fds, size_t max, int *ret_peers)
{
	const char *pid = getenv("LISTEN_PID"), *n_text = getenv("LISTEN_FDS");
	uint64_t for_pid = 0, n = 0;
	size_t n_sockets = 0;

	*ret_peers = -1;
	if (pid && n_text && sp_parse_number(pid, 1, INT32_MAX, &for_pid) == 0 && for_pid == (uint64_t)getpid())
		sp_parse_number(n_text, 0, MAX_SOCKETS, &n);
	for (int fd = FIRST_SOCKET; fd < FIRST_SOCKET + (int)n; fd++) {
		bool is_peers =
		    socket_option(fd, SO_DOMAIN) == AF_NETLINK && socket_option(fd, SO_PROTOCOL) == NETLINK_SOCK_DIAG;
		if (is_peers && *ret_peers < 0 && is_prepared(fd))
			*ret_peers = fd;
		else if (socket_option(fd, SO_ACCEPTCONN) == 1 && n_sockets < max && is_prepared(fd))
			ret_fds[n_sockets++] = fd;
		else
			close(fd);
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return n_sockets;
}

void sp_notify_close(struct sp_notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

static void send_state(struct sp_notify *n, const char *text)
{
	if (n->fd >= 0 && send(n->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return; /* the manager is gone or slow; there is nobody else to inform */
}

void sp_notify_ready(struct sp_notify *n)
{
	send_state(n, "READY=1");
}

/* systemd from 253 requires the time (Type=notify-reload); older versions ignore it. */
void sp_notify_reloading(struct sp_notify *n)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, sp_time_ns(CLOCK_MONOTONIC) / 1000);
	send_state(n, text);
}

void sp_notify_stopping(struct sp_notify *n)
{
	send_state(n, "STOPPING=1");
}

void sp_notify_status(struct sp_notify *n, const char *format, ...)
{
	char text[STATUS_BYTES] = "STATUS=";
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, sizeof(text) - len, format, args);
	va_end(args);
	for (char *c = text + len; *c; c++)
		if (*c == '\n')
			*c = ' '; /* a line is a variable */
	send_state(n, text);
}

void sp_notify_alive(struct sp_notify *n)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	if (!n->watchdog_ns || now - n->alive_sent_ns < n->watchdog_ns / 3)
		return;
	n->alive_sent_ns = now;
	send_state(n, "WATCHDOG=1");
}
