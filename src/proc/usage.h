/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h: CPU time and memory used by a process.
 *
 * CPU time is the scheduler's exact sum over all threads, ended ones included (the process's CPU clock), divided into
 * user and system time in the ratio of /proc/PID/stat, whose ticks are coarse. Memory is from /proc/PID/status:
 * VmHWM, VmRSS. A zombie has no memory (0) but still a time. Errors: negative errno with sp_error_text(), -ESRCH: no
 * such process. No state; thread-safe.
 */
#ifndef SP_PROC_USAGE_H
#define SP_PROC_USAGE_H

#include <stdint.h>

struct sp_usage {
	uint64_t user_ns, system_ns; /* their sum is exact */
	uint64_t peak_bytes;         /* the most memory that it ever had at once */
	uint64_t memory_bytes;       /* now */
	uint64_t own_bytes;          /* anonymous memory: not shared with other processes of the same program */
};

/* CPU time only, by one system call; 0: no such process. pid 0 = this process. */
uint64_t sp_usage_cpu_ns(uint32_t pid);
/* pid 0 = this process. */
int sp_usage_get(uint32_t pid, struct sp_usage *ret_usage);

#endif
