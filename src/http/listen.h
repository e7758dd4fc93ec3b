/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen.h: listening sockets, and addresses of clients. Private to src/http.
 *
 * Addresses are numeric; no resolver is asked. "localhost" is 127.0.0.1. "" is all addresses of the machine: IPv6 and
 * IPv4 on one socket if the kernel has IPv6. 0 or a negative errno with sp_error_text() that names the address. No
 * state.
 */
#ifndef SP_HTTP_LISTEN_H
#define SP_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct sp_address {
	struct sockaddr_storage at;
	socklen_t len;
};

/* The socket does not block, and is closed on exec. */
int sp_listen(const char *text, int *ret_fd);

/* Without the port, and without the ::ffff: of an IPv4 client of an IPv6 socket. */
enum { SP_ADDRESS_TEXT = 64 };
void sp_address_text(const struct sp_address *a, char ret_text[SP_ADDRESS_TEXT]);
uint16_t sp_address_port(const struct sp_address *a);
bool sp_address_is_loopback(const struct sp_address *a);
bool sp_address_ip4(const struct sp_address *a, uint32_t *ret_ip4); /* false: it is none */
/*
 * What counts as one client: an IPv4 address, or the upper 64 bits of an IPv6 one; all loopback addresses are one (and
 * peer.h tells its users apart). 0 = a Unix socket.
 */
uint64_t sp_address_client(const struct sp_address *a);

#endif
