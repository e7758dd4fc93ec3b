# SPDX-License-Identifier: GPL-2.0-or-later
# Functions for verify.c: without unwind information but for the last. Labels are instructions.
	.text
.macro function name
	.p2align 4, 0x90
	.globl \name
	.type \name, @function
\name:
.endm

# As compilers write functions that all keep a frame pointer.
	.p2align 4, 0xcc
	.globl verify_first
verify_first:
	push %rbp
	.globl verify_second
verify_second:
	mov %rsp, %rbp
	call verify_register
	pop %rbp
	ret
	.p2align 4, 0xcc

function verify_frame
	push %rbp
	.globl verify_pushed
verify_pushed:
	mov %rsp, %rbp
	push %rbx
	.globl verify_call
verify_call:
	call verify_register
	pop %rbx
	.globl verify_last
verify_last:
	pop %rbp
	.globl verify_return
verify_return:
	ret

# The frame pointer's register has a number.
function verify_register
	push %rbp
	mov %edi, %ebp
	.globl verify_other
verify_other:
	call verify_told
	add %ebp, %eax
	pop %rbp
	ret

function verify_told
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	.globl verify_covered
verify_covered:
	call verify_frame
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.section .note.GNU-stack, "", @progbits
