# SPDX-License-Identifier: GPL-2.0-or-later
# Functions as V8's builtins lie in a file, for v8.c: behind one another without unwind information, each at a multiple of
# 64 bytes behind int3. On both sides functions that have it.
	.text
	.globl v8_before, v8_behind
	.type v8_before, @function
v8_before:
	.cfi_startproc
	ret
	.cfi_endproc
	.size v8_before, . - v8_before

.macro builtin name
	.p2align 6, 0xcc
	.fill 63, 1, 0xcc
	.byte 0xcc
	.globl \name
\name:
.endm

builtin v8_frame
	push %rbp
	mov %rsp, %rbp
	push %rsi
	pop %rsi
	pop %rbp
	ret $16

builtin v8_checks
	cmp $1, %rcx
	jle 1f
1:	push %rbp
	mov %rsp, %rbp
	pop %rbp
	ret $24

builtin v8_moves
	push %r12
	push %rbp
	mov %rsp, %rbp
	pop %rbp
	pop %r12
	ret $8

builtin v8_tail
	mov %rdi, %rax
	jmp *%rax

	.p2align 6, 0xcc
	.type v8_behind, @function
v8_behind:
	.cfi_startproc
	ret
	.cfi_endproc
	.size v8_behind, . - v8_behind

	.section .note.GNU-stack, "", @progbits
