/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handshakes.h: who makes TLS handshakes pays for them. Private to src/http.
 *
 * A handshake costs the server a signature (RSA of 2048 bits: 1 ms, of 4096: 6 ms), and who asks for it some bytes: he
 * need not look at the answer. So a client (peer.h) may have half a second of a CPU for his, and a 512th of one in the
 * long run; all strangers together have four times and twice as much. Who has used that up is refused when he connects,
 * before TLS begins. Known are those who have shown the token or a user's password; they have their own share whatever
 * strangers do. The cost is measured where libmicrohttpd runs, and shared by the connections to which nothing had been
 * sent before. Connections that are open go on. No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_HTTP_HANDSHAKES_H
#define SP_HTTP_HANDSHAKES_H

#include "base/share.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_HANDSHAKES_KNOWN = 32 };
struct sp_handshakes {
	struct sp_shares clients;
	struct sp_bucket strangers;
	uint64_t known[SP_HANDSHAKES_KNOWN]; /* the last that were made known */
	size_t n_known;                      /* ever */
};

/* now_ns: CLOCK_MONOTONIC */
void sp_handshakes_init(struct sp_handshakes *s, uint64_t now_ns);
bool sp_handshakes_may(const struct sp_handshakes *s, uint64_t client, uint64_t now_ns);
void sp_handshakes_know(struct sp_handshakes *s, uint64_t client);
/* clients: one for each connection, so that one of several pays for each. */
void sp_handshakes_took(struct sp_handshakes *s, const uint64_t *clients, size_t n, uint64_t now_ns, uint64_t cpu_ns);

#endif
