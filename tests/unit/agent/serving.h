/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serving.h: an agent's socket in a child process, and clients, for tests of the server and of answers.
 *
 * begin() starts the child, finish() ends it and checks its exit; a failed test leaves it to the next begin(). One
 * server at a time, at socket_path, in a directory that serving_main() makes and removes. Failures are cmocka
 * assertions in the test's own process.
 */
#ifndef TESTS_UNIT_AGENT_SERVING_H
#define TESTS_UNIT_AGENT_SERVING_H

#include "agent/socket/ask.h"
#include "agent/socket/server.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char directory[], socket_path[100];
extern pid_t server_pid;          /* 0 = none runs */
int status(void *arg, FILE *out); /* the owner's */
/* The owner's current(); NULL: no current window. To be set before begin(); it is brought by owner_turn(), which the
 * loop calls, and soon again while it says true. */
extern int (*owner_current)(void *arg, const char *source, const struct sp_agent_asked *asked);
extern bool (*owner_turn)(void);
extern bool owner_limits_clients; /* to be set before begin() */

extern struct sp_server *served; /* in the child */

struct sp_agent_config config(void); /* defaults */
void begin(const struct sp_agent_config *c);
void finish(void);

int client(void); /* connects */
/* Reads until the end, and closes fd. */
void answer_of(int fd, char *ret_text, size_t size);
void is_answered(const void *request, size_t n, const char *text);
extern char words[2048]; /* of the last status: name=value; */
int take_word(void *arg, const char *name, const char *value);
int ask_status(struct sp_ask *a);

/* main() of such a program; `clean` removes what its tests have made in the directory, or is NULL. */
int serving_main(int argc, char **argv, int (*tests)(void), void (*clean)(void));

#endif
