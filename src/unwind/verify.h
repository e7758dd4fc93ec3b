/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify.h: checks guessed frames against the code: did the frame pointer lead to the frame?
 *
 * Some files have more code without an FDE than is worth deriving (chromium: 226 MB), or than a table can hold, so
 * their frames are guessed while sampling. Afterwards the functions around the sampled addresses are read as in
 * framed.h, and explored as in derive.h where that believes nothing. If the frame pointer is known to lead to the
 * frame, or the instruction of a leaf without a frame to its caller, the frame is verified. A leaf whose code could not
 * be read is one at a function's first instruction: its return address is at the stack pointer. Addresses with an FDE
 * are not. Pure; the bytes may be hostile; derive.h's limits. 0, -ENOMEM, or an error of reading the file.
 */
#ifndef SP_UNWIND_VERIFY_H
#define SP_UNWIND_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_elf;
/* The file offset of an instruction; is_unread: of a leaf whose code could not be read when its caller was guessed. */
static inline uint64_t sp_verify_place(uint64_t offset, bool is_unread)
{
	return offset << 1 | is_unread;
}
/* places: ascending. Those that are verified come first then, n of them. */
int sp_verify(struct sp_elf *e, uint64_t *places, size_t n, size_t *ret_n);

#endif
