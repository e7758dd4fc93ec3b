/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finish.h: the unwinder in the user half, over a copy of the stack and a list of mappings.
 *
 * It finishes samples that the kernel half could not (SP_MESSAGE_PENDING), from the recorded state on, and walks whole
 * stacks of perf_event_open, which has no kernel half. If a table is missing it stops with -EAGAIN and says which:
 * load it and call again; the record holds the state that was reached. Where code cannot be read, a guess accepts any
 * return address in an executable mapping. For code made at run time it calls the functions in struct
 * sp_finish_memory. It reads the tables and the program's memory, and has no other effects.
 */
#ifndef SP_UNWIND_FINISH_H
#define SP_UNWIND_FINISH_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stddef.h>

struct sp_tables;

/* A frame of JIT code, and the stack from its stack pointer on. */
struct sp_jit_at {
	sp_u32 id; /* of the region */
	const struct sp_regs *regs;
	const sp_u64 *words;
	size_t n_words;
	sp_u64 fp_ra; /* the return address that the frame pointer leads to, if it leads onto the stack; else 0 */
};
/* BY_FP: what the frame pointer leads to is a return address behind a call. NONE: the code does not tell. */
enum { SP_JIT_RULE = 1, SP_JIT_BY_FP, SP_JIT_NONE };

struct sp_finish_memory {          /* memory of the sampled program; the caller's */
	const struct sp_map *maps; /* executable mappings, ascending and disjoint */
	size_t n_maps;
	bool has_all_maps;
	const sp_u8 *stack;
	size_t stack_bytes;
	sp_u64 stack_at; /* user address of stack[0]; not above the stack pointer */
	sp_u32 holes;    /* a bit for each missing page of the copy, from stack_at's on */
	/* Reads the word at an address that is not in the copy: 0 or -1. May be NULL. */
	int (*beyond)(void *arg, sp_u64 addr, sp_u64 *ret);
	void *beyond_arg;
	/* Reads the rest of the program's memory as it is now: 0, or negative. NULL: not available. */
	int (*read)(void *arg, sp_u64 addr, void *ret, size_t n);
	void *read_arg;
	/* Reads the 8 bytes of code before this offset in a file (kind and id of a frame word): 0; negative: not known.
	 */
	int (*code_before)(void *arg, sp_u64 word, sp_u64 offset, sp_u8 *ret);
	void *code_before_arg;
	/*
	 * Makes HotSpot's code in this region available to `read`. 0: done, or impossible; -EAGAIN: not yet. NULL: not
	 * needed.
	 */
	int (*fetch)(void *arg, sp_u32 id);
	void *fetch_arg;
	/* SP_JIT_*; 0: the code cannot be examined; -EAGAIN: not yet. NULL: nobody can be asked. */
	int (*jit)(void *arg, const struct sp_jit_at *at, struct sp_rule *ret_rule);
	void *jit_arg;
};

/*
 * Advances r->regs, how, n_frames, frames and guessed. 0: done, *ret_stop; -EAGAIN: r->waits_for is absent. Frames are
 * stored at sp_frame_slot(), over the record's own mappings; those and the record's stack are not used.
 */
int sp_finish(struct sp_tables *t, struct sp_message_pending *r, const struct sp_finish_memory *memory,
	      enum sp_unwind_mode mode, sp_u32 *ret_stop);

#endif
