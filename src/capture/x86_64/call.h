/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call.h: the arguments of a system call, among the registers that a thread saved when it entered the kernel.
 *
 * By Linux's convention for x86-64 (psABI, A.2.1): rdi, rsi, rdx, r10, r8, r9. The kernel half's are in
 * bpf/x86_64/call.bpf.h. Numbers of registers are DWARF's, as everywhere. No state, no errors.
 */
#ifndef SP_CAPTURE_X86_64_CALL_H
#define SP_CAPTURE_X86_64_CALL_H

#include "bpf/wire.h"

/* Argument 0 to 5. */
static inline sp_u64 sp_call_argument_of(const struct sp_regs *regs, sp_u64 number)
{
	static const sp_u8 at[6] = {5, 4, 1, 10, 8, 9};

	return number < sizeof(at) ? regs->r[at[number]] : 0;
}

#endif
