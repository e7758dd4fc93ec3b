/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * returns.s: functions with names that return probes would break, and some of whose names only begin so. With THROWS
 * the file takes what only programs with exceptions take from elsewhere; with TABLE it has their table.
 */
	.text
	.macro function name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	function leaf
	function _setjmp
	function swapcontext
	function vfork
	function dlsym
	function backtrace
	function qsort
	function pthread_exit
	function unw_step
	function _dl_runtime_resolve
	/* names that are like these, and harmless */
	function setjmp_count
	function my_dlsym
	function dlerror
	function qsorted
	/* a harmless name, and another for the same code */
	function two_names
	.globl	sigsetjmp
	.set	sigsetjmp, two_names
	.type	sigsetjmp, @function

	.globl	calls
	.type	calls, @function
calls:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	call	*%rdi
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	calls, . - calls

	.ifdef	THROWS
	.globl	throws
	.type	throws, @function
throws:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	call	_Unwind_Resume@PLT
	.cfi_endproc
	.size	throws, . - throws
	.endif
	.ifdef	TABLE
	.section .gcc_except_table, "a", @progbits
	.byte	255
	.endif
	.section .note.GNU-stack, "", @progbits
