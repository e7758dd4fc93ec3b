/* SPDX-License-Identifier: GPL-2.0-only */
/* probed.bpf.h: stacks of threads in functions that somebody's return probes wait for. Part of unwind.bpf.h. */
#ifndef SP_BPF_PROBED_BPF_H
#define SP_BPF_PROBED_BPF_H

#include "bpf/vma.bpf.h"

/*
 * A function under somebody's return probe returns to the kernel's trampoline, which lies in no file; the kernel keeps
 * the address that stood there before, for each call that such a probe waits for. Steps to that from the trampoline: a
 * caller's address, or (at a sample's first frame) one of its few instructions, which push up to three words. The list
 * may change meanwhile, if it is that of an interrupted thread: what is no address any more ends the walk at the next
 * step.
 */
enum {
	SP_RETURNS_MAX = 64 /* the kernel probes no more calls of a thread */,
	SP_TRAMPOLINE_PUSHES = 24,
	SP_TRAMPOLINE_BYTES = 32
};
struct sp_returns_loop {
	struct sp_scratch *s;
	sp_u64 instance;
	sp_u32 result, pad;
};

static long sp_returns_next(sp_u32 i, struct sp_returns_loop *loop)
{
	struct sp_scratch *s = loop->s;
	sp_u64 above;

	(void)i;
	if (!loop->instance)
		return 1;
	above = sp_kfield(loop->instance, struct return_instance, stack) + 8 - s->regs.sp;
	if (above > (s->how & SP_HOW_FIRST ? SP_TRAMPOLINE_PUSHES : 0)) {
		loop->instance = sp_kfield(loop->instance, struct return_instance, next);
		return 0;
	}
	s->regs.sp += above;
	s->regs.ip = sp_kfield(loop->instance, struct return_instance, orig_ret_vaddr);
	s->how &= ~SP_HOW_EXACT;
	loop->result = SP_STEP_NEXT;
	return 1;
}

__noinline sp_u32 sp_step_probed(struct sp_scratch *s)
{
	struct sp_returns_loop loop = {.s = s, .result = SP_STOP_UNMAPPED};

	if (!s || !bpf_core_field_exists(((struct task_struct *)0)->utask))
		return SP_STOP_UNMAPPED;
	loop.instance = s->other.task ? s->other.task : (sp_u64)bpf_get_current_task();
	loop.instance = sp_kfield(loop.instance, struct task_struct, utask);
	if (loop.instance)
		loop.instance = sp_kfield(loop.instance, struct uprobe_task, return_instances);
	bpf_loop(SP_RETURNS_MAX, sp_returns_next, &loop, 0);
	return loop.result;
}

#endif
