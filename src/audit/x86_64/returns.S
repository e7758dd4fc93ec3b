/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * returns.S: calls that are timed: from their entry, to which a record leads in place of the function (its counter is
 * done by then), to their return.
 *
 * The return address on the stack is exchanged for that of a stub. There is one stub for each place to which calls
 * return, and it returns there always: where control goes never depends on who runs, on which stack, how often, or on
 * what was left behind. So stacks that are switched, copied or left by longjmp, calls that return twice, signal
 * handlers and other threads' calls are safe: at worst a time is not taken. Unwinders follow the stubs by the rules
 * below: a frame of its own, whose return address lies in the table. A call's start stands in a table (flights), in
 * one of two places, found by its stack pointer and stub; a word of it is the exclusive-or of these and of all others
 * there, so that one that was overwritten, or is being written to, does not fit.
 *
 * At the entry registers are as free as in trampolines.S. After the return the callee's results are in rax, rdx and
 * registers that nothing here touches; r10, r11 and flags are free; the memory below the stack pointer is, too, since
 * the caller has just had a call there.
 */
#include "audit/x86_64/layout.h"

	.section .note.GNU-stack, "", @progbits

	.set sp_rseq_offset, sp_own

	/* Adds to the counter of this CPU at r10, or to the common one. rcx and rdx are lost. */
	.macro COUNT name, instruction:vararg
	DESCRIPTOR \name
	mov sp_rseq_offset(%rip), %rcx
	lea \name\()_cs(%rip), %rdx
	test %rcx, %rcx
	jz \name\()_locked
	mov %rdx, %fs:SP_RSEQ_CS(%rcx)
\name\()_start:
	mov %fs:SP_RSEQ_CPU(%rcx), %edx
	shl $12, %rdx
	\instruction (%r10, %rdx)
\name\()_end:
	.endm
	.macro COUNT_ABORTED name, instruction:vararg
	ABORT \name
\name\()_locked:
	lock \instruction -4096(%r10)
	jmp \name\()_end
	.endm

	/* key (\key, which is the stack pointer behind the return, with the stub's number in bits 48 up) to its flight. */
	.macro FLIGHT key, to
	movabs $SP_FLIGHT_MULTIPLIER, \to
	imul \key, \to
	shr $(64 - SP_FLIGHT_BITS), \to
	shl $5, \to
	add sp_flights(%rip), \to
	.endm

	.text
	.balign 64
	.globl sp_timed
	.hidden sp_timed
	.type sp_timed, @function
sp_timed:
	.cfi_startproc
	lea sp_counted_refs(%rip), %r10
	sub %r10, %r11
	shr $1, %r11
	add sp_timings(%rip), %r11
1:	cmpl $0, sp_timing_off(%rip)
	jne 9f
	mov %rax, -16(%rsp)
	mov %rcx, -24(%rsp)
	mov %rdx, -32(%rsp)
	/* Zero without a shadow stack of the CPU's, where this does nothing, too. */
	xor %eax, %eax
	rdsspq %rax
	test %rax, %rax
	jnz 8f
	mov (%rsp), %rcx
	mov %ecx, %edx
	mov %rcx, %rax
	shr $SP_SITE_CODE_BITS, %rax
	and $SP_SITE_CODE_MASK, %edx
	imul $(SP_SITE_MULTIPLIER - (1 << 32)), %eax, %eax
	shr $(32 - SP_RETURN_PAGE_BITS), %eax
	shl $8, %eax
	shr $2, %edx
	add %edx, %eax
	lea sp_return_to(%rip), %rdx
	cmp %rcx, (%rdx, %rax, 8)
	jne 5f
2:	mov %rax, %rcx
	shl $4, %eax
	lea sp_returns(%rip), %rdx
	add %rdx, %rax
	mov %rax, (%rsp)
	shl $48, %rcx
	lea 8(%rsp), %rdx
	xor %rdx, %rcx
	FLIGHT %rcx, %r10
	cmpq $0, SP_FLIGHT_CHECK(%r10)
	jne 4f
3:	mov %r11, SP_FLIGHT_TIMING(%r10)
	xor %r11, %rcx
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, SP_FLIGHT_START(%r10)
	xor %rax, %rcx
	mov %rcx, SP_FLIGHT_CHECK(%r10)
