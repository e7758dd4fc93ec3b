/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * call.bpf.h: the system call that the current thread is in, by the registers that it saved when it entered the kernel.
 */
#ifndef SP_BPF_X86_64_CALL_BPF_H
#define SP_BPF_X86_64_CALL_BPF_H

#include "bpf/core.bpf.h"

#define SP_USER_CS 0x33 /* 64-bit user code; 0x23 is a 32-bit program */

static __always_inline struct pt_regs *sp_call_regs(void)
{
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/* -1: it entered by an interrupt or fault, or is a 32-bit program, whose calls have other numbers. */
static __always_inline sp_u64 sp_call_number(void)
{
	struct pt_regs *regs = sp_call_regs();

	return regs->cs == SP_USER_CS ? regs->orig_rax : ~0ULL;
}

/* The first argument of the call that a thread is in. */
static __always_inline sp_u64 sp_saved_argument(struct task_struct *task)
{
	return ((struct pt_regs *)bpf_task_pt_regs(task))->rdi;
}

/* The thread's stack pointer, when it entered the kernel. */
static __always_inline sp_u64 sp_saved_stack(struct task_struct *task)
{
	return ((struct pt_regs *)bpf_task_pt_regs(task))->rsp;
}

static __always_inline sp_u64 sp_call_argument(sp_u64 number)
{
	struct pt_regs *regs = sp_call_regs();

	switch (number) {
	case 0:
		return regs->rdi;
	case 1:
		return regs->rsi;
	case 2:
		return regs->rdx;
	case 3:
		return regs->r10;
	case 4:
		return regs->r8;
	}
	return regs->r9;
}

/*
 * Of a probe, the arguments of the function that begins, and the value of one that returns, as the System V psABI
 * places them; behind these the registers that expressions know by name: offsets in the context. Behind its beginning a
 * function may have changed them.
 */
#define SP_PROBE_REGISTER(i)                                                                                           \
	((i) == 0    ? __builtin_offsetof(struct pt_regs, rdi)                                                         \
	 : (i) == 1  ? __builtin_offsetof(struct pt_regs, rsi)                                                         \
	 : (i) == 2  ? __builtin_offsetof(struct pt_regs, rdx)                                                         \
	 : (i) == 3  ? __builtin_offsetof(struct pt_regs, rcx)                                                         \
	 : (i) == 4  ? __builtin_offsetof(struct pt_regs, r8)                                                          \
	 : (i) == 5  ? __builtin_offsetof(struct pt_regs, r9)                                                          \
	 : (i) == 7  ? __builtin_offsetof(struct pt_regs, rip)                                                         \
	 : (i) == 8  ? __builtin_offsetof(struct pt_regs, rsp)                                                         \
	 : (i) == 10 ? __builtin_offsetof(struct pt_regs, rbx)                                                         \
	 : (i) == 11 ? __builtin_offsetof(struct pt_regs, rbp)                                                         \
		     : __builtin_offsetof(struct pt_regs, rax))
#define SP_PROBE_STACK __builtin_offsetof(struct pt_regs, rsp)

#endif
