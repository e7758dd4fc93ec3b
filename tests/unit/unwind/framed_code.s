# SPDX-License-Identifier: GPL-2.0-or-later
# Functions for framed.c, as compilers write them that keep frame pointers, and as they do not: without unwind
# information, behind int3. Labels are instructions.
	.text
.macro label name
	.globl \name
\name:
.endm
.macro function name
	.p2align 4, 0xcc
	.fill 16, 1, 0xcc
	.type \name, @function
	label \name
.endm
.macro enter
	push %rbp
	mov %rsp, %rbp
.endm

# The code behind the computed jump is reached by nothing else.
function framed_table
	push %rbp
label framed_pushed
	mov %rsp, %rbp
	push %rbx
label framed_inside
	lea framed_places(%rip), %rcx
	movslq (%rcx, %rdi, 4), %rax
	add %rcx, %rax
	mov %rdi, %rbx
	jmp *%rax
1:	mov %rsi, %rdi
label framed_call
	call framed_tail
	jmp 3f
2:	xor %eax, %eax
3:	cmp $7, %eax
	jne 4f
	pop %rbx
label framed_last
	pop %rbp
label framed_return
	ret
4:	call framed_never
	int3
	ud2
	ud1 1(%eax), %eax

function framed_tail
	enter
	mov %rsi, %rdi
	pop %rbp
label framed_leaves
	jmp framed_table

function framed_never
	enter
label framed_never_call
	call framed_table
	ud2

# The register is a number here.
function framed_number
	enter
	mov $5, %ebp
label framed_number_call
	call framed_tail
	pop %rbp
	ret

# It begins without a frame, and ends so.
function framed_late
	test %rdi, %rdi
	je 1f
	enter
label framed_late_call
	call framed_tail
	pop %rbp
label framed_late_end
1:	ret

# It makes none.
function framed_short
	mov (%rdi), %rax
	test %rax, %rax
	je 1f
	lea 1(%rax), %rax
label framed_short_return
1:	ret

# It returns early, and makes its frame behind that; its other end is behind this one.
function framed_twice
	cmp %rsi, %rdi
	je 2f
	test %al, %al
	je 1f
label framed_twice_behind
	lea 2(%rdi), %rax
	ret
label framed_twice_second
1:	mov %rdi, %rax
	enter
label framed_twice_call
	call framed_tail
	pop %rbp
	jmp framed_tail
2:	xor %eax, %eax
	ret

# Without a frame, but the stack pointer has moved.
function framed_pushes
	mov %rdi, %rax
	push %rdi
	pop %rdi
	ret

# It calls without a frame.
function framed_calls_bare
	nop
label framed_calls
	call framed_tail
	ret

# A part of another function, as it jumps back there.
function framed_jumps_back
	mov %rdi, %rax
	test %rax, %rax
	je framed_late_call
	ret

# One place, with the frame and without.
function framed_mixed
	test %rdi, %rdi
	je 1f
	enter
label framed_mixed_call
	call framed_tail
1:	nop
	pop %rbp
	ret

# Behind the end of one stands another, without a frame.
function framed_first
	enter
label framed_first_call
	call framed_tail
	.byte 0x0f, 0x1f, 0x44, 0, 0 # a nop of 5 bytes, so that there is no gap
	pop %rbp
	ret
label framed_bare
	mov %rdi, %rax
label framed_bare_return
	ret

# The same, where a jump leads to somewhere that may be behind the end: nobody knows.
function framed_open
	enter
	lea framed_places(%rip), %rcx
	movslq (%rcx, %rdi, 4), %rax
	add %rcx, %rax
	jmp *%rax
1:	nop
label framed_open_call
	call framed_tail
	.fill 4, 1, 0x90
	pop %rbp
	ret
	mov %rdi, %rax
	ret

# It goes elsewhere with its frame: to what only such jumps reach.
function framed_out
	enter
	test %rdi, %rdi
	je framed_cold
label framed_out_call
	call framed_tail
	pop %rbp
	ret
function framed_cold
label framed_cold_call
	call framed_tail
	pop %rbp
	ret

# By way of a pointer, with its frame.
function framed_away
	enter
label framed_away_call
	call framed_tail
	jmp *%rax

	.p2align 4, 0xcc
	.section .rodata
	.p2align 2
framed_places:
	.long 1b - framed_places, 2b - framed_places
	.section .note.GNU-stack, "", @progbits
