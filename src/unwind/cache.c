/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache.c: tables on disk: the directory, reading and writing entries. cache_evict.c keeps the size within bounds. */
#include "unwind/cache.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "unwind/cache_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ID_BYTES = 64, MAX_NAME = 2 * MAX_ID_BYTES + 32, TOUCH_SECONDS = 24 * 3600 };
enum { MAX_ENTRY_BYTES = 64 << 20 }; /* above any table that SP_MAX_ROWS allows */

int sp_cache_default_dir(char **ret_path)
{
	const char *base = "/var/cache", *middle = "";
	char *path;
	if (geteuid() != 0) {
		base = getenv("XDG_CACHE_HOME");
		if (!base || base[0] != '/') {
			base = getenv("HOME");
			middle = "/.cache";
		}
		if (!base || base[0] != '/')
			return -ENOENT;
	}
	if (asprintf(&path, "%s%s/soprof/unwind", base, middle) < 0)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

/* The directory and the ones above it that are missing. */
static int make_dirs(const char *dir)
{
	SP_FREE char *path = strdup(dir);
	if (!path)
		return -ENOMEM;
	for (char *slash = path + strspn(path, "/"); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int open_dir(const char *dir, int *ret_fd)
{
	struct stat st;
	int r = make_dirs(dir);
	if (r < 0)
		return r;
	SP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return -EPERM;
	*ret_fd = sp_take_fd(&fd);
	return 0;
}

int sp_cache_open(const char *dir, uint64_t max_bytes, struct sp_cache **ret_cache)
{
	struct sp_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	int r = open_dir(dir, &c->dir);
	if (r < 0) {
		free(c);
		return sp_fail(r, "use the table cache %s", dir);
	}
	c->max_bytes = max_bytes ? max_bytes : SP_CACHE_MAX_BYTES;
	c->total = SP_CACHE_TOTAL_UNKNOWN;
	*ret_cache = c;
	return 0;
}

void sp_cache_close(struct sp_cache *c)
{
	if (!c)
		return;
	close(c->dir);
	free(c);
}

struct sp_cache_stats sp_cache_stats(const struct sp_cache *c)
{
	return c->stats;
}

/* The entry's name; false if this file may have no entry. */
static bool name_of(const struct sp_cache_key *key, char name[MAX_NAME])
{
	bool owned = key->uid == 0 || key->uid == geteuid();
	if (!owned || (key->mode & 022) != 0 || key->build_id_len == 0 || key->build_id_len > MAX_ID_BYTES)
		return false;
	sp_hex(key->build_id, key->build_id_len, name);
	snprintf(name + 2 * key->build_id_len, 32, "-%llu", (unsigned long long)key->file_size);
	return true;
}

static bool entry_name(struct sp_cache *c, const struct sp_cache_key *key, char name[MAX_NAME])
{
	bool may = name_of(key, name);
	c->stats.n_refused += !may;
	return may;
}

static bool id_matches(const struct sp_cache_key *key, const struct sp_blob *b)
{
	size_t n = SP_MIN(key->build_id_len, sizeof(b->build_id));
	return b->build_id_len == n && memcmp(b->build_id, key->build_id, n) == 0;
}

static int read_all(int fd, uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = pread(fd, bytes + at, size - at, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		at += (size_t)n;
	}
	return 0;
}

/* -EBADMSG: damaged. */
static int read_entry(int fd, const struct sp_cache_key *key, struct sp_blob **ret_blob)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size < (off_t)sizeof(struct sp_blob) ||
	    st.st_size > MAX_ENTRY_BYTES)
		return -EBADMSG;
	SP_FREE struct sp_blob *b = malloc((size_t)st.st_size);
	if (!b)
		return -ENOMEM;
	int r = read_all(fd, (uint8_t *)b, (size_t)st.st_size);
	if (r == 0)
		r = sp_blob_validate(b, (size_t)st.st_size);
	if (r < 0)
		return r;
	if (!id_matches(key, b))
		return -EBADMSG;
	*ret_blob = sp_take_ptr(b);
	return 0;
}

/* To be evicted later; nothing is lost if this fails. */
static void touch(int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > TOUCH_SECONDS)
		futimens(fd, NULL);
}

int sp_cache_look(const char *dir, const struct sp_cache_key *key)
{
	SP_FREE struct sp_blob *blob = NULL;
	char name[MAX_NAME];
	if (!name_of(key, name))
		return -EACCES;
	SP_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	SP_CLOSE int fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -ENOENT : read_entry(fd, key, &blob);
}

int sp_cache_get(struct sp_cache *c, const struct sp_cache_key *key, struct sp_blob **ret_blob)
{
	char name[MAX_NAME];
	if (!entry_name(c, key, name))
		return -ENOENT;
	SP_CLOSE int fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r = fd < 0 ? -errno : read_entry(fd, key, ret_blob);
	if (r == 0) {
		touch(fd);
		c->stats.n_hits++;
		return 0;
	}
	c->stats.n_misses++;
	if ((r == -EBADMSG || r == -ELOOP) && unlinkat(c->dir, name, 0) == 0)
		c->stats.n_damaged++;
	return -ENOENT;
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_entry(struct sp_cache *c, const char *name, const struct sp_blob *blob)
{
	char temporary[64];
	snprintf(temporary, sizeof(temporary), SP_CACHE_TEMPORARY "%d-%u", (int)getpid(), c->n_temporary++);
	SP_CLOSE int fd = openat(c->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = write_all(fd, (const uint8_t *)blob, (size_t)blob->bytes);
	if (r == 0 && renameat(c->dir, temporary, c->dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(c->dir, temporary, 0);
	return r;
}

void sp_cache_put(struct sp_cache *c, const struct sp_cache_key *key, const struct sp_blob *blob)
{
	char name[MAX_NAME];
	if (!entry_name(c, key, name))
		return;
	bool fits = blob->bytes <= MAX_ENTRY_BYTES && blob->bytes <= c->max_bytes;
	if (!fits || !id_matches(key, blob) || sp_cache_make_room(c, blob->bytes) < 0 ||
	    write_entry(c, name, blob) < 0) {
		c->stats.n_not_stored++;
		return;
	}
	c->total += blob->bytes;
	c->stats.n_stored++;
}
