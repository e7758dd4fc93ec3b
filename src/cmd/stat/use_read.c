/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/stat/stat_use.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 4 << 20, SECTOR = 512 };

/* NULL: this kernel has no such file, or it may not be read. Free it. */
static char *text_of(const char *root, const char *path)
{
	SP_FREE char *whole = NULL;
	char *text = NULL;

	if (asprintf(&whole, "%s%s", root, path) < 0) {
		whole = NULL;
		return NULL;
	}
	if (sp_text_read(whole, MAX_TEXT, &text, NULL) < 0)
		sp_error_clear();
	return text;
}

static uint64_t number_of(const char *root, const char *path, int base)
{
	SP_FREE char *text = text_of(root, path);

	return text ? strtoull(text, NULL, base) : SP_USE_UNKNOWN;
}

static void add_known(uint64_t *sum, uint64_t n)
{
	if (n != SP_USE_UNKNOWN)
		*sum = *sum == SP_USE_UNKNOWN ? n : *sum + n;
}

/* NULL behind the last; of NULL, too. */
static const char *line_after(const char *line)
{
	line = line ? strchr(line, '\n') : NULL;
	return line && line[1] ? line + 1 : NULL;
}

/* Calls it for each line, until it fails. */
static int lines_each(const char *text, int (*add)(const char *root, struct sp_use *u, const char *line),
		      const char *root, struct sp_use *u)
{
	int r = 0;

	for (const char *line = text; r >= 0 && line; line = line_after(line))
		r = add(root, u, line);
	return r;
}

/* The number behind "NAME" at the beginning of a line. */
static uint64_t named_number(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line; line = line_after(line))
		if (!strncmp(line, name, n) && (line[n] == ' ' || line[n] == ':'))
			return strtoull(line + n + 1, NULL, 10);
	return SP_USE_UNKNOWN;
}

/* The sum of all whose names begin so. */
static uint64_t named_sum(const char *text, const char *begin)
{
	uint64_t sum = SP_USE_UNKNOWN;
	size_t n = strlen(begin);

	for (const char *line = text; line; line = line_after(line))
		if (!strncmp(line, begin, n) && line[n + strcspn(line + n, " \n")] == ' ')
			add_known(&sum, strtoull(line + n + strcspn(line + n, " \n"), NULL, 10));
	return sum;
}

/* --- CPUs --- */
/* user nice system idle iowait irq softirq steal; guests are within user and nice. */
static int cpu_add(struct sp_use *u, const char *numbers)
{
	uint64_t v[8] = {0};
	struct sp_use_cpu c = {0};
	char *end = (char *)numbers;
	int r = sp_grow(&u->cpus, &u->cpus_capacity, u->n_cpus + 1, sizeof(*u->cpus));

	for (size_t i = 0; i < SP_COUNT(v); i++) {
		v[i] = strtoull(end, &end, 10);
		c.total += v[i];
	}
	c.busy = c.total - v[3] - v[4] - v[7];
	c.steal = v[7];
	if (r >= 0)
		u->cpus[u->n_cpus++] = c;
	return r;
}

static int cpus_read(const char *root, struct sp_use *u)
{
	SP_FREE char *text = text_of(root, "/proc/stat");
	char path[128];
	int r = 0;

	if (!text)
		return sp_fail(-ENOENT, "read %s/proc/stat", root);
	for (const char *line = text; r >= 0 && line && !strncmp(line, "cpu", 3); line = line_after(line))
		r = cpu_add(u, line + strcspn(line, " "));
	u->n_running = named_number(text, "procs_running");
	for (size_t i = 0; r >= 0 && i + 1 < u->n_cpus; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/thermal_throttle/core_throttle_count", i);
		add_known(&u->throttles, number_of(root, path, 10));
	}
	return r;
}

/* "some avg10=0.00 ... total=N" */
static uint64_t stall_read(const char *root, const char *path)
{
	SP_FREE char *text = text_of(root, path);
	const char *total = text && !strncmp(text, "some ", 5) ? strstr(text, "total=") : NULL;

	return total ? strtoull(total + 6, NULL, 10) : SP_USE_UNKNOWN;
}

/* --- memory --- */
static void memory_read(const char *root, struct sp_use *u)
{
	SP_FREE char *info = text_of(root, "/proc/meminfo");
	SP_FREE char *vmstat = text_of(root, "/proc/vmstat");
	char path[96];

	u->memory_bytes = named_number(info, "MemTotal");
	u->available_bytes = named_number(info, "MemAvailable");
	u->memory_bytes *= u->memory_bytes == SP_USE_UNKNOWN ? 1 : 1024;
	u->available_bytes *= u->available_bytes == SP_USE_UNKNOWN ? 1 : 1024;
	add_known(&u->swapped_pages, named_number(vmstat, "pswpin"));
	add_known(&u->swapped_pages, named_number(vmstat, "pswpout"));
	u->direct_reclaims = named_sum(vmstat, "allocstall");
	u->oom_kills = named_number(vmstat, "oom_kill");
	for (unsigned i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/edac/mc/mc%u/ce_count", i);
		add_known(&u->memory_errors, number_of(root, path, 10));
		snprintf(path, sizeof(path), "/sys/devices/system/edac/mc/mc%u/ue_count", i);
		add_known(&u->memory_errors, number_of(root, path, 10));
	}
}

