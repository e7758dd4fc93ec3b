/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h: a server and its clients in one process: the server runs whenever a client waits.
 *
 * Clients are plain sockets: bytes are sent and received as they are. A wait of more than ten seconds fails the test.
 * One
 * server at a time, at a port that the kernel chose. Not thread-safe.
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
void server_run_once(int ms); /* waits at most so long for events, and handles them once */

int client_new(void); /* from 127.0.0.1 */
int client_from(const char *source);
void client_send(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads until the connection ends, or until the text contains `until` (NULL: its end); valid until the next call. */
const char *client_read(int fd, const char *until);
bool client_is_closed(int fd); /* by the server */

/* GET with a Host and these header lines ("A: b\r\n"): the answer with its header; closes the connection. */
const char *get(const char *path, const char *headers);
int status_of(const char *answer);

#endif
