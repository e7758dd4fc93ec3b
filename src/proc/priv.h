/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: one process of /proc after the other, read by a thread that may get stuck.
 *
 * The thread reads ahead by one process. What it has read is handed over as a whole; nothing else is shared. A thread
 * that is past its deadline is left alone with its process, to end by itself if it ever comes back, and another takes
 * over; after SP_SCAN_PATIENT of them deadlines are twenty times shorter, and after SP_SCAN_MAX_STUCK the rest of the
 * processes is taken for stuck unread. Private to mapped.c.
 */
#ifndef SP_PROC_PRIV_H
#define SP_PROC_PRIV_H

#include <stddef.h>
#include <stdint.h>

enum { SP_SCAN_PATIENT = 4, SP_SCAN_MAX_STUCK = 128 };

struct sp_scanned {
	uint32_t pid, parent, uid;
	int r; /* 0, -ESRCH: it has ended, -EACCES: we may not look, -ETIMEDOUT: it is stuck, or another errno */
	uint64_t start_ticks, mount_ns;
	char *comm, *cgroup;
	char *lines; /* of maps: executable mappings of files, each ended by a newline and all by a NUL */
	size_t len;
	uint64_t n_left_out; /* lines beyond the cap */
};
void sp_scanned_free(struct sp_scanned *s);

struct sp_mapped_scan;

/* Takes a copy of the list. */
int sp_scan_new(const char *proc, const uint32_t *pids, size_t n_pids, unsigned deadline_ms,
		struct sp_mapped_scan **ret_scan);
/* 1: *ret_scanned is the caller's; 0: there is no more; or a negative errno. */
int sp_mapped_scan_next(struct sp_mapped_scan *s, struct sp_scanned **ret_scanned);
void sp_scan_free(struct sp_mapped_scan *s);

/* One process, in this thread (mapped_process.c). NULL: out of memory. */
struct sp_scanned *sp_scan_process(const char *proc, uint32_t pid);

#endif
