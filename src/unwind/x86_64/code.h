/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * code.h: what the unwinder's core (unwind/step.h) needs to know of the processor: registers and instructions.
 *
 * Compiled in both halves. Registers have their DWARF numbers (System V psABI, figure 3.36). The functions examine
 * bytes of code that the caller has read; for bytes that are no instructions the result is arbitrary. No state.
 */
#ifndef SP_UNWIND_X86_64_CODE_H
#define SP_UNWIND_X86_64_CODE_H

#include "bpf/wire.h"

enum { SP_REG_RCX = 2, SP_REG_BASE = 3, SP_REG_FP = 6, SP_REG_SP = 7 };
enum { SP_RED_ZONE = 128 /* psABI 3.2.2 */ };
#define SP_USER_END (1ULL << 47) /* four levels of page tables: where programs and their libraries live */
#define SP_STEP_INLINE static inline __attribute__((always_inline))

/*
 * Whether the 8 bytes before a return address end in a call instruction: e8 rel32, or ff /2 (2 to 7 bytes). A call of
 * the next instruction does not count, since it never returns: it gets its own address, or enters the code behind it
 * for good.
 */
enum { SP_CALL_BYTES = 8 };
SP_STEP_INLINE int sp_ends_in_call(const sp_u8 *b)
{
	if (b[3] == 0xe8)
		return b[4] | b[5] | b[6] | b[7];
	if (b[6] == 0xff && ((b[7] & 0xf8) == 0xd0 || ((b[7] & 0xf8) == 0x10 && (b[7] & 6) != 4)))
		return 1;
	if (b[5] == 0xff && (((b[6] & 0xf8) == 0x50 && b[6] != 0x54) || b[6] == 0x14))
		return 1;
	if (b[4] == 0xff && b[5] == 0x54)
		return 1;
	if (b[2] == 0xff && (((b[3] & 0xf8) == 0x90 && b[3] != 0x94) || b[3] == 0x15))
		return 1;
	return b[1] == 0xff && (b[2] == 0x94 || (b[2] == 0x14 && (b[3] & 7) == 5)); /* the second one has no base */
}

/* Whether it may be a call of 5 bytes whose first one is a breakpoint: probes stand in the code that a process sees. */
SP_STEP_INLINE int sp_ends_in_probed_call(const sp_u8 *b)
{
	return b[3] == 0xcc;
}

/* Bytes that a PLT entry has pushed when ip is in it: its index, from the instruction behind the push on. */
SP_STEP_INLINE sp_u64 sp_plt_pushed(sp_u64 ip, sp_u32 behind_push)
{
	return (ip & 15) >= behind_push ? 8 : 0;
}

/*
 * Whether these 5 bytes end the frame of a function that has realigned its stack as GCC does: pop %rbp, or leave; lea
 * -off(%r10),%rsp. off is 8, or 16 if a register is still to be popped behind it; any register may take r10's place.
 * GCC's unwind information does not mention this `pop` or `leave`.
 */
enum { SP_REALIGNED_END = 5, SP_REALIGNED_LEA = 4 };
SP_STEP_INLINE int sp_ends_realigned(const sp_u8 *b, sp_s32 off)
{
	return (b[0] == 0x5d || b[0] == 0xc9) && (b[1] & 0xfe) == 0x48 && b[2] == 0x8d && (b[3] & 0xf8) == 0x60 &&
	       b[4] == (sp_u8)-off;
}

/*
 * Where the return address of a leaf is that has no frame yet, or no longer: at the stack pointer before `push %rbp`
 * (with or without endbr64) and at `ret`; one word above it before `mov %rsp, %rbp`. -1: elsewhere.
 */
SP_STEP_INLINE sp_s32 sp_frameless(const sp_u8 *code)
{
	int endbr = code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa;

	if (code[0] == 0x55 || (endbr && code[4] == 0x55) || code[0] == 0xc3)
		return 0;
	if (code[0] == 0x48 && ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec)))
		return 8;
	return -1;
}

#endif