8:	mov -16(%rsp), %rax
	mov -24(%rsp), %rcx
	mov -32(%rsp), %rdx
9:	jmp *SP_TIMING_TARGET(%r11)
	/* There is another there: by the next, unless it is one that was here before and did not return. */
4:	mov SP_FLIGHT_CHECK(%r10), %rax
	xor SP_FLIGHT_TIMING(%r10), %rax
	xor SP_FLIGHT_START(%r10), %rax
	cmp %rcx, %rax
	je 3b
	xor $SP_FLIGHT_BYTES, %r10
	jmp 3b
5:	lea SP_RETURN_TRIES(%rax), %r10d
6:	inc %eax
	cmp %rcx, (%rdx, %rax, 8)
	je 2b
	cmp %r10d, %eax
	jb 6b
	/* There is none yet, or the call returns to a stub: by C. */
	mov -16(%rsp), %rax
	mov -24(%rsp), %rcx
	mov -32(%rsp), %rdx
	BEFORE_C
	mov %r11, %rdi
	lea SP_SAVED_BYTES(%rsp), %rsi
	call sp_time_first
	mov %eax, %r10d
	AFTER_C
	test %r10d, %r10d
	jnz 1b
	jmp *SP_TIMING_TARGET(%r11)
	.cfi_endproc
	.size sp_timed, . - sp_timed

	/* r11: where in the table it says to what to return. */
	.balign 64
	.type returned, @function
returned:
	.cfi_startproc
	.cfi_def_cfa %rsp, 0
	/* The return address is where r11 says. */
	.cfi_escape 0x10, 0x10, 2, 0x7b, 0
	cmpl $0, sp_timing_off(%rip)
	jne 9f
	mov %rax, -16(%rsp)
	mov %rcx, -24(%rsp)
	mov %rdx, -32(%rsp)
	mov %r8, -40(%rsp)
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %r11, %rcx
	lea sp_return_to(%rip), %rdx
	sub %rdx, %rcx
	shl $45, %rcx
	xor %rsp, %rcx
	FLIGHT %rcx, %r10
	mov SP_FLIGHT_TIMING(%r10), %r8
	mov SP_FLIGHT_START(%r10), %rdx
	xor %r8, %rcx
	xor %rdx, %rcx
	cmp %rcx, SP_FLIGHT_CHECK(%r10)
	jne 6f
4:	test $1, %r8b
	jnz 5f
	mov %rax, %rcx
	sub %rdx, %rcx
	jb 5f
	cmp $4, %rcx
	jb 1f
	/* From here on the number of ticks is in r8, and rdx the bucket. */
	bsr %rcx, %rdx
	jmp 2f
1:	mov %rcx, %rdx
	jmp 3f
2:	mov %rcx, -48(%rsp)
	lea -2(%rdx), %ecx
	shl $2, %edx
	mov %rdx, -56(%rsp)
	mov -48(%rsp), %rdx
	shr %cl, %rdx
	mov -48(%rsp), %rcx
	and $3, %edx
	add -56(%rsp), %rdx
	sub $4, %rdx
3:	mov %rcx, -48(%rsp)
	mov SP_TIMING_BUCKETS(%r8), %rcx
	test %rcx, %rcx
	jz 5f
	mov (%rcx, %rdx, 8), %rcx
	test %rcx, %rcx
	jz 5f
	cmpq $0, SP_TIMING_TICKS(%r8)
	je 5f
	movq $0, SP_FLIGHT_CHECK(%r10)
	mov %rcx, %r10
	COUNT bucket, incq
	mov SP_TIMING_TICKS(%r8), %r10
	mov -48(%rsp), %r8
	COUNT ticks, addq %r8,
8:	mov -16(%rsp), %rax
	mov -24(%rsp), %rcx
	mov -32(%rsp), %rdx
	mov -40(%rsp), %r8
9:	notrack jmp *(%r11)
	/* The other place where it may be. */
