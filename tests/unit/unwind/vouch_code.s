# SPDX-License-Identifier: GPL-2.0-or-later
# Functions for vouch.c: without unwind information but for the last. Labels are instructions.
	.text
.macro function name
	.p2align 4, 0x90
	.globl \name
	.type \name, @function
\name:
.endm

function vouch_frame
	push %rbp
	.globl vouch_pushed
vouch_pushed:
	mov %rsp, %rbp
	push %rbx
	.globl vouch_call
vouch_call:
	call vouch_register
	pop %rbx
	.globl vouch_last
vouch_last:
	pop %rbp
	.globl vouch_return
vouch_return:
	ret

# The frame pointer's register has a number.
function vouch_register
	push %rbp
	mov %edi, %ebp
	.globl vouch_other
vouch_other:
	call vouch_told
	add %ebp, %eax
	pop %rbp
	ret

function vouch_told
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	.globl vouch_covered
vouch_covered:
	call vouch_frame
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.section .note.GNU-stack, "", @progbits
