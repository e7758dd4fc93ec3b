/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * v8.h: the step through code that V8 made, at run time or as its embedded builtins, which have no unwind information.
 *
 * V8 walks its own stacks by the frame pointer: each of its frames keeps the caller's, the return address above it, and
 * in the word below it says what it is, a small even number (the frame's type) or a tagged pointer (the function's
 * context). A frame whose words say so is not guessed. A leaf may have no frame yet, or no longer: the code at the
 * instruction pointer tells that.
 * Both halves include this file, behind step.h. Beyond what step.h asks for, SP_WALK has, and the includer defines,
 *   sp_u8 code[SP_CODE_BYTES]                       room in the walk
 *   int sp_env_around(SP_WALK *w, sp_u64 ip)        fills it with the code from ip - SP_CODE_BEFORE on; 0, or not known
 *   sp_u32 sp_env_ahead(SP_WALK *w)                 sp_v8_ahead() of the code that sp_env_around() has read; a call,
 *                                                  since the verifier would follow each of its results to the end
 * Results as in step.h. Sources: V8's src/execution/frame-constants.h, src/execution/frames.h (StackFrame::Type).
 */
#ifndef SP_UNWIND_V8_H
#define SP_UNWIND_V8_H

#include "unwind/step.h"
#include "unwind/x86_64/v8_code.h"

enum {
	SP_V8_MARKERS = 256, /* a frame's type is stored times two; there are some 40 types */
	SP_V8_TAG = 3,
	SP_V8_POINTER = 1,      /* the lowest bits of a pointer to a heap object */
	SP_V8_PROLOGUE = 15,    /* bytes of a baseline function up to the end of its first call */
	SP_V8_OUT_OF_LINE = 256 /* bytes of the builtin called there, which sets up the frame */
};

/* The builtin that sets up a baseline function's frame, if `ra` is behind the call of it; else 0. */
SP_STEP_INLINE sp_u64 sp_v8_prologue(SP_WALK *w, sp_u64 ra)
{
	sp_u8 code[SP_V8_PROLOGUE + 1] = {0};
	sp_s32 to;

	if (ra < 4096 || ra >= SP_USER_END || sp_env_read(w, ra - SP_V8_PROLOGUE, code, SP_V8_PROLOGUE + 1))
		return 0;
	if (code[0] != 0x49 || code[1] != 0xbc || code[10] != 0xe8)
		return 0;
	to = (sp_s32)(code[11] | (sp_u32)code[12] << 8 | (sp_u32)code[13] << 16 | (sp_u32)code[14] << 24);
	return ra + (sp_u64)(sp_s64)to;
}

SP_STEP_INLINE int sp_v8_is_prologue(SP_WALK *w, sp_u64 ra, sp_u64 ip)
{
	sp_u64 to = sp_v8_prologue(w, ra);

	return to && ip - to < SP_V8_OUT_OF_LINE;
}

/*
 * Whether the builtin has just taken its frame down: mov %rbp,%rsp; pop %rbp, or in the interpreter leave, and now pop
 * %rcx. What follows leaves it.
 */
SP_STEP_INLINE int sp_v8_has_left(const sp_u8 *code)
{
	if (code[-1] == 0xc9 && code[0] == 0x59)
		return sp_v8_interpreter_adds(code + 1);
	return code[-4] == 0x48 && code[-3] == 0x8b && code[-2] == 0xe5 && code[-1] == 0x5d;
}

/* Whether ip is in a baseline function before that call: mov $size,%ebx, or xor; mov $bytecode,%r12; call. */
SP_STEP_INLINE int sp_v8_begins(SP_WALK *w, const sp_u8 *code, sp_u64 ip)
{
	if (code[0] == 0xe8)
		return sp_v8_prologue(w, ip + 5) != 0;
	if (code[0] == 0xbb)
		return code[5] == 0x49 && code[6] == 0xbc && code[15] == 0xe8;
	if (code[0] == 0x33 && code[1] == 0xdb)
		return code[2] == 0x49 && code[3] == 0xbc && code[12] == 0xe8;
	return code[0] == 0x49 && code[1] == 0xbc && code[10] == 0xe8;
}

/*
 * Steps from the builtin that sets up a baseline function's frame. The function itself has no frame yet. The builtin's
 * return address is on the stack, then in r15 while the frame is made, then on the stack again.
 */
