/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks.h: sizes of blocks in the file of calls (format.h), and how much room a new file has.
 *
 * Shared by the audit library and the user half, which must agree; nothing of it is in the file. Freestanding, as
 * format.h. The initial room is for one library or a few; counting all libraries needs far more functions, names and
 * rows.
 * No state, no errors.
 */
#ifndef SP_LINK_BLOCKS_H
#define SP_LINK_BLOCKS_H

#include <stdbool.h>

#include "link/format.h"

enum {
	SP_CALLS_ROW_BYTES = 1536 << 10, /* bytes of rows allocated in advance, in so many blocks: */
	SP_CALLS_LEAST_ROWS = 2,
	SP_CALLS_MOST_ROWS = 64,
	/* Factors for counting all libraries: of room, of rows; by process, by thread: of the file's size. */
	SP_CALLS_ALL_TIMES = 8,
	SP_CALLS_ALL_ROWS = 2,
	SP_CALLS_SPARE_PROCESSES = 4,
	SP_CALLS_SPARE_THREADS = 16,
};

static inline uint64_t sp_calls_block_bytes(unsigned kind, unsigned level, uint32_t n_slots)
{
	switch (kind) {
	case SP_CALLS_INDEX:
		return (uint64_t)SP_CALLS_LEVEL_0 * sizeof(uint64_t) << level;
	case SP_CALLS_OBJECT:
		return SP_CALLS_OBJECTS * sizeof(struct sp_calls_object);
	case SP_CALLS_FUNCTION:
		return SP_CALLS_FUNCTIONS * sizeof(struct sp_calls_function);
	case SP_CALLS_PROCESS:
		return SP_CALLS_IDS * sizeof(struct sp_calls_process);
	case SP_CALLS_ROW:
		return SP_CALLS_ROWS * sizeof(struct sp_calls_row) + (uint64_t)n_slots * SP_CALLS_PAGE;
	default:
		return SP_CALLS_BYTES;
	}
}

static inline uint32_t sp_calls_spare_processes(enum sp_calls_apart apart)
{
	if (apart == SP_CALLS_TOGETHER)
		return 0;
	return apart == SP_CALLS_BY_THREAD ? SP_CALLS_SPARE_THREADS : SP_CALLS_SPARE_PROCESSES;
}

/* Blocks of rows allocated in a new file; a program that starts finds at least half of them. */
static inline uint32_t sp_calls_spare_rows(bool all, uint32_t n_slots)
{
	uint64_t n = SP_CALLS_ROW_BYTES / sp_calls_block_bytes(SP_CALLS_ROW, 0, n_slots);

	if (n < SP_CALLS_LEAST_ROWS)
		n = SP_CALLS_LEAST_ROWS;
	if (n > SP_CALLS_MOST_ROWS)
		n = SP_CALLS_MOST_ROWS;
	return (uint32_t)n * (all ? SP_CALLS_ALL_ROWS : 1);
}

#endif
