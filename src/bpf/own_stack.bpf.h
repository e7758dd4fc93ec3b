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

struct sp_stack_search {
	sp_u64 start, end;
};

static long sp_stack_take(struct task_struct *task, struct vm_area_struct *vma, struct sp_stack_search *search)
{
	(void)task;
	search->start = vma->vm_start;
	search->end = vma->vm_end;
	return 0;
}

static __always_inline int sp_is_on_own_stack(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	sp_u64 stack = sp_probe_stack(ctx), top = task->mm->start_stack;
	struct sp_stack_search search = {};
	struct sp_own_stack *own;

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
	if (bpf_find_vma(task, stack, sp_stack_take, &search, 0) || search.end <= top)
		return 0;
	own = bpf_task_storage_get(&own_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own)
		own->start = search.start;
	return own != 0;
}

#endif
