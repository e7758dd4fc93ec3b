/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent.c: the ids that were sent, in a file of a fixed size; a part of encode.h. */
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "fleet/encode.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * 1 MiB; a page is what the file is written by. An id may be in any of a bucket's slots, which are a cache line; where
 * all are in use it replaces one. The first bucket has the key of the fleet.
 */
enum { SLOTS = 1 << 17, PAGE_SLOTS = 512, PAGES = SLOTS / PAGE_SLOTS, WAYS = 8, BUCKETS = SLOTS / WAYS };

struct sp_sent {
	int fd;
	uint64_t slots[SLOTS];
	bool changed[PAGES];
};

int sp_sent_open(const char *path, uint64_t key, struct sp_sent **ret_sent)
{
	struct sp_sent *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	if (path && s->fd < 0) {
		int r = sp_fail(-errno, "open %s", path);
		free(s);
		return r;
	}
	key |= 1; /* not that of an empty file */
	if (s->fd < 0 || sp_read_at(s->fd, s->slots, sizeof(s->slots), 0) < 0 || s->slots[0] != key) {
		memset(s->slots, 0, sizeof(s->slots));
		memset(s->changed, true, sizeof(s->changed));
		s->slots[0] = key;
	}
	*ret_sent = s;
	return 0;
}

void sp_sent_close(struct sp_sent *s)
{
	if (!s)
		return;
	sp_cleanup_close(&s->fd);
	free(s);
}

bool sp_sent_add(struct sp_sent *s, uint64_t id)
{
	size_t first = (1 + id % (BUCKETS - 1)) * WAYS, at = first + (id >> 32) % WAYS;

	for (size_t i = first; i < first + WAYS; i++) {
		if (s->slots[i] == id)
			return false;
		at = s->slots[i] ? at : i;
	}
	s->slots[at] = id;
	s->changed[at / PAGE_SLOTS] = true;
	return true;
}

/* A page that was not written whole has ids that were sent, each in its place: no order matters. */
int sp_sent_keep(struct sp_sent *s)
{
	for (size_t i = 0; s->fd >= 0 && i < PAGES; i++) {
		size_t bytes = PAGE_SLOTS * sizeof(*s->slots);
		int r = s->changed[i] ? sp_write_at(s->fd, s->slots + i * PAGE_SLOTS, bytes, i * bytes) : 0;

		if (r < 0)
			return sp_fail(r, "remember what was sent");
		s->changed[i] = false;
	}
	return 0;
}
