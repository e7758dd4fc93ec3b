/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h: the numbers of processes and threads, if calls are counted for each (process.c says how).
 *
 * Call sp_process_begin() before anything is counted: after it the trampolines' state is zero in each child of fork.
 * Call sp_process_loaded() when the program's libraries are mapped. Both run under ld.so's lock. sp_process_id() may
 * be called by any thread and in signal handlers; it takes no lock and makes no system call. Nothing fails: the number
 * is 0 if processes cannot be told apart or the file is full.
 */
#ifndef SP_AUDIT_PROCESS_H
#define SP_AUDIT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct sp_own {               /* a page of this process */
	uint64_t rseq_offset; /* of struct rseq from the thread pointer; 0: not to be used */
	uint32_t settled;     /* counters that trampolines know are those of this process */
	uint32_t is_settling, id, pid;
	uint8_t rest[4096 - 24];
};
extern struct sp_own sp_own; /* trampolines.S reads it */

void sp_process_begin(void);
void sp_process_rseq(uint64_t offset); /* struct rseq may be used, by this process and its children */
bool sp_process_settle(void);          /* false: somebody is at it */
void sp_process_loaded(void);
uint32_t sp_process_id(void); /* of the record in the shared file */

#pragma GCC visibility pop

#endif
