/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify.h: whether frame pointers that were followed in code without unwind information are told by the code itself.
 *
 * Files have more code without an FDE than is worth reading whole (chromium: 226 MB), or than a table has room for. So
 * their frames are guessed while sampling. Afterwards the functions around the places that were sampled are followed as
 * derive.h follows them; where the frame pointer is known to lead to the frame, the guess was none. A place in code
 * that has an FDE is not verified. Pure, from bytes that may be hostile, with derive.h's caps. 0 or -ENOMEM, or what
 * reading the file says.
 */
#ifndef SP_UNWIND_VERIFY_H
#define SP_UNWIND_VERIFY_H

#include <stddef.h>
#include <stdint.h>

struct sp_elf;
/* places: file offsets of instructions, ascending. Those that are verified come first then, n of them. */
int sp_verify(struct sp_elf *e, uint64_t *places, size_t n, size_t *ret_n);

#endif
