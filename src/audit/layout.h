/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h: numbers that trampolines.S and the C of the audit library must agree on.
 *
 * Only macros, because the assembler reads it, too. There are two kinds of trampolines: by object, for references of
 * one object that are counted together, and by site, which look up the return address. Trampolines are 16 bytes of
 * code, records 128 bytes of memory; one's place among its kind is the other's.
 */
#ifndef SP_AUDIT_LAYOUT_H
#define SP_AUDIT_LAYOUT_H

#define SP_TRAMPOLINES_OBJECT 16384
#define SP_TRAMPOLINES_SITE 24576
#define SP_TRAMPOLINE_BYTES 16
#define SP_RECORD_BYTES 128
#define SP_RECORD_TARGET 0
#define SP_RECORD_BASE 8 /* by object */
#define SP_RECORD_TAG 8  /* by site */
#define SP_RECORD_SITES 16
#define SP_RECORD_N_SITES 3

/*
 * Sites that do not fit into their record: a page of 256 for each page of code (by hash, 512 pages), and in it by the
 * place of the call, so that a small program touches few of them. A site stands in one of the 8 places from there on.
 */
#define SP_SITES 131072
#define SP_SITE_PROBES 8
#define SP_SITE_PAGE_BITS 9
#define SP_SITE_MULTIPLIER 0x9e3779b1

#define SP_INITS 1024
#define SP_RSEQ_CPU 0
#define SP_RSEQ_CS 8
#define SP_RSEQ_SIGNATURE 0x53053053

#endif
