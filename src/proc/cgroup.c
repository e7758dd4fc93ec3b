/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/cgroup.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/text.h"
#include "proc/mountinfo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PATH_BYTES = 4096,
	MAX_CGROUPS = 65536,
	MAX_LEVELS = 32,
	MOUNTS_MAX_BYTES = 16 << 20,
	ID_OF_TOP = 1,
	CGROUP_MAX_BYTES = 64 << 10
};

/* --- where it is mounted --- */
/* The first cgroup2 file system, its top open. */
static int open_top(char *ret_mount, size_t size)
{
	SP_FREE char *mounts = NULL;
	int r = sp_text_read("/proc/self/mountinfo", MOUNTS_MAX_BYTES, &mounts, NULL);

	if (r < 0)
		return r;
	for (char *line, *rest = mounts; (line = strsep(&rest, "\n"));) {
		struct sp_mount_line m;
		if (!sp_mountinfo_parse(line, &m) || strcmp(m.type, "cgroup2") != 0 || strlen(m.point) >= size)
			continue;
		int fd = open(m.point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return sp_fail(-errno, "open %s", m.point);
		(void)snprintf(ret_mount, size, "%s", m.point);
		return fd;
	}
	return sp_fail_said(-EOPNOTSUPP, "no cgroup2 file system is mounted");
}

/* --- one cgroup --- */
static int id_of(int fd, uint64_t *ret_id)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h;
	int mount_id;

	memset(&h, 0, sizeof(h));
	h.handle.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", &h.handle, &mount_id, AT_EMPTY_PATH) < 0)
		return -errno;
	if (h.handle.handle_bytes != sizeof(*ret_id)) /* kernfs handles have the id only */
		return -EOPNOTSUPP;
	memcpy(ret_id, h.handle.f_handle, sizeof(*ret_id));
	return 0;
}

/* Walks down one component at a time, so that ".." can be refused and the level counted. */
static int walk_down(int top, const char *path, int *ret_fd, uint32_t *ret_level)
{
	SP_CLOSE int fd = fcntl(top, F_DUPFD_CLOEXEC, 0);
	char name[NAME_MAX + 1];
	uint32_t level = 0;

	while (fd >= 0 && *(path += strspn(path, "/")) != '\0') {
		size_t len = strcspn(path, "/");
		(void)snprintf(name, sizeof(name), "%.*s", (int)SP_MIN(len, sizeof(name)), path);
		path += len;
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0 || len >= sizeof(name))
			return -ENOENT;
		int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			return errno == ENOTDIR ? -ENOENT : -errno;
		close(fd);
		fd = below;
		level++;
	}
	if (fd < 0)
		return -errno;
	*ret_fd = sp_take_fd(&fd);
	*ret_level = level;
	return 0;
}

static const char *below_mount(const char *path, const char *mount)
{
	size_t len = strlen(mount);

	return strncmp(path, mount, len) == 0 && (path[len] == '/' || path[len] == '\0') ? path + len : path;
}

int sp_cgroup_id(const char *path, uint64_t *ret_id, uint32_t *ret_level)
{
	char mount[PATH_BYTES];
	uint64_t id = 0, top_id = 0;
	uint32_t level = 0;
	SP_CLOSE int top = open_top(mount, sizeof(mount)), fd = -1;

	if (top < 0)
		return top;
	int r = walk_down(top, below_mount(path, mount), &fd, &level);
	if (r == 0)
		r = id_of(fd, &id);
	if (r == 0)
		r = id_of(top, &top_id);
	if (r < 0)
		return sp_fail(r, "find cgroup %s under %s", path, mount);
	if (top_id != ID_OF_TOP)
		return sp_fail_said(-EOPNOTSUPP, "cannot tell the level of cgroup %s inside a cgroup namespace", path);
	*ret_id = id;
	*ret_level = level;
	return 0;
}

/* The line of version 2 in /proc/PID/cgroup: "0::PATH". */
static int cgroup_take_path(char *text, char *ret_path, size_t size)
{
	for (char *line; (line = strsep(&text, "\n"));)
		if (strncmp(line, "0::/", 4) == 0)
			return (size_t)snprintf(ret_path, size, "%s", line + 3) < size ? 0 : -ENAMETOOLONG;
	return -ENOENT;
}

static int path_of_process(uint32_t pid, char *ret_path, size_t size)
{
	SP_FREE char *text = NULL;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	int r = sp_text_read(path, CGROUP_MAX_BYTES, &text, NULL);
	if (r < 0)
		return r == -ESRCH ? -ENOENT : r;
	return cgroup_take_path(text, ret_path, size);
}

int sp_cgroup_path(uint32_t pid, uint64_t id, char *ret_path, size_t size)
{
	char mount[PATH_BYTES];
	uint64_t found = 0;
	uint32_t level;
	int r = path_of_process(pid, ret_path, size);
	SP_CLOSE int top = r < 0 ? r : open_top(mount, sizeof(mount)), fd = -1;

	if (top < 0)
		return top;
	r = walk_down(top, ret_path, &fd, &level);
	if (r == 0)
		r = id_of(fd, &found);
	return r < 0 ? r : found == id ? 0 : -ENOENT;
}

/* --- all cgroups --- */
struct level { /* a directory that is being read */
	DIR *dir;
	size_t path_len; /* of its path, from the top of the mount */
};

