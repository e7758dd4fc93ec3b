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

#define SP_TRAMPOLINES 24576
#define SP_TRAMPOLINE_BYTES 16
#define SP_RECORD_BYTES 64
#define SP_RECORD_TARGET 0
#define SP_RECORD_BASE 8 /* by object */
#define SP_RECORD_TAG 8  /* by site */
#define SP_RECORD_SITES 16
#define SP_RECORD_N_SITES 3

/*
 * Sites that do not fit into their record: a page of 256 for each 1024 bytes of code (by hash, 256 pages), and in it a
 * place for each 4 bytes, so that no two sites of one such piece want the same, as a call is longer than that, and a
 * small program touches few pages. A site stands in one of the 32 places from there on.
 */
#define SP_SITES 65536
#define SP_SITE_PROBES 32
#define SP_SITE_PAGE_BITS 8
#define SP_SITE_CODE_BITS 10
#define SP_SITE_CODE_MASK 0x3fc
#define SP_SITE_MULTIPLIER 0x9e3779b1

#define SP_INITS 1024
#define SP_RSEQ_CPU 0
#define SP_RSEQ_CS 8
#define SP_RSEQ_SIGNATURE 0x53053053

#endif
