/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * step_types.h: the types of unwind/step.h, for those who need them without its functions.
 */
#ifndef SP_UNWIND_STEP_TYPES_H
#define SP_UNWIND_STEP_TYPES_H

#include "bpf/wire.h"

struct sp_segment { /* of table words */
	sp_u32 word[SP_SEG_WORDS];
};

#endif
