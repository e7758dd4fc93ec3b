/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every form of a near call. None of it runs; behind each call its return address is noted in a table. */
	.section .data.rel.ro.returns, "aw"
	.balign 8
	.globl returns_of_calls
returns_of_calls:
	.text
	.macro called instruction:vararg
	\instruction
777:	.pushsection .data.rel.ro.returns, "aw"
	.quad 777b
	.popsection
	.endm
	.macro with_index base, index
	called call *(\base, \index)
	called call *(\base, \index, 8)
	called call *0x18(\base, \index, 8)
	called call *0x1234(\base, \index, 4)
	.endm
	.macro with_base base
	called call *\base
	called call *(\base)
	called call *0x18(\base)
	called call *-0x80(\base)
	called call *0x1234(\base)
	.irp index, %rax, %rcx, %rdx, %rbx, %rbp, %rsi, %rdi, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15
	with_index \base, \index
	.endr
	.endm

	.irp base, %rax, %rcx, %rdx, %rbx, %rsp, %rbp, %rsi, %rdi, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15
	with_base \base
	.endr
	.irp index, %rax, %rcx, %rdx, %rbx, %rbp, %rsi, %rdi, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15
	called call *0x1234(, \index, 8)
	called call *0(, \index, 2)
	.endr
	called call *0x1234
	called call *0x1234(%rip)
	called call . + 0x1234
	called call . - 0x1234
	called notrack call *%rax
	called bnd call . + 0x1234
	.section .data.rel.ro.returns, "aw"
	.globl end_of_returns
end_of_returns:
	.section .note.GNU-stack, "", @progbits
