/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assembly_code.S: hand-written code as libraries have it: the CFA in rax, r10, r11, or told by an expression. */
	.text

/* void asm_rax(void): the CFA is in rax while the stack pointer is aligned downwards; r10 and r11 likewise. */
.macro in_register name, reg, number
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	movq	%rsp, %\reg
	.cfi_def_cfa_register \number
	subq	$264, %rsp
	andq	$-64, %rsp
	movl	$200000, %ecx
1:	movq	%rcx, (%rsp)
	subl	$1, %ecx
	jnz	1b
	movq	%\reg, %rsp
	.cfi_def_cfa_register 7
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm
	in_register asm_rax, rax, 0
	in_register asm_r10, r10, 10
	in_register asm_r11, r11, 11

/*
 * void asm_kept(void): the CFA is in rax while others are called, as in libcrypto's AES-GCM: they leave it alone. One
 * of them calls the other, and has a frame while it does.
 */
	.globl	asm_kept
	.type	asm_kept, @function
	.p2align 4
asm_kept:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register 0
	subq	$264, %rsp
	andq	$-64, %rsp
	call	asm_counts
	call	asm_nests
	movq	%rax, %rsp
	.cfi_def_cfa_register 7
	ret
	.cfi_endproc
	.size	asm_kept, . - asm_kept

	.globl	asm_nests
	.type	asm_nests, @function
	.p2align 4
asm_nests:
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	call	asm_counts
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	asm_nests, . - asm_nests

	.globl	asm_counts
	.type	asm_counts, @function
	.p2align 4
asm_counts:
	.cfi_startproc
	movl	$100000, %ecx
1:	movq	%rcx, -8(%rsp)
	subl	$1, %ecx
	jnz	1b
	ret
	.cfi_endproc
	.size	asm_counts, . - asm_counts

/* void asm_index(void): the old stack pointer lies behind an array on the stack, as in bn_mul_mont. */
	.globl	asm_index
	.type	asm_index, @function
	.p2align 4
asm_index:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register 0
	movl	$30, %r9d
	subq	$256, %rsp
	andq	$-64, %rsp
	movq	%rax, 8(%rsp, %r9, 8)
	.cfi_escape 0x0f, 0x0a, 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08 /* *(rsp + 8 + r9 * 8) + 8 */
	xorl	%eax, %eax
	movl	$100000, %ecx
1:	movq	%rcx, (%rsp)
	subl	$1, %ecx
	jnz	1b
	movq	8(%rsp, %r9, 8), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	asm_index, . - asm_index

/* void asm_deref(void (*f)(void)): the old stack pointer is in memory: CFA = *(rsp + 16) + 8; calls f. */
	.globl	asm_deref
	.type	asm_deref, @function
	.p2align 4
asm_deref:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register 0
	subq	$88, %rsp
	andq	$-32, %rsp
	movq	%rax, 16(%rsp)
	.cfi_escape 0x0f, 0x05, 0x77, 0x10, 0x06, 0x23, 0x08 /* DW_CFA_def_cfa_expression: breg7+16, deref, plus_uconst 8 */
	call	*%rdi
	movq	16(%rsp), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size	asm_deref, . - asm_deref

/* void asm_saved(void (*f)(void)): rbp holds a number, not a frame; it is saved at an odd place, and calls f. */
	.globl	asm_saved
	.type	asm_saved, @function
	.p2align 4
asm_saved:
	.cfi_startproc
	subq	$56, %rsp
	.cfi_adjust_cfa_offset 56
	movq	%rbp, 24(%rsp)
	.cfi_rel_offset rbp, 24
	movl	$12345, %ebp
	call	*%rdi
	movq	24(%rsp), %rbp
	.cfi_restore rbp
	addq	$56, %rsp
	.cfi_adjust_cfa_offset -56
	ret
	.cfi_endproc
	.size	asm_saved, . - asm_saved

	.section .note.GNU-stack, "", @progbits
