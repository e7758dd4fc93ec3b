/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map.c: the perf map of a process, for the code that it made.
 *
 * The session holds the map that there was when the memory was first seen. Programs that write it later, or at their
 * end, are asked for again here: in the process's own root while it is there, else at our own /tmp, if its number was
 * the same there. What a process of that number wrote earlier is older than the process.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "naming/jit.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_map(struct sp_naming *n, const struct sp_process *p, uint32_t pid)
{
	char path[64];
	struct sp_open_path q = {.path = path, .pid = (pid_t)(pid ? pid : (uint32_t)getpid()), .in_root = 1};
	struct sp_naming_open o = {.fd = -1};
	int fd;

	snprintf(path, sizeof(path), SP_PERF_MAP_PATH, p->ns_pid);
	fd = sp_naming_fd(n, sp_workers_open_path(n->workers, &q, sp_naming_opened, &o), &o);
	if (fd < 0)
		return fd == -ESRCH || fd == -ENOTDIR ? -ENOENT : fd;
	if (!o.uid || o.uid == p->uid)
		return fd;
	close(fd);
	return sp_fail_said(-EPERM, "%s: of another user", path);
}

static int open_late(struct sp_naming *n, const struct sp_process *p)
{
	int fd = open_map(n, p, p->pid);

	if (fd == -ENOENT && p->pid == p->ns_pid)
		fd = open_map(n, p, 0);
	return fd;
}

/* Written before the process began: by one that had its number before. */
static bool is_older(int fd, const struct sp_process *p)
{
	uint64_t age_ns = sp_time_ns(CLOCK_BOOTTIME) - p->start_ns, now_ns = sp_time_ns(CLOCK_REALTIME);
	struct stat st;

	return fstat(fd, &st) < 0 ||
	       (uint64_t)st.st_mtim.tv_sec * SP_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec + SP_NS_PER_S < now_ns - age_ns;
}

static int ask(const struct sp_jit_question *q, int fd, struct sp_name *names)
{
	struct sp_naming_wait w = {.naming = q->naming, .file = q->file, .names = names, .n = q->n};
	int r = sp_workers_map(q->naming->workers, fd, q->addresses, q->n, sp_naming_came, &w);

	return sp_naming_answer(&w, r);
}

int sp_jit_by_map(const struct sp_jit_question *q, struct sp_name *names)
{
	int held = sp_capture_file_fd(q->naming->capture, q->file);
	SP_CLOSE int late = -1;

	if (held < 0 || is_older(held, &q->process))
		held = late = open_late(q->naming, &q->process);
	if (held < 0)
		return held;
	return is_older(held, &q->process) ? -ENOENT : ask(q, held, names);
}
