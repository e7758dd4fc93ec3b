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
#include "profile/profile.h"
#include "worker/naming.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t second_ns = 1000000000;

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
	       (uint64_t)st.st_mtim.tv_sec * second_ns + (uint64_t)st.st_mtim.tv_nsec + second_ns < now_ns - age_ns;
}

/* Functions begin and end in addresses; in the profile, relative to the region. */
static void relate(uint64_t bias, struct sp_name *m)
{
	uint64_t below = m->start < bias ? bias - m->start : 0;

	m->start += below;
	m->size -= m->size ? below : 0;
	m->start -= bias;
}

static int ask(struct sp_naming *n, uint32_t file, int fd, const uint64_t *offsets, size_t n_offsets,
	       struct sp_name *names)
{
	struct sp_naming_wait w = {.naming = n, .file = file, .names = names, .n = n_offsets};
	uint64_t bias = sp_profile_file(n->profile, file)->bias;
	SP_FREE uint64_t *addresses = calloc(n_offsets + 1, sizeof(*addresses));
	size_t i;
	int r;

	if (!addresses)
		return -ENOMEM;
	for (i = 0; i < n_offsets; i++)
		addresses[i] = bias + offsets[i];
	r = sp_workers_map(n->workers, fd, addresses, n_offsets, sp_naming_came, &w);
	r = r < 0 ? r : sp_naming_wait(n, &w.done);
	r = r < 0 ? r : w.r;
	for (i = 0; r >= 0 && i < n_offsets; i++) {
		relate(bias, &names[i]);
		names[i].from = names[i].start;
		names[i].to = names[i].start + names[i].size;
	}
	return r < 0 ? sp_fail(r, "perf map") : r;
}

int sp_naming_map(struct sp_naming *n, uint32_t file, const uint64_t *offsets, size_t n_offsets, struct sp_name *names)
{
	const struct sp_profile *profile = n->profile;
	/* A copy: the profile may grow while we wait. */
	const struct sp_process own = *sp_profile_process(profile, sp_profile_file(profile, file)->process), *p = &own;
	int held = sp_capture_file_fd(n->capture, file);
	SP_CLOSE int late = -1;

	if (!p->pid)
		return -ENOENT;
	if (held < 0 || is_older(held, p))
		held = late = open_late(n, p);
	if (held < 0)
		return held;
	if (is_older(held, p))
		return -ENOENT;
	return ask(n, file, held, offsets, n_offsets, names);
}
