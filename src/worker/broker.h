/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * broker.h: a small process that keeps privileges, so that the program can give them up.
 *
 * It is this program, executed again as `soprof --worker broker`. It starts and ends workers (they are children of the
 * caller), makes segments of unwind tables, opens perf events on CPUs that come online, renames one file to a path
 * that it was given before privileges were dropped, and opens files for reading that were named before. It reads no
 * foreign byte. Requests go over a socket pair, and a
 * call waits at most SP_BROKER_MS for its answer. The broker ends with the caller. After sp_privileges_drop() the
 * calling process has no capability, and cannot get one by executing a program.
 *
 * Results: a descriptor (the caller's, close-on-exec), 0, or a negative errno with sp_error_text(). Not thread-safe.
 */
#ifndef SP_WORKER_BROKER_H
#define SP_WORKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;
struct sp_broker;

enum { SP_BROKER_MS = 5000 };

int sp_broker_new(struct sp_broker **ret_broker);
void sp_broker_free(struct sp_broker *b);            /* ends it; its workers live on */
bool sp_broker_has_ended(const struct sp_broker *b); /* it was killed: all requests fail from then on */
/* A mappable BPF array of one element of so many bytes. */
int sp_broker_array(struct sp_broker *b, uint32_t bytes);
/* perf_event_open(2) for all processes on one CPU; for one process on all. */
int sp_broker_event(struct sp_broker *b, const struct perf_event_attr *attr, unsigned cpu);
int sp_broker_event_of(struct sp_broker *b, const struct perf_event_attr *attr, int pid);

/*
 * A new file beside `path`, to be written; where it was not put in place when the broker ends, it is removed. Before
 * sp_privileges_drop(), and once.
 */
int sp_broker_output(struct sp_broker *b, const char *path, unsigned mode);
int sp_broker_put_in_place(struct sp_broker *b);

/*
 * A file of the configuration, by its absolute path, that may be opened for reading again and again: named before
 * sp_privileges_drop(), opened after it. -EPERM: it was not named, is no regular file, or a directory on the way can be
 * written to without privileges.
 */
int sp_broker_keep_file(struct sp_broker *b, const char *path);
int sp_broker_file(struct sp_broker *b, const char *path);

/* Root becomes another user, and keeps his capabilities: until sp_privileges_drop(). Before there are threads. */
int sp_privileges_become(const char *name, uid_t uid, gid_t gid);
uint64_t sp_privileges(void); /* this process's effective capabilities, a bit each */
/* Gives up every capability of this process, for ever. A process without any has nothing to give up: 0. */
int sp_privileges_drop(struct sp_broker *b); /* NULL: there is none */
int sp_sandbox_reader(void); /* gives up all but what it takes to read the memory of others, and ends with its parent */

#endif
