/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_code.s: functions without unwind information, one for each way in which assembly makes its frames. derive.c
 * steps through them. Each calls the function that it is given, but for the leaves.
 */
	.text
	.hidden derive_pushes, derive_pointer, derive_aligned, derive_aligned_leaf, derive_drap, derive_dynamic
	.hidden derive_enter, derive_table, derive_tail, derive_helper, derive_loop, derive_entries, derive_unnamed
	.hidden derive_passes, derive_goes_on, derive_round, derive_endless

	.macro function name
	.balign 32
	.globl \name
	.type \name, @function
\name:
	.endm

	function derive_pushes /* (f) */
	push	%rbx
	push	%rbp
	push	%r12
	sub	$48, %rsp
	mov	%rdi, %rbx
	xor	%ebp, %ebp
	test	%rdi, %rdi
	je	1f
	call	*%rbx
	lea	-16(%rsp), %rsp
	call	*%rbx
	lea	16(%rsp), %rsp
1:	add	$48, %rsp
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	function derive_pointer
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	push	%r12
	call	*%rdi
	mov	-8(%rbp), %rbx
	lea	-16(%rbp), %rsp
	pop	%r12
	pop	%rbx
	leave
	ret

	function derive_aligned /* as x264's and dav1d's: the old stack pointer at the end of the aligned frame */
	push	%rbx
	push	%rbp
	mov	%rsp, %rbp
	mov	%rdi, %rbx
	and	$-64, %rsp
	sub	$192, %rsp
	mov	%rbp, 184(%rsp)
	xor	%ebp, %ebp
	call	*%rbx
	pushfq
	popfq
	nop
	mov	184(%rsp), %rsp
	pop	%rbp
	pop	%rbx
	ret

	function derive_aligned_leaf /* kept in a register that a call would not keep */
	mov	%rsp, %r11
	and	$-32, %rsp
	sub	$64, %rsp
	movq	%rdi, 8(%rsp)
	movq	8(%rsp), %rax
	mov	%r11, %rsp
	ret

	function derive_drap /* as gcc does it */
	lea	8(%rsp), %r10
	and	$-32, %rsp
	push	-8(%r10)
	push	%rbp
	mov	%rsp, %rbp
	push	%r10
	sub	$40, %rsp
	call	*%rdi
	mov	-8(%rbp), %r10
	leave
	lea	-8(%r10), %rsp
	ret

	function derive_dynamic
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	mov	%rdi, %rbx
	mov	$200, %eax
	sub	%rax, %rsp
	and	$-16, %rsp
	call	*%rbx
	mov	-8(%rbp), %rbx
	leave
	ret

	function derive_enter
	enter	$32, $0
	push	%rdi
	push	%rdi
	call	*%rdi
	pop	%rdi
	pop	%rdi
	leave
	ret

	function derive_table /* (f, which): a computed jump inside a frame */
	push	%rbx
	sub	$16, %rsp
	mov	%rdi, %rbx
	lea	derive_places(%rip), %rdx
	movslq	(%rdx,%rsi,4), %rax
	add	%rdx, %rax
	jmp	*%rax
.Lfirst:
	call	*%rbx
	jmp	.Lout
.Lsecond:
	push	%rbp
	push	%rbp
	call	*%rbx
	pop	%rbp
	pop	%rbp
	jmp	.Lout
.Lthird:
	nop
.Lout:
	add	$16, %rsp
	pop	%rbx
	ret

	function derive_tail
	push	%rbx
	mov	%rdi, %rbx
	call	derive_helper
	mov	%rbx, %rdi
	pop	%rbx
	jmp	derive_pushes

	.balign 32
	.type derive_helper, @function
derive_helper: /* keeps its return address only */
	mov	%rsp, %rax
	push	%rax
	push	%rcx
	add	$16, %rsp
	ret

	function derive_entries /* (f): a second way in, and a computed jump behind that */
	xor	%esi, %esi
	.balign 16
.Lentry:
	push	%rbx
	push	%r12
	sub	$24, %rsp
	mov	%rdi, %rbx
	lea	.Lentry(%rip), %r12
	movslq	derive_far(%rip), %rax
	add	%r12, %rax
	jmp	*%rax
	.skip	2, 0x90
.Lfar:
	xor	%eax, %eax
	call	*%rbx
	add	$24, %rsp
	pop	%r12
	pop	%rbx
	ret

	function derive_unnamed /* (f): its function has no name, and goes on where another might begin */
	push	%rbx
	mov	%rdi, %rbx
	lea	.Lunnamed(%rip), %rax
	call	*%rax
	pop	%rbx
	ret
	.balign 32
.Lunnamed:
	sub	$24, %rsp
	lea	.Lunnamed(%rip), %rdx
	movslq	derive_behind(%rip), %rax
	add	%rdx, %rax
	.balign 16
	.skip	14, 0x90
	jmp	*%rax
.Lbehind:
	mov	%rbx, %rdi
	call	*%rbx
	add	$24, %rsp
	ret

	function derive_goes_on /* (f): by a function that is one jump and only known by its address, as musl's qsort */
	push	%rbx
	mov	%rdi, %rdx
	lea	.Lone_jump(%rip), %rax
	call	*%rax
	pop	%rbx
	ret
	.balign 16
.Lone_jump:
	jmp	*%rdx

	function derive_passes /* (f): the first of two, called, goes on to the second that it was given, as in dav1d */
	push	%rbx
	mov	%rdi, %rbx
	lea	.Lsecond_pass(%rip), %rdx
	call	.Lfirst_pass
	pop	%rbx
	ret
	.balign 32
.Lfirst_pass:
	call	derive_helper
	nop
	jmp	*%rdx
	.balign 32
.Lsecond_pass:
	sub	$8, %rsp
	call	*%rbx
	add	$8, %rsp
	ret

	function derive_round /* (f): a call behind which a function might begin, and one that ends, before a function */
	push	%rbx
	mov	%rdi, %rbx
	test	%rdi, %rdi
	je	1f
	.balign 16
	.skip	14, 0x90
	call	*%rbx
	xor	%eax, %eax
	pop	%rbx
	ret
1:	call	.Lnever_returns
	.balign 32, 0x90
.Lafter_never: /* nothing says that it is a function */
	sub	$24, %rsp
	add	$24, %rsp
	ret
	.balign 32
.Lnever_returns:
	ud2

	function derive_endless /* (f): it never returns; only what it uses behind calls tells that these return */
	push	%rbx
	push	%rbp
	mov	%rdi, %rbx
	mov	%rsp, %rbp
	call	derive_helper
	lea	(%rdi), %rax
	call	derive_helper
	call	*%rbx
	mov	%rbp, %rdi
	call	derive_leave
	.balign 16
	.type derive_leave, @function
derive_leave: /* (frame): it goes on in that frame, and leaves it, of which its FDE knows */
	.cfi_startproc
	mov	%rdi, %rsp
	.cfi_def_cfa_offset 24
	pop	%rbp
	.cfi_def_cfa_offset 16
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc

	function derive_loop
	mov	$3, %ecx
1:	push	%rcx
	push	%rdi
	sub	$8, %rsp
	call	*%rdi
	add	$8, %rsp
	pop	%rdi
	pop	%rcx
	dec	%ecx
	jnz	1b
	ret

	.section .rodata
	.balign 4
derive_places:
	.long .Lfirst - derive_places
	.long .Lsecond - derive_places
	.long .Lthird - derive_places
derive_far:
	.long .Lfar - .Lentry
derive_behind:
	.long .Lbehind - .Lunnamed
	.section .note.GNU-stack, "", @progbits
