/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * live.bpf.h: what was allocated and not freed yet. An allocation is added to two rows: that of its recipe, from which
 * its free subtracts it, and that of the next recipe (`allocations`), which counts all allocations. The row of each
 * block is remembered, so that a free needs no stack, and may come from any thread.
 */
#ifndef SP_BPF_LIVE_BPF_H
#define SP_BPF_LIVE_BPF_H

#include "bpf/aggregate.bpf.h"
#include "bpf/allocate.bpf.h"

/* The row in the scratch; what its key names was sent before. Not 0: there is no room for it. */
static __noinline int sp_live_count(struct sp_scratch *s)
{
	return s && !sp_count_known(s, &s->key) ? sp_count_new(s, 1) : 0;
}

/*
 * What is in the scratch counts, and is held, so that its free takes it off. In this order: one whose row has found no
 * room must not be held, or its row would be below 0 then. Nobody can free it yet.
 */
static __always_inline void sp_live_hold(struct sp_scratch *s)
{
	if (sp_live_count(s))
		return;
	s->live.state = SP_LIVE_COUNTS;
	if (!bpf_map_update_elem(&live, &s->live_at, &s->live, BPF_ANY))
		return;
	sp_tally(SP_N_LOST_LIVE, 1);
	s->value.n = -s->value.n;
	s->value.weight = -s->value.weight;
	sp_live_count(s);
}

/*
 * The row of `what` is to be less by what that was; 0: the row does not have it. Before it is removed: its place may be
 * another's at once.
 */
static __always_inline int sp_live_take(struct sp_scratch *s, struct sp_live *what)
{
	if (sp_config.older_ns && __sync_lock_test_and_set(&what->state, SP_LIVE_GONE) != SP_LIVE_COUNTS)
		return 0;
	s->key = what->key;
	s->value.n = -what->value.n;
	s->value.weight = -what->value.weight;
	return 1;
}

/*
 * An allocation, whose stack is in the scratch. All that were count first: that row's key is the one that is sent, and
 * may lose a stack for which there was no room. What had the address before was freed where that is not seen.
 */
static __noinline int sp_live_add(struct sp_scratch *s, sp_u64 tgid, sp_u32 is_announced)
{
	struct sp_live *before;

	if (!s)
		return 0;
	s->live_at.address = s->hit.match;
	s->live_at.tgid = tgid;
	s->value.n = s->hit.times;
	s->value.weight = s->hit.value;
	s->key.recipe = s->hit.recipe + 1;
	if (!sp_count_known(s, &s->key))
		sp_count_new(s, is_announced);
	s->key.recipe = s->hit.recipe;
	s->live.key = s->key;
	s->live.value = s->value;
	s->live.since_ns = sp_config.older_ns ? bpf_ktime_get_ns() : 0;
	before = s->live_at.address ? bpf_map_lookup_elem(&live, &s->live_at) : NULL;
	if (before && sp_live_take(s, before)) {
		sp_live_count(s);
		s->key = s->live.key;
		s->value = s->live.value;
	}
	if (s->live_at.address)
		sp_live_hold(s);
	else
		sp_tally(SP_N_LOST_LIVE, 1);
	return 0;
}

/* The row is less by what the allocation was. Of one that is not there, nothing was counted. */
static __noinline int sp_live_free(struct sp_scratch *s, sp_u64 tgid)
{
	struct sp_live *what;
	int counts;

	if (!s)
		return 0;
	s->live_at.address = s->hit.match;
	s->live_at.tgid = tgid;
	what = bpf_map_lookup_elem(&live, &s->live_at);
	if (!what)
		return 0;
	counts = sp_live_take(s, what);
	if (!bpf_map_delete_elem(&live, &s->live_at) && counts)
		sp_live_count(s);
	return 0;
}

/* A block that was released, and stayed where it was: what is in the scratch counts again. */
static __noinline int sp_live_again(struct sp_scratch *s, sp_u64 tgid)
{
	if (!s)
		return 0;
	s->live_at.address = s->hit.match;
	s->live_at.tgid = tgid;
	s->key = s->live.key;
	s->value = s->live.value;
	sp_live_hold(s);
	return 0;
}

struct sp_age_loop {
	struct sp_scratch *s;
	sp_u64 now;
};

/* A young block's row is without it until it is old, or for good. Its free may come meanwhile. */
static long sp_age_next(void *map, const void *key, struct sp_live *what, struct sp_age_loop *loop)
{
	struct sp_scratch *s = loop->s;
	sp_u64 is_young = what->since_ns + sp_config.older_ns > loop->now;
	sp_u64 from = is_young ? SP_LIVE_COUNTS : SP_LIVE_YOUNG, to = is_young ? SP_LIVE_YOUNG : SP_LIVE_COUNTS;

	(void)map;
	(void)key;
	if (!s || __sync_val_compare_and_swap(&what->state, from, to) != from)
		return 0;
	s->key = what->key;
	s->value.n = is_young ? -what->value.n : what->value.n;
	s->value.weight = is_young ? -what->value.weight : what->value.weight;
	sp_live_count(s);
	return 0;
}

/* Takes the blocks out of their rows that are younger than asked for, and puts back those that are old by now. */
SEC("raw_tp")
int sp_age(void *ctx)
{
	struct sp_age_loop loop = {.s = sp_scratch_take(), .now = bpf_ktime_get_ns()};

	(void)ctx;
	if (!loop.s)
		return 0;
	bpf_for_each_map_elem(&live, sp_age_next, &loop, 0);
	sp_scratch_give(loop.s);
	return 0;
}

#endif