/* --- disks --- */
/* Whole disks that are devices, not partitions, loops or memory; those below another (dm, md) are shown as well. */
static bool is_disk(const char *root, const char *name)
{
	static const char *const others[] = {"loop", "ram", "zram", "sr", "fd"};
	char path[PATH_MAX];
	DIR *d;

	for (size_t i = 0; i < SP_COUNT(others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	snprintf(path, sizeof(path), "%s/sys/block/%s", root, name);
	d = opendir(path);
	if (d)
		closedir(d);
	return d != NULL;
}

/* MAJOR MINOR NAME reads merged sectors ms writes merged sectors ms in-flight busy queue ... */
static int disk_add(const char *root, struct sp_use *u, const char *line)
{
	struct sp_use_disk d = {0};
	uint64_t reads, read_ms, writes, write_ms;
	char path[128];

	if (sscanf(line,
		   "%*u %*u %31s %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %*u %" SCNu64
		   " %" SCNu64,
		   d.name, &reads, &read_ms, &writes, &write_ms, &d.busy_ms, &d.queue_ms) != 7 ||
	    !is_disk(root, d.name))
		return 0;
	d.ios = reads + writes;
	d.io_ms = read_ms + write_ms;
	snprintf(path, sizeof(path), "/sys/block/%s/device/ioerr_cnt", d.name);
	d.errors = number_of(root, path, 16);
	return SP_APPEND(u->disks, u->n_disks, u->disks_capacity, d);
}

static int disks_read(const char *root, struct sp_use *u)
{
	SP_FREE char *text = text_of(root, "/proc/diskstats");

	return lines_each(text, disk_add, root, u);
}

/* --- network --- */
/* NAME: bytes packets errs drop fifo frame compressed multicast, and of what is sent bytes packets errs drop fifo ...
 */
static int link_add(const char *root, struct sp_use *u, const char *line)
{
	uint64_t errors_in, drops_in, fifo_in, errors_out, drops_out, fifo_out;
	struct sp_use_link l = {0};
	char path[128];

	if (sscanf(line,
		   " %31[^: \n]: %" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %*u %" SCNu64
		   " %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
		   l.name, &l.bytes_in, &errors_in, &drops_in, &fifo_in, &l.bytes_out, &errors_out, &drops_out,
		   &fifo_out) != 9)
		return 0;
	l.errors = errors_in + errors_out;
	l.drops = drops_in + drops_out + fifo_in + fifo_out;
	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", l.name);
	l.mbit_s = number_of(root, path, 10); /* "-1" and 0: it has none */
	if (l.mbit_s == 0 || l.mbit_s > INT32_MAX)
		l.mbit_s = SP_USE_UNKNOWN;
	return SP_APPEND(u->links, u->n_links, u->links_capacity, l);
}

static int links_read(const char *root, struct sp_use *u)
{
	SP_FREE char *text = text_of(root, "/proc/net/dev");

	return lines_each(text, link_add, root, u);
}

/* Two lines that begin alike: the names, and below them the numbers. */
static uint64_t paired_number(const char *text, const char *protocol, const char *name)
{
	const char *names = text ? strstr(text, protocol) : NULL;
	const char *numbers = names ? strchr(names, '\n') : NULL;
	size_t n = strlen(name);

	if (!numbers || strncmp(numbers + 1, protocol, strlen(protocol)) != 0)
		return SP_USE_UNKNOWN;
	names += strlen(protocol);
	for (numbers += 1 + strlen(protocol); *names == ' ' && *numbers == ' ';
	     names += strcspn(names, " \n"), numbers += strcspn(numbers, " \n")) {
		names++;
		numbers++;
		if (!strncmp(names, name, n) && (names[n] == ' ' || names[n] == '\n'))
			return strtoull(numbers, NULL, 10);
	}
	return SP_USE_UNKNOWN;
}

static void tcp_read(const char *root, struct sp_use *u)
{
	SP_FREE char *snmp = text_of(root, "/proc/net/snmp");
	SP_FREE char *more = text_of(root, "/proc/net/netstat");

	u->segments_out = paired_number(snmp, "Tcp:", "OutSegs");
	u->retransmits = paired_number(snmp, "Tcp:", "RetransSegs");
	u->listen_drops = paired_number(more, "TcpExt:", "ListenDrops");
	u->backlog_drops = paired_number(more, "TcpExt:", "TCPBacklogDrop");
}

/* --- all --- */
int sp_use_read(const char *root, struct sp_use *ret_use)
{
	struct sp_use u = {.time_ns = sp_time_ns(CLOCK_BOOTTIME),
			   .throttles = SP_USE_UNKNOWN,
			   .swapped_pages = SP_USE_UNKNOWN,
			   .memory_errors = SP_USE_UNKNOWN};
	int r = cpus_read(root, &u);

	u.cpu_stall_us = stall_read(root, "/proc/pressure/cpu");
	u.memory_stall_us = stall_read(root, "/proc/pressure/memory");
	u.io_stall_us = stall_read(root, "/proc/pressure/io");
	memory_read(root, &u);
	if (r >= 0)
		r = disks_read(root, &u);
	if (r >= 0)
		r = links_read(root, &u);
	tcp_read(root, &u);
	if (r < 0)
		sp_use_done(&u);
	else
		*ret_use = u;
	return r;
}

void sp_use_done(struct sp_use *u)
{
	free(u->cpus);
	free(u->disks);
	free(u->links);
	*u = (struct sp_use){0};
}
