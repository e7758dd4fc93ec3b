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
#include <sys/mman.h>
#include <unistd.h>

/*
 * 1 MiB; a page is what the file is written by. An id may be in any of a bucket's slots, which are a cache line; where
 * all are in use it replaces one. The first bucket has the key of the fleet. The file is mapped: what is read of it is
 * the page cache's memory, and of ours only the pages with ids that are not in it yet.
 */
enum { SLOTS = 1 << 17, PAGE_SLOTS = 512, PAGES = SLOTS / PAGE_SLOTS, WAYS = 8, BUCKETS = SLOTS / WAYS };
enum { BYTES = SLOTS * (int)sizeof(uint64_t) };

struct sp_sent {
	int fd;
	uint64_t *slots;
	bool changed[PAGES];
};

static int slots_map(struct sp_sent *s)
{
	int flags = MAP_PRIVATE | (s->fd < 0 ? MAP_ANONYMOUS : 0);
	void *slots = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, s->fd, 0);

	if (slots == MAP_FAILED)
		return -errno;
	s->slots = slots;
	return 0;
}

/* A file of another fleet, or of another size, becomes one of zeros. */
static int file_prepare(int fd, uint64_t key)
{
	uint64_t there = 0;
	off_t bytes = lseek(fd, 0, SEEK_END);

	if (bytes == BYTES && sp_read_at(fd, &there, sizeof(there), 0) == 0 && there == key)
		return 0;
	return ftruncate(fd, 0) < 0 || ftruncate(fd, BYTES) < 0 ? -errno : 0;
}

int sp_sent_open(const char *path, uint64_t key, struct sp_sent **ret_sent)
{
	struct sp_sent *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	key |= 1; /* not that of an empty file */
	s->fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	if (path)
		r = s->fd < 0 ? -errno : file_prepare(s->fd, key);
	if (r == 0)
		r = slots_map(s);
	if (r < 0) {
		sp_sent_close(s);
		return sp_fail(r, "open %s", path ? path : "a table of what was sent");
	}
	s->changed[0] = s->slots[0] != key;
	if (s->changed[0])
		s->slots[0] = key;
	*ret_sent = s;
	return 0;
}

void sp_sent_close(struct sp_sent *s)
{
	if (!s)
		return;
	if (s->slots)
		munmap(s->slots, BYTES);
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

/*
 * A page that was not written whole has ids that were sent, each in its place: no order matters. Ours is given back:
 * the file's is the same then.
 */
int sp_sent_keep(struct sp_sent *s)
{
	for (size_t i = 0; s->fd >= 0 && i < PAGES; i++) {
		size_t bytes = PAGE_SLOTS * sizeof(*s->slots);
		uint64_t *page = s->slots + i * PAGE_SLOTS;
		int r = s->changed[i] ? sp_write_at(s->fd, page, bytes, i * bytes) : 0;

		if (r < 0)
			return sp_fail(r, "remember what was sent");
		if (s->changed[i] && madvise(page, bytes, MADV_DONTNEED) < 0)
			return sp_fail(-errno, "read again what was sent");
		s->changed[i] = false;
	}
	return 0;
}
