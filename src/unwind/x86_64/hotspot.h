/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * hotspot.h: steps through code made by HotSpot (Java): interpreter, compiled methods, stubs.
 *
 * hotspot_blob.h finds the blob of an address. Compiled methods save the frame pointer below the return address.
 * Interpreter frames are linked by the frame pointer and contain the caller's stack pointer. Memory may be hostile: a
 * result must lead to a return address.
 * Both halves include this file, behind v8.h, with the environment that v8.h and hotspot_blob.h ask for. Sources:
 * HotSpot's cpu/x86/frame_x86.cpp, cpu/x86/templateInterpreterGenerator_x86.cpp.
 */
#ifndef SP_UNWIND_HOTSPOT_H
#define SP_UNWIND_HOTSPOT_H

#include "unwind/hotspot_blob.h"
#include "unwind/x86_64/v8.h"

enum {
	SP_HOTSPOT_MAX_FRAME = 1 << 16, /* words */
	SP_HOTSPOT_AHEAD = 40,          /* bytes of a prologue */
	SP_HOTSPOT_EXTENDED =
	    256 << 10, /* bytes that a callee of the interpreter's may have put on its caller's frame */
	SP_HOTSPOT_FRAMELESS = 1 << 30, /* of a leaf without a frame: the frame pointer is the caller's */
	SP_HOTSPOT_UNSAVED = 1 << 29,   /* the frame is there, but the frame pointer is not saved yet */
};

/* Whether it is a return address. Those into the interpreter need no call in front: it pushes them itself. */
SP_STEP_INLINE int sp_hotspot_is_return(SP_WALK *w, const struct sp_hotspot *h, sp_u64 ra)
{
	return ra - h->interpreter < h->interpreter_bytes || sp_env_is_return(w, ra);
}

SP_STEP_INLINE int sp_hotspot_makes_room(const sp_u8 *code)
{
	return code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec;
}

#ifndef __bpf__ /* as with sp_leaf() */
/* Whether the frame is still to be made: `sub $n,%rsp` is among the n bytes before it is complete. */
SP_STEP_INLINE sp_u32 sp_env_hotspot_ahead(const sp_u8 *code, sp_u64 n)
{
	for (sp_u32 i = 0; i < SP_HOTSPOT_AHEAD && i < n; i++)
		if (sp_hotspot_makes_room(code + i))
			return 1;
	return 0;
}
#endif

/* mov %rbp,n(%rsp), in frames made without a push. */
SP_STEP_INLINE int sp_hotspot_saves(const sp_u8 *code)
{
	return code[0] == 0x48 && code[1] == 0x89 && (code[2] == 0x6c || code[2] == 0xac) && code[3] == 0x24;
}

/*
 * The safepoint poll before a compiled method's `ret`, when its frame is gone: cmp n(%r15),%rsp; ja. In older versions:
 * a test of a page, direct or through r10.
 */
SP_STEP_INLINE int sp_hotspot_polls(const sp_u8 *code)
{
	if (code[0] == 0x49 && code[1] == 0x3b && (code[2] == 0x67 || code[2] == 0xa7))
		return 1;
	if ((code[0] == 0x77 && code[2] == 0xc3) || (code[0] == 0x0f && code[1] == 0x87 && code[6] == 0xc3))
		return 1;
	if (code[0] == 0x85 && code[1] == 0x05)
		return code[6] == 0xc3;
	return (code[0] == 0x41 && code[1] == 0x85 && code[2] == 0x02 && code[3] == 0xc3) ||
	       (code[0] == 0x4d && code[1] == 0x8b && code[7] == 0x41 && code[8] == 0x85 && code[10] == 0xc3);
}

/*
 * The distance from a compiled leaf's stack pointer to its return address, with SP_HOTSPOT_*. early: bytes up to where
 * the frame is complete.
 */
