/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_code.s: functions that run something on another stack as Go's systemstack does, and some that do it otherwise.
 * go_switch.c reads them; nothing here is run.
 */
	.text

	.macro function name
	.balign 16
	.globl go_\name
	.hidden go_\name
	.type go_\name, @function
go_\name:
	.endm
	.macro end name
	.globl go_\name\()_end
	.hidden go_\name\()_end
go_\name\()_end:
	.endm
	.macro place name
	.globl go_\name
	.hidden go_\name
go_\name:
	.endm

	/* away: to the stack of the goroutine in rdx, whose address goes into \reg; \to: how the thread knows it */
	.macro away name, reg=%r14, to=%fs:-8
	mov	8(%rsp), %rdi
	call	go_other
	mov	%rdx, \to
	mov	%rdx, \reg
	mov	56(%rdx), %rbx
	mov	%rbx, %rsp
	place	\name\()_from
	mov	(%rdi), %rdi
	call	*%rdi
	.endm
	/* back: by these three words */
	.macro back name, first=0x30, second=0xc0, third=0x38
	mov	%fs:-8, %rax
	mov	\first(%rax), %rbx
	mov	\second(%rbx), %rax
	mov	%rax, %fs:-8
	mov	\third(%rax), %rsp
	place	\name\()_to
	movq	$0, \third(%rax)
	ret
	.endm

	function switch
	away	switch
	back	switch
	end	switch

	function offsets
	away	offsets
	back	offsets, 0x1ff8, 8, 0
	end	offsets

	/* The thread's word is found by a register, as in programs that may be loaded anywhere. */
	function anywhere
	mov	$-8, %rcx
	away	anywhere, to=%fs:(%rcx)
	mov	$-8, %rcx
	mov	%fs:(%rcx), %rax
	mov	0x30(%rax), %rbx
	mov	0xc0(%rbx), %rax
	mov	0x38(%rax), %rsp
	place	anywhere_to
	ret
	end	anywhere

	/* Before Go 1.17 no register has the goroutine. */
	function no_register
	away	no_register, %r13
	back	no_register
	end	no_register

	function too_far
	away	too_far
	back	too_far, 0x2000
	end	too_far

	function crooked
	away	crooked
	back	crooked, 0x34
	end	crooked

	function another_way
	away	another_way
	mov	%fs:-8, %rax
	mov	0x30(%rax), %rbx
	add	$16, %rbx
	mov	0xc0(%rbx), %rax
	mov	0x38(%rax), %rsp
	ret
	end	another_way

	function two_words
	away	two_words
	mov	%fs:-8, %rax
	mov	0x30(%rax), %rbx
	mov	0xc0(%rbx), %rsp
	ret
	end	two_words

	function other
	ret
	end	other
	.section .note.GNU-stack, "", @progbits
