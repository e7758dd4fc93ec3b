/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapped_process.c: reads one process in /proc: who it is, and the lines of its executable mappings. */
#include "base/io.h"
#include "proc/priv.h"

#include "base/mem.h"
#include "proc/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL_BYTES = 16 << 10, CHUNK_BYTES = 64 << 10, KERNEL_THREAD = 0x00200000 };

void sp_scanned_free(struct sp_scanned *s)
{
	if (!s)
		return;
	free(s->comm);
	free(s->cgroup);
	free(s->lines);
	free(s);
}

/* Reads the beginning of a small file, and adds a NUL. */
static int read_small(int dir, const char *name, char text[SMALL_BYTES])
{
	SP_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : sp_read_most_at(fd, text, SMALL_BYTES - 1, 0);

	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return 0;
}

/* --- who it is: proc_pid_stat(5), whose name may hold any byte but NUL --- */
static int take_stat(struct sp_scanned *s, char *text, bool *ret_has_memory)
{
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	unsigned long long start;
	unsigned flags, parent;
	char state;

	if (!name || !end || end < name)
		return -EBADMSG;
	/* state, parent, 4 numbers, flags, 12 numbers, the start */
	if (sscanf(end + 1, " %c %u %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
		   &parent, &flags, &start) != 4)
		return -EBADMSG;
	*end = '\0';
	s->comm = strdup(name + 1);
	s->start_ticks = start;
	s->parent = parent;
	*ret_has_memory = (flags & KERNEL_THREAD) == 0 && state != 'Z' && state != 'X';
	return !s->comm ? -ENOMEM : 0;
}

static void take_uid(struct sp_scanned *s, const char *text)
{
	const char *line = strstr(text, "\nUid:\t");

	s->uid = !line ? UINT32_MAX : (uint32_t)strtoul(line + 6, NULL, 10);
}

/*
 * Preferred is version 2's cgroup ("0::/path"), then systemd's of version 1, which has the units, then any but the top.
 */
static int take_cgroup(struct sp_scanned *s, char *text)
{
	const char *best = "";
	int best_rank = 0;

	for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
		const char *path = strchr(line, '/');
		int rank = strncmp(line, "0::", 3) == 0 ? 3 : strstr(line, ":name=systemd:") ? 2 : 1;
		if (!path)
			continue;
		rank = path[1] == '\0' ? 0 : rank;
		if (rank >= best_rank && (rank > best_rank || *best == '\0')) {
			best = path;
			best_rank = rank;
		}
	}
	s->cgroup = strdup(best);
	return !s->cgroup ? -ENOMEM : 0;
}

/* --- the mappings --- */
/* A line from its device on ("START-END PERM OFFSET MAJOR:MINOR INODE   PATH"); NULL: not executable, or no file. */
static const char *device_of(const char *line)
{
	const char *perm = strchr(line, ' '), *offset, *device, *inode;

	if (!perm || strlen(perm) < 6 || perm[3] != 'x')
		return NULL;
	offset = strchr(perm + 1, ' ');
	device = !offset ? NULL : strchr(offset + 1, ' ');
	inode = !device ? NULL : strchr(device + 1, ' ');
	if (!inode || strtoull(inode + 1, NULL, 10) == 0)
		return NULL;
	return device + 1;
}

struct keeper {
	struct sp_scanned *s;
	size_t capacity, last; /* last: position of the device in the last line kept */
	bool any;
};

/* A file's mappings mostly follow each other: only the first is kept. */
static int keep_line(struct keeper *k, const char *line)
{
	struct sp_scanned *s = k->s;
	const char *device = device_of(line);
	size_t len = strlen(line);

	if (!device)
		return 0;
	if (k->any && strncmp(s->lines + k->last, device, strlen(device)) == 0 &&
	    s->lines[k->last + strlen(device)] == '\n')
		return 0;
	if (s->len + len + 2 > SP_MAPPED_MAX_BYTES) {
		s->n_left_out++;
		return 0;
	}
	int r = sp_grow(&s->lines, &k->capacity, s->len + len + 2, 1);
	if (r < 0)
		return r;
	memcpy(s->lines + s->len, line, len);
	memcpy(s->lines + s->len + len, "\n", 2);
	k->last = s->len + (size_t)(device - line);
	k->any = true;
	s->len += len + 1;
	return 0;
}

/* Keeps the whole lines in the buffer; an unfinished last line moves to its beginning. */
static int keep_lines(struct keeper *k, char *buffer, size_t *len)
{
	char *at = buffer, *end;
	int r = 0;

	while (r == 0 && (end = memchr(at, '\n', *len - (size_t)(at - buffer)))) {
		*end = '\0';
		r = keep_line(k, at);
		at = end + 1;
	}
	*len -= (size_t)(at - buffer);
	memmove(buffer, at, *len);
	if (*len == CHUNK_BYTES) { /* no path is so long */
		k->s->n_left_out++;
		*len = 0;
	}
	return r;
}

static int take_maps(struct sp_scanned *s, int dir)
{
	SP_FREE char *buffer = malloc(CHUNK_BYTES);
	SP_CLOSE int fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	struct keeper k = {.s = s};
	size_t len = 0;
	int r = 0;

	if (fd < 0)
		return -errno;
	while (r == 0 && buffer) {
		ssize_t n = read(fd, buffer + len, CHUNK_BYTES - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len += (size_t)n;
		r = keep_lines(&k, buffer, &len);
	}
	return !buffer ? -ENOMEM : r;
}

/* --- all of it --- */
/* Reads by the descriptor of the process's directory, which stays its own even if the pid is reused. */
static int scan(const char *proc, struct sp_scanned *s, char text[SMALL_BYTES])
{
	struct stat ns;
	bool has_memory = false;
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%u", proc, s->pid) >= sizeof(path))
		return -ENAMETOOLONG;
	SP_CLOSE int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno : read_small(dir, "stat", text);
	if (r == 0)
		r = take_stat(s, text, &has_memory);
	if (r < 0 || !has_memory)
		return r;
	r = read_small(dir, "status", text);
	if (r < 0)
		return r;
	take_uid(s, text);
	text[0] = '\0';
	if (read_small(dir, "cgroup", text) == -ESRCH)
		return -ESRCH;
	r = take_cgroup(s, text);
	s->mount_ns = fstatat(dir, "ns/mnt", &ns, 0) == 0 ? ns.st_ino : 0;
	return r < 0 ? r : take_maps(s, dir);
}

struct sp_scanned *sp_scan_process(const char *proc, uint32_t pid)
{
	SP_FREE char *text = malloc(SMALL_BYTES);
	struct sp_scanned *s = calloc(1, sizeof(*s));

	if (!s || !text) {
		free(s);
		return NULL;
	}
	s->pid = pid;
	s->r = scan(proc, s, text);
	if (s->r == -ENOENT)
		s->r = -ESRCH;
	if (s->r == -EPERM)
		s->r = -EACCES;
	return s;
}
