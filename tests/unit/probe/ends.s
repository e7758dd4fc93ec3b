/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ends.s: functions whose calls end in different ways; the byte behind each `ret` by which the one named ends tells its number. */
	.macro START name
	.globl	\name
	.type	\name, @function
	.balign 16
\name:	.cfi_startproc
	.endm
	.macro FINISH name
	.cfi_endproc
	.size	\name, . - \name
	.endm
	/* a test of al cannot be reached: it is the mark */
	.macro MARKED number
	ret
	test	$\number, %al
	.endm

	.text
	START twice
	test	%edi, %edi
	je	1f
	MARKED	1
1:	MARKED	2
	FINISH twice

	.type	hidden, @function
hidden:	.cfi_startproc
	MARKED	3
	FINISH hidden
	START tail
	jmp	hidden
	FINISH tail

	START shown
	MARKED	4
	FINISH shown
	START by_plt
	jmp	shown@PLT
	FINISH by_plt
	START by_got
	test	%edi, %edi
	je	2f
	jmp	*shown@GOTPCREL(%rip)
2:	MARKED	5
	FINISH by_got

	/* its rare part lies elsewhere, and comes back */
	START split
	test	%edi, %edi
	jne	split_cold
3:	MARKED	6
	FINISH split
	.type	split_cold, @function
split_cold:	.cfi_startproc
	cmp	$1, %edi
	je	3b
	MARKED	7
	FINISH split_cold

	/* both go on in each other */
	START ping
	test	%edi, %edi
	jne	pong
	MARKED	8
	FINISH ping
	START pong
	test	%esi, %esi
	jne	ping
	rep ret
	test	$9, %al
	FINISH pong

	/* no end of these is seen */
	START outside
	jmp	elsewhere@PLT
	FINISH outside
	START anywhere
	jmp	*%rdi
	FINISH anywhere
	.section .note.GNU-stack, "", @progbits
