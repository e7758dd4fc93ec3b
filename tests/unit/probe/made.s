# SPDX-License-Identifier: GPL-2.0-or-later
# made.s: functions of which each has one reason to be probed in a certain place, or not at all. Most return their first
# argument plus one. tests/unit/probe/points.c knows the places, tests/probe/victim.c calls them.

	.macro fn name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \name, .-\name
	.endm

	.text
	fn pushes
	push %rbx
	mov %edi, %ebx
	lea 1(%rbx), %eax
	pop %rbx
	ret
	end pushes
# In the middle of its lea.
	.globl inside
	.type inside, @function
	.set inside, pushes + 4
	.size inside, 1

	fn lands # behind endbr64
	endbr64
	push %rbx
	lea 1(%rdi), %eax
	pop %rbx
	ret
	end lands

	fn frames # a call, with a frame already there
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	mov %edi, 8(%rsp)
	call helper
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	end frames

	fn tests # a branch
	test %edi, %edi
	je 1f
	lea 1(%rdi), %eax
	ret
1:	mov $1, %eax
	ret
	end tests

	fn leaf # nothing cheap
	lea 1(%rdi), %eax
	ret
	end leaf

	fn loops_within # a branch, but in a loop
	xor %eax, %eax
1:	add $1, %eax
	sub $1, %edi
	jns 1b
	ret
	end loops_within

	fn loops_to_entry
	sub $1, %edi
	jns loops_to_entry
	mov $8, %eax
	ret
	end loops_to_entry

	fn entered_short # a jump, but the function behind jumps into it
	test %edi, %edi
.Lentered_short:
	lea 1(%rdi), %eax
	jmp 1f
1:	ret
	end entered_short

	fn enters_short
	push %rbx
	pop %rbx
	jmp .Lentered_short
	end enters_short

	fn entered_long # the same, from far away
	test %edi, %edi
.Lentered_long:
	lea 1(%rdi), %eax
	jmp 1f
1:	ret
	end entered_long

	fn jumps_by_table # a branch, to which only a table leads back
	lea .Ltable(%rip), %rdx
	mov $6, %eax
.Lhead:
	inc %eax
	cmp $2, %edi
	ja 1f
	mov %edi, %ecx
	movslq (%rdx,%rcx,4), %rsi
	mov $9, %edi
	add %rdx, %rsi
	jmp *%rsi
1:	ret
	end jumps_by_table

	fn jumps_and_saves # the same, with a register saved first
	lea .Lsecond_table(%rip), %rdx
	push %rbx
	.cfi_adjust_cfa_offset 8
	cmp $7, %edi
	jne 1f
	movslq (%rdx), %rsi
	add %rdx, %rsi
	jmp *%rsi
.Lcase:
1:	lea 1(%rdi), %eax
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	end jumps_and_saves

	fn locks # the kernel refuses the first instruction
	lock incl (%rdi)
	jne 1f
	ret
1:	mov (%rdi), %eax
	ret
	end locks

	fn locks_only # ... and the second
	lock incl (%rdi)
	.byte 0x3e, 0xc3 # ret, with a prefix that does nothing
	end locks_only

	fn avx_only # opcodes that the kernel takes for others
	vmovd (%rdi), %xmm0
	.byte 0x3e, 0xc3
	end avx_only

	fn exchanges # what the kernel takes for a nop
	xchg %r8, %rax
	ret
	end exchanges

	fn nops
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	lea 1(%rdi), %eax
	ret
	end nops

	fn nops_then_pushes
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	push %rbx
	lea 1(%rdi), %eax
	pop %rbx
	ret
	end nops_then_pushes

	fn aligns # behind the `and` nobody knows where the return address is
	lea 8(%rsp), %r10
	and $-32, %rsp
	push -8(%r10)
	push %rbp
	mov %rsp, %rbp
	lea 1(%rdi), %eax
	pop %rbp
	lea -8(%r10), %rsp
	ret
	end aligns

	fn overwrites # its first argument, before the branch
	lea 1(%rdi), %eax
	mov %esi, %edi
	test %edi, %edi
	je 1f
