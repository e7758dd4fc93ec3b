/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify.h: checks guessed frames against the code: did the frame pointer lead to the frame?
 *
 * Some files have more code without an FDE than is worth deriving (chromium: 226 MB), or than a table can hold, so
 * their frames are guessed while sampling. Afterwards the functions around the sampled addresses are explored as in
 * derive.h. If the frame pointer is known to lead to the frame, the frame is verified. Addresses with an FDE are not.
 * Pure; the bytes may be hostile; derive.h's limits. 0, -ENOMEM, or an error of reading the file.
 */
#ifndef SP_UNWIND_VERIFY_H
#define SP_UNWIND_VERIFY_H

#include <stddef.h>
#include <stdint.h>

struct sp_elf;
/* places: file offsets of instructions, ascending. Those that are verified come first then, n of them. */
int sp_verify(struct sp_elf *e, uint64_t *places, size_t n, size_t *ret_n);

#endif
