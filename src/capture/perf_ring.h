/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_ring.h: reading one ring buffer of perf_event_open, the kernel's end of which is on one CPU.
 *
 * The kernel writes records and moves data_head, the reader moves data_tail behind what it has taken
 * (linux/perf_event.h, struct perf_event_mmap_page). A record that runs over the end of the buffer is put together in
 * `whole`. What is nonsense (a size that cannot be) makes the rest of what is there unreadable: it is given up, and
 * counted. The mapping and `whole` are the ring's. Not thread-safe.
 */
#ifndef SP_CAPTURE_PERF_RING_H
#define SP_CAPTURE_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct sp_perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t bytes;        /* of data: a power of two */
	size_t mapped_bytes; /* 0: the memory is somebody else's */
	uint64_t head, tail; /* as of the last sp_perf_ring_look(); read up to */
	uint64_t n_bad;
	uint8_t *whole; /* 64 KiB */
};

/* Maps the ring of this event; bytes is a power of two, at least a page. -EPERM: more than this user may lock. */
int sp_perf_ring_map(struct sp_perf_ring *r, int fd, size_t bytes);
/* One over memory that is there already: the page before the data. */
int sp_perf_ring_over(struct sp_perf_ring *r, void *page, const void *data, size_t bytes);
void sp_perf_ring_done(struct sp_perf_ring *r);
/* What is there now can be read from now on. */
void sp_perf_ring_look(struct sp_perf_ring *r);
/* The next record; NULL: no more (look again). It stands until the next call but sp_perf_ring_skip(). */
const void *sp_perf_ring_next(struct sp_perf_ring *r, size_t *ret_size);
/* It was taken: the kernel may use its room. */
void sp_perf_ring_skip(struct sp_perf_ring *r, size_t size);

#endif
