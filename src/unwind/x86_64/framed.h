/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * framed.h: places in functions that keep a frame pointer, or make no frame.
 *
 * Compilers that are asked for frame pointers write all functions so: `push %rbp; mov %rsp,%rbp` at the start, which is
 * aligned; nothing else writes the register but `pop %rbp` (or `leave`), behind which the function is left; and
 * no jump leads out of it, or behind such a `pop`, but by those ends. If the whole function was read, that is a proof,
 * even behind computed jumps, which lead into it: code that got there without the frame could not return. Paths that
 * need no frame may be without it, from the start on, behind another function's padding, to the frame's making, or to
 * an end: they leave the stack and the register alone, call nothing, and jumps lead from them to code without the
 * frame, or to other functions. A function with anything else is not believed. Pure, from bytes that may be hostile;
 * the code between two FDEs is read around each place, at most SP_FRAMED_MAX bytes each way. 0 or -ENOMEM.
 */
#ifndef SP_UNWIND_X86_64_FRAMED_H
#define SP_UNWIND_X86_64_FRAMED_H

#include "unwind/x86_64/derive.h"

enum { SP_FRAMED_MAX = 512 << 10 };

/*
 * places: ascending file offsets outside covered, of instructions (leaves) and of the last bytes of calls (callers).
 * ret_is_framed[i]: whether a walk without unwind information finds the caller of places[i] by the frame pointer, or by
 * the code of a leaf without a frame (sp_leaf()). A walk that could not read a leaf's code has marked the leaf itself
 * as guessed.
 */
int sp_framed(struct sp_elf *e, const struct sp_code_span *covered, size_t n_covered, const uint64_t *places, size_t n,
	      bool *ret_is_framed);
/* ret_is_start[i]: whether places[i] is the first instruction of such a function. */
int sp_framed_starts(struct sp_elf *e, const struct sp_code_span *covered, size_t n_covered, const uint64_t *places,
		     size_t n, bool *ret_is_start);

#endif