1:	ret
	end overwrites

	fn falls # into the next one
	test %edi, %edi
	end falls
	.globl fallen_into
	.type fallen_into, @function
fallen_into:
	.cfi_startproc
	lea 1(%rdi), %eax
	ret
	end fallen_into

	fn breaks # with unwind information, but no code up to its end
	mov %edi, %eax
	.byte 0x06
	ret
	end breaks

	fn runs_on # into what is no function
	mov %edi, %eax
	end runs_on
	.byte 0x06, 0x06

	fn one_name
	push %rbx
	lea 1(%rdi), %eax
	pop %rbx
	ret
	end one_name
	.globl other_name
	.type other_name, @function
	.set other_name, one_name
	.size other_name, 5

	.globl versioned_old, versioned_new
	.type versioned_old, @function
	.p2align 4
versioned_old:
	.cfi_startproc
	push %rbx
	lea 1(%rdi), %eax
	pop %rbx
	ret
	end versioned_old
	.type versioned_new, @function
	.p2align 4
versioned_new:
	.cfi_startproc
	push %rbp
	lea 1(%rdi), %eax
	pop %rbp
	ret
	end versioned_new
	.symver versioned_old, versioned@V1
	.symver versioned_new, versioned@@V2

	.type helper, @function
	.p2align 4
helper:
	.cfi_startproc
	push %rbx
	lea 1(%rdi), %eax
	pop %rbx
	ret
	end helper

# --- chosen when the library is loaded ---

	.macro ifunc name
	.globl \name
	.type \name, @gnu_indirect_function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	ifunc chosen # by the lowest bit of the stack's address, which is 0
	lea chosen_one(%rip), %rax
	lea chosen_two(%rip), %rdx
	test $1, %spl
	cmove %rdx, %rax
	ret
	end chosen
	.type chosen_one, @function
	.p2align 4
chosen_one:
	.cfi_startproc
	push %rbx
	mov $0, %eax
	pop %rbx
	ret
	end chosen_one
	.type chosen_two, @function
	.p2align 4
chosen_two:
	.cfi_startproc
	push %rbx
	lea 1(%rdi), %eax
	pop %rbx
	ret
	end chosen_two

	ifunc chosen_by_word # through the GOT
	mov leaf@GOTPCREL(%rip), %rax
	ret
	end chosen_by_word
	ifunc chosen_elsewhere # perhaps in another file
	push %rbx
	call *pointer(%rip)
	lea helper(%rip), %rdx
	test %rax, %rax
	cmove %rdx, %rax
	pop %rbx
	ret
	end chosen_elsewhere
	ifunc chosen_blindly # it does not tell
	mov pointer(%rip), %rax
	ret
	end chosen_blindly

# --- no functions ---

	.globl text_in_code
	.type text_in_code, @function
	.p2align 4
text_in_code:
	.ascii "as on a slope: words\0\0\0\0"
	.size text_in_code, .-text_in_code
	.globl zeros_in_code
	.type zeros_in_code, @function
	.p2align 4
zeros_in_code:
	.zero 32
	.size zeros_in_code, .-zeros_in_code

	fn enters_long
	push %rbx
	pop %rbx
	jmp .Lentered_long
	end enters_long

	.section .rodata
	.p2align 3
	.globl data_typed
	.type data_typed, @function
data_typed:
	.quad 0x5555555555555555
	.size data_typed, 8
	.p2align 2
.Ltable:
	.long .Lback - .Ltable, .Lhead - .Ltable, .Lhead - .Ltable
.Lsecond_table:
	.long .Lcase - .Lsecond_table
	.text
	.p2align 4
	.type out, @function
out:	.cfi_startproc
.Lback:
	ret
	end out

	.data
pointer:
	.quad 0
	.section .note.GNU-stack, "", @progbits
