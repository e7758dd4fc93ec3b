/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard.bpf.h: the guard's draw (event/guard.h): whether an event is taken, and how many it stands for; and the table
 * of open episodes, in which a front sees that the beginning was not taken. Fronts and the ground share the maps.
 * Without a guard (sp_config.guards) the verifier removes all of this, and a front has none of the maps.
 */
#ifndef SP_BPF_GUARD_BPF_H
#define SP_BPF_GUARD_BPF_H

#include "bpf/scratch.bpf.h"
#include "event/guard.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SP_N_GUARDS);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_guard_order));
} guards SEC(".maps");

/* Episodes, open or ended. There is at most one for each recipe and match; those beyond max_entries are counted as
 * lost. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__uint(key_size, sizeof(struct sp_episode_key));
	__uint(value_size, sizeof(struct sp_episode));
} episodes SEC(".maps");

static __always_inline struct sp_guard_order *sp_guard_of(sp_u32 recipe)
{
	return bpf_map_lookup_elem(&guards, &recipe);
}

/* How many events this one stands for; 0: it is not taken. */
static __always_inline sp_u32 sp_guard_draw(sp_u32 recipe)
{
	struct sp_guard_order *g;

	if (!sp_config.guards)
		return 1;
	g = sp_guard_of(recipe);
	if (!g)
		return 1;
	if (g->one_in > 1 && bpf_get_prandom_u32() & (g->one_in - 1))
		return 0;
	return g->until_ns && bpf_ktime_get_ns() >= g->until_ns ? 0 : g->times;
}

/* Whether anything is taken. */
static __always_inline int sp_guard_is_open(sp_u32 recipe)
{
	struct sp_guard_order *g = sp_config.guards ? sp_guard_of(recipe) : 0;

	return !g || g->times;
}

/* Whether each event was taken so far. */
static __always_inline int sp_guard_is_gapless(sp_u32 recipe)
{
	struct sp_guard_order *g = sp_config.guards ? sp_guard_of(recipe) : 0;

	return !g || !g->has_gaps;
}

#endif
