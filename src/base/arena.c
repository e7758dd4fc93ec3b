/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include "base/mem.h"

#include <stdlib.h>

enum { BLOCK_MIN_BYTES = 4096, BLOCK_MAX_BYTES = 1 << 20 };

struct sp_arena_block {
	struct sp_arena_block *next;
	uint64_t data[];
};

void sp_arena_done(struct sp_arena *a)
{
	for (struct sp_arena_block *next, *b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	*a = (struct sp_arena){0};
}

static int arena_add_block(struct sp_arena *a, size_t bytes)
{
	size_t size = SP_MAX(SP_MAX(a->next_bytes, (size_t)BLOCK_MIN_BYTES), bytes);
	struct sp_arena_block *b = malloc(sizeof(*b) + size);

	if (!b)
		return -1;
	b->next = a->blocks;
	a->blocks = b;
	a->at = (uint8_t *)b->data;
	a->left = size;
	a->all_bytes += sizeof(*b) + size;
	a->next_bytes = SP_MIN(SP_MAX(a->next_bytes, (size_t)BLOCK_MIN_BYTES) * 2, (size_t)BLOCK_MAX_BYTES);
	return 0;
}

void *sp_arena_take(struct sp_arena *a, size_t bytes)
{
	size_t room = (SP_MAX(bytes, (size_t)1) + 7) & ~(size_t)7;
	void *taken;

	if (bytes > PTRDIFF_MAX / 2 || (room > a->left && arena_add_block(a, room) < 0))
		return NULL;
	taken = a->at;
	a->at += room;
	a->left -= room;
	return taken;
}
