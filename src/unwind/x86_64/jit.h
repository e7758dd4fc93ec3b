/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.h: the caller of code that a program made while it ran, which has no unwind information.
 *
 * From where it is, the code is followed forward, through all branches whose targets are told, to the `ret` that ends
 * it, and what is done to the stack pointer on the way is counted. Calls leave it as it was; those of code that pops
 * its return address, as Guile's does, which keeps it elsewhere, are followed, too. What is found is believed if all
 * ways to a `ret` agree, and the return address stands behind a call. Traces of LuaJIT have no `ret`: they run in the
 * frame of its interpreter, which is known by the lua_State that it names, and that names it back (lj_frame.h).
 * Other code without a `ret` leaves by jumps, to an interpreter or to more such code, and runs in the frame of whoever
 * jumped to it first: of the one function that was called from a place on the stack and that, followed from its start,
 * jumps to somewhere when its frame is so high that both fit (PHP's execute_ex, Guile's entry).
 * The code is that of a process that runs on, and may have changed since the sample was taken; so nothing is believed
 * that does not fit the stack that was sampled. A bounded number of instructions is looked at, and of words of the
 * stack. Pure but for the reader that the caller gives. -ENOENT: it cannot be told.
 */
#ifndef SP_UNWIND_JIT_H
#define SP_UNWIND_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_JIT_WORDS = 256 };
enum { SP_JIT_FP_SAME = -1, SP_JIT_FP_LOST = -2 };

struct sp_jit_memory { /* of the process; as many bytes as there are */
	size_t (*read)(void *arg, uint64_t addr, void *bytes, size_t n);
	void *arg;
};
struct sp_jit_frame { /* above the stack pointer, in bytes */
	int32_t cfa;
	int32_t fp; /* where the caller's frame pointer is saved, or SP_JIT_FP_* */
};

/* Whether a call stands in front of the address. */
bool sp_jit_is_return(const struct sp_jit_memory *m, uint64_t address);
/* words: the stack from sp on. */
int sp_jit_frame_find(const struct sp_jit_memory *m, uint64_t ip, uint64_t sp, const uint64_t *words, size_t n,
		      struct sp_jit_frame *ret_frame);

#endif
