/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * slot.h: one attach point of a session, as its front and its sink know it.
 *
 * A front is a small BPF program on one event; its read-only data is a struct sp_front_slot. It runs the slot's ops,
 * and if the event is wanted, leaves a struct sp_hit in the scratch and goes on into a sink, which walks the stacks and
 * counts. Shared by both halves, as bpf/wire.h is. The user half writes a slot before it is loaded; nothing changes it
 * afterwards.
 */
#ifndef SP_EVENT_SLOT_H
#define SP_EVENT_SLOT_H

#include "event/op.h"

enum { SP_NO_REG = 0xff /* of a slot: it has no such number */ };

enum sp_front_role {
	SP_ROLE_EVENT, /* counts by itself */
};
enum { SP_SLOT_USER = 1, SP_SLOT_KERNEL = 2 }; /* which stacks are walked */

struct sp_front_slot {
	struct sp_op ops[SP_N_OPS];
	sp_u32 role, recipe, flags;
	sp_u32 n_arguments; /* of the event: so many are read */
	sp_u32 value;       /* the register that tells what the event stands for; SP_NO_REG: 1 */
};

struct sp_hit { /* an event on its way from its front to its sink */
	sp_u32 role, recipe, flags, pad;
	sp_u64 value;
};

#endif
