/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * mark.h: where the arguments of a place are that a program's authors have marked (USDT), as its front reads them.
 *
 * One name may stand for many places, and each has its arguments elsewhere: a place's cookie is the number of its
 * struct sp_mark_place in the front's map `marks`. Registers have no names here, only offsets: where the kernel saves
 * them. Shared by both halves, as bpf/wire.h is.
 */
#ifndef SP_EVENT_MARK_H
#define SP_EVENT_MARK_H

#include "event/op.h"

enum {
	SP_MARKS = 1024, /* different ones of a front, at most */
	SP_MARK_NO_REGISTER = 0xffff,
	SP_MARK_SIGNED = 1, /* flags of an argument */
	SP_MARK_IN_MEMORY = 2,
};
struct sp_mark_argument {
	sp_u64 add;         /* to what is in the registers; without these, and not in memory, it is the argument */
	sp_u16 base, index; /* where registers are saved, in bytes; SP_MARK_NO_REGISTER: none */
	sp_u8 scale;        /* the index is shifted left by so many bits */
	sp_u8 from;         /* in a register: the argument's lowest bit */
	sp_u8 bits;         /* 8, 16, 32 or 64; in the map 0: nobody wants it */
	sp_u8 flags;
};
struct sp_mark_place {
	struct sp_mark_argument argument[SP_N_ARGUMENTS];
};

#endif
