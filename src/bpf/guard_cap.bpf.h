/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard_cap.bpf.h: the guard's cap (event/guard.h): how many events a CPU takes in a second, so that a storm cannot
 * outrun the user half, which looks some times a second. It comes behind all filters, right before the stacks
 * are walked.
 */
#ifndef SP_BPF_GUARD_CAP_BPF_H
#define SP_BPF_GUARD_CAP_BPF_H

#include "bpf/guard.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SP_N_GUARDS);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_guard_count));
} guard_counts SEC(".maps");

/* Whether there is room in the CPU's interval. A program within another may count in the wrong one, which is no harm.
 */
static __always_inline int sp_guard_allows(sp_u32 recipe, sp_u64 now, sp_u64 times)
{
	struct sp_guard_count *count;
	struct sp_guard_order *g;

	if (!sp_config.guards)
		return 1;
	g = sp_guard_of(recipe);
	count = bpf_map_lookup_elem(&guard_counts, &recipe);
	if (!g || !count)
		return 1;
	if (count->interval != now >> SP_GUARD_SHIFT || count->change != g->change) {
		count->interval = now >> SP_GUARD_SHIFT;
		count->change = g->change;
		count->n = 0;
	}
	if (g->cap && count->n >= g->cap) {
		count->n_skipped++;
		count->n_left_out += times;
		g->has_gaps = 1;
		return 0;
	}
	count->n++;
	count->n_taken++;
	return 1;
}

#endif
