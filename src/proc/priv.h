/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: reads processes in /proc one by one, in a thread that may block. Private to mapped.c.
 *
 * The thread reads ahead by one process and hands over its result as a whole; nothing else is shared. A thread past
 * its deadline is abandoned, to end by itself if it ever continues, and another takes over. After SP_SCAN_PATIENT
 * abandoned threads deadlines are twenty times shorter; after SP_SCAN_MAX_STUCK the remaining processes are reported
 * as stuck without being read.
 */
#ifndef SP_PROC_PRIV_H
#define SP_PROC_PRIV_H

#include <stddef.h>
#include <stdint.h>

enum { SP_SCAN_PATIENT = 4, SP_SCAN_MAX_STUCK = 128 };

struct sp_scanned {
	uint32_t pid, parent, uid;
	int r; /* 0; -ESRCH: ended; -EACCES: may not be read; -ETIMEDOUT: past the deadline; or another errno */
	uint64_t start_ticks, mount_ns;
	char *comm, *cgroup;
	char *lines; /* of maps: executable mappings of files; newlines, and a NUL at the end */
	size_t len;
	uint64_t n_left_out; /* lines beyond the limit */
};
void sp_scanned_free(struct sp_scanned *s);

struct sp_mapped_scan;

/* Copies the list. */
int sp_scan_new(const char *proc, const uint32_t *pids, size_t n_pids, unsigned deadline_ms,
		struct sp_mapped_scan **ret_scan);
/* 1: *ret_scanned is the caller's; 0: no more; or a negative errno. */
int sp_mapped_scan_next(struct sp_mapped_scan *s, struct sp_scanned **ret_scanned);
void sp_scan_free(struct sp_mapped_scan *s);

/* Reads one process in the calling thread (mapped_process.c). NULL: out of memory. */
struct sp_scanned *sp_scan_process(const char *proc, uint32_t pid);

#endif
