/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call.h: where a thread's saved registers have the number and the mode of a system call.
 *
 * The address of these registers is the first argument of the tracepoints sys_enter and sys_exit; their layout is that
 * of struct user_regs_struct. No state.
 */
#ifndef SP_RECIPE_X86_64_CALL_H
#define SP_RECIPE_X86_64_CALL_H

#include <stddef.h>
#include <sys/user.h>

enum {
	SP_CALL_NUMBER_AT = offsetof(struct user_regs_struct, orig_rax),
	SP_CALL_MODE_AT = offsetof(struct user_regs_struct, cs),
	SP_CALL_MODE = 0x33, /* cs of 64-bit code: calls of 32-bit code have other numbers */
};

#endif
