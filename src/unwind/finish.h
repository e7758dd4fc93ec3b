/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finish.h: the same unwinder in the user half, over a copy of the stack and a list of mappings.
 *
 * Finishes a sample that the kernel half could not (SP_RECORD_PENDING): goes on from the recorded machine state. Code
 * is not at hand here, so a guess believes a return address if it lies in an executable mapping. A pure function but
 * for the tables, which it reads. When a frame's table is absent it stops with -EAGAIN and says which; load that and
 * call again: the record then holds the state reached.
 */
#ifndef SP_UNWIND_FINISH_H
#define SP_UNWIND_FINISH_H

#include "bpf/wire.h"

struct sp_tables;

/* r->regs, how, n_frames, frames and guessed are moved on. 0: done, *ret_stop; -EAGAIN: r->waits_for is absent. */
int sp_finish(struct sp_tables *t, struct sp_record_pending *r, enum sp_unwind_mode mode, sp_u32 *ret_stop);

#endif
