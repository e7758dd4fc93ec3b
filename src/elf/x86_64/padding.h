/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * padding.h: recognises where a function begins in code of which the file tells nothing: behind padding.
 *
 * clang, lld and V8 fill the space up to the next function's alignment with int3, which stands nowhere else in code
 * that runs. One such byte may be the last of an instruction, so two are demanded. GCC's padding is also found inside
 * of functions and says nothing. A function that begins where the one before ends is not found.
 */
#ifndef SP_ELF_PADDING_H
#define SP_ELF_PADDING_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_PADDING = 0xcc, SP_PADDING_BEFORE = 2, SP_FUNCTION_ALIGN = 16 };

/* `code`: the byte at a multiple of SP_FUNCTION_ALIGN, with SP_PADDING_BEFORE bytes before it. */
static inline bool sp_is_behind_padding(const uint8_t *code)
{
	return code[-2] == SP_PADDING && code[-1] == SP_PADDING && code[0] != SP_PADDING;
}

#endif
