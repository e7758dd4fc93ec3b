/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * padding.h: recognises where a function begins in code of which the file tells nothing: behind padding.
 *
 * clang, lld and V8 fill the space up to the next function's alignment with int3, which stands nowhere else in code
 * that runs. One such byte may be the last of an instruction, so two are demanded; and three or seven behind cd are the
 * rest of a number by which code divides by 5 or 10. GCC's padding is also found inside of functions and says nothing.
 * A function that begins where the one before ends is not found.
 */
#ifndef SP_ELF_PADDING_H
#define SP_ELF_PADDING_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_PADDING = 0xcc, SP_PADDING_BEFORE = 8, SP_FUNCTION_ALIGN = 16 };

/* Whether 0xcccccccd or 0xcccccccccccccccd ends before `code`. */
static inline bool sp_is_behind_fifth(const uint8_t *code)
{
	int n = 0;

	while (n < SP_PADDING_BEFORE && code[-1 - n] == SP_PADDING)
		n++;
	return (n == 3 || n == 7) && code[-1 - n] == 0xcd;
}

/* `code`: the byte at a multiple of SP_FUNCTION_ALIGN, with SP_PADDING_BEFORE bytes before it. */
static inline bool sp_is_behind_padding(const uint8_t *code)
{
	return code[-2] == SP_PADDING && code[-1] == SP_PADDING && code[0] != SP_PADDING && !sp_is_behind_fifth(code);
}

#endif
