/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call.h: where a thread's saved registers have what tells a system call.
 *
 * The tracepoints sys_enter and sys_exit have their address as first argument; their layout is that of struct
 * user_regs_struct. No state.
 */
#ifndef SP_RECIPE_X86_64_CALL_H
#define SP_RECIPE_X86_64_CALL_H

#include <stddef.h>
#include <sys/user.h>

enum {
	SP_CALL_NUMBER_AT = offsetof(struct user_regs_struct, orig_rax),
	SP_CALL_MODE_AT = offsetof(struct user_regs_struct, cs),
	SP_CALL_MODE = 0x33, /* of 64-bit code: others have other numbers */
};

#endif
