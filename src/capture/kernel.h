/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.h: what a session asks of the kernel beside messages: loading, looking for files, statistics. Private to
 * src/capture. All of it works on the session's own object, maps and descriptors; only the end of libbpf's log is kept
 * here, one for the process. Errors as in capture.h: -EACCES and -EPERM are refusals.
 */
#ifndef SP_CAPTURE_KERNEL_H
#define SP_CAPTURE_KERNEL_H

#include <stdint.h>

struct sp_capture;

/* Opens the recipe's object, writes its configuration, loads it. c->recipe and c->shared are set. */
int sp_kernel_load(struct sp_capture *c);
/*
 * The self-test: looks up an address of our own as a sample would. -EOPNOTSUPP: the look-up does not work on this
 * kernel.
 */
int sp_kernel_check(struct sp_capture *c);
/*
 * pidns.c, for a session inside a pid namespace: before loading, which programs to load; after it, whose numbers /proc
 * shows.
 */
void sp_pidns_choose(struct sp_capture *c);
int sp_pidns_check(struct sp_capture *c);
/* Translates the number of a process or thread in our /proc to that in the first namespace. -ESRCH: there is none. */
int sp_pidns_number(struct sp_capture *c, uint32_t shown, uint32_t *ret_number);

/* Makes one pass over all mappings of all processes, so that their files are announced. */
int sp_kernel_seek(struct sp_capture *c);
/* Writes counters, run time and memory into c->stats; or only the counters, which costs next to nothing. */
void sp_kernel_counters(struct sp_capture *c);
void sp_kernel_stats(struct sp_capture *c);

#endif
