/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * v8_code.h: what the bytes of V8's code tell of a leaf: where it makes its frame, and how it leaves it.
 *
 * Compiled in both halves; the builder of rows leaves out what v8.h sees by these. The functions examine bytes of code
 * that the caller has read. No state.
 */
#ifndef SP_UNWIND_X86_64_V8_CODE_H
#define SP_UNWIND_X86_64_V8_CODE_H

#include "unwind/x86_64/code.h"

enum {
	SP_V8_NEAR = 16,                               /* compiled functions set up their frame behind one check */
	SP_V8_FAR = SP_CODE_BYTES - SP_CODE_BEFORE - 4 /* builtins may do more before */
};

/* push %rbp; mov %rsp,%rbp; the second has two encodings, one in node, the other in chromium. */
SP_STEP_INLINE int sp_v8_makes_frame(const sp_u8 *code)
{
	return code[0] == 0x55 && sp_frameless(code + 1) == 8;
}

/* Whether the function ends: pop %rbp, or an operand at (%rbp); leave. */
SP_STEP_INLINE int sp_v8_ends(const sp_u8 *code)
{
	return code[0] == 0x5d || code[0] == 0xc9;
}

#ifndef __bpf__ /* as with sp_leaf() */
/* The distance to the next push %rbp; mov %rsp,%rbp. SP_V8_FAR: none in this function, or not before its end. */
SP_STEP_INLINE sp_u32 sp_v8_ahead(const sp_u8 *code)
{
	for (sp_u32 i = 0; i < SP_V8_FAR && !(i && sp_v8_ends(code + i - 1)); i++)
		if (sp_v8_makes_frame(code + i))
			return i;
	return SP_V8_FAR;
}
#endif

/* Behind its last `pop %rbp` a function takes away its arguments: cmp $n,%rcx; jg; ret n; or by way of r10 or r8. */
SP_STEP_INLINE int sp_v8_leaves(const sp_u8 *code)
{
	if (code[0] == 0xc3 || code[0] == 0xc2 || (code[0] == 0x41 && (code[1] & 0xfd) == 0x58))
		return 1;
	if (code[0] == 0x7f && code[1] == 3)
		return code[2] == 0xc2;
	return (code[0] & 0xf8) == 0x48 && ((code[1] == 0x83 && code[4] == 0x7f && code[6] == 0xc2) ||
					    (code[1] == 0x81 && code[7] == 0x7f && code[9] == 0xc2));
}

/* The interpreter's end, behind the add: push %rcx; ret. */
SP_STEP_INLINE int sp_v8_interpreter_returns(const sp_u8 *code)
{
	return code[0] == 0x51 && code[1] == 0xc3;
}

/* Before it: add (any),%rsp takes away the arguments, whose size it was told. */
SP_STEP_INLINE int sp_v8_interpreter_adds(const sp_u8 *code)
{
	int is_add = (code[1] == 0x01 && (code[2] & 0xc7) == 0xc4) || (code[1] == 0x03 && (code[2] & 0xf8) == 0xe0);

	return (code[0] & 0xfa) == 0x48 && is_add && sp_v8_interpreter_returns(code + 3);
}

/* The register that it has its return address in: lea (%rsp,...),%rsp; push %r10 or %r8; ret. 0: none. */
SP_STEP_INLINE sp_u32 sp_v8_return_register(const sp_u8 *code)
{
	int is_lea = (code[0] & 0xf8) == 0x48 && code[1] == 0x8d && (code[2] & 0xc7) == 0x04;
	const sp_u8 *push = code + (is_lea ? 4 : 0);

	if (sp_v8_interpreter_adds(code) || sp_v8_interpreter_returns(code))
		return SP_REG_RCX;
	if (push[0] != 0x41 || (push[1] & 0xfd) != 0x50 || push[2] != 0xc3)
		return 0;
	return push[1] == 0x50 ? 8 : 10;
}

#endif
