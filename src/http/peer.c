/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/peer.h"

#include "base/time.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* No IPv4 address, and no network of IPv6, whose upper half of such numbers is reserved. */
#define USER (UINT64_C(1) << 32)

void sp_peers_open(struct sp_peers *p, int passed)
{
	p->fd = passed >= 0 ? passed : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	p->n_asked = (uint32_t)sp_time_ns(CLOCK_MONOTONIC); /* not as who had the passed one before us */
}

void sp_peers_close(struct sp_peers *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void put_address(const struct sp_address *a, __be16 *port, __be32 address[4])
{
	uint32_t ip4;

	*port = htons(sp_address_port(a));
	if (sp_address_ip4(a, &ip4))
		address[0] = htonl(ip4);
	else
		memcpy(address, &((const struct sockaddr_in6 *)&a->at)->sin6_addr, 16);
}

/* His socket: its source is our peer. */
static int ask(struct sp_peers *p, const struct sp_address *peer, const struct sp_address *own)
{
	uint32_t ip4;
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 of;
	} q = {.head = {.nlmsg_len = sizeof(q),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST,
			.nlmsg_seq = ++p->n_asked},
	       .of = {.sdiag_family = sp_address_ip4(peer, &ip4) ? AF_INET : AF_INET6,
		      .sdiag_protocol = IPPROTO_TCP,
		      .idiag_states = UINT32_MAX,
		      .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};

	put_address(peer, &q.of.id.idiag_sport, q.of.id.idiag_src);
	put_address(own, &q.of.id.idiag_dport, q.of.id.idiag_dst);
	return send(p->fd, &q, sizeof(q), MSG_NOSIGNAL) == sizeof(q) ? 0 : -errno;
}

/*
 * The kernel has answered before ask() returns. An agent that was killed in between has left its answer in a socket
 * that was passed to it, and is to us now. Without an inode nobody has the socket any more, and its user is 0.
 */
static bool read_user(const struct sp_peers *p, uint64_t *ret_user)
{
	_Alignas(struct nlmsghdr) char bytes[1024];
	const struct nlmsghdr *head = (const void *)bytes;
	const struct inet_diag_msg *m = (const void *)(bytes + NLMSG_HDRLEN);
	ssize_t n;

	do
		n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	while (n >= 0 && (n < NLMSG_HDRLEN || head->nlmsg_seq != p->n_asked));
	if (n < (ssize_t)(NLMSG_HDRLEN + sizeof(*m)) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY || !m->idiag_inode)
		return false;
	*ret_user = m->idiag_uid;
	return true;
}

uint64_t sp_peer_client(struct sp_peers *p, int fd, const struct sp_address *peer)
{
	struct sp_address own = {.len = sizeof(own.at)};
	uint64_t user;

	if (p->fd < 0 || !sp_address_is_loopback(peer) || getsockname(fd, (struct sockaddr *)&own.at, &own.len) < 0 ||
	    ask(p, peer, &own) < 0 || !read_user(p, &user))
		return sp_address_client(peer);
	return USER | user;
}

void sp_peer_text(uint64_t client, char ret_text[SP_ADDRESS_TEXT])
{
	const uint32_t ip4 = htonl((uint32_t)client);
	const uint64_t upper = htobe64(client);
	struct in6_addr network = {0};
	char text[INET6_ADDRSTRLEN] = "";

	if (client == INADDR_LOOPBACK || !client)
		snprintf(ret_text, SP_ADDRESS_TEXT, "this machine");
	else if (client < USER)
		inet_ntop(AF_INET, &ip4, ret_text, SP_ADDRESS_TEXT);
	else if (client < 2 * USER)
		snprintf(ret_text, SP_ADDRESS_TEXT, "user %u", (unsigned)client);
	else {
		memcpy(&network, &upper, sizeof(upper));
		inet_ntop(AF_INET6, &network, text, sizeof(text));
		snprintf(ret_text, SP_ADDRESS_TEXT, "%s/64", text);
	}
}
