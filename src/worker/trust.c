/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trust.c: whether the file system of a file always answers, found out before the file is opened. */
#include "base/error.h"
#include "base/mem.h"
#include "worker/broker.h"
#include "worker/mounts.h"
#include "worker/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U /* since Linux 6.8; Debian 12 has the headers of 6.1 */
#endif

/* A key of zeros: the caller does not know it, and takes whatever is mapped there. */
bool sp_open_has_key(const struct sp_file_key *k)
{
	return k->ino || k->size || k->mtime_ns;
}

static int not_trusted(const char *type)
{
	return sp_fail_said(-EACCES, "file system not trusted (%s)", type);
}

static bool is_our_user_namespace(const struct stat *its)
{
	struct stat ours;
	return stat("/proc/self/ns/user", &ours) == 0 && ours.st_dev == its->st_dev && ours.st_ino == its->st_ino;
}

/* Mounts in it were made by the machine's administrators. */
static bool of_our_user_namespace(pid_t pid)
{
	char path[64];
	struct stat its;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat(path, &its) == 0 && is_our_user_namespace(&its);
}

static int trusted_layers(const struct sp_open_request *q, uint64_t mount_id)
{
	char type[SP_MOUNT_TYPE];
	if (!of_our_user_namespace(q->pid))
		return not_trusted("overlay of another user namespace");
	if (sp_overlay_type(q->pid, mount_id, type) < 0)
		return not_trusted("overlay over an unknown one");
	return sp_type_may_hang(type) ? not_trusted(type) : 0;
}

/* Whether who could mount something where the process sees its mounts is an administrator of ours. */
static bool has_mounts_of_ours(pid_t pid)
{
	char path[64];
	struct stat its;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	SP_CLOSE int mounts = open(path, O_RDONLY | O_CLOEXEC);
	SP_CLOSE int owner = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
	return owner >= 0 && fstat(owner, &its) == 0 && is_our_user_namespace(&its);
}

/*
 * A user may mount an overlay over a FUSE file system in a user namespace of his own. Then the key tells nothing of it:
 * he maps a file with the same number, size and time at the same address before. Without CAP_SYS_PTRACE only our own
 * may do so.
 */
static bool is_of_administrator(const struct sp_open_request *q, uint64_t mount_id)
{
	bool by_us;
	if (!(sp_privileges() & 1ULL << CAP_SYS_PTRACE))
		return true;
	return sp_mount_is_seen(q->pid, mount_id, &by_us) && (by_us || has_mounts_of_ours(q->pid));
}

/*
 * An overlay's files are in the file systems below it, which only the kernel's key tells; /proc/PID/maps shows the
 * device below up to Linux 6.7, and the overlay's after. A file system without a block device, mounted in no visible
 * place, may be anything.
 */
static int trusted_below(const struct sp_open_request *q, uint64_t mount_id)
{
	char type[SP_MOUNT_TYPE] = "";
	int r = q->key.dev ? sp_device_type(q->pid, q->key.dev, type) : -ENOENT;
	if (!sp_open_has_key(&q->key) && (r < 0 || strcmp(type, "overlay") == 0))
		return trusted_layers(q, mount_id);
	if (!is_of_administrator(q, mount_id))
		return sp_fail_said(-EXDEV, "file system not trusted (overlay of another user namespace)");
	if (r < 0)
		return q->key.dev >> 20 ? 0 : not_trusted("overlay over a hidden one");
	return sp_type_may_hang(type) ? not_trusted(type) : 0;
}

static int trusted_by_type(const struct sp_open_request *q, int fd, const struct statx *st)
{
	char type[SP_MOUNT_TYPE];
	if (sp_mount_type(q->pid, st->stx_mnt_id, type) < 0)
		return sp_unlisted_may_hang(fd) ? not_trusted("its mount is hidden") : 0;
	if (sp_type_may_hang(type))
		return not_trusted(type);
	return strcmp(type, "overlay") == 0 ? trusted_below(q, st->stx_mnt_id) : 0;
}

/* A mount's number that no other mount gets until the machine is booted again; 0: the kernel has none. */
static uint64_t unique_mount_id(int fd)
{
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID_UNIQUE, &st) < 0)
		return 0;
	return st.stx_mask & STATX_MNT_ID_UNIQUE ? st.stx_mnt_id : 0;
}

/*
 * Most files are on one or two file systems, and lists of mounts are long where there are containers. Numbers of mounts
 * and devices are used again at once, by whatever is mounted next: by these nothing is remembered. (The device below an
 * overlay is the overlay's for as long as that is mounted.)
 */
int sp_open_trusted(const struct sp_open_request *q, int fd, const struct statx *st)
{
	static struct {
		uint64_t mount_id;
		uint32_t key_dev;
	} known[8];
	static unsigned next;
	uint64_t mount_id = unique_mount_id(fd);
	for (size_t i = 0; mount_id && i < SP_COUNT(known); i++)
		if (known[i].mount_id == mount_id && known[i].key_dev == q->key.dev)
			return 0;
	int r = trusted_by_type(q, fd, st);
	if (r == 0 && mount_id) {
		known[next].mount_id = mount_id;
		known[next].key_dev = q->key.dev;
		next = (next + 1) % SP_COUNT(known);
	}
	return r;
}
