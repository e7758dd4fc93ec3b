/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * context.h: where fibers begin that are known by name: the code that a context made by makecontext() returns to when
 * its function ends, and the first function of gccgo's goroutines.
 *
 * The C library puts the address of that code (glibc: __start_context) where the return address of the context's first
 * function belongs. No call stands in front of it, so a stack is looked up in the padding before it; a row there says
 * that this is where a fiber begins. The code is found by what the exported makecontext takes the address of, and known
 * by never returning. gccgo's library puts 0 there, and its function could return, for all that its rows say. A pure
 * function of the file's bytes, which may be hostile; it looks at some 8 KiB of them.
 */
#ifndef SP_UNWIND_CONTEXT_H
#define SP_UNWIND_CONTEXT_H

#include <stdint.h>

struct sp_elf;
#define SP_CONTEXT_NONE UINT64_MAX
/* File offsets, or SP_CONTEXT_NONE: there is none, or it cannot be read. */
struct sp_context {
	uint64_t returned_to, first;
};
struct sp_context sp_context_find(struct sp_elf *e);

#endif
