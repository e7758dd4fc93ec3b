/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena.h: memory for many small things that are freed together.
 *
 * It is taken from blocks that grow, from 512 bytes to 1 MiB, and never move, so pointers stay valid as long as the
 * arena. An arena begins as {0}. What is taken is aligned to 8 and not zeroed. NULL: out of memory, and the arena is as
 * it was. Not thread-safe.
 */
#ifndef SP_BASE_ARENA_H
#define SP_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct sp_arena_block;
struct sp_arena {
	struct sp_arena_block *blocks; /* the newest first */
	uint8_t *at; /* the newest block's memory that is not given out: its beginning, and how much */
	size_t left;
	size_t next_bytes; /* the size of the next block */
	size_t all_bytes;  /* allocated */
};

void sp_arena_done(struct sp_arena *a);
int sp_arena_grow(struct sp_arena *a, size_t bytes); /* a new block with room for so many; for sp_arena_take() */

static inline void *sp_arena_take(struct sp_arena *a, size_t bytes)
{
	size_t room = bytes ? (bytes + 7) & ~(size_t)7 : 8;
	void *taken;

	if (bytes > SIZE_MAX - 7 || (room > a->left && sp_arena_grow(a, room) < 0))
		return NULL;
	taken = a->at;
	a->at += room;
	a->left -= room;
	return taken;
}

#endif
