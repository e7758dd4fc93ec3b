/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer.h: which user of this machine a connection over loopback is of. Private to src/http.
 *
 * All users of a machine have the same address, and what one does there must not be held against the others. The kernel
 * tells whose a socket is, by both its addresses (sock_diag(7)), to who asks by a socket of the same network namespace:
 * a service that has a namespace of its own (PrivateNetwork=) is passed one. It does not tell of a socket that is
 * closed already, nor without its module tcp_diag: such connections are one client's. No call blocks. One thread.
 */
#ifndef SP_HTTP_PEER_H
#define SP_HTTP_PEER_H

#include "http/listen.h"
#include <stdint.h>

struct sp_peers {
	int fd;           /* to ask by; -1: nobody can be told apart */
	uint32_t n_asked; /* the number of the last question */
};

/* passed: a socket that was made for us, which is ours from here on; -1: it opens one. */
void sp_peers_open(struct sp_peers *p, int passed);
void sp_peers_close(struct sp_peers *p);
/* What counts as one client (sp_address_client()), and of loopback a user; fd: our end of the connection. */
uint64_t sp_peer_client(struct sp_peers *p, int fd, const struct sp_address *peer);
/* "user 1000", "192.0.2.1", "2001:db8::/64", "this machine" */
void sp_peer_text(uint64_t client, char ret_text[SP_ADDRESS_TEXT]);

#endif
