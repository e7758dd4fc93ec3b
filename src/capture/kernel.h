/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.h: a session's dealings with the kernel that are not records: loading, seeking files, statistics.
 * Private to src/capture. Everything works on the session's own object, maps and descriptors; nothing is kept here but
 * the end of libbpf's log, which is the process's. Errors as in capture.h: -EACCES and -EPERM are refusals.
 */
#ifndef SP_CAPTURE_KERNEL_H
#define SP_CAPTURE_KERNEL_H

#include <stdint.h>

struct sp_capture;

/* Opens the recipe's object, writes its configuration, loads it. c->recipe and c->shared are set. */
int sp_kernel_load(struct sp_capture *c);
/* The self-test: an address of our own is looked up as a sample's would be. -EOPNOTSUPP: not on this kernel. */
int sp_kernel_check(struct sp_capture *c);
/* Inside a pid namespace (pidns.c): before loading, what is loaded for it; after, which one /proc is of. */
void sp_pidns_choose(struct sp_capture *c);
int sp_pidns_check(struct sp_capture *c);
/* The number in the first namespace of a process or thread that our /proc shows under this one. -ESRCH: none. */
int sp_pidns_number(struct sp_capture *c, uint32_t shown, uint32_t *ret_number);

/* One pass over all mappings of all processes, so that their files are announced. */
int sp_kernel_seek(struct sp_capture *c);
/* Counters, run time and memory, into c->stats; or the counters alone, which costs next to nothing. */
void sp_kernel_counters(struct sp_capture *c);
void sp_kernel_stats(struct sp_capture *c);

#endif
