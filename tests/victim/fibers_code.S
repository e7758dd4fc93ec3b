/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fibers_code.S: what changes stacks, and, without unwind information, what a fiber begins with and returns to. */
	.text

/* void fibers_switch(void **from, void *to) */
	.globl	fibers_switch
	.type	fibers_switch, @function
	.p2align 4
fibers_switch:
	.cfi_startproc
	.irp reg, rbx, rbp, r12, r13, r14, r15
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
	.endr
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	.irp reg, r15, r14, r13, r12, rbp, rbx
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
	.endr
	ret
	.cfi_endproc
	.size	fibers_switch, . - fibers_switch

/* void fibers_maker(struct maker *ret): the entry pushes where the function in rbx is to return to. */
	.globl	fibers_maker
	.type	fibers_maker, @function
	.p2align 4
fibers_maker:
	leaq	1f(%rip), %rax
	movq	%rax, (%rdi)
	leaq	2f(%rip), %rax
	movq	%rax, 8(%rdi)
	ret
1:	pushq	%rbp
	jmp	*%rbx
2:	xorl	%edi, %edi
	movl	$60, %eax
	syscall
	hlt
	.size	fibers_maker, . - fibers_maker

	.section .note.GNU-stack, "", @progbits
