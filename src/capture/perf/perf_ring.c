/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf/perf_ring.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WHOLE_BYTES = 1 << 16 };

int sp_perf_ring_over(struct sp_perf_ring *r, void *page, const void *data, size_t bytes)
{
	*r = (struct sp_perf_ring){.page = page, .data = data, .bytes = bytes, .whole = malloc(WHOLE_BYTES)};
	return r->whole ? 0 : -ENOMEM;
}

int sp_perf_ring_map(struct sp_perf_ring *r, int fd, size_t bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *mapped = mmap(NULL, page_bytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error;

	if (mapped == MAP_FAILED)
		return sp_fail(-errno, "map a ring buffer of %zu KiB", bytes >> 10);
	error = sp_perf_ring_over(r, mapped, mapped + page_bytes, bytes);
	if (error < 0) {
		munmap(mapped, page_bytes + bytes);
		return error;
	}
	r->mapped_bytes = page_bytes + bytes;
	return 0;
}

void sp_perf_ring_done(struct sp_perf_ring *r)
{
	if (r->mapped_bytes)
		munmap(r->page, r->mapped_bytes);
	free(r->whole);
	*r = (struct sp_perf_ring){0};
}

void sp_perf_ring_look(struct sp_perf_ring *r)
{
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

static void tail_set(struct sp_perf_ring *r, uint64_t tail)
{
	r->tail = tail;
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* `size` bytes at `at`, contiguous. */
static const uint8_t *piece(struct sp_perf_ring *r, uint64_t at, size_t size)
{
	size_t from = at & (r->bytes - 1), first = SP_MIN(size, r->bytes - from);

	if (first == size)
		return r->data + from;
	memcpy(r->whole, r->data + from, first);
	memcpy(r->whole + first, r->data, size - first);
	return r->whole;
}

const void *sp_perf_ring_next(struct sp_perf_ring *r, size_t *ret_size)
{
	uint64_t left = r->head - r->tail;
	struct perf_event_header h;

	if (!left)
		return NULL;
	if (left >= sizeof(h) && left <= r->bytes) {
		memcpy(&h, piece(r, r->tail, sizeof(h)), sizeof(h));
		if (h.size >= sizeof(h) && h.size <= left) {
			*ret_size = h.size;
			return piece(r, r->tail, h.size);
		}
	}
	r->n_bad++;
	tail_set(r, r->head);
	return NULL;
}

void sp_perf_ring_skip(struct sp_perf_ring *r, size_t size)
{
	tail_set(r, r->tail + SP_MIN(size, r->head - r->tail));
}
