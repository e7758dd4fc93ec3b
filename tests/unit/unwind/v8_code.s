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

# Too far from its start for its code to tell; and near, but with a byte that may be the end of another function.
builtin v8_far
	movabs $0x1122334455667788, %rax
	movabs $0x1122334455667788, %rbx
	push %rbp
	mov %rsp, %rbp
	pop %rbp
	ret $8

builtin v8_operand
	mov $0x5d, %eax
	push %rbp
	mov %rsp, %rbp
	pop %rbp
	ret $8

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

# It leaves arguments on the stack for the next one.
builtin v8_pushes
	test %rdi, %rdi
	je 1f
	jmp v8_tail
1:	push %rdi
	push %rsi
	jmp v8_tail

# Its loop is reached by a jump back only; what is set aside moves the stack.
builtin v8_loops
	jmp 2f
1:	dec %rdi
	js 3f
2:	test %rdi, %rdi
	jne 1b
	ret
3:	push %rdi
	call v8_tail
	pop %rdi
	jmp 2b

# A bytecode's, in its interpreted function's frame.
builtin v8_bytecode
	movzbl 1(%r12), %ebx
	mov (%r15, %rbx, 8), %rcx
	jmp *%rcx

	.p2align 6, 0xcc
	.type v8_behind, @function
v8_behind:
	.cfi_startproc
	ret
	.cfi_endproc
	.size v8_behind, . - v8_behind

	.section .note.GNU-stack, "", @progbits
