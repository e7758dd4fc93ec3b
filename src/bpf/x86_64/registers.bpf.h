/* SPDX-License-Identifier: GPL-2.0-only */
/* registers.bpf.h: the registers of x86-64, in their DWARF order (System V psABI, figure 3.36). */
#ifndef SP_BPF_X86_64_REGISTERS_BPF_H
#define SP_BPF_X86_64_REGISTERS_BPF_H

#include "bpf/config.bpf.h"
#include "bpf/x86_64/call.bpf.h"

/*
 * Two functions, because the compiler would merge the copies into one through a computed pointer, while the verifier
 * allows only constant offsets into the sample. They return the code segment.
 */
#define sp_regs_copy(to, from)                                                                                         \
	do {                                                                                                           \
		(to)->ip = (from)->rip;                                                                                \
		(to)->sp = (from)->rsp;                                                                                \
		(to)->fp = (from)->rbp;                                                                                \
		(to)->r[0] = (from)->rax;                                                                              \
		(to)->r[1] = (from)->rdx;                                                                              \
		(to)->r[2] = (from)->rcx;                                                                              \
		(to)->r[3] = (from)->rbx;                                                                              \
		(to)->r[4] = (from)->rsi;                                                                              \
		(to)->r[5] = (from)->rdi;                                                                              \
		(to)->r[6] = (from)->rbp;                                                                              \
		(to)->r[7] = (from)->rsp;                                                                              \
		(to)->r[8] = (from)->r8;                                                                               \
		(to)->r[9] = (from)->r9;                                                                               \
		(to)->r[10] = (from)->r10;                                                                             \
		(to)->r[11] = (from)->r11;                                                                             \
		(to)->r[12] = (from)->r12;                                                                             \
		(to)->r[13] = (from)->r13;                                                                             \
		(to)->r[14] = (from)->r14;                                                                             \
		(to)->r[15] = (from)->r15;                                                                             \
	} while (0)

static __noinline sp_u64 sp_regs_of_sample(struct sp_regs *to, struct bpf_perf_event_data *ctx)
{
	sp_regs_copy(to, &ctx->regs);
	return ctx->regs.cs;
}

/*
 * The registers that the task saved when it entered the kernel. *ret_is_call: by a system call, so that ip is behind
 * the instruction, as a return address is. Interrupts and faults have -1 as the number of the call. `syscall` leaves ip
 * in rcx; the two differ in a call that ends at the start of a program (execve) or of a signal's handler, where nothing
 * was called.
 */
static __noinline sp_u64 sp_regs_saved(struct sp_regs *to, struct task_struct *task, int *ret_is_call)
{
	struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(task);

	sp_regs_copy(to, saved);
	*ret_is_call = saved->orig_rax != ~0UL && saved->rcx == saved->rip;
	return saved->cs;
}

/* Whether the task has not come back yet from the call that made it, clone or clone3, which gives it 0. */
static __always_inline int sp_is_newborn(struct task_struct *task)
{
	const struct pt_regs *saved = (const struct pt_regs *)bpf_task_pt_regs(task);

	return !saved->rax && (saved->orig_rax == 56 || saved->orig_rax == 435);
}

static __always_inline int sp_in_kernel_mode(const struct pt_regs *regs)
{
	return (long)regs->rip < 0;
}

#endif
