/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/usage.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 64 << 10, UTIME_FIELD = 14 };

static int usage_read_file(uint32_t pid, const char *name, char **ret_text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	int r = sp_text_read(path, FILE_MAX_BYTES, ret_text, NULL);
	if (r != -ENOENT && r != -ESRCH)
		return r;
	sp_error_clear();
	return sp_fail(-ESRCH, "process %u", pid);
}

/* "VmHWM:    1234 kB" in bytes; 0: no such line. */
static uint64_t line_bytes(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return !line ? 0 : strtoull(line + strlen(name), NULL, 10) * 1024;
}

/* utime and stime in ticks. The name before them may contain spaces and parentheses: its last `)` ends it. */
static int read_ticks(uint32_t pid, uint64_t ticks[2])
{
	SP_FREE char *stat = NULL;
	int r = usage_read_file(pid, "stat", &stat);

	if (r < 0)
		return r;
	char *at = strrchr(stat, ')');
	for (int field = 2; at && field < UTIME_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return sp_fail(-EBADMSG, "read the times of process %u", pid);
	ticks[0] = strtoull(at, &at, 10);
	ticks[1] = strtoull(at, NULL, 10);
	return 0;
}

/* The number that clock_getcpuclockid(3) gives; that function asks the kernel whether there is such a process, too. */
static clockid_t cpu_clock(uint32_t pid)
{
	enum { SCHEDULER = 2, KIND_BITS = 3 };

	return pid ? (clockid_t)(~pid << KIND_BITS | SCHEDULER) : CLOCK_PROCESS_CPUTIME_ID;
}

uint64_t sp_usage_cpu_ns(uint32_t pid)
{
	return sp_time_ns(cpu_clock(pid));
}

static int read_times(uint32_t pid, struct sp_usage *u)
{
	uint64_t ticks[2] = {0};
	int r = read_ticks(pid, ticks);

	if (r < 0)
		return r;
	uint64_t all_ns = sp_usage_cpu_ns(pid), n_ticks = ticks[0] + ticks[1];
	if (n_ticks > 0)
		u->system_ns = (uint64_t)((double)all_ns * ((double)ticks[1] / (double)n_ticks));
	u->user_ns = all_ns - SP_MIN(u->system_ns, all_ns);
	return 0;
}

int sp_usage_get(uint32_t pid, struct sp_usage *ret_usage)
{
	SP_FREE char *status = NULL;
	struct sp_usage u = {0};

	if (pid == 0)
		pid = (uint32_t)getpid();
	int r = read_times(pid, &u);
	if (r == 0)
		r = usage_read_file(pid, "status", &status);
	if (r < 0)
		return r;
	u.peak_bytes = line_bytes(status, "\nVmHWM:");
	u.memory_bytes = line_bytes(status, "\nVmRSS:");
	u.own_bytes = line_bytes(status, "\nRssAnon:") + line_bytes(status, "\nRssShmem:");
	*ret_usage = u;
	return 0;
}
