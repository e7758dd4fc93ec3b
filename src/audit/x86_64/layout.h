/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h: numbers that trampolines.S and the C of the audit library must agree on.
 *
 * Only macros, because the assembler reads it, too. There are two kinds of trampolines: by object, for references of
 * one object that are counted together, and by site, which look up the return address; a program has one kind of them.
 * Trampolines are 16 bytes of code, records 64 bytes of memory; one's place among its kind is the other's.
 */
#ifndef SP_AUDIT_LAYOUT_H
#define SP_AUDIT_LAYOUT_H

#define SP_TRAMPOLINES 23552
#define SP_TRAMPOLINE_BYTES 16
#define SP_REF_BYTES 64
#define SP_REF_TARGET 0
#define SP_REF_BASE 8 /* by object */
#define SP_REF_TAG 8  /* by site */
#define SP_REF_SITES 16
#define SP_REF_N_SITES 3

/*
 * Sites that do not fit into their record: a page of 256 for each 1024 bytes of code (by hash, 256 pages), and in it a
 * place for each 4 bytes, so that no two sites of one such piece want the same, as a call is longer than that, and a
 * small program touches few pages. A site stands in one of the 32 places from there on.
 */
#define SP_SITES 65536
#define SP_SITE_TRIES 32
#define SP_SITE_PAGE_BITS 8
#define SP_SITE_CODE_BITS 10
#define SP_SITE_CODE_MASK 0x3fc
#define SP_SITE_MULTIPLIER 0x9e3779b1

#define SP_OWN_SETTLED 8
#define SP_LOWEST_COUNTER 0x2000000 /* less: a slot of no counters, since their address is 0 */
#define SP_INITS 1024
#define SP_RSEQ_CPU 0
#define SP_RSEQ_CS 8
#define SP_SAVED_BYTES 72 /* on the stack, while C is called */
#define SP_RSEQ_SIGNATURE 0x53053053

/*
 * Returns (returns.S): a stub for each place to which timed calls return, found by a place's address as sites are; 32
 * pages. Flights: calls that have not returned yet, found by stack pointer and stub.
 */
#define SP_RETURNS (8192 + SP_RETURN_TRIES + 1)
#define SP_RETURN_TRIES 32
#define SP_RETURN_PAGE_BITS 5
#define SP_RETURN_BYTES 16
#define SP_TIMING_BYTES 32 /* half of a record's */
#define SP_TIMING_TARGET 0
#define SP_TIMING_BUCKETS 8
#define SP_TIMING_TICKS 16
#define SP_FLIGHT_BITS 14
#define SP_FLIGHT_BYTES 32
#define SP_FLIGHT_CHECK 0
#define SP_FLIGHT_START 8
#define SP_FLIGHT_TIMING 16
#define SP_HEADER_UNTIMED 96 /* of counters */
#define SP_FLIGHT_MULTIPLIER 0x9e3779b97f4a7c15

/* clang-format off */
#ifdef __ASSEMBLER__
	/* The descriptor of a sequence: version, flags, start, length, where an abort goes. */
	.macro DESCRIPTOR name
	.pushsection .data.rel.ro, "aw", @progbits
	.balign 32
\name\()_cs:
	.long 0, 0
	.quad \name\()_start, \name\()_end - \name\()_start, \name\()_abort
	.popsection
	.endm

	.macro ABORT name
	/* ud1 with the signature as its operand: what the kernel wants to see before an abort label. */
	.byte 0x0f, 0xb9, 0x3d
	.long SP_RSEQ_SIGNATURE
\name\()_abort:
	.endm

	/* All that a function's entry has in registers that C may change (it touches general ones only), and r11. */
	.macro BEFORE_C
	push %rax
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	push %r8
	push %r9
	push %r11
	sub $8, %rsp
	.cfi_adjust_cfa_offset SP_SAVED_BYTES
	.endm
	.macro AFTER_C
	add $8, %rsp
	pop %r11
	pop %r9
	pop %r8
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %rax
	.cfi_adjust_cfa_offset -SP_SAVED_BYTES
	.endm
#endif
/* clang-format on */

#endif
