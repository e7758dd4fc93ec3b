/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * held.bpf.h: what was allocated and not freed yet. An allocation counts twice: in the row of its recipe, from which it
 * is taken away when it is freed, and in that of the next recipe (`allocations`), which counts all and takes nothing
 * away. With each block its row is remembered, so that a free needs no stack, and may come from any thread.
 */
#ifndef SP_BPF_HELD_BPF_H
#define SP_BPF_HELD_BPF_H

#include "bpf/aggregate.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* sp_capture_options.held_entries */
	__uint(key_size, sizeof(struct sp_held_key));
	__uint(value_size, sizeof(struct sp_held));
} held SEC(".maps");

/* The row in the scratch; what its key names was sent before. */
static __noinline int sp_held_count(struct sp_scratch *s)
{
	if (s && !sp_count_known(s, &s->key))
		sp_count_new(s, 1);
	return 0;
}

/* The row of `what` is to be less by what that was. Before it is removed: its place may be another's at once. */
static __always_inline void sp_held_take(struct sp_scratch *s, const struct sp_held *what)
{
	s->key = what->key;
	s->value.n = -what->value.n;
	s->value.weight = -what->value.weight;
}

/*
 * An allocation, whose stack is in the scratch. All that were count first: that row's key is the one that is sent, and
 * may lose a stack for which there was no room. What had the address before was freed where that is not seen.
 */
static __noinline int sp_hold(struct sp_scratch *s, sp_u64 tgid, sp_u32 is_told)
{
	struct sp_held *before;

	if (!s)
		return 0;
	s->held_at.address = s->hit.match;
	s->held_at.tgid = tgid;
	s->value.n = s->hit.times;
	s->value.weight = s->hit.value;
	s->key.recipe = s->hit.recipe + 1;
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, is_told);
	s->key.recipe = s->hit.recipe;
	s->held.key = s->key;
	s->held.value = s->value;
	before = s->held_at.address ? bpf_map_lookup_elem(&held, &s->held_at) : NULL;
	if (before) {
		sp_held_take(s, before);
		sp_held_count(s);
		s->key = s->held.key;
		s->value = s->held.value;
	}
	if (s->held_at.address && !bpf_map_update_elem(&held, &s->held_at, &s->held, BPF_ANY))
		sp_held_count(s);
	else
		sp_tally(SP_N_LOST_HELD, 1);
	return 0;
}

/* The row is less by what the allocation was. Of one that is not there, nothing was counted. */
static __noinline int sp_release(struct sp_scratch *s, sp_u64 tgid)
{
	struct sp_held *what;

	if (!s)
		return 0;
	s->held_at.address = s->hit.match;
	s->held_at.tgid = tgid;
	what = bpf_map_lookup_elem(&held, &s->held_at);
	if (!what)
		return 0;
	sp_held_take(s, what);
	if (!bpf_map_delete_elem(&held, &s->held_at))
		sp_held_count(s);
	return 0;
}

#endif
