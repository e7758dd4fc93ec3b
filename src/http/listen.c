/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/listen.h"

#include "base/error.h"
#include "base/parse.h"
#include "http/http.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 128 };

/* --- addresses --- */
static int any_address(uint16_t port, struct sp_address *ret_address)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret_address->at;

	*in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	ret_address->len = sizeof(*in6);
	return 0;
}

static int parse_address(const char *text, struct sp_address *ret_address)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret_address->at;
	struct sockaddr_in *in = (struct sockaddr_in *)&ret_address->at;
	char name[64];
	uint64_t port;
	size_t n = colon ? (size_t)(colon - text) : 0;

	*ret_address = (struct sp_address){0};
	if (!colon || n >= sizeof(name) || sp_parse_number(colon + 1, 0, 65535, &port) < 0)
		return -EINVAL;
	memcpy(name, text, n);
	name[n] = '\0';
	if (!n)
		return any_address((uint16_t)port, ret_address);
	if (name[0] == '[' && name[n - 1] == ']') {
		name[n - 1] = '\0';
		*in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
		ret_address->len = sizeof(*in6);
		return inet_pton(AF_INET6, name + 1, &in6->sin6_addr) == 1 ? 0 : -EINVAL;
	}
	*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	ret_address->len = sizeof(*in);
	return inet_pton(AF_INET, strcmp(name, "localhost") ? name : "127.0.0.1", &in->sin_addr) == 1 ? 0 : -EINVAL;
}

int sp_http_address_check(const char *text)
{
	struct sp_address a;

	if (parse_address(text, &a) < 0)
		return sp_fail_said(
		    -EINVAL, "'%s' is not an address such as 127.0.0.1:9877, [::1]:9877, or :9877 for all", text);
	return 0;
}

static bool is_ip4_mapped(const struct sp_address *a)
{
	return a->at.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)&a->at)->sin6_addr);
}

static uint32_t ip4_of(const struct sp_address *a)
{
	uint32_t ip4 = ((const struct sockaddr_in *)&a->at)->sin_addr.s_addr;

	if (is_ip4_mapped(a))
		memcpy(&ip4, &((const struct sockaddr_in6 *)&a->at)->sin6_addr.s6_addr[12], sizeof(ip4));
	return ntohl(ip4);
}

static bool is_ip4(const struct sp_address *a)
{
	return a->at.ss_family == AF_INET || is_ip4_mapped(a);
}

bool sp_address_ip4(const struct sp_address *a, uint32_t *ret_ip4)
{
	if (is_ip4(a))
		*ret_ip4 = ip4_of(a);
	return is_ip4(a);
}

void sp_address_text(const struct sp_address *a, char ret_text[SP_ADDRESS_TEXT])
{
	uint32_t ip4 = htonl(is_ip4(a) ? ip4_of(a) : 0);

	snprintf(ret_text, SP_ADDRESS_TEXT, "-");
	if (is_ip4(a))
		inet_ntop(AF_INET, &ip4, ret_text, SP_ADDRESS_TEXT);
	else if (a->at.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&a->at)->sin6_addr, ret_text, SP_ADDRESS_TEXT);
}

uint16_t sp_address_port(const struct sp_address *a)
{
	if (a->at.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&a->at)->sin6_port);
	return a->at.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&a->at)->sin_port) : 0;
}

bool sp_address_is_loopback(const struct sp_address *a)
{
	if (is_ip4(a))
		return ip4_of(a) >> 24 == 127;
	return a->at.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&a->at)->sin6_addr);
}

uint64_t sp_address_client(const struct sp_address *a)
{
	uint64_t network = 0;

	if (sp_address_is_loopback(a)) /* all of 127/8, and ::1, are one machine's */
		return INADDR_LOOPBACK;
	if (is_ip4(a))
		return ip4_of(a);
	if (a->at.ss_family == AF_INET6)
		memcpy(&network, &((const struct sockaddr_in6 *)&a->at)->sin6_addr, sizeof(network));
	return be64toh(network); /* a small number is none of a network's */
}

/* --- sockets --- */
static int open_socket(const struct sp_address *a)
{
	int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0;

	if (fd < 0)
		return -errno;
	/* Without it a restarted agent could not bind while old connections are in TIME_WAIT. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (a->at.ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, (const struct sockaddr *)&a->at, a->len) < 0 || listen(fd, BACKLOG) < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int sp_listen(const char *text, int *ret_fd)
{
	struct sp_address a;
	int fd = sp_http_address_check(text);

	if (fd < 0)
		return fd;
	parse_address(text, &a);
	fd = open_socket(&a);
	if (fd == -EAFNOSUPPORT && text[0] == ':') { /* a kernel without IPv6 */
		uint16_t port = sp_address_port(&a);
		*(struct sockaddr_in *)&a.at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		a.len = sizeof(struct sockaddr_in);
		fd = open_socket(&a);
	}
	if (fd < 0)
		return sp_fail(fd, "listen at %s", text);
	*ret_fd = fd;
	return 0;
}
