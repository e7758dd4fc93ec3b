/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entries.c: the directory, finding and making entries. entries_evict.c keeps the size within bounds. */
#include "base/entries.h"

#include "base/encode.h"
#include "base/entries_priv.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ID_BYTES = 64, MAX_NAME = SP_ENTRIES_MAX_NAME, TOUCH_SECONDS = 24 * 3600 };

static const uint64_t SETTLED_NS = 3000000000;       /* no file system's clock has longer ticks than 2 s */
static const uint64_t INODE_MASK = ~(0xffULL << 56); /* above, overlayfs (xino) puts the number of a layer */

int sp_entries_default_dir(const char *what, char **ret_path)
{
	const char *own = getenv("CACHE_DIRECTORY"), *base = "/var/cache", *middle = "";
	char *path;
	if (own && own[0] == '/') {
		if (asprintf(&path, "%s/%s", own, what) < 0)
			return -ENOMEM;
		*ret_path = path;
		return 0;
	}
	if (geteuid() != 0) {
		base = getenv("XDG_CACHE_HOME");
		if (!base || base[0] != '/') {
			base = getenv("HOME");
			middle = "/.cache";
		}
		if (!base || base[0] != '/')
			return -ENOENT;
	}
	if (asprintf(&path, "%s%s/soprof/%s", base, middle, what) < 0)
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

int sp_entries_open(const char *dir, uint64_t max_bytes, struct sp_entries **ret_entries)
{
	struct sp_entries *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	int r = open_dir(dir, &c->dir);
	if (r < 0) {
		free(c);
		return r;
	}
	c->max_bytes = max_bytes ? max_bytes : SP_ENTRIES_MAX_BYTES;
	c->total = SP_ENTRIES_TOTAL_UNKNOWN;
	*ret_entries = c;
	return 0;
}

void sp_entries_close(struct sp_entries *c)
{
	if (!c)
		return;
	close(c->dir);
	free(c);
}

struct sp_cache_stats sp_entries_stats(const struct sp_entries *c)
{
	return c->stats;
}

static bool state_is_settled(const struct sp_file_state *s)
{
	return s->ctime_ns && s->opened_ns >= SETTLED_NS && s->ctime_ns <= s->opened_ns - SETTLED_NS;
}

/*
 * An image of a file system that somebody has made may hold any number and time, but lies on another disk. Without a
 * disk the device is another one at each mount, and overlayfs shows another for each container.
 */
static uint64_t disk_of(const struct sp_file_state *s)
{
	return major(s->dev) ? s->dev : 0;
}

/* What a file is known by, in hex: its build id and its state. */
static int entries_identity_of(const struct sp_cache_key *key, char *name)
{
	const struct sp_file_state *s = &key->state;
	const uint64_t sample = key->build_id_len ? 0 : s->sample;
	const uint64_t words[] = {disk_of(s), s->ino & INODE_MASK, s->mtime_ns, s->ctime_ns, sample};
	char id[2 * MAX_ID_BYTES + 1] = SP_ENTRIES_NAMELESS;

	_Static_assert(2 * sizeof(words) == SP_ENTRIES_STATE_DIGITS, "of each word all digits");

	if (key->build_id_len > MAX_ID_BYTES)
		return -EACCES;
	if (!state_is_settled(s))
		return -EAGAIN;
	if (key->build_id_len)
		sp_hex(key->build_id, key->build_id_len, id);
	name += snprintf(name, MAX_NAME, "%s-", id);
	sp_hex((const uint8_t *)words, sizeof(words), name);
	return 0;
}

/* The entry's name. -EACCES: this file may have no entry; -EAGAIN: not yet. */
static int entries_name_of(const struct sp_cache_key *key, char name[MAX_NAME])
{
	bool owned = key->uid == 0 || key->uid == geteuid();
	int r = owned && (key->mode & 022) == 0 ? entries_identity_of(key, name) : -EACCES;

	if (r == 0)
		snprintf(name + strlen(name), 32, "-%llu", (unsigned long long)key->file_size);
	return r;
}

bool sp_entries_is_same(const struct sp_cache_key *a, const struct sp_cache_key *b)
{
	char names[2][MAX_NAME];

	return entries_name_of(a, names[0]) == 0 && entries_name_of(b, names[1]) == 0 && !strcmp(names[0], names[1]);
}

uint64_t sp_entries_changed_ns(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_CTIME, &st) < 0)
		return 0;
	return (uint64_t)st.stx_ctime.tv_sec * SP_NS_PER_S + st.stx_ctime.tv_nsec;
}

int sp_entries_allow(struct sp_entries *c, const struct sp_cache_key *key)
{
	char name[MAX_NAME];
	bool may = entries_name_of(key, name) == 0;
	c->stats.n_refused += !may;
	return may;
}

/* --- finding them --- */

/* -EBADMSG: something that we have not written. */
static int open_entry(int dir, const char *name, int *ret_fd, uint64_t *ret_size)
{
	struct stat st;
	SP_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -ENOENT;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EBADMSG;
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = sp_take_fd(&fd);
	return 0;
}

int sp_entries_peek(const char *dir, const struct sp_cache_key *key, int *ret_fd, uint64_t *ret_size)
{
	char name[MAX_NAME];
	int r = entries_name_of(key, name);
	if (r < 0)
		return r;
	SP_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir_fd < 0 ? -ENOENT : open_entry(dir_fd, name, ret_fd, ret_size);
}

int sp_entries_get(struct sp_entries *c, const struct sp_cache_key *key, int *ret_fd, uint64_t *ret_size)
{
	char name[MAX_NAME];
	if (!sp_entries_allow(c, key) || entries_name_of(key, name) < 0)
		return -ENOENT;
	int r = open_entry(c->dir, name, ret_fd, ret_size);
	if (r == -EBADMSG)
		sp_entries_damaged(c, key);
	else if (r < 0)
		c->stats.n_misses++;
	return r < 0 ? -ENOENT : 0;
}

/* To be evicted later; nothing is lost if this fails. */
void sp_entries_used(struct sp_entries *c, int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > TOUCH_SECONDS)
		futimens(fd, NULL);
	c->stats.n_hits++;
}

void sp_entries_damaged(struct sp_entries *c, const struct sp_cache_key *key)
{
	char name[MAX_NAME];
	c->stats.n_misses++;
	if (entries_name_of(key, name) == 0 && unlinkat(c->dir, name, 0) == 0)
		c->stats.n_damaged++;
}

/* --- making them --- */

int sp_entries_new(struct sp_entries *c, uint64_t bytes, char ret_name[SP_ENTRY_NAME])
{
	int r = bytes <= c->max_bytes ? sp_entries_make_room(c, bytes) : -EFBIG;
	if (r < 0)
		return r;
	snprintf(ret_name, SP_ENTRY_NAME, SP_ENTRIES_TEMPORARY "%d-%u", (int)getpid(), c->n_temporary++);
	int fd = openat(c->dir, ret_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int sp_entries_commit(struct sp_entries *c, const char *name, const struct sp_cache_key *key, uint64_t bytes)
{
	char place[MAX_NAME];
	int r = entries_name_of(key, place);
	if (r == 0 && renameat(c->dir, name, c->dir, place) < 0)
		r = -errno;
	if (r < 0) {
		sp_entries_discard(c, name);
		return r;
	}
	c->total += bytes;
	c->stats.n_stored++;
	return 0;
}

void sp_entries_discard(struct sp_entries *c, const char *name)
{
	unlinkat(c->dir, name, 0);
}

void sp_entries_count_failed(struct sp_entries *c)
{
	c->stats.n_not_stored++;
}