SP_STEP_INLINE int sp_step_v8_prologue(SP_WALK *w, struct sp_regs *regs, sp_u32 *how)
{
	sp_u64 ra, caller, up = 8;

	if (sp_env_stack(w, regs->sp, &ra))
		return -1;
	if (!sp_v8_is_prologue(w, ra, regs->ip)) {
		ra = regs->r[15];
		up = sp_frameless(w->code + SP_CODE_BEFORE) == 8 ? 8 : 0; /* behind `push %rbp` */
		if (!sp_v8_is_prologue(w, ra, regs->ip))
			return -1;
	}
	regs->ip = ra;
	regs->sp += up;
	*how = SP_HOW_RUNTIME | (*how & SP_HOW_NO_FP);
	if (!sp_env_stack(w, regs->sp, &caller) && sp_env_is_return(w, caller))
		*how |= SP_HOW_BARE;
	return 0;
}

/*
 * Steps from a leaf without a frame. off: from the leaf's row: the return address ends so far above the stack pointer;
 * 0: not known; or SP_V8_UNSURE. 0; -1: it has a frame.
 */
SP_STEP_INLINE int sp_step_v8_leaf(SP_WALK *w, struct sp_regs *regs, sp_u32 *how, sp_u32 off)
{
	const sp_u8 *code = w->code + SP_CODE_BEFORE;
	sp_u32 ahead, reg, unsure = off == SP_V8_UNSURE;
	sp_u64 ra;

	off = unsure ? 0 : off;
	if (sp_env_around(w, regs->ip))
		return -1;
	if (!sp_step_v8_prologue(w, regs, how))
		return 0;
	reg = sp_v8_return_register(code);
	ra = reg == 8 ? regs->r[8] : reg == SP_REG_RCX ? regs->r[SP_REG_RCX] : regs->r[10];
	if (reg && sp_env_is_return(w, ra)) {
		regs->ip = ra;
		*how = SP_HOW_RUNTIME | (*how & SP_HOW_NO_FP);
		return 0;
	}
	if (!off && sp_frameless(code) == 8)
		off = 16;
	else if (!off && (sp_v8_begins(w, code, regs->ip) || sp_v8_has_left(code)))
		off = 8;
	ahead = off || sp_v8_leaves(code) ? 0 : sp_env_ahead(w);
	if (!off)
		off = unsure || ahead < SP_V8_FAR ? 8 : 0;
	if (!off || sp_env_stack(w, regs->sp + off - 8, &ra) || !sp_env_is_return(w, ra))
		return -1;
	regs->ip = ra;
	regs->sp += off;
	*how = (ahead < SP_V8_NEAR ? SP_HOW_RUNTIME : SP_HOW_GUESSED) | (*how & SP_HOW_NO_FP);
	return 0;
}

/* Steps from a baseline function that has no frame yet. */
SP_STEP_INLINE sp_u32 sp_step_v8_bare(SP_WALK *w, struct sp_regs *regs, sp_u32 *how)
{
	sp_u64 ra;

	if (sp_env_stack(w, regs->sp, &ra) || !sp_env_is_return(w, ra))
		return SP_STOP_NO_UNWIND;
	regs->ip = ra;
	regs->sp += 8;
	*how = SP_HOW_RUNTIME | (*how & SP_HOW_NO_FP);
	return SP_STEP_NEXT;
}

/* Whether the frame at fp is marked as V8's. At its first instruction it is not marked yet: nothing is below fp. */
SP_STEP_INLINE int sp_v8_is_frame(SP_WALK *w, sp_u64 fp, sp_u64 sp)
{
	sp_u64 marker;

	if (fp <= sp)
		return 1;
	if (sp_env_stack(w, fp - 8, &marker))
		return 0;
	return marker & 1 ? (marker & SP_V8_TAG) == SP_V8_POINTER : marker < SP_V8_MARKERS;
}

/* off: as in sp_step_v8_leaf(). */
SP_STEP_INLINE sp_u32 sp_step_v8(SP_WALK *w, struct sp_regs *regs, sp_u32 *how, sp_u32 off)
{
	sp_u64 fp = regs->fp, next, ra;
	int is_its;

	if (*how & SP_HOW_BARE)
		return sp_step_v8_bare(w, regs, how);
	if (*how & SP_HOW_EXACT && !sp_step_v8_leaf(w, regs, how, off))
		return SP_STEP_NEXT;
	if (*how & SP_HOW_NO_FP || fp & 7 || fp < regs->sp || fp - regs->sp >= SP_GUESS_REACH)
		return sp_step_guess(w, regs, how);
	is_its = sp_v8_is_frame(w, fp, regs->sp); /* first: memory is read in chunks upwards */
	if (!is_its || sp_env_stack(w, fp, &next) || sp_env_stack(w, fp + 8, &ra) || !sp_env_is_return(w, ra))
		return sp_step_guess(w, regs, how);
	regs->ip = ra;
	regs->sp = fp + 16;
	regs->fp = next;
	*how = SP_HOW_RUNTIME;
	return SP_STEP_NEXT;
}

#endif
