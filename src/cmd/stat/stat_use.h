/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat_use.h: utilisation, saturation and errors of a machine's resources (the USE method, Gregg 2013).
 *
 * sp_use_read() takes what the kernel has counted since it started out of /proc and /sys; sp_use_judge() makes a row a
 * resource of two readings: how much of it was used, what had to wait for it, what went wrong, and a verdict. What a
 * kernel does not tell (pressure, speeds of virtual links, thermal throttling) is "unknown" in a row, never 0. Readings
 * and rows belong to the caller. 0 or a negative errno with sp_error_text(). No state; thread-safe.
 */
#ifndef SP_CMD_STAT_STAT_USE_H
#define SP_CMD_STAT_STAT_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_USE_NAME = 32, SP_USE_TEXT = 96 };
#define SP_USE_UNKNOWN UINT64_MAX

struct sp_use_cpu { /* ticks */
	uint64_t busy, steal, total;
};

struct sp_use_disk {
	char name[SP_USE_NAME];
	uint64_t ios, io_ms, busy_ms, queue_ms, errors;
};

struct sp_use_link {
	char name[SP_USE_NAME];
	uint64_t bytes_in, bytes_out, drops, errors, mbit_s;
};

struct sp_use {
	uint64_t time_ns;
	struct sp_use_cpu *cpus; /* the first is all of them */
	struct sp_use_disk *disks;
	struct sp_use_link *links;
	size_t n_cpus, n_disks, n_links, cpus_capacity, disks_capacity, links_capacity;
	uint64_t n_running, throttles;
	uint64_t cpu_stall_us, memory_stall_us, io_stall_us; /* in which some task waited */
	uint64_t memory_bytes, available_bytes, swapped_pages, direct_reclaims, oom_kills, memory_errors;
	uint64_t segments_out, retransmits, listen_drops, backlog_drops;
};

enum sp_use_state { SP_USE_FINE, SP_USE_BUSY, SP_USE_SATURATED, SP_USE_FAULTY };

struct sp_use_row {
	char resource[SP_USE_TEXT], saturation[SP_USE_TEXT], errors[SP_USE_TEXT], verdict[SP_USE_TEXT];
	double used_percent; /* < 0: unknown */
	enum sp_use_state state;
	const char *next; /* what to run; NULL: nothing */
};

struct sp_use_rows {
	struct sp_use_row *rows;
	size_t n, capacity;
};

/* root: "", or a directory with another machine's proc and sys. */
int sp_use_read(const char *root, struct sp_use *ret_use);
void sp_use_done(struct sp_use *u);

int sp_use_judge(const struct sp_use *before, const struct sp_use *now, struct sp_use_rows *ret_rows);
void sp_use_rows_done(struct sp_use_rows *rows);

const char *sp_use_state_name(enum sp_use_state state);

#endif
