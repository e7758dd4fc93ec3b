/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.h: finds the caller of code made at run time, which has no unwind information.
 *
 * The code is followed forward, through all branches with known targets, to its `ret`, and changes of the stack
 * pointer are counted. Calls leave it unchanged; calls of code that pops its return address and keeps it elsewhere
 * (Guile) are followed. The result is believed if all paths to a `ret` agree and the return address is behind a call.
 * LuaJIT's traces have no `ret`: they run in the frame of its interpreter, recognised by the lua_State in it that
 * refers back to it (lj_frame.h). Other code without a `ret` (PHP's functions, Guile's trampoline) leaves by jumps and
 * runs in the frame of the function that jumped to it: the one function, called from an address on the stack, that
 * jumps away with a frame of fitting size.
 * The process goes on and its code may have changed, so a result must fit the sampled stack. Limits: instructions and
 * words of stack. Pure but for the caller's reader. -ENOENT: not known.
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