SP_STEP_INLINE sp_u32 sp_hotspot_leaf(const sp_u8 *code, sp_u64 early, sp_u32 full)
{
	if (code[0] == 0xc3 || sp_hotspot_polls(code))
		return SP_HOTSPOT_FRAMELESS;
	if (code[0] == 0x5d) /* pop %rbp */
		return 8;
	if (!early)
		return full;
	if (code[0] == 0x55)
		return SP_HOTSPOT_FRAMELESS;
	if (sp_frameless(code) == 8)
		return 8;
	if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec)
		return sp_hotspot_saves(code + 4) ? SP_HOTSPOT_FRAMELESS : 8;
	if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec)
		return sp_hotspot_saves(code + 7) ? SP_HOTSPOT_FRAMELESS : 8;
	if (sp_hotspot_saves(code))
		return full | SP_HOTSPOT_UNSAVED;
	return sp_env_hotspot_ahead(code, early) ? SP_HOTSPOT_FRAMELESS : full;
}

/* Steps to the caller, whose return address is `up` bytes above the stack pointer. */
SP_STEP_INLINE int sp_hotspot_pop(SP_WALK *w, const struct sp_hotspot *h, struct sp_regs *regs, sp_u32 *how, sp_u32 up)
{
	sp_u32 bytes = up & ~(SP_HOTSPOT_FRAMELESS | SP_HOTSPOT_UNSAVED);
	sp_u64 fp = regs->fp, ra;
	int keeps = up & (SP_HOTSPOT_FRAMELESS | SP_HOTSPOT_UNSAVED);

	if ((!keeps && sp_env_stack(w, regs->sp + bytes - 8, &fp)) || sp_env_stack(w, regs->sp + bytes, &ra) ||
	    !sp_hotspot_is_return(w, h, ra))
		return -1;
	regs->ip = ra;
	regs->sp += bytes + 8;
	regs->fp = fp;
	*how = SP_HOW_RUNTIME | (keeps ? *how & SP_HOW_NO_FP : 0);
	return 0;
}

SP_STEP_INLINE int sp_step_compiled(SP_WALK *w, const struct sp_hotspot *h, struct sp_regs *regs, sp_u32 *how)
{
	const struct sp_hotspot_blob_info *m = &w->blob_info;
	sp_u32 full = 8 * m->frame - 8, up = full;
	sp_u64 complete = m->code + m->complete, early;

	if (m->frame < 2 || m->frame > SP_HOTSPOT_MAX_FRAME)
		return -1;
	if (*how & SP_HOW_EXACT) {
		if (sp_env_around(w, regs->ip))
			return -1;
		early = (sp_s32)m->complete >= 0 && regs->ip < complete ? complete - regs->ip : 0;
		up = sp_hotspot_leaf(w->code + SP_CODE_BEFORE, early, full);
	}
	if (!sp_hotspot_pop(w, h, regs, how, up))
		return 0;
	/* A leaf may have pushed one register: the server compiler's comparison of strings does. */
	return *how & SP_HOW_EXACT && up == full ? sp_hotspot_pop(w, h, regs, how, full + 8) : -1;
}

/*
 * Steps by the frame pointer. tells_sp: the caller's stack pointer is in the word below it, as in the interpreter's
 * frames.
 */
SP_STEP_INLINE int sp_hotspot_chain(SP_WALK *w, const struct sp_hotspot *h, struct sp_regs *regs, sp_u32 *how,
				    int tells_sp)
{
	sp_u64 fp = regs->fp, sp = fp + 16, next, ra;

	if (*how & SP_HOW_NO_FP || fp & 7 || fp < regs->sp || fp - regs->sp >= SP_GUESS_REACH)
		return -1;
	if (tells_sp && (sp_env_stack(w, fp - 8, &sp) || sp & 7 || sp < fp || sp - fp > SP_HOTSPOT_EXTENDED))
		return -1;
	if (sp_env_stack(w, fp, &next) || sp_env_stack(w, fp + 8, &ra) || !sp_hotspot_is_return(w, h, ra))
		return -1;
	regs->ip = ra;
	regs->sp = sp;
	regs->fp = next;
	*how = SP_HOW_RUNTIME;
	return 0;
}

/* Steps from a leaf of the interpreter without a frame, to a stack pointer taken from a register. */
SP_STEP_INLINE int sp_hotspot_to(SP_WALK *w, const struct sp_hotspot *h, struct sp_regs *regs, sp_u32 *how, sp_u64 ra,
				 sp_u64 sp)
{
	if (sp & 7 || sp < regs->sp || sp - regs->sp > SP_HOTSPOT_EXTENDED || !sp_hotspot_is_return(w, h, ra))
		return -1;
	regs->ip = ra;
	regs->sp = sp;
	*how = SP_HOW_RUNTIME | (*how & SP_HOW_NO_FP);
	return 0;
}

