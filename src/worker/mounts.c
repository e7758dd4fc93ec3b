/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/mounts.h"
#include "base/error.h"
#include "base/mem.h"
#include "proc/mountinfo.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/*
 * Their answers come from a program or another machine, which may block open, read and even close for ever. A stacked
 * file system is as good as the one below it.
 */
bool sp_type_may_hang(const char *type)
{
	static const char *const refused[] = {"fuse", "nfs", "cifs",  "smb",    "9p",       "ceph",     "afs",
					      "coda", "ncp", "ocfs2", "lustre", "orangefs", "ecryptfs", "aufs"};
	for (size_t i = 0; i < SP_COUNT(refused); i++)
		if (strncmp(type, refused[i], strlen(refused[i])) == 0)
			return true;
	return false;
}

/* Mounts of the kernel's own (memfd, shared memory), detached ones, a chroot's root: ask, under the deadline. */
bool sp_unlisted_may_hang(int fd)
{
	static const uint32_t good[] = {TMPFS_MAGIC,       HUGETLBFS_MAGIC, EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC,
					BTRFS_SUPER_MAGIC, SQUASHFS_MAGIC,  EROFS_SUPER_MAGIC_V1, F2FS_SUPER_MAGIC};
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < SP_COUNT(good); i++)
		if ((uint32_t)fs.f_type == good[i])
			return false;
	return true;
}

/* Of the first mount with this number, or device; each of the results may be unwanted. */
static bool find_in(const char *mountinfo, const uint64_t *id, const uint32_t *dev, char *ret_type, uint32_t *ret_dev)
{
	SP_FCLOSE FILE *f = fopen(mountinfo, "re");
	SP_FREE char *line = NULL;
	size_t capacity = 0;
	struct sp_mount_line m;
	while (f && getline(&line, &capacity, f) > 0) {
		if (!sp_mountinfo_parse(line, &m) || (id && m.id != *id) || (dev && m.dev != *dev))
			continue;
		if (ret_type)
			snprintf(ret_type, SP_MOUNT_TYPE, "%s", m.type);
		if (ret_dev)
			*ret_dev = m.dev;
		return true;
	}
	return false;
}

/* As this process sees the mounts, else as that one does, which may be in another mount namespace. */
static int type_of(pid_t pid, const uint64_t *id, const uint32_t *dev, char ret_type[SP_MOUNT_TYPE])
{
	if (find_in("/proc/self/mountinfo", id, dev, ret_type, NULL))
		return 0;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	return pid > 0 && find_in(path, id, dev, ret_type, NULL) ? 0 : -ENOENT;
}

int sp_mount_type(pid_t pid, uint64_t mount_id, char ret_type[SP_MOUNT_TYPE])
{
	return type_of(pid, &mount_id, NULL, ret_type);
}

int sp_device_type(pid_t pid, uint32_t dev, char ret_type[SP_MOUNT_TYPE])
{
	return type_of(pid, NULL, &dev, ret_type);
}

/* --- overlays --- */
/* A device's number is that of one file system for as long as this is mounted anywhere. */
bool sp_mount_is_seen(pid_t pid, uint64_t mount_id, bool *ret_by_us)
{
	char path[64];
	uint32_t dev;
	*ret_by_us = find_in("/proc/self/mountinfo", &mount_id, NULL, NULL, NULL);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	if (*ret_by_us || !find_in(path, &mount_id, NULL, NULL, &dev))
		return *ret_by_us;
	*ret_by_us = find_in("/proc/self/mountinfo", NULL, &dev, NULL, NULL);
	return true;
}

static bool is_below(const char *path, const char *point)
{
	size_t len = strlen(point);
	return strncmp(path, point, len) == 0 && (len == 1 || path[len] == '/' || !path[len]);
}

/* The type of what is mounted at a path, by the names of the mount points: nothing is opened. */
static bool type_at(const char *mountinfo, const char *path, char ret_type[SP_MOUNT_TYPE])
{
	SP_FCLOSE FILE *f = fopen(mountinfo, "re");
	SP_FREE char *line = NULL;
	size_t capacity = 0, longest = 0;
	struct sp_mount_line m;
	while (f && getline(&line, &capacity, f) > 0) {
		if (!sp_mountinfo_parse(line, &m) || !is_below(path, m.point) || strlen(m.point) < longest)
			continue;
		longest = strlen(m.point);
		snprintf(ret_type, SP_MOUNT_TYPE, "%s", m.type);
	}
	return longest > 0;
}

