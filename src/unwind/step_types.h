/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * step_types.h: the types of unwind/step.h, for code that does not need its functions.
 *
 * Compiled in both halves. A segment is one element of the kernel half's array of maps. unwind/tables.c writes it
 * through a mapping, so its layout is the same in both.
 */
#ifndef SP_UNWIND_STEP_TYPES_H
#define SP_UNWIND_STEP_TYPES_H

#include "bpf/wire.h"
#include "unwind/x86_64/code.h"

/* Whether a stack that ended so is whole. */
static inline int sp_stop_is_whole(sp_u32 stop)
{
	return stop == SP_STOP_COMPLETE || stop == SP_STOP_THREAD || stop == SP_STOP_FIBER;
}

struct sp_segment { /* of table words */
	sp_u32 word[SP_SEG_WORDS];
};

#endif