/*
 * At a method's entry the caller's stack pointer is in r13 (later the bytecode's address is), and the return address on
 * the stack, or in rax while room is made for local variables. A method ends in leave; pop %r13; mov %rbx,%rsp; jmp
 * *%r13.
 */
SP_STEP_INLINE int sp_hotspot_entry(SP_WALK *w, const struct sp_hotspot *h, struct sp_regs *regs, sp_u32 *how)
{
	const sp_u8 *code = w->code + SP_CODE_BEFORE;
	sp_u64 sender = regs->r[13], base = regs->r[SP_REG_BASE], ra;

	if (sp_env_around(w, regs->ip) || sp_env_stack(w, regs->sp, &ra))
		return -1;
	if (code[0] == 0x41 && code[1] == 0x5d)
		return sp_hotspot_to(w, h, regs, how, ra, base);
	if (code[0] == 0x48 && ((code[1] == 0x8b && code[2] == 0xe3) || (code[1] == 0x89 && code[2] == 0xdc)))
		return sp_hotspot_to(w, h, regs, how, sender, base);
	if (code[0] == 0x41 && code[1] == 0xff && code[2] == 0xe5)
		return sp_hotspot_to(w, h, regs, how, sender, regs->sp);
	if (regs->fp >= regs->sp && regs->fp < sender)
		return -1;
	if (sp_frameless(code) == 8 && sp_env_stack(w, regs->sp + 8, &ra))
		return -1;
	if (!sp_hotspot_to(w, h, regs, how, ra, sender))
		return 0;
	return sp_hotspot_to(w, h, regs, how, regs->r[0], sender);
}

SP_STEP_INLINE int sp_step_interpreted(SP_WALK *w, const struct sp_hotspot *h, struct sp_regs *regs, sp_u32 *how)
{
	if (*how & SP_HOW_EXACT && !sp_hotspot_entry(w, h, regs, how))
		return 0;
	return sp_hotspot_chain(w, h, regs, how, 1);
}

/*
 * The size of a stub's frame is not known, but stubs that make calls keep a frame pointer. A leaf, or an adapter
 * between compiled code and the interpreter, may have its return address on top of the stack.
 */
SP_STEP_INLINE int sp_step_stub(SP_WALK *w, const struct sp_hotspot *h, struct sp_regs *regs, sp_u32 *how)
{
	sp_u64 ra, sender = regs->r[13];
	const sp_u8 *code = w->code + SP_CODE_BEFORE;

	if (!(*how & SP_HOW_EXACT) || sp_env_around(w, regs->ip))
		return sp_hotspot_chain(w, h, regs, how, 0);
	if (code[0] == 0x5d || sp_frameless(code) == 8)
		return sp_hotspot_pop(w, h, regs, how, 8);
	if (sp_env_stack(w, regs->sp, &ra) || !sp_hotspot_is_return(w, h, ra))
		return sp_hotspot_chain(w, h, regs, how, 0);
	if (sender <= regs->sp + 8 || sender - regs->sp > 4096)
		sender = regs->sp + 8;
	return sp_hotspot_to(w, h, regs, how, ra, sender);
}

/* The step from a frame at pc. */
SP_STEP_INLINE sp_u32 sp_step_hotspot(SP_WALK *w, struct sp_hotspot *h, sp_u64 pc, struct sp_regs *regs, sp_u32 *how)
{
	int r = -1;

	if (!h->is_open && sp_hotspot_open(w, h))
		return sp_step_guess(w, regs, how);
	if (pc - h->interpreter < h->interpreter_bytes)
		r = sp_step_interpreted(w, h, regs, how);
	else if (!sp_hotspot_blob(w, h, pc))
		r = w->blob_info.frame ? sp_step_compiled(w, h, regs, how) : sp_step_stub(w, h, regs, how);
	return r ? sp_step_guess(w, regs, how) : SP_STEP_NEXT;
}

#endif
