/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stopped.h: a program stopped by ptrace, unwound by soprof's user half and by elfutils' libdw.
 *
 * For tests that compare the two. Both see the same registers and the same memory. The kernel's copy of a stack is
 * 64 KiB; here it is renewed when the walk comes to its end, so that deep stacks are compared to their root. The tables
 * of all files that were met are kept for the whole test (a cmocka group's setup and teardown). What cannot go on fails
 * the running test. One thread.
 */
#ifndef SP_TESTS_STOPPED_H
#define SP_TESTS_STOPPED_H

#include "unwind/finish.h"
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MAX_MAPS = 1024, MAX_FRAMES = SP_MAX_FRAMES + 8, MAX_PATH = 512 };

struct frame {
	uint64_t pc; /* as libdw gives it: a caller's is its return address */
};
struct victim {
	const char *name;
	pid_t pid, tid;
	struct sp_map maps[MAX_MAPS];
	char path[MAX_MAPS][MAX_PATH];
	uint32_t n_maps;
	char *maps_text;
	Dwfl *dwfl;
	struct sp_message_pending *r;
	uint32_t stop; /* of ours: enum sp_stop */
	struct frame frames[MAX_FRAMES];
	uint32_t n_frames;
	int libdw; /* what dwfl_getthread_frames returned */
	char libdw_error[128];
};

extern bool stopped_derives; /* false: tables without derived rows, as long as tables are made anew */
int stopped_tables_make(void **state);
int stopped_tables_drop(void **state);
/* Starts a program, with nothing to read or to write; it is one when this returns. */
pid_t stopped_start(const char *const *args);
pid_t stopped_youngest_thread(pid_t pid);
/* One of those that have used about as much CPU time as the one that used most; 0: all have ended. */
pid_t stopped_busy_thread(pid_t pid, unsigned number);
void stopped_pause_ns(long ns);
void stopped_maps_renew(struct victim *v); /* of the process as it is now */
const struct sp_map *stopped_map_at(const struct victim *v, uint64_t addr);
size_t stopped_memory(const struct victim *v, uint64_t addr, void *to, size_t size); /* bytes read */
void stopped_unwind_libdw(struct victim *v);                                         /* into v->frames */
void stopped_unwind_ours(struct victim *v);                                          /* into v->r->frames */
/* The same without what is below the stack pointer, as perf_event_open copies stacks. */
void stopped_unwind_above(struct victim *v);
void stopped_done(struct victim *v); /* ends it */

#endif
