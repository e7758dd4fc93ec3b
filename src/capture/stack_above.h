/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_above.h: the part of a stack above the copy that comes with a waiting sample. Private to src/capture.
 *
 * It comes in blocks of SP_PENDING_STACK bytes at multiples of that, before the sample itself. Far from the leaf a
 * stack seldom changes, so a block that equals the last one at its address is shared. A rest that no sample has claimed
 * yet belongs to the session, which keeps the last one of each CPU. Blocks count towards the bytes that may wait;
 * beyond half of these none is kept, since a sample is still a sample without them. Errors: -EBADMSG. Not thread-safe.
 */
#ifndef SP_CAPTURE_STACK_ABOVE_H
#define SP_CAPTURE_STACK_ABOVE_H

#include "bpf/wire.h"
#include <stddef.h>

struct sp_capture;

enum { SP_N_STACK_ABOVE_CPUS = 256, SP_N_LAST_BLOCKS = 128 };

struct sp_block {
	struct sp_capture *c; /* whose waiting bytes it counts towards */
	size_t n_refs;
	sp_u64 at;
	sp_u32 bytes, holes;
	sp_u8 data[];
};

struct sp_stack_above {
	sp_u64 id;
	size_t n;
	struct sp_block *blocks[SP_MAX_STACKS_ABOVE]; /* adjacent, by rising address */
};

struct sp_stacks_above { /* of a session */
	struct sp_stack_above *unclaimed[SP_N_STACK_ABOVE_CPUS];
	struct sp_block *last[SP_N_LAST_BLOCKS];
};

int sp_stack_above_take(struct sp_capture *c, const struct sp_message_stack_above *r, size_t size);
struct sp_stack_above *sp_stack_above_claim(struct sp_capture *c, sp_u64 id); /* the caller's; NULL: none came */
void sp_stack_above_free(struct sp_stack_above *rest);                        /* NULL is allowed */
/* A callback of struct sp_finish_memory: the word at this address. 0 or -1. */
int sp_stack_above_word(void *rest, sp_u64 addr, sp_u64 *ret);
void sp_stacks_above_idle(struct sp_capture *c); /* no sample waits: blocks need not be kept to be shared */
void sp_stacks_above_done(struct sp_capture *c);

#endif
