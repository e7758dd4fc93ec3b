/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.h: which files processes map as code from now on, by the kernel's own records (PERF_RECORD_MMAP2) on each CPU.
 *
 * A record is there as soon as the mapping is, and the process is one that has it (unless it ended). Records beyond the
 * ring's room are lost, which is counted. Opening needs what perf events of all processes need; reading nothing. A CPU
 * that comes later is not watched. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_PROBE_WATCH_H
#define SP_PROBE_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct sp_probe_watch;

struct sp_probe_mapping {
	uint32_t pid;
	uint64_t start, end;
	uint32_t dev; /* major << 20 | minor, as in maps */
	uint64_t ino, generation;
	const char *path; /* as maps would show it to a process that sees all mounts; valid in the call */
};

int sp_probe_watch_new(const unsigned *cpus, size_t n_cpus, struct sp_probe_watch **ret_watch);
int sp_probe_watch_fd(const struct sp_probe_watch *w); /* readable when there are records */
/* Calls for each record. Stops at what it returns, if that is negative. */
int sp_probe_watch_read(struct sp_probe_watch *w, int (*each)(void *arg, const struct sp_probe_mapping *m), void *arg);
uint64_t sp_probe_watch_n_lost(const struct sp_probe_watch *w);
void sp_probe_watch_free(struct sp_probe_watch *w);

#endif
