/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampolines.S: what a redirected call goes through: static code; no byte of it is made at run time.
 *
 * At a function's entry r10 and r11 are free, as are the flags and the 128 bytes below the stack pointer, which signal
 * handlers leave alone. All else belongs to the callee: rax (the number of vector arguments) and rcx are kept there, and
 * nothing here touches a vector register. The stack pointer does not move on the fast path, and the last instruction is
 * a jump: exceptions, longjmp, varargs and backtraces see a plain call.
 *
 * A counter belongs to a CPU; the restartable sequence (rseq(2)) ends with the one instruction that adds to it: whoever is
 * moved to another CPU, preempted or interrupted before it goes to the abort label instead, and counts in slot 0 by a
 * locked instruction. So does who has no rseq, and a debugger that steps gets through, too. The number of the CPU is
 * cpu_id_start, which is one of the possible CPUs at all times; that the file has slots for all of them was looked at
 * when the program started. A child of vfork has its parent's struct rseq, and counts for the CPU on which the parent was
 * until it is another program: the one place where two additions could meet in theory.
 */
#include "audit/x86_64/layout.h"

	.section .note.GNU-stack, "", @progbits

	/* First in sp_own, which a child of fork may find zeroed: then it goes by the locked paths, and is not settled. */
	.set sp_rseq_offset, sp_own
	.set sp_settled, sp_own + SP_OWN_SETTLED

	.text
	.balign 64
	.type count_object, @function
count_object:
	.cfi_startproc
	DESCRIPTOR object
	mov %rax, -16(%rsp)
	mov sp_rseq_offset(%rip), %rax
	lea object_cs(%rip), %r10
	test %rax, %rax
	jz object_locked
	mov %r10, %fs:SP_RSEQ_CS(%rax)
object_start:
	mov %fs:SP_RSEQ_CPU(%rax), %eax
	shl $12, %rax
	add SP_REF_BASE(%r11), %rax
	cmp $SP_LOWEST_COUNTER, %rax
	jb object_slowly
	incq (%rax)
object_end:
	mov -16(%rsp), %rax
	jmp *SP_REF_TARGET(%r11)
	ABORT object
object_locked:
	cmpl $0, sp_settled(%rip)
	je object_slowly
	mov SP_REF_BASE(%r11), %r10
	test %r10, %r10
	jz object_slowly
	lock incq -4096(%r10)
	mov -16(%rsp), %rax
	jmp *SP_REF_TARGET(%r11)
object_slowly:
	mov -16(%rsp), %rax
	jmp count_slowly
	.cfi_endproc
	.size count_object, . - count_object

	/* Whether the return address (r10) is that of a site in the record; then all that there is to do. */
	.macro SITE_OF_REF name, counters, next
	cmp \counters - 8(%r11), %r10
	jne \next
	DESCRIPTOR \name
	mov %rax, -16(%rsp)
	mov sp_rseq_offset(%rip), %rax
	lea \name\()_cs(%rip), %r10
	test %rax, %rax
	jz \name\()_locked
	mov %r10, %fs:SP_RSEQ_CS(%rax)
\name\()_start:
	mov %fs:SP_RSEQ_CPU(%rax), %eax
	shl $12, %rax
	add \counters(%r11), %rax
	cmp $SP_LOWEST_COUNTER, %rax
	jb site_slowly
	incq (%rax)
\name\()_end:
	mov -16(%rsp), %rax
	jmp *SP_REF_TARGET(%r11)
	ABORT \name
\name\()_locked:
	cmpl $0, sp_settled(%rip)
	je site_slowly
	mov \counters(%r11), %r10
	test %r10, %r10
	jz site_slowly
	lock incq -4096(%r10)
	mov -16(%rsp), %rax
	jmp *SP_REF_TARGET(%r11)
	.balign 16
	.endm

	/* The sites of the record first; then the place of a site in the table: (piece of code, mixed) * 4096 + 16 bytes for
	 * each 4 of the piece. */
	.balign 64
	.type count_site, @function
count_site:
	.cfi_startproc
	mov (%rsp), %r10
	SITE_OF_REF first, SP_REF_SITES + 8, 5f
