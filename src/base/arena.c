/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum { BLOCK_MIN_BYTES = 512, BLOCK_MAX_BYTES = 1 << 20 };

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

int sp_arena_grow(struct sp_arena *a, size_t bytes)
{
	size_t size = SP_MAX(SP_MAX(a->next_bytes, (size_t)BLOCK_MIN_BYTES), bytes);
	struct sp_arena_block *b = bytes > PTRDIFF_MAX / 2 ? NULL : malloc(sizeof(*b) + size);

	if (!b)
		return -ENOMEM;
	b->next = a->blocks;
	a->blocks = b;
	a->at = (uint8_t *)b->data;
	a->left = size;
	a->all_bytes += sizeof(*b) + size;
	a->next_bytes = SP_MIN(SP_MAX(a->next_bytes, (size_t)BLOCK_MIN_BYTES) * 2, (size_t)BLOCK_MAX_BYTES);
	return 0;
}
