/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h: what a process has used: CPU time of all its threads, those that ended included, and memory.
 *
 * CPU time is the scheduler's exact sum (the process's CPU clock); its division into user and system follows
 * /proc/PID/stat, whose ticks are coarse. Memory is /proc/PID/status: VmHWM, VmRSS. A process that has ended but was
 * not waited for has no memory (0) and still a time. Errors are negative errno with sp_error_text(), -ESRCH when the
 * process has gone. No state; thread-safe.
 */
#ifndef SP_PROC_USAGE_H
#define SP_PROC_USAGE_H

#include <stdint.h>

struct sp_usage {
	uint64_t user_ns, system_ns; /* their sum is exact */
	uint64_t peak_bytes;         /* the most memory that it ever had at once */
	uint64_t memory_bytes;       /* now */
	uint64_t own_bytes;          /* of it what is of no file, and so shared with nobody who runs the same program */
};

/* Its CPU time alone, for one system call: 0 when it has gone. pid 0 = of ourselves. */
uint64_t sp_usage_cpu_ns(uint32_t pid);
/* Of the process pid; 0 = of ourselves. */
int sp_usage_get(uint32_t pid, struct sp_usage *ret_usage);

#endif