5:	SITE_OF_REF second, SP_REF_SITES + 24, 6f
6:	SITE_OF_REF third, SP_REF_SITES + 40, 7f
7:
	mov %rax, -16(%rsp)
	mov %rcx, -24(%rsp)
	mov %r10, %rax
	mov %r10d, %ecx
	shr $SP_SITE_CODE_BITS, %r10
	and $SP_SITE_CODE_MASK, %ecx
	imul $(SP_SITE_MULTIPLIER - (1 << 32)), %r10d, %r10d
	shr $(32 - SP_SITE_PAGE_BITS), %r10d
	shl $12, %r10d
	lea (%r10, %rcx, 4), %r10
	lea sp_sites(%rip), %rcx
	or SP_REF_TAG(%r11), %rax
	add %rcx, %r10
	cmp (%r10), %rax
	jne 2f
1:	mov 8(%r10), %r10
	test %r10, %r10
	jz 4f
	DESCRIPTOR site
	mov sp_rseq_offset(%rip), %rax
	lea site_cs(%rip), %rcx
	test %rax, %rax
	jz site_locked
	mov %rcx, %fs:SP_RSEQ_CS(%rax)
site_start:
	mov %fs:SP_RSEQ_CPU(%rax), %eax
	shl $12, %rax
	incq (%r10, %rax)
site_end:
	mov -16(%rsp), %rax
	mov -24(%rsp), %rcx
	jmp *SP_REF_TARGET(%r11)
	ABORT site
site_locked:
	cmpl $0, sp_settled(%rip)
	je 4f
	lock incq -4096(%r10)
	mov -16(%rsp), %rax
	mov -24(%rsp), %rcx
	jmp *SP_REF_TARGET(%r11)
2:	lea 16 * SP_SITE_TRIES(%r10), %rcx
3:	add $16, %r10
	cmp (%r10), %rax
	je 1b
	cmp %rcx, %r10
	jb 3b
4:	mov -24(%rsp), %rcx
site_slowly:
	mov -16(%rsp), %rax
	jmp count_slowly
	.cfi_endproc
	.size count_site, . - count_site

	/* By C, which touches general registers only. */
	.balign 64
	.type count_slowly, @function
count_slowly:
	.cfi_startproc
	BEFORE_C
	mov %r11, %rdi
	mov SP_SAVED_BYTES(%rsp), %rsi
	call sp_count_call
	AFTER_C
	jmp *SP_REF_TARGET(%r11)
	.cfi_endproc
	.size count_slowly, . - count_slowly

	.macro TRAMPOLINES name
	.balign 4096
	.globl sp_trampolines_\name
	.hidden sp_trampolines_\name
	.type sp_trampolines_\name, @function
sp_trampolines_\name:
	.cfi_startproc
	.set number, 0
	.rept SP_TRAMPOLINES
	.balign SP_TRAMPOLINE_BYTES
	endbr64
	lea sp_counted_refs + number * SP_REF_BYTES(%rip), %r11
	jmp count_\name
	.set number, number + 1
	.endr
	.cfi_endproc
	.size sp_trampolines_\name, . - sp_trampolines_\name
	.endm
	TRAMPOLINES object
	TRAMPOLINES site

	/* Constructor stubs: sp_init(number, argc, argv, environment), then on to what it returns, if anything. */
	.balign 64
	.type init_common, @function
init_common:
	.cfi_startproc
	push %rdi
	push %rsi
	push %rdx
	.cfi_adjust_cfa_offset 24
	mov %rdx, %rcx
	mov %rsi, %rdx
	mov %rdi, %rsi
	mov %eax, %edi
	call sp_init
	pop %rdx
	pop %rsi
	pop %rdi
	.cfi_adjust_cfa_offset -24
	test %rax, %rax
	jz 1f
	jmp *%rax
1:	ret
	.cfi_endproc
	.size init_common, . - init_common

	.balign 16
	.globl sp_init_stubs
	.hidden sp_init_stubs
	.type sp_init_stubs, @function
sp_init_stubs:
	.cfi_startproc
	.set number, 0
	.rept SP_INITS
	.balign 16
	endbr64
	mov $number, %eax
	jmp init_common
	.set number, number + 1
	.endr
	.cfi_endproc
	.size sp_init_stubs, . - sp_init_stubs

	/* A page on which it is tried whether code may be written: stub.c. */
	.balign 4096
	.globl sp_trial_page
	.hidden sp_trial_page
	.type sp_trial_page, @object
sp_trial_page:
	.fill 4096, 1, 0xcc
	.size sp_trial_page, . - sp_trial_page
