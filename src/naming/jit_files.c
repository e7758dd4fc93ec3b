/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_files.c: the files in which a process describes its JIT code: jit dump and perf map.
 *
 * The session holds those that existed when the memory was first seen. Otherwise the jit dump is searched among the
 * process's present mappings. The perf map, which programs may write late, is searched in the process's root while it
 * runs, else in our own /tmp if the process has the same number there. A file older than the process belongs to an
 * earlier one with its number.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "naming/priv.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The opener's answer; the file is the question's from here on. -ENOENT: there is none. */
static int take_opened(struct sp_naming *n, int r, const char *name)
{
	struct sp_naming_work *w = n->work;

	if (r < 0)
		return r == -ESRCH || r == -ENOTDIR ? -ENOENT : r;
	if (w->opened.uid && w->opened.uid != w->jit.process.uid)
		return sp_fail_said(-EPERM, "%s: of another user", name);
	w->jit.fd = sp_take_fd(&w->opened.fd);
	return 0;
}

/* Each byte takes less than one of an ELF file, of which this is the estimate. */
enum { READING_PART = 4 };

/* They are read whole, and may be of any size. */
static int may_read(struct sp_naming *n, int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &st) < 0)
		return -errno;
	return sp_naming_may_read(n, sp_named_file(n, n->work->file), st.stx_size / READING_PART) ? 0 : -EAGAIN;
}

/* --- jit dump --- */
static int ask_dump(struct sp_naming *n, int fd)
{
	struct sp_naming_work *w = n->work;
	int r = may_read(n, fd);

	if (r < 0)
		return r;
	return sp_naming_asked(n, sp_workers_jit_names(n->workers, SP_JIT_DUMP, fd, w->jit.since_ns, w->jit.addresses,
						       w->n, sp_naming_named, w));
}

static struct sp_open_request dump_request(const struct sp_process *p)
{
	struct sp_open_request q = {.pid = (pid_t)p->pid};

	snprintf(q.name, sizeof(q.name), SP_JIT_DUMP_NAME, p->ns_pid);
	return q;
}

static int dump_opened(struct sp_naming *n, int r)
{
	struct sp_jit_question *m = &n->work->jit;

	r = take_opened(n, r, dump_request(&m->process).name);
	return r < 0 ? r : ask_dump(n, m->fd);
}

int sp_jit_by_dump(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	struct sp_open_request q = dump_request(&w->jit.process);
	int held = sp_capture_jit_dump_fd(n->capture, w->file);

	if (held >= 0)
		return ask_dump(n, held);
	sp_naming_then(n, dump_opened);
	return sp_naming_asked(n, sp_workers_open(n->workers, &q, sp_naming_opened, w));
}

/* --- perf map --- */
static int ask_map(struct sp_naming *n, int fd)
{
	struct sp_naming_work *w = n->work;
	int r = may_read(n, fd);

	if (r < 0)
		return r;
	return sp_naming_asked(
	    n, sp_workers_jit_names(n->workers, SP_JIT_MAP, fd, 0, w->jit.addresses, w->n, sp_naming_named, w));
}

static bool is_older(int fd, const struct sp_process *p)
{
	uint64_t age_ns = sp_time_ns(CLOCK_BOOTTIME) - p->start_ns, now_ns = sp_time_ns(CLOCK_REALTIME);
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME, &st) < 0 ||
	       (uint64_t)st.stx_mtime.tv_sec * SP_NS_PER_S + st.stx_mtime.tv_nsec + SP_NS_PER_S < now_ns - age_ns;
}

static int map_opened(struct sp_naming *n, int r);

static int open_map(struct sp_naming *n, uint32_t pid)
{
	char path[64];
	struct sp_open_path q = {.path = path, .pid = (pid_t)pid, .in_root = 1};

	snprintf(path, sizeof(path), SP_PERF_MAP_PATH, n->work->jit.process.ns_pid);
	sp_naming_then(n, map_opened);
	return sp_naming_open(n, &q);
}

static int map_opened(struct sp_naming *n, int r)
{
	struct sp_jit_question *m = &n->work->jit;
	char path[64];

	snprintf(path, sizeof(path), SP_PERF_MAP_PATH, m->process.ns_pid);
	r = take_opened(n, r, path);
	if (r == -ENOENT && !m->is_own_tmp && m->process.pid == m->process.ns_pid) {
		m->is_own_tmp = true;
		return open_map(n, (uint32_t)getpid());
	}
	if (r < 0)
		return r;
	return is_older(m->fd, &m->process) ? -ENOENT : ask_map(n, m->fd);
}

int sp_jit_by_map(struct sp_naming *n)
{
	const struct sp_process *p = &n->work->jit.process;
	int held = sp_capture_file_fd(n->capture, n->work->file);

	return held < 0 || is_older(held, p) ? open_map(n, p->pid) : ask_map(n, held);
}
