/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kept_code.s: hand-written functions that count their CFA from a register while they call others. kept.c looks at
 * their rows, and walks stacks made up of them; nothing here is run.
 */
	.text

	.macro function name
	.balign 32
	.globl kept_\name
	.hidden kept_\name
	.type kept_\name, @function
kept_\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size kept_\name, . - kept_\name
	.endm

	/* Where a stack begins. */
	function root
	.cfi_undefined %rip
	call	kept_by_rax
	hlt
	end root

	/* The callers. A label behind each call: what the callee returns to. */
	.macro calls name, where
	call	kept_\name
	.globl kept_\where\()_\name
	.hidden kept_\where\()_\name
kept_\where\()_\name:
	.endm
	function by_rax
	mov	%rsp, %rax
	.cfi_def_cfa_register %rax
	sub	$264, %rsp
	and	$-64, %rsp
	calls	leaf, rax
	calls	nests, rax
	calls	writes, rax
	calls	jumps, rax
	mov	%rax, %rsp
	.cfi_def_cfa_register %rsp
	ret
	end by_rax

	function by_r11
	mov	%rsp, %r11
	.cfi_def_cfa_register %r11
	sub	$264, %rsp
	calls	leaf, r11
	calls	writes, r11
	calls	writes_below, r11
	calls	writes_elsewhere, r11
	calls	returns_anywhere, r11
	calls	system, r11
	calls	shares, r11
	calls	shares_too, r11
	mov	%r11, %rsp
	.cfi_def_cfa_register %rsp
	ret
	end by_r11

	/* Nobody knows whom it calls, so that nobody is said to keep r10. */
	function by_r10
	mov	%rsp, %r10
	.cfi_def_cfa_register %r10
	sub	$264, %rsp
	calls	leaf, r10
	call	*%rdx
	mov	%r10, %rsp
	.cfi_def_cfa_register %rsp
	ret
	end by_r10

	/* CFA = *(rsp + 8 + r9 * 8) + 8: a leaf's. */
	function by_index
	.cfi_escape 0x0f, 0x0a, 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08
	nop
	.cfi_def_cfa %rsp, 8
	ret
	end by_index

	/* The callees. */
	function leaf
	mov	$10, %ecx
1:	addpd	%xmm0, %xmm1
	dec	%ecx
	jnz	1b
	push	%rdx
	.cfi_adjust_cfa_offset 8
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	ret
	end leaf

	function nests
	test	%edi, %edi
	jz	1f
	call	kept_leaf
1:	jmp	kept_leaf
	end nests

	function writes
	mov	$1, %al
	nop
	ret
	end writes

	function writes_below
	nop
	call	kept_writes
	ret
	end writes_below

	function writes_elsewhere
	jc	kept_elsewhere
	ret
	end writes_elsewhere
	function elsewhere
	xor	%r11d, %r11d
	ret
	end elsewhere

	function jumps
	jmp	*%rdx
	end jumps

	function returns_anywhere
	mov	%rdx, (%rsp)
	ret
	end returns_anywhere

	function system
	syscall
	ret
	end system

	function shares
	mov	%rdx, %r11
	.globl	kept_shares_too
	.hidden	kept_shares_too
kept_shares_too:
	nop
	ret
	end shares

	/* Pops its return address, which then lies below its frame. */
	function pops
	pop	%rdx
	.cfi_def_cfa_offset 0
	.globl	kept_popped
	.hidden	kept_popped
kept_popped:
	nop
	push	%rdx
	.cfi_def_cfa_offset 8
	ret
	end pops

	.section .note.GNU-stack, "", @progbits
