/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * odd.S: call frame information that compilers seldom or never write, for the comparison with readelf: every opcode,
 * several augmentations and pointer encodings. Linked statically at a fixed address. Never run.
 */
	.text
	.globl _start
_start:
	nop
	.skip 31, 0x90

	.macro row
	nop
	.endm

	.globl opcodes
opcodes:
	.cfi_startproc
	row
	.cfi_def_cfa %rbp, 24
	row
	.cfi_escape 0x12, 7, 0x7e		/* def_cfa_sf rsp, -2 * -8 */
	row
	.cfi_escape 0x13, 0x7d			/* def_cfa_offset_sf 24 */
	row
	.cfi_escape 0x05, 6, 3			/* offset_extended rbp, cfa - 24 */
	row
	.cfi_escape 0x11, 6, 0x7e		/* offset_extended_sf rbp, cfa + 16 */
	row
	.cfi_escape 0x2f, 6, 4			/* GNU_negative_offset_extended rbp: cfa + 32 */
	row
	.cfi_escape 0x14, 6, 2			/* val_offset */
	row
	.cfi_escape 0x15, 6, 0x7e		/* val_offset_sf */
	row
	.cfi_escape 0x06, 6			/* restore_extended */
	row
	.cfi_register %rbp, %r12
	row
	.cfi_same_value %rbp
	row
	.cfi_undefined %rbp
	row
	.cfi_restore %rbp
	.cfi_escape 0x2e, 16			/* GNU_args_size */
	row
	.cfi_remember_state
	.cfi_def_cfa_offset 64
	.cfi_offset %rbp, -16
	row
	.cfi_remember_state
	.cfi_def_cfa_register %r10
	row
	.cfi_restore_state
	row
	.cfi_restore_state
	row
	.cfi_register %rip, %rdi
	row
	.cfi_undefined %rip
	row
	.cfi_restore %rip
	.skip 300, 0x90				/* advance_loc2 */
	.cfi_def_cfa_offset 32
	.skip 70000, 0x90			/* advance_loc4 */
	.cfi_def_cfa_offset 40
	row
	.cfi_def_cfa_offset 0x123456
	row
	.cfi_def_cfa_offset 48
	.cfi_offset %rbp, -80000		/* beyond a row */
	row
	.cfi_endproc

	.skip 100, 0xcc				/* a gap */
	.globl expressions
