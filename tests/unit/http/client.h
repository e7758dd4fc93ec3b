/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h: a server and its clients in one process: the server turns whenever a client waits.
 *
 * Clients are plain sockets that send what they are told, byte for byte; what comes back stays as it came. A test that
 * waits for something for ten seconds fails. One server at a time, at a port that the kernel chose. Not thread-safe.
 */
#ifndef TEST_HTTP_CLIENT_H
#define TEST_HTTP_CLIENT_H

#include "http/http.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

extern struct sp_http *http;

void server_begin(struct sp_http_config *c); /* at 127.0.0.1:0 */
void server_end(void);
void server_turn(int ms); /* once, after waiting for at most so long */

int client_new(void);
void client_send(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* All that comes until the connection ends, or until it has `until` in it (NULL: its end); until the next call. */
const char *client_read(int fd, const char *until);
bool client_is_closed(int fd); /* by the server */

/* GET with a Host and these further header lines ("A: b\r\n"): the answer, with its header; the connection ends. */
const char *get(const char *path, const char *headers);
int status_of(const char *answer);

#endif
