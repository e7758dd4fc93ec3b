/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trap.h: a file whose file system stops answering.
 *
 * A FUSE server, written here against linux/fuse.h, serves one file until a victim has mapped it, then takes every
 * request and answers none: whoever asks hangs in the kernel, where SIGKILL does not reach him. Optionally an overlay
 * lies over it. All mounts are in a mount namespace of their own, and end with its last process. The server does not
 * know FUSE_FLUSH, and has said so, or else whoever holds the file open would hang when he closes it.
 */
#ifndef TEST_WORKER_TRAP_H
#define TEST_WORKER_TRAP_H

#include "worker/worker.h"
#include <stdbool.h>

/* What the test knows of it: two processes, and where the victim has the file mapped. */
struct trap {
	pid_t server, victim;
	int tell;           /* closed, the server is silent */
	int fd;             /* the same file, opened while it answered */
	uint32_t inner_dev; /* of the FUSE mount, when there is an overlay */
	struct sp_open_request q;
};

/* An overlay over it; and the two mounted in a user namespace. */
enum trap_kind { TRAP_PLAIN, TRAP_OVERLAY, TRAP_OF_USER };

/* false: it cannot be set here, and why has been printed; release it all the same. */
bool set_trap(enum trap_kind kind, struct trap *ret_trap);
void go_silent(struct trap *t);
/* With the server goes the connection: every request in it ends, and so do those who hung. */
void release(struct trap *t);

/* Answers one request, of a FUSE file system that has one file, "file", of TRAP_BYTES that cannot be read. */
enum { TRAP_BYTES = 65536 };
struct fuse_in_header;
void serve(int fd, const struct fuse_in_header *in);

/* Set-up and tear-down of the test program: where the mounts are made. */
int make_directories(void **state);
int remove_directories(void **state);

#endif