/*
 * One layer. Whoever mounted the overlay named it as he saw it: that is in the process's list of mounts or, as with
 * containers, in ours. In the other list the name means nothing, or the overlay itself.
 */
static bool layer_type(pid_t pid, char *layer, char ret_type[SP_MOUNT_TYPE])
{
	char path[64], type[SP_MOUNT_TYPE];
	bool found = false;
	sp_mountinfo_unescape(layer);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	for (int i = 0; i < 2 && *layer == '/'; i++) {
		if (!type_at(i ? path : "/proc/self/mountinfo", layer, type) || strcmp(type, "overlay") == 0)
			continue;
		found = true;
		snprintf(ret_type, SP_MOUNT_TYPE, "%s", type);
		if (sp_type_may_hang(type))
			break;
	}
	return found;
}

static int layers_type(pid_t pid, char *options, char ret_type[SP_MOUNT_TYPE])
{
	int r = -ENOENT;
	for (char *option; (option = strsep(&options, ","));) {
		if (strncmp(option, "lowerdir", 8) != 0 && strncmp(option, "upperdir", 8) != 0)
			continue;
		strsep(&option, "=");
		for (char *layer; (layer = strsep(&option, ":"));) {
			if (!layer_type(pid, layer, ret_type))
				continue;
			if (sp_type_may_hang(ret_type))
				return 0;
			r = 0;
		}
	}
	return r;
}

/* The options of a mount, as this process sees it, else as that one does. */
static char *options_of(pid_t pid, uint64_t mount_id)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	for (int i = 0; i < 2; i++) {
		SP_FCLOSE FILE *f = fopen(i ? path : "/proc/self/mountinfo", "re");
		SP_FREE char *line = NULL;
		size_t capacity = 0;
		struct sp_mount_line m;
		while (f && getline(&line, &capacity, f) > 0)
			if (sp_mountinfo_parse(line, &m) && m.id == mount_id && m.options)
				return strdup(m.options);
	}
	return NULL;
}

int sp_overlay_type(pid_t pid, uint64_t mount_id, char ret_type[SP_MOUNT_TYPE])
{
	SP_FREE char *options = options_of(pid, mount_id);
	return options ? layers_type(pid, options, ret_type) : -ENOENT;
}

/* The mount point may be hidden under another mount: the mount that was found tells. */
static int open_point(const struct sp_mount_line *m)
{
	SP_CLOSE int fd = open(m->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct statx st;
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0)
		return -errno;
	return st.stx_mnt_id == m->id ? sp_take_fd(&fd) : -ENOENT;
}

/* Opened for open_by_handle_at(); *position tells where to go on; -ENOENT when there is no more. */
int sp_mount_open(uint32_t dev, unsigned *position)
{
	SP_FCLOSE FILE *f = fopen("/proc/self/mountinfo", "re");
	if (!f)
		return -ENOENT;
	SP_FREE char *line = NULL;
	size_t capacity = 0;
	struct sp_mount_line m;
	for (unsigned i = 0; getline(&line, &capacity, f) > 0; i++) {
		if (i < *position || !sp_mountinfo_parse(line, &m) || m.dev != dev)
			continue;
		*position = i + 1;
		if (sp_type_may_hang(m.type))
			return sp_fail_said(-EACCES, "file system not trusted (%s)", m.type);
		int fd = open_point(&m);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* btrfs shows another device of its files than the kernel half, which is that of its mounts. */
static bool may_be_of(int fd, const struct statx *st, uint32_t dev)
{
	struct statfs fs;
	return (st->stx_dev_major << 20 | st->stx_dev_minor) == dev ||
	       (fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC && !(dev >> 20));
}

/* The root of a chroot need not be a mount point, and is in no list then; any directory is as good for a handle. */
int sp_mount_open_root(uint32_t dev)
{
	SP_CLOSE int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statx st;
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0)
		return -errno;
	if (find_in("/proc/self/mountinfo", &(uint64_t){st.stx_mnt_id}, NULL, NULL, NULL) || !may_be_of(fd, &st, dev) ||
	    sp_unlisted_may_hang(fd))
		return -ENOENT;
	return sp_take_fd(&fd);
}
