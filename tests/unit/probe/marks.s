# SPDX-License-Identifier: GPL-2.0-or-later
# marks.s: a library with marks for probes as sdt.h makes them, some of which make no sense. Linked for tests/unit/probe/usdt.c.

	.macro mark place, base, semaphore, provider, name, arguments
	.pushsection .note.stapsdt, "", @note
	.balign 4
	.long 8, 9f - 8f, 3
	.asciz "stapsdt"
	.balign 4
8:	.quad \place, \base, \semaphore
	.asciz "\provider"
	.asciz "\name"
	.asciz "\arguments"
9:	.balign 4
	.popsection
	.endm

	.section .stapsdt.base, "aG", @progbits, .stapsdt.base, comdat
	.weak _.stapsdt.base
_.stapsdt.base:
	.zero 1
	.data
semaphore:
	.word 0
	.bss
nowhere:
	.zero 8

	.text
	.globl f
	.type f, @function
f:	.cfi_startproc
1:	nop
	ret
2:	nop
	ret
	.cfi_endproc
	.size f, .-f
	mark 1b, _.stapsdt.base, semaphore, one, plain, "8@%rdi -4@$3"
	mark 2b, _.stapsdt.base, 0, one, plain, ""
	mark 2b, _.stapsdt.base, 0, another, mark, ""
# The same place twice is once.
	mark 2b, _.stapsdt.base, 0, another, mark, ""
# As if the file had been moved by 0x10000 since it was linked.
	mark 1b+0x10000, _.stapsdt.base+0x10000, semaphore+0x10000, one, moved, ""
# Bad: no code there; a counter in code; one that is not in the file; no name.
	mark semaphore, _.stapsdt.base, 0, one, bad, ""
	mark 1b, _.stapsdt.base, 1b, one, bad, ""
	mark 1b, _.stapsdt.base, nowhere, one, bad, ""
	mark 1b, _.stapsdt.base, 0, one, "", ""
	.section .note.GNU-stack, "", @progbits
