/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_cpus.h: how busy each CPU is, as the kernel counts it in /proc/stat.
 *
 * The file is opened once, before privileges are dropped. Each sp_top_cpus_take() tells the time since the one before;
 * the first one only begins. CPUs that are offline are left out. Zero with fd -1 has none. Not thread-safe.
 */
#ifndef SP_CMD_TOP_TOP_CPUS_H
#define SP_CMD_TOP_TOP_CPUS_H

#include <stddef.h>
#include <stdint.h>

struct sp_top_cpu {
	uint32_t number;
	double programs, kernel; /* shares of its time; the rest is idle, or another guest's */
};
struct sp_top_cpu_time {
	uint64_t programs, kernel, all; /* ticks since it was booted */
};

struct sp_top_cpus {
	int fd;
	struct sp_top_cpu *cpus; /* that are online; n is 0 until there are two readings */
	size_t n, capacity;
	struct sp_top_cpu_time *before; /* by the CPU's number */
	size_t n_before, before_capacity;
};

/* Without the file there are no CPUs to show. */
void sp_top_cpus_open(struct sp_top_cpus *c);
void sp_top_cpus_take(struct sp_top_cpus *c);
void sp_top_cpus_done(struct sp_top_cpus *c);
/* The same of the text of such a file. */
void sp_top_cpus_read(struct sp_top_cpus *c, const char *text);

#endif
