/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_insn.h: what the kernel does with the instruction under a breakpoint of its.
 *
 * It refuses some, runs some itself ("emulated"), and has all others run by the processor, one step, in a copy
 * elsewhere. The rules are those of arch/x86/kernel/uprobes.c from 3.18 to 6.18, and stricter where it lets through
 * what it does wrong: a `syscall` elsewhere, and `xchg %rax,%r8`, which it takes for a nop. Pure functions. No memory.
 */
#ifndef SP_PROBE_KERNEL_INSN_H
#define SP_PROBE_KERNEL_INSN_H

#include "unwind/arch.h"

/* The enum sp_probe_cost, or -1 - enum sp_probe_refusal. bytes: the instruction's; vaddr: where it lies. */
int sp_kernel_insn_cost(const struct sp_insn *i, const uint8_t *bytes, uint64_t vaddr);

#endif
