/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stamp.bpf.h: when each thread has left its CPU, kept with the thread itself (event/slot.h), in sessions that walk a
 * thread's stack only when it is back (sp_config.stamps). Most waits are too short to count there, and cost a stamp and
 * a look at it.
 *
 * The thread's own fronts write its stamps, the iterator takes them of threads that are away (blocked.bpf.h). So who
 * counts by a stamp has it by an exchange.
 */
#ifndef SP_BPF_STAMP_BPF_H
#define SP_BPF_STAMP_BPF_H

#include "bpf/guard.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sp_stamps);
} stamps SEC(".maps");

/* NULL: the thread has none, or there was no room for a new one. */
static __always_inline struct sp_stamp *sp_stamp_of(struct task_struct *task, sp_u32 recipe, sp_u64 flags)
{
	struct sp_stamps *all = bpf_task_storage_get(&stamps, task, 0, flags);

	return all ? &all->of[recipe & (SP_N_STAMPS - 1)] : 0;
}

static __always_inline void sp_stamp_put(sp_u32 recipe, sp_u32 state)
{
	struct sp_stamp *stamp = sp_stamp_of(bpf_get_current_task_btf(), recipe, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!stamp) {
		sp_tally(SP_N_LOST_EPISODES, 1);
		return;
	}
	stamp->state = state;
	*(volatile sp_u64 *)&stamp->since_ns = bpf_ktime_get_ns();
}

/* How long the current thread was away. 0: too short, too long, or nobody knows; SP_STAMP_EPISODE: its episode knows.
 */
static __always_inline sp_u64 sp_stamp_take(sp_u32 recipe, sp_u64 min_ns, sp_u64 max_ns, sp_u32 *ret_state)
{
	struct sp_stamp *stamp = sp_stamp_of(bpf_get_current_task_btf(), recipe, 0);
	sp_u64 since = stamp ? stamp->since_ns : 0, ns;

	if (!since)
		return 0;
	*ret_state = stamp->state;
	ns = since == SP_STAMP_EPISODE ? since : bpf_ktime_get_ns() - since;
	if (since != SP_STAMP_EPISODE && !sp_wait_counts(ns, min_ns, max_ns)) {
		stamp->since_ns = 0;
		return 0;
	}
	return __sync_lock_test_and_set(&stamp->since_ns, 0) ? ns : 0;
}

#endif
