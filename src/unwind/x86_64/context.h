/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * context.h: finds the code at which fibers begin: the return code of makecontext(), and gccgo's goroutine start.
 *
 * makecontext() puts the address of its return code (glibc: __start_context) where the first function's return address
 * belongs. No call precedes that code, so the unwinder looks the address up in the padding before it, where a row
 * marks the root of a fiber. The code is recognised as one that the exported makecontext takes the address of and that
 * never returns. gccgo puts 0 there, although by its rows the function could return. A pure function of the file's
 * bytes, which may be hostile; it reads about 8 KiB of them.
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
