/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks.S: functions that do nothing, for probes to sit on. A nop of one byte costs a probe least on every kernel (it is
 * not run elsewhere), and nothing was pushed yet: the caller is where the return address says.
 */
	.section .note.GNU-stack, "", @progbits

	.macro HOOK name
	.globl \name
	.type \name, @function
	.balign 16
\name:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	.text
	HOOK sp_memory_taken
	HOOK sp_memory_freed