6:	xor %r8, %rcx
	xor %rdx, %rcx
	xor $SP_FLIGHT_BYTES, %r10
	mov SP_FLIGHT_TIMING(%r10), %r8
	mov SP_FLIGHT_START(%r10), %rdx
	xor %r8, %rcx
	xor %rdx, %rcx
	cmp %rcx, SP_FLIGHT_CHECK(%r10)
	je 4b
	jmp 8b
	/* By C, which finds the flight anew: rax is now. */
5:	sub $128, %rsp
	push %rdi
	push %rsi
	push %r9
	push %r11
	.cfi_adjust_cfa_offset 160
	/* The return address is where that says that was pushed last. */
	.cfi_escape 0x10, 0x10, 3, 0x77, 0, 0x06
	mov %r11, %rsi
	lea sp_return_to(%rip), %rdx
	sub %rdx, %rsi
	shr $3, %rsi
	lea 160(%rsp), %rdi
	mov %rax, %rdx
	call sp_time_last
	pop %r11
	pop %r9
	pop %rsi
	pop %rdi
	add $128, %rsp
	.cfi_adjust_cfa_offset -160
	.cfi_escape 0x10, 0x10, 2, 0x7b, 0
	jmp 8b
	COUNT_ABORTED bucket, incq
	COUNT_ABORTED ticks, addq %r8,
	.cfi_endproc
	.size returned, . - returned

	/*
	 * What stands on the stack in place of return addresses. An unwinder comes here with the address of a stub, and
	 * looks for the byte before it: so the function begins before the first stub. The rule for the return address:
	 * of the stub (rip & -16) the 4 bytes at 3 are how far behind the 7th the table's word lies (with
	 * operators that valgrind knows, too: 8 bytes are read, and shifted). libgcc knows a
	 * handler's frame by the CFA of the one that it called: for that to be another than the callee's it is one more
	 * than the stack pointer, which is told apart.
	 */
	.balign 4096
	.globl sp_returns
	.hidden sp_returns
	.type soprof_returns, @function
	.balign 64
soprof_returns:
	.cfi_startproc
	.cfi_def_cfa %rsp, 1
	.cfi_escape 0x16, 7, 2, 0x31, 0x1c
	.cfi_escape 0x10, 0x10, 22, 0x80, 0, 0x09, 0xf0, 0x1a, 0x23, 3, 0x06, 0x09, 32, 0x24, 0x09, 32, 0x25
	.cfi_escape 0x80, 0, 0x09, 0xf0, 0x1a, 0x22, 0x23, 7
	.fill 64, 1, 0xcc
sp_returns:
	.set number, 0
	.rept SP_RETURNS
	.balign SP_RETURN_BYTES
	lea sp_return_to + number * 8(%rip), %r11
	jmp returned
	.set number, number + 1
	.endr
	.cfi_endproc
	.size soprof_returns, . - soprof_returns

	/*
	 * prctl(PR_SET_TSC, PR_TSC_SIGSEGV) and prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), also by syscall(2): from then
	 * on reading the time-stamp counter is a fault: no call is timed any more.
	 */
	.macro WATCH option, value
	cmp $26, \option
	jne 1f
	cmp $2, \value
	je 7f
1:	cmp $22, \option
	jne 9f
	cmp $1, \value
	jne 9f
7:	mov $1, %r10d
	xchg %r10d, sp_timing_off(%rip)
	test %r10d, %r10d
	jnz 9f
	mov sp_shared(%rip), %r10
	lock incq SP_HEADER_UNTIMED(%r10)
	.endm

	.balign 64
	.globl sp_watch_prctl
	.hidden sp_watch_prctl
	.type sp_watch_prctl, @function
sp_watch_prctl:
	.cfi_startproc
	endbr64
	WATCH %edi, %rsi
9:	jmp *sp_watched(%rip)
	.cfi_endproc
	.size sp_watch_prctl, . - sp_watch_prctl

	.balign 64
	.globl sp_watch_syscall
	.hidden sp_watch_syscall
	.type sp_watch_syscall, @function
sp_watch_syscall:
	.cfi_startproc
	endbr64
	cmp $317, %rdi
	jne 2f
	test %esi, %esi
	jz 7f
2:	cmp $157, %rdi
	jne 9f
	WATCH %esi, %rdx
9:	jmp *sp_watched + 8(%rip)
	.cfi_endproc
	.size sp_watch_syscall, . - sp_watch_syscall
