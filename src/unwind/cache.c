/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache.c: unwind tables on disk: the content of an entry of base/entries.h, and its validation. */
#include "unwind/cache.h"
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRY_BYTES = 64 << 20 }; /* above any table that SP_MAX_ROWS allows */

struct sp_cache {
	struct sp_entries *entries;
};

int sp_cache_default_dir(char **ret_path)
{
	return sp_entries_default_dir("unwind", ret_path);
}

int sp_cache_open(const char *dir, uint64_t max_bytes, struct sp_cache **ret_cache)
{
	struct sp_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	int r = sp_entries_open(dir, max_bytes, &c->entries);
	if (r < 0) {
		free(c);
		return sp_fail(r, "use the table cache %s", dir);
	}
	*ret_cache = c;
	return 0;
}

void sp_cache_close(struct sp_cache *c)
{
	if (!c)
		return;
	sp_entries_close(c->entries);
	free(c);
}

struct sp_cache_stats sp_cache_stats(const struct sp_cache *c)
{
	return sp_entries_stats(c->entries);
}

static bool id_matches(const struct sp_cache_key *key, const struct sp_blob *b)
{
	size_t n = SP_MIN(key->build_id_len, sizeof(b->build_id));
	return b->build_id_len == n && memcmp(b->build_id, key->build_id, n) == 0;
}

/* -EBADMSG: damaged. */
static int read_entry(int fd, uint64_t size, const struct sp_cache_key *key, struct sp_blob **ret_blob)
{
	if (size < sizeof(struct sp_blob) || size > MAX_ENTRY_BYTES)
		return -EBADMSG;
	SP_FREE struct sp_blob *b = malloc(size);
	if (!b)
		return -ENOMEM;
	int r = sp_read_at(fd, b, size, 0);
	if (r == 0)
		r = sp_blob_validate(b, size);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (!id_matches(key, b))
		return -EBADMSG;
	*ret_blob = sp_take_ptr(b);
	return 0;
}

int sp_cache_look(const char *dir, const struct sp_cache_key *key)
{
	SP_FREE struct sp_blob *blob = NULL;
	SP_CLOSE int fd = -1;
	uint64_t size;
	int r = sp_entries_peek(dir, key, &fd, &size);
	return r < 0 ? r : read_entry(fd, size, key, &blob);
}

int sp_cache_get(struct sp_cache *c, const struct sp_cache_key *key, struct sp_blob **ret_blob)
{
	SP_CLOSE int fd = -1;
	uint64_t size;
	int r = sp_entries_get(c->entries, key, &fd, &size);
	if (r < 0)
		return r;
	r = read_entry(fd, size, key, ret_blob);
	if (r < 0) {
		sp_entries_damaged(c->entries, key);
		return -ENOENT;
	}
	sp_entries_used(c->entries, fd);
	return 0;
}

static int write_entry(struct sp_cache *c, const struct sp_cache_key *key, const struct sp_blob *blob)
{
	char name[SP_ENTRY_NAME];
	SP_CLOSE int fd = sp_entries_new(c->entries, blob->bytes, name);
	if (fd < 0)
		return fd;
	int r = sp_write_all(fd, blob, (size_t)blob->bytes);
	if (r == 0)
		return sp_entries_commit(c->entries, name, key, blob->bytes);
	sp_entries_discard(c->entries, name);
	return r;
}

void sp_cache_put(struct sp_cache *c, const struct sp_cache_key *key, const struct sp_blob *blob)
{
	if (!sp_entries_allow(c->entries, key))
		return;
	if (blob->bytes > MAX_ENTRY_BYTES || !id_matches(key, blob) || write_entry(c, key, blob) < 0)
		sp_entries_count_failed(c->entries);
}
