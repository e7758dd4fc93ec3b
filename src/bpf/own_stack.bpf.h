/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * own_stack.bpf.h: for probes of whole calls (sessions): whether a call is on its thread's own stack.
 *
 * Ends of calls are known by their order, so a program that switches stacks within calls would go astray. So calls are
 * followed to their end on their thread's own stack only: the process's first, or the memory below the thread's own
 * data.
 */
#ifndef SP_BPF_OWN_STACK_BPF_H
#define SP_BPF_OWN_STACK_BPF_H

#include "bpf/core.bpf.h"
#include "bpf/maple.bpf.h"
#include "bpf/x86_64/probe.bpf.h"

extern int bpf_session_is_return(void) __ksym __weak;
extern sp_u64 *bpf_session_cookie(void) __ksym __weak; /* of a call: what its beginning leaves its end */

struct sp_own_stack {
	sp_u64 start;
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sp_own_stack);
} own_stacks SEC(".maps");

/* Kernels that have sessions have casts. */
__noinline sp_u64 sp_stack_slot(sp_u64 node, sp_u64 addr, sp_u64 *ret_last)
{
	return ret_last ? sp_node_slot_by(1, 0, node, addr, ret_last) : 0;
}

/*
 * Where the mapping that the stack is in begins, if it reaches up to `top`; 0: it does not. As in vma.bpf.h without a
 * lock, which a thread has while it maps memory.
 */
__noinline sp_u64 sp_stack_start(sp_u64 mm, sp_u64 stack, sp_u64 top)
{
	sp_u64 root = sp_kfield_by(1, mm, struct mm_struct, mm_mt.ma_root), at = root, last = ~0ULL, start;
	int level;

	for (level = 0; level < 3 * SP_MAPLE_LEVELS; level++) {
		sp_u64 type = (at >> 3) & 0xf;

		if ((root & 3) != 2 || type < SP_MAPLE_LEAF || type > SP_MAPLE_ARANGE)
			return 0;
		at = sp_stack_slot(at, stack, &last);
		if (last && type == SP_MAPLE_LEAF)
			break;
		if (!last) { /* the node has died meanwhile */
			at = root = sp_kfield_by(1, mm, struct mm_struct, mm_mt.ma_root);
			last = ~0ULL;
		}
	}
	start = sp_kfield_by(1, at, struct vm_area_struct, vm_start);
	if (level == 3 * SP_MAPLE_LEVELS || sp_kfield_by(1, at, struct vm_area_struct, vm_mm) != mm || start > stack ||
	    sp_kfield_by(1, at, struct vm_area_struct, vm_end) <= top)
		return 0;
	return start;
}

static __always_inline int sp_is_on_own_stack(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	sp_u64 stack = sp_probe_stack(ctx), top = task->mm->start_stack;
	struct sp_own_stack *own;
	sp_u64 start;

	if (task == task->group_leader)
		return stack <= top && top - stack <= task->mm->stack_vm << 12;
	top = sp_probe_thread_pointer(task);
	if (stack >= top)
		return 0;
	if (stack >> 12 == top >> 12) /* one page: one mapping, without looking */
		return 1;
	own = bpf_task_storage_get(&own_stacks, task, 0, 0);
	if (own)
		return stack >= own->start;
	start = sp_stack_start(sp_number((sp_u64)task->mm), stack, top);
	if (!start)
		return 0;
	own = bpf_task_storage_get(&own_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own)
		own->start = start;
	return own != 0;
}

#endif