expressions:
	.cfi_startproc
	row
	.cfi_escape 0x0f, 3, 0x77, 16, 0x06			/* CFA = *(rsp + 16) */
	row
	.cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8		/* *(rsp - 8) + 8 */
	row
	.cfi_escape 0x0f, 5, 0x76, 0x10, 0x06, 0x38, 0x22	/* *(rbp + 16) + 8, by lit8; plus */
	row
	.cfi_escape 0x0f, 5, 0x38, 0x7a, 0x10, 0x06, 0x22	/* the same from r10, the other way round */
	row
	.cfi_escape 0x0f, 4, 0x92, 3, 0x18, 0x96		/* bregx rbx + 24; nop */
	row
	.cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8 /* *(rsp + 8 + r9 * 8) + 8 */
	row
	.cfi_escape 0x0f, 8, 0x34, 0x79, 2, 0x1e, 0x77, 8, 0x22, 0x96 /* 4 * (r9 + 2) + rsp + 8 */
	row
	.cfi_escape 0x0f, 9, 0x76, 16, 0x7a, 0x78, 0x31, 0x24, 0x22, 0x23, 24 /* rbp + 16 + ((r10 - 8) << 1) + 24 */
	row
	.cfi_escape 0x0f, 6, 0x70, 8, 0x72, 16, 0x22, 0x06	/* *(rax + 8 + rcx + 16) */
	row
	.cfi_escape 0x0f, 6, 0x73, 0x80, 0x01, 0x08, 8, 0x1c	/* rbx + 128 - 8 */
	row
	.cfi_escape 0x0f, 5, 0x77, 8, 0x12, 0x13, 0x96		/* rsp + 8; dup; drop */
	row
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x36, 0x2a, 0x33, 0x24, 0x22 /* the PLT's, 6 */
	row
	.cfi_escape 0x0f, 11, 0x80, 0, 0x3f, 0x1a, 0x36, 0x2a, 0x33, 0x24, 0x77, 8, 0x22 /* the same turned round */
	row
	.cfi_escape 0x0f, 4, 0x77, 0, 0x06, 0x06		/* **rsp: beyond a row */
	row
	.cfi_escape 0x0f, 9, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x96 /* *(rsp + 8 + r9 * 8): beyond a row */
	row
	.cfi_def_cfa %rsp, 8
	.cfi_escape 0x10, 6, 2, 0x76, 0			/* rbp at rbp + 0 */
	row
	.cfi_escape 0x10, 6, 2, 0x77, 0x18			/* rbp at rsp + 24 */
	row
	.cfi_escape 0x10, 6, 2, 0x23, 0x10			/* rbp at CFA + 16: the CFA is on the stack */
	row
	.cfi_escape 0x10, 6, 2, 0x73, 0x10			/* rbp at rbx + 16: lost */
	row
	.cfi_escape 0x16, 6, 2, 0x77, 0			/* rbp = rsp: lost */
	row
	.cfi_restore %rbp
	.cfi_escape 0x10, 16, 2, 0x77, 0x28			/* return address at rsp + 40 */
	row
	.cfi_escape 0x10, 16, 2, 0x38, 0x22			/* at CFA + 8 */
	row
	.cfi_escape 0x10, 16, 2, 0x76, 8			/* at rbp + 8: beyond a row */
	row
	.cfi_restore %rip
	.cfi_register %rsp, %r8				/* the caller's rsp is not the CFA: beyond a row */
	row
	.cfi_escape 0x16, 7, 2, 0x23, 0			/* it is CFA + 0 */
	row
	.cfi_endproc

	.globl interrupted
interrupted:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	row
	row
	.cfi_endproc

	.globl by_hand, by_hand_end
	.skip 40, 0xcc
by_hand:
	.skip 64, 0x90
by_hand_end:

/* Entries that the assembler does not write: other encodings, no augmentation data, set_loc, an overlap. */
	.macro cie_begin name, letters, code
\name:
	.long 2f - 1f
1:	.long 0
	.byte 1
	.asciz "\letters"
	.uleb128 \code
	.sleb128 -8
	.byte 16
	.endm
	.macro cie_end
	.byte 0x0c, 7, 8, 0x90, 1 /* def_cfa rsp, 8; offset rip, cfa - 8 */
	.balign 8
2:
	.endm

	.section .eh_frame, "a", @progbits
	.balign 8
	cie_begin cie_absolute, "", 1
	cie_end
	.long 4f - 3f
3:	.long 3b - cie_absolute
	.quad by_hand, 8
	.byte 0x41, 0x0e, 16 /* advance_loc 1; def_cfa_offset 16 */
	.byte 0x01
	.quad by_hand + 4 /* set_loc */
	.byte 0x0e, 32
	.balign 8
4:
	cie_begin cie_udata4, "zPLR", 2
	.uleb128 7
	.byte 0x03
	.long 0
	.byte 0x1b, 0x03
	cie_end
	.long 6f - 5f
5:	.long 5b - cie_udata4
	.long by_hand + 8, 8
	.uleb128 4
	.long 0
	.byte 0x42, 0x0e, 24 /* 2 steps of 2 bytes */
	.balign 8
6:
	cie_begin cie_sdata8, "zR", 1
	.uleb128 1
	.byte 0x1c
	cie_end
	.long 8f - 7f
7:	.long 7b - cie_sdata8
	.quad by_hand + 16 - ., 12
	.uleb128 0
	.byte 0x44, 0x0e, 40
	.balign 8
8:
	.long 10f - 9f
9:	.long 9b - cie_sdata8
	.quad by_hand + 24 - ., 16 /* overlaps the one before by 4 bytes */
	.uleb128 0
	.byte 0x42, 0x0e, 48, 0x44, 0x0e, 56
	.balign 8
10:
