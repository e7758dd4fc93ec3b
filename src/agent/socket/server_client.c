/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_client.c: who a client is, whether there is room for it, and whose turn it is. */
#include "agent/socket/server_priv.h"
#include "base/mem.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static bool is_member(const struct sp_server *s, int fd)
{
	gid_t groups[1024];
	socklen_t len = sizeof(groups);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == s->group)
			return true;
	return false;
}

int sp_server_identify(const struct sp_server *s, struct sp_client *c)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	c->uid = peer.uid;
	c->sees_all =
	    peer.uid == 0 || peer.uid == geteuid() || (s->has_group && (peer.gid == s->group || is_member(s, c->fd)));
	return 0;
}

bool sp_server_has_room(const struct sp_server *s, const struct sp_client *c)
{
	uint64_t n_same_user = 0, n_ordinary = 0;

	if (s->stats.n_clients >= s->max_clients + (c->sees_all ? SP_SERVER_ROOT_CLIENTS : 0))
		return false;
	for (size_t i = 0; i < s->n_slots; i++) {
		const struct sp_client *other = &s->clients[i];
		if (other->state == SP_CLIENT_FREE || other->sees_all)
			continue;
		n_ordinary++;
		n_same_user += other->uid == c->uid;
	}
	return c->sees_all || (n_ordinary < s->max_clients && n_same_user < SP_MAX(s->max_clients / 4, 1));
}

void sp_server_limit_stall(const struct sp_server *s, int fd)
{
	uint64_t us = SP_MIN(s->query_timeout_ns / 3000, SP_SERVER_STALL_MS * UINT64_C(1000));
	struct timeval t = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};

	/* without it an answer has the whole of query-timeout */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* --- turns --- */
bool sp_server_is_same(const struct sp_client *a, const struct sp_client *b)
{
	if (!a->done != !b->done)
		return false;
	return a->done ? a->client == b->client : a->uid == b->uid;
}

void sp_server_enqueue(struct sp_server *s, struct sp_client *c)
{
	c->turn = s->turn;
	for (size_t i = 0; i < s->n_slots; i++) {
		const struct sp_client *other = &s->clients[i];
		if (other != c && sp_server_is_same(other, c) &&
		    (other->state == SP_CLIENT_WAITING || other->state == SP_CLIENT_ANSWERED))
			c->turn = SP_MAX(c->turn, other->turn + 1);
	}
	c->ticket = s->n_tickets++;
}

bool sp_server_is_before(const struct sp_client *a, const struct sp_client *b)
{
	return a->turn != b->turn ? a->turn < b->turn : a->ticket < b->ticket;
}
