/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * leaf.h: what the code around a leaf, and the call that led to it, tell of its frame where no table does.
 *
 * Compiled in both halves. The functions examine bytes of code that the caller has read. No state.
 */
#ifndef SP_UNWIND_X86_64_LEAF_H
#define SP_UNWIND_X86_64_LEAF_H

#include "unwind/x86_64/code.h"

enum { SP_CODE_NOP = 0x90, SP_CODE_PAGE = 4096 };

/*
 * sp_frameless() for code that nothing is known of, from what is around it: a tail jump behind `pop %rbp`, or ahead
 * code that makes a frame, or returns without having taken one down. It is read byte by byte, not as instructions, so
 * the answer is a guess. The code has one byte before it and SP_LEAF_BYTES from it on.
 */
enum { SP_LEAF_AHEAD = 104, SP_LEAF_BYTES = SP_LEAF_AHEAD + 8 };
enum {
	SP_LEAF_FRAMED = -1,
	SP_LEAF_UNKNOWN = -2, /* nothing tells: as a frame is usual, it has one */
	SP_LEAF_UNREAD = -3,  /* for who cannot read the code */
};

SP_STEP_INLINE int sp_leaf_jumps(const sp_u8 *b)
{
	return (b[0] & 0xfd) == 0xe9 || (b[0] == 0xff && ((b[1] & 0xf8) == 0xe0 || b[1] == 0x25));
}

/* Whether a frame stands at these bytes: `pop %rbp` and an end, or a call; or what is ahead is other code. */
SP_STEP_INLINE int sp_leaf_framed(const sp_u8 *b)
{
	if (b[0] == 0x5d)
		return b[1] == 0xc3 || b[1] == 0x48 || b[1] == 0x0f || b[1] == 0x31 || sp_leaf_jumps(b + 1);
	if ((b[0] & 0xfe) == 0xe8) /* a near target: the distance's highest byte */
		return (sp_u8)(b[4] + 1) < 2;
	return b[0] == 0xeb || b[0] == 0xcc || (b[0] == 0x0f && b[1] == 0x0b) || (b[0] == 0xff && sp_leaf_jumps(b));
}

/* What a place ahead tells. SP_LEAF_UNKNOWN: the next one is to be looked at. */
SP_STEP_INLINE sp_s32 sp_leaf_place(const sp_u8 *b)
{
	if (b[0] == 0x55 && sp_frameless(b + 1) == 8)
		return 0;
	if (b[0] == 0xc3 && (b[1] == 0xcc || b[1] == 0x55)) /* else it may be an operand */
		return 0;
	return sp_leaf_framed(b) ? SP_LEAF_FRAMED : SP_LEAF_UNKNOWN;
}

/* What the leaf's own instruction tells. SP_LEAF_UNKNOWN: the places ahead are to be looked at. */
SP_STEP_INLINE sp_s32 sp_leaf_here(const sp_u8 *code)
{
	sp_s32 at = sp_frameless(code);

	if (at >= 0)
		return at;
	return code[-1] == 0x5d && sp_leaf_jumps(code) ? 0 : SP_LEAF_UNKNOWN;
}

#ifndef __bpf__ /* the verifier would follow each turn of the loop: there bpf_loop() takes its place */
SP_STEP_INLINE sp_s32 sp_leaf(const sp_u8 *code)
{
	sp_s32 leaf = sp_leaf_here(code);

	for (sp_u32 i = 0; i < SP_LEAF_AHEAD && leaf == SP_LEAF_UNKNOWN; i++)
		leaf = sp_leaf_place(code + i);
	return leaf;
}
#endif

/* The last operand of the 8 bytes before a return address: a distance of 4 bytes. */
SP_STEP_INLINE sp_u64 sp_call_distance(const sp_u8 *b)
{
	sp_u32 off = b[4] | (sp_u32)b[5] << 8 | (sp_u32)b[6] << 16 | (sp_u32)b[7] << 24;

	return (sp_u64)(sp_s64)(sp_s32)off;
}

/* Whether the 8 bytes before the return address ra end in a direct call of `to`. */
SP_STEP_INLINE int sp_calls_directly(const sp_u8 *b, sp_u64 ra, sp_u64 to)
{
	return b[3] == 0xe8 && ra + sp_call_distance(b) == to;
}

/*
 * What a call by pointer counts from, if the 8 bytes before a return address end in one (ff /2): the DWARF number of
 * the register with the pointer itself, or with an address that it lies at, *ret_off away. Or a wrong register, for
 * bytes that can be read in several ways.
 */
enum { SP_CALL_NONE = -1, SP_CALL_RIP = 16, SP_CALL_VALUE = 32 /* a flag: the register has the pointer */ };
#define SP_REGS_ENCODED 0x54673120u /* the DWARF numbers of registers 0 to 7 as encoded, from the lowest digit on */
SP_STEP_INLINE sp_s32 sp_call_by(const sp_u8 *b, sp_u32 at, sp_u64 *ret_off)
{
	sp_u8 mode = b[at + 1] & 0xf8, low = b[at + 1] & 7;
	sp_s32 reg = (sp_s32)(b[at - 1] == 0x41 ? 8u + low : SP_REGS_ENCODED >> 4 * low & 15);

	*ret_off = 0;
	if (b[at] != 0xff)
		return SP_CALL_NONE;
	if (at == 6 && mode == 0xd0)
		return reg | SP_CALL_VALUE;
	if (at == 6 && mode == 0x10 && low != 4 && low != 5)
		return reg;
	*ret_off = at == 5 ? (sp_u64)(sp_s64)(signed char)b[7] : sp_call_distance(b);
	if (at == 2 && b[3] == 0x15)
		return SP_CALL_RIP;
	return mode == (at == 5 ? 0x50 : 0x90) && at != 6 && low != 4 ? reg : SP_CALL_NONE;
}

#endif
