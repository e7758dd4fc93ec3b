/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hotspots.h: where each Java process has its code cache, by the id of its memory.
 *
 * The records are in the kernel half's map, at most SP_MAX_HOTSPOTS, and in a list here for stacks walked by the user
 * half. The list owns its records; the map's descriptor is the caller's. Not thread-safe. -ENOMEM; -ENOSPC: the map is
 * full.
 */
#ifndef SP_UNWIND_HOTSPOTS_H
#define SP_UNWIND_HOTSPOTS_H

#include "bpf/wire.h"

struct sp_hotspots {
	int map_fd; /* of `hotspots`, or -1 */
	struct sp_hotspot_of *first;
};

int sp_hotspots_put(struct sp_hotspots *l, sp_u32 file, const struct sp_hotspot *h);
struct sp_hotspot *sp_hotspots_find(const struct sp_hotspots *l, sp_u32 file); /* NULL = there is none */
void sp_hotspots_forget(struct sp_hotspots *l, sp_u32 file);
void sp_hotspots_done(struct sp_hotspots *l);

#endif
