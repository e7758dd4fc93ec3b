/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_above.h: what lies above the copy of a stack that waits for a table. Private to src/capture.
 *
 * It comes in blocks of SP_PENDING_STACK bytes at multiples of that, before the sample itself. Far from the leaf a
 * stack seldom changes, so a block that is as the last one of its process at its address was is shared. A rest that is
 * not claimed belongs to the session, for each CPU the last one. Its blocks count for the session's bytes that wait;
 * beyond half of what is allowed none is kept, since without it the sample is a sample still. Errors: -EBADMSG. Not
 * thread-safe.
 */
#ifndef SP_CAPTURE_STACK_ABOVE_H
#define SP_CAPTURE_STACK_ABOVE_H

#include "bpf/wire.h"
#include <stddef.h>

struct sp_capture;

enum { SP_N_STACK_ABOVE_CPUS = 256, SP_N_LAST_BLOCKS = 128 };

struct sp_block {
	struct sp_capture *c; /* whose bytes it counts for */
	size_t n_refs;
	sp_u64 at;
	sp_u32 bytes, holes;
	sp_u8 data[];
};

struct sp_stack_above {
	sp_u64 id;
	size_t n;
	struct sp_block *blocks[SP_MAX_STACKS_ABOVE]; /* rising, one behind the other */
};

struct sp_stacks_above { /* of a session */
	struct sp_stack_above *unclaimed[SP_N_STACK_ABOVE_CPUS];
	struct sp_block *last[SP_N_LAST_BLOCKS];
};

int sp_stack_above_take(struct sp_capture *c, const struct sp_message_stack_above *r, size_t size);
struct sp_stack_above *sp_stack_above_claim(struct sp_capture *c, sp_u64 id); /* the caller's; NULL: none came */
void sp_stack_above_free(struct sp_stack_above *rest);                        /* NULL is allowed */
/* For struct sp_finish_memory: the word at this address. 0 or -1. */
int sp_stack_above_word(void *rest, sp_u64 addr, sp_u64 *ret);
void sp_stacks_above_idle(struct sp_capture *c); /* nothing waits: there is nothing to share blocks with */
void sp_stacks_above_done(struct sp_capture *c);

#endif
