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
#include "naming/priv.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Written before the process began: by one that had its number before. */
static bool is_older(int fd, const struct sp_process *p)
{
	uint64_t age_ns = sp_time_ns(CLOCK_BOOTTIME) - p->start_ns, now_ns = sp_time_ns(CLOCK_REALTIME);
	struct stat st;

	return fstat(fd, &st) < 0 ||
	       (uint64_t)st.st_mtim.tv_sec * SP_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec + SP_NS_PER_S < now_ns - age_ns;
}

static int ask(struct sp_naming *n, int fd)
{
	struct sp_naming_work *w = n->work;

	return sp_naming_asked(n, sp_workers_map(n->workers, fd, w->jit.addresses, w->n, sp_naming_named, w));
}

static int opened(struct sp_naming *n, int r);

static int open_map(struct sp_naming *n, uint32_t pid)
{
	char path[64];
	struct sp_open_path q = {.path = path, .pid = (pid_t)pid, .in_root = 1};

	snprintf(path, sizeof(path), SP_PERF_MAP_PATH, n->work->jit.process.ns_pid);
	sp_naming_then(n, opened);
	return sp_naming_open(n, &q);
}

static int opened(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;
	struct sp_jit_question *m = &w->jit;

	r = r == -ESRCH || r == -ENOTDIR ? -ENOENT : r;
	if (r == -ENOENT && !m->is_own_tmp && m->process.pid == m->process.ns_pid) {
		m->is_own_tmp = true;
		return open_map(n, (uint32_t)getpid());
	}
	if (r < 0)
		return r;
	if (w->opened.uid && w->opened.uid != m->process.uid)
		return sp_fail_said(-EPERM, SP_PERF_MAP_PATH ": of another user", m->process.ns_pid);
	m->fd = sp_take_fd(&w->opened.fd);
	return is_older(m->fd, &m->process) ? -ENOENT : ask(n, m->fd);
}

int sp_jit_by_map(struct sp_naming *n)
{
	const struct sp_process *p = &n->work->jit.process;
	int held = sp_capture_file_fd(n->capture, n->work->file);

	return held < 0 || is_older(held, p) ? open_map(n, p->pid) : ask(n, held);
}
