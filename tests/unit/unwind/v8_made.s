# SPDX-License-Identifier: GPL-2.0-or-later
# A library with builtins as V8 links them in: 1,100 of 512 bytes each, at a page's start, the last 16 of each int3. Their
# numbers are 7 times their places, so that the place of number n is 943 n (both modulo 1,100). With WITH_FDE one of them
# has unwind information, as those have that C++ calls: then they do not lie between two FDEs.
	.set N, 1100
	.set BYTES, 512
	.text
	.globl first
	.type first, @function
first:
	.cfi_startproc
	ret
	.cfi_endproc
.ifdef WITH_FDE
	.fill 1 << 20, 1, 0xf4
.endif
	.p2align 12, 0xf4
	.globl code
code:
.rept 500
	.fill BYTES - 16, 1, 0x90
	.fill 16, 1, 0xcc
.endr
.ifdef WITH_FDE
	.cfi_startproc
	.fill BYTES - 16, 1, 0x90
	.cfi_endproc
.else
	.fill BYTES - 16, 1, 0x90
.endif
	.fill 16, 1, 0xcc
.rept N - 501
	.fill BYTES - 16, 1, 0x90
	.fill 16, 1, 0xcc
.endr
	.globl code_end
code_end:
.ifdef WITH_FDE
	.fill 1 << 20, 1, 0xf4
.endif
	.globl last
	.type last, @function
last:
	.cfi_startproc
	ret
	.cfi_endproc

	.section .rodata
	.fill 5000, 1, 1
	.p2align 3
	.quad 1, 2, 3 # checksums
	.globl layouts
layouts:
	.set number, 0
.rept N
	.long (number * 943) % N * BYTES, BYTES - 16, number * 8
	.set number, number + 1
.endr
	.globl ends
ends:
	.set place, 0
.rept N
	.long (place + 1) * BYTES, (place * 7) % N
	.set place, place + 1
.endr
	.fill 5000, 1, 1
	.section .note.GNU-stack, "", @progbits