struct sp_cgroups {
	struct sp_intern *ids, *paths; /* an id with number n has the path paths[of_id[n]] */
	uint32_t *of_id;
	size_t capacity, n_walked;
	struct sp_intern *wanted; /* NULL: all */
	char path[PATH_BYTES];    /* of what is looked at */
	struct level levels[MAX_LEVELS + 1];
	unsigned n_levels; /* 0: the walk is over */
};

static int add_cgroup(struct sp_cgroups *c, uint64_t id)
{
	const char *path = *c->path ? c->path : "/";

	c->n_walked++;
	if (c->wanted && sp_intern_find(c->wanted, &id, sizeof(id)) < 0)
		return 0;
	int64_t number = sp_intern_add_to(c->ids, &id, sizeof(id), &c->of_id, &c->capacity, sizeof(*c->of_id), NULL);
	int64_t at = sp_intern_add(c->paths, path, strlen(path));

	if (number < 0 || at < 0)
		return -ENOMEM;
	c->of_id[number] = (uint32_t)at;
	return 0;
}

/* The kernel counts a link for each cgroup below one: so most, which have none, need not be read. */
static bool has_none_below(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 2;
}

/* Adds the cgroup in c->path, whose descriptor it takes; those below it are next. */
static int enter(struct sp_cgroups *c, int dir_fd, size_t path_len)
{
	SP_CLOSE int fd = dir_fd;
	uint64_t id;
	int r = id_of(fd, &id);

	if (r == 0)
		r = add_cgroup(c, id);
	if (r < 0 || has_none_below(fd))
		return r;
	DIR *dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void)sp_take_fd(&fd);
	c->levels[c->n_levels++] = (struct level){dir, path_len};
	return 0;
}

static void leave(struct sp_cgroups *c)
{
	closedir(c->levels[--c->n_levels].dir);
}

static bool is_name(const struct dirent *e)
{
	return e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* One entry of the directory that was entered last, or its end. A cgroup that cannot be read has no path. */
static int walk_on(struct sp_cgroups *c)
{
	const struct level *l = &c->levels[c->n_levels - 1];
	size_t room = sizeof(c->path) - l->path_len;
	const struct dirent *e = readdir(l->dir);
	int fd, n;

	if (!e)
		leave(c);
	if (!e || !is_name(e))
		return 0;
	n = snprintf(c->path + l->path_len, room, "/%s", e->d_name);
	if ((size_t)n >= room || c->n_levels > MAX_LEVELS)
		return 0;
	fd = openat(dirfd(l->dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? 0 : enter(c, fd, l->path_len + (size_t)n);
}

static bool is_over(const struct sp_cgroups *c)
{
	return !c->n_levels || c->n_walked >= MAX_CGROUPS ||
	       (c->wanted && sp_intern_count(c->ids) == sp_intern_count(c->wanted));
}

int sp_cgroups_go_on(struct sp_cgroups *c, size_t n)
{
	int r = 0;

	for (; r == 0 && n && !is_over(c); n--)
		r = walk_on(c);
	if (r == 0 && !is_over(c))
		return 1;
	while (c->n_levels)
		leave(c);
	return r < 0 ? sp_fail(r, "walk the cgroups") : 0;
}

static int want(struct sp_cgroups *c, const uint64_t *ids, size_t n)
{
	int64_t r = sp_intern_new(&c->wanted);

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = sp_intern_add(c->wanted, &ids[i], sizeof(ids[i]));
	return (int)SP_MIN(r, 0);
}

int sp_cgroups_begin(const uint64_t *ids, size_t n, struct sp_cgroups **ret_cgroups)
{
	char mount[PATH_BYTES];
	SP_CLOSE int top = open_top(mount, sizeof(mount));

	if (top < 0)
		return top;
	struct sp_cgroups *c = calloc(1, sizeof(*c));
	int r = !c ? -ENOMEM : sp_intern_new(&c->ids);
	if (r == 0 && ids)
		r = want(c, ids, n);
	if (r == 0)
		r = sp_intern_new(&c->paths);
	if (r == 0)
		r = enter(c, sp_take_fd(&top), 0);
	if (r < 0) {
		sp_cgroups_free(c);
		return sp_fail(r, "walk the cgroups under %s", mount);
	}
	*ret_cgroups = c;
	return 0;
}

int sp_cgroups_new(struct sp_cgroups **ret_cgroups)
{
	struct sp_cgroups *c;
	int r = sp_cgroups_begin(NULL, 0, &c);

	if (r < 0)
		return r;
	r = sp_cgroups_go_on(c, SIZE_MAX);
	if (r < 0) {
		sp_cgroups_free(c);
		return r;
	}
	*ret_cgroups = c;
	return 0;
}

void sp_cgroups_free(struct sp_cgroups *c)
{
	if (!c)
		return;
	while (c->n_levels)
		leave(c);
	sp_intern_free(c->ids);
	sp_intern_free(c->paths);
	sp_intern_free(c->wanted);
	free(c->of_id);
	free(c);
}

const char *sp_cgroups_path(const struct sp_cgroups *c, uint64_t id)
{
	int64_t number = sp_intern_find(c->ids, &id, sizeof(id));

	return number < 0 ? "" : sp_intern_get(c->paths, c->of_id[number], NULL);
}
