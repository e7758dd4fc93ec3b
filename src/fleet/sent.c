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
 * all are in use it replaces one. The first bucket has the key of the fleet. The file is mapped to be read, so it is
 * the page cache's memory; what is new waits in a list, until the server has it.
 */
enum { SLOTS = 1 << 17, PAGE_SLOTS = 512, PAGES = SLOTS / PAGE_SLOTS, WAYS = 8, BUCKETS = SLOTS / WAYS };
enum { BYTES = SLOTS * (int)sizeof(uint64_t) };
#define NO_MORE UINT32_MAX

struct sp_sent {
	int fd;
	uint64_t *slots; /* without a file they are our own, and written */
	struct waiting {
		uint64_t id;
		uint32_t next; /* in its page */
	} * waiting;
	size_t n, capacity;
	uint32_t first[PAGES]; /* of those that wait; NO_MORE = none */
};

/* On a full disk nothing is remembered: names are sent again, which costs bytes only. */
static int write_result(int r)
{
	return r == -ENOSPC || r == -EDQUOT ? 0 : r;
}

/* A file of another fleet, or of another size, becomes one of zeros. */
static int file_prepare(int fd, uint64_t key)
{
	uint64_t there = 0;
	off_t bytes = lseek(fd, 0, SEEK_END);

	if (bytes == BYTES && sp_read_at(fd, &there, sizeof(there), 0) == 0 && there == key)
		return 0;
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, BYTES) < 0)
		return -errno;
	return write_result(sp_write_at(fd, &key, sizeof(key), 0));
}

static int slots_map(struct sp_sent *s)
{
	void *slots = s->fd < 0 ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
				: mmap(NULL, BYTES, PROT_READ, MAP_SHARED, s->fd, 0);

	if (slots == MAP_FAILED)
		return -errno;
	s->slots = slots;
	return 0;
}

int sp_sent_open(const char *path, uint64_t key, struct sp_sent **ret_sent)
{
	struct sp_sent *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	memset(s->first, 0xff, sizeof(s->first));
	s->fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	if (path)
		r = s->fd < 0 ? -errno : file_prepare(s->fd, key | 1); /* not that of an empty file */
	if (r == 0)
		r = slots_map(s);
	if (r < 0) {
		sp_sent_close(s);
		return sp_fail(r, "open %s", path ? path : "a table of what was sent");
	}
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
	free(s->waiting);
	free(s);
}

static size_t bucket_of(uint64_t id)
{
	return (1 + id % (BUCKETS - 1)) * WAYS;
}

int sp_sent_add(struct sp_sent *s, uint64_t id)
{
	size_t at = bucket_of(id), page = at / PAGE_SLOTS;

	for (size_t i = at; i < at + WAYS; i++)
		if (s->slots[i] == id)
			return 0;
	if (s->n >= NO_MORE || sp_grow(&s->waiting, &s->capacity, s->n + 1, sizeof(*s->waiting)) < 0)
		return -ENOMEM;
	s->waiting[s->n] = (struct waiting){id, s->first[page]};
	s->first[page] = (uint32_t)s->n++;
	return 1;
}

static void slot_fill(uint64_t *bucket, uint64_t id)
{
	size_t at = (id >> 32) % WAYS;

	for (size_t i = 0; i < WAYS; i++) {
		if (bucket[i] == id)
			return;
		at = bucket[i] ? at : i;
	}
	bucket[at] = id;
}

static int page_keep(struct sp_sent *s, size_t page)
{
	uint64_t slots[PAGE_SLOTS], *there = s->slots + page * PAGE_SLOTS;

	memcpy(slots, there, sizeof(slots));
	for (uint32_t i = s->first[page]; i != NO_MORE; i = s->waiting[i].next)
		slot_fill(slots + bucket_of(s->waiting[i].id) % PAGE_SLOTS, s->waiting[i].id);
	if (s->fd >= 0)
		return write_result(sp_write_at(s->fd, slots, sizeof(slots), page * sizeof(slots)));
	memcpy(there, slots, sizeof(slots));
	return 0;
}

/* A page that was not written whole has ids that were sent, each in its place: no order matters. */
int sp_sent_keep(struct sp_sent *s, size_t least)
{
	int r = 0;

	if (s->n < least)
		return 0;
	for (size_t page = 0; page < PAGES; page++) {
		int written = s->first[page] == NO_MORE ? 0 : page_keep(s, page);
		r = written < 0 ? written : r;
		s->first[page] = NO_MORE;
	}
	s->n = 0;
	return r < 0 ? sp_fail(r, "remember what was sent") : 0;
}
