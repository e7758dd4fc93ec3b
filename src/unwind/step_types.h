/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * step_types.h: the types of unwind/step.h, for those who need them without its functions.
 *
 * Compiled in both halves, like step.h. A segment is what one element of the kernel half's array of maps holds, and
 * what unwind/tables.c writes through a mapping of it: words at the same place in both.
 */
#ifndef SP_UNWIND_STEP_TYPES_H
#define SP_UNWIND_STEP_TYPES_H

#include "bpf/wire.h"

/* Whether a stack that ended so is whole. */
static inline int sp_stop_is_whole(sp_u32 stop)
{
	return stop == SP_STOP_COMPLETE || stop == SP_STOP_THREAD || stop == SP_STOP_FIBER;
}

struct sp_segment { /* of table words */
	sp_u32 word[SP_SEG_WORDS];
};

enum { SP_REG_BASE = 3, SP_REG_FP = 6, SP_REG_SP = 7 }; /* DWARF numbers */
#define SP_USER_END (1ULL << 47) /* x86-64, four levels of page tables: where programs and their libraries live */
#define SP_STEP_INLINE static inline __attribute__((always_inline))

/*
 * Whether the 8 bytes before a return address end in a call instruction: e8 rel32, or ff /2 in its seven lengths.
 * Nobody returns from a call of the next instruction: it asks where it is, or calls what stands behind it and never
 * returns.
 */
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
	return b[1] == 0xff && (b[2] == 0x94 || (b[2] == 0x14 && (b[3] & 7) == 5)); /* the latter is without a base */
}

#endif
