/* SPDX-License-Identifier: GPL-2.0-only */
/* probe.bpf.h: what the registers at a probe tell: where it is, and the return address on the stack. */
#ifndef SP_BPF_X86_64_PROBE_BPF_H
#define SP_BPF_X86_64_PROBE_BPF_H

#include "bpf/core.bpf.h"

/* At a return probe: the address that the function returns to. */
static __always_inline sp_u64 sp_probe_address(const struct pt_regs *regs)
{
	return regs->rip;
}

static __always_inline sp_u64 sp_probe_stack(const struct pt_regs *regs)
{
	return regs->rsp;
}

/* Of a thread that is not its process's first: behind its stack. */
static __always_inline sp_u64 sp_probe_thread_pointer(const struct task_struct *task)
{
	return task->thread.fsbase;
}

/* What a function's return has taken off the stack, where it was at the function's entry. */
enum { SP_PROBE_RETURN_BYTES = 8 };

#endif
