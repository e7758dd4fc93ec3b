/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries_priv.h: what entries.c and entries_evict.c share.
 *
 * total is the sum of the entries' sizes as far as this process knows: taken by a walk over the directory before the
 * first entry is written (reading needs none), then counted on; a replaced entry counts twice until the next walk, so
 * that it errs on the side of too much. -ENOSPC from sp_entries_make_room: the entries that are left cannot be removed.
 */
#ifndef SP_BASE_ENTRIES_PRIV_H
#define SP_BASE_ENTRIES_PRIV_H

#include "base/entries.h"

#define SP_ENTRIES_TOTAL_UNKNOWN UINT64_MAX
#define SP_ENTRIES_TEMPORARY ".new-"

struct sp_entries {
	int dir;
	uint64_t max_bytes, total;
	unsigned n_temporary;
	struct sp_cache_stats stats;
};

/* Removes the oldest entries until `bytes` more fit. */
int sp_entries_make_room(struct sp_entries *c, uint64_t bytes);

#endif
