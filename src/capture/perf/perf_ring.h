/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_ring.h: reads one perf_event_open ring buffer, which is filled on one CPU.
 *
 * The kernel writes records and moves data_head; the reader moves data_tail behind what it has taken
 * (linux/perf_event.h, struct perf_event_mmap_page). A record that runs over the end of the buffer is put together in
 * `whole`. A record with an impossible size makes the rest of the buffer unreadable: that is dropped, and counted. The
 * ring owns the mapping and `whole`. Not thread-safe.
 */
#ifndef SP_CAPTURE_PERF_PERF_RING_H
#define SP_CAPTURE_PERF_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct sp_perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t bytes;        /* of data: a power of two */
	size_t mapped_bytes; /* 0: the ring does not own the memory */
	uint64_t head, tail; /* head: as of the last sp_perf_ring_look(); tail: read up to here */
	uint64_t n_bad;
	uint8_t *whole; /* 64 KiB */
};

/* Maps the ring of this event; bytes is a power of two, at least a page. -EPERM: more than this user may lock. */
int sp_perf_ring_map(struct sp_perf_ring *r, int fd, size_t bytes);
/* A ring in memory that exists already: its page, and its data. */
int sp_perf_ring_over(struct sp_perf_ring *r, void *page, const void *data, size_t bytes);
void sp_perf_ring_done(struct sp_perf_ring *r);
/* Takes in where the kernel's records end now: those up to there can be read. */
void sp_perf_ring_look(struct sp_perf_ring *r);
/*
 * The next record, valid until the next call of a function but sp_perf_ring_skip(). NULL: there is no more; look again.
 */
const void *sp_perf_ring_next(struct sp_perf_ring *r, size_t *ret_size);
/* Gives the record's room back to the kernel. */
void sp_perf_ring_skip(struct sp_perf_ring *r, size_t size);

#endif
