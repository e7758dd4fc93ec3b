/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entries_evict.c: the directory's size: a walk over it, the oldest entries removed. */
#include "base/entries_priv.h"
#include "base/mem.h"
#include "base/search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEMPORARY_SECONDS = 3600 };

struct entry {
	int64_t mtime;
	uint64_t bytes;
	char name[SP_ENTRIES_MAX_NAME];
};
struct walk {
	struct entry *entries;
	size_t n, capacity;
	uint64_t total;
};

/* Behind so many or more of these characters and a dash. */
static const char *part_skip(const char *name, const char *of, size_t least)
{
	const size_t n = name ? strspn(name, of) : 0;
	return n >= least && name[n] == '-' ? name + n + 1 : NULL;
}

static bool is_digits(const char *name)
{
	return name && *name && !name[strspn(name, "0123456789")];
}

static const char hex[] = "0123456789abcdef";

/* A build id or what stands for it, a state, a size: everything else in the directory is not ours. */
static bool is_entry_name(const char *name)
{
	const size_t n = strlen(SP_ENTRIES_NAMELESS);
	const char *state = strncmp(name, SP_ENTRIES_NAMELESS "-", n + 1) ? part_skip(name, hex, 2) : name + n + 1;
	return is_digits(part_skip(state, hex, SP_ENTRIES_STATE_DIGITS)) && strlen(name) < SP_ENTRIES_MAX_NAME;
}

/* By a build id alone, or by less of a state, as earlier versions made them: of which file, nobody can tell. */
static bool is_unsure(const char *name)
{
	const size_t n = strlen(SP_ENTRIES_NAMELESS);
	const char *id = strncmp(name, SP_ENTRIES_NAMELESS "-", n + 1) ? name : name + n + 1;
	return is_digits(part_skip(id, hex, 2));
}

/* Left by a process that was killed while it wrote. */
static bool is_stale(const char *name, const struct stat *st)
{
	return strncmp(name, SP_ENTRIES_TEMPORARY, strlen(SP_ENTRIES_TEMPORARY)) == 0 &&
	       time(NULL) - st->st_mtime > TEMPORARY_SECONDS;
}

static int walk_add(struct sp_entries *c, struct walk *w, const char *name)
{
	struct stat st;
	if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (!is_entry_name(name)) {
		if (is_unsure(name) || is_stale(name, &st))
			unlinkat(c->dir, name, 0);
		return 0;
	}
	int r = sp_grow(&w->entries, &w->capacity, w->n + 1, sizeof(*w->entries));
	if (r < 0)
		return r;
	struct entry *e = &w->entries[w->n++];
	e->mtime = st.st_mtime;
	e->bytes = (uint64_t)st.st_size;
	memcpy(e->name, name, strlen(name) + 1);
	w->total += e->bytes;
	return 0;
}

static int walk_dir(struct sp_entries *c, struct walk *w)
{
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		r = walk_add(c, w, e->d_name);
	closedir(d);
	return r;
}

static int oldest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return SP_RISING(x->mtime, y->mtime) ?: strcmp(x->name, y->name);
}

/* A tenth more than is needed, so that the next entries do not walk again. */
static void evict(struct sp_entries *c, struct walk *w, uint64_t bytes)
{
	uint64_t wanted = c->max_bytes - bytes;
	wanted -= SP_MIN(wanted, c->max_bytes / 10);
	qsort(w->entries, w->n, sizeof(*w->entries), oldest_first);
	for (size_t i = 0; i < w->n && w->total > wanted; i++) {
		if (unlinkat(c->dir, w->entries[i].name, 0) < 0 && errno != ENOENT)
			continue;
		w->total -= w->entries[i].bytes;
		c->stats.n_evicted++;
	}
}

int sp_entries_make_room(struct sp_entries *c, uint64_t bytes)
{
	struct walk w = {0};
	if (c->total != SP_ENTRIES_TOTAL_UNKNOWN && c->total <= c->max_bytes - bytes)
		return 0;
	int r = walk_dir(c, &w);
	if (r == 0 && w.total > c->max_bytes - bytes)
		evict(c, &w, bytes);
	free(w.entries);
	if (r < 0)
		return r;
	c->total = w.total;
	return w.total <= c->max_bytes - bytes ? 0 : -ENOSPC;
}
