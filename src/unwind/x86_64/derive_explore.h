/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_explore.h: the exploration of one function: what its two parts share.
 *
 * A block of code is known by its first position, with the state on which all paths to it agree; a hash table finds
 * blocks by position. The deriver owns the explorer and uses it again for the next function. 0 or -ENOMEM.
 */
#ifndef SP_UNWIND_DERIVE_EXPLORE_H
#define SP_UNWIND_DERIVE_EXPLORE_H

#include "unwind/x86_64/derive_doubt.h"
#include "unwind/x86_64/derive_priv.h"

/* Which calls are taken for ones that never return: none, those in front of padding, or of a multiple of 16, too. */
enum sp_endless { SP_ENDLESS_NONE, SP_ENDLESS_AT_PADDING, SP_ENDLESS_AT_ROUND };
struct head {
	uint32_t at, slot; /* slot: only while it is cleared */
	bool queued;
	struct sp_state state;
};
struct sp_explorer {
	struct sp_doubts doubts;
	struct head *heads;
	size_t n_heads, heads_capacity;
	uint32_t *slots; /* hash table: number of a head + 1 */
	size_t n_slots;
	uint32_t *queue;
	size_t n_queue, queue_capacity;
	uint32_t *seen; /* instructions tried */
	size_t n_seen, seen_capacity;
	uint32_t start, n_ends; /* n_ends: number of proper ends reached */
	uint32_t open_at;       /* behind a computed jump, or 0 */
	struct sp_state open_state;
	uint64_t n_steps;
	enum sp_trust trust;
	enum sp_endless endless;
	bool speaks; /* it tells about other code: calls, addresses, computed jumps */
	bool refused;
	bool is_open; /* a computed jump was met */
	bool strays;  /* behind a call it uses preserved registers that it never set */
};
struct cursor {
	const struct sp_island *island;
	uint32_t pos;
	bool after_call; /* only padding since a call, which may never return */
	int rule;        /* of state; -1: not known yet */
	struct sp_state state;
	const struct sp_insn *insn; /* that of sp_code_decode() */
};

uint32_t *sp_explorer_slot(struct sp_explorer *x, uint32_t pos); /* the slot of the head at pos, or where it would be */
/* A computed jump to several places; not `jmp *word(%rip)`, which goes to another function. */
bool sp_insn_is_open(const struct sp_insn *i);
int sp_explorer_commit(struct sp_deriver *d);
void sp_explorer_settle(struct sp_deriver *d); /* removes the exploration's marks */

#endif
