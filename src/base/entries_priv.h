/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries_priv.h: shared by entries.c and entries_evict.c.
 *
 * `total` is the sum of the sizes of all entries as far as this process knows. It is taken by a walk over the
 * directory before the first write (reading needs none), then updated; a replaced entry counts twice until the next
 * walk, so that the limit is kept. Threads, ownership and errors: as in entries.h.
 */
#ifndef SP_BASE_ENTRIES_PRIV_H
#define SP_BASE_ENTRIES_PRIV_H

#include "base/entries.h"

#define SP_ENTRIES_TOTAL_UNKNOWN UINT64_MAX
#define SP_ENTRIES_TEMPORARY ".new-"
#define SP_ENTRIES_NAMELESS "state" /* in place of a build id */

enum { SP_ENTRIES_STATE_DIGITS = 80, SP_ENTRIES_MAX_NAME = 256 };

struct sp_entries {
	int dir;
	uint64_t max_bytes, total;
	unsigned n_temporary;
	struct sp_cache_stats stats;
};

/* Removes the least recently used entries until `bytes` more fit. -ENOSPC: the entries left cannot be removed. */
int sp_entries_make_room(struct sp_entries *c, uint64_t bytes);

#endif
