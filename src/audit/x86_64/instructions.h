/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instructions.h: single instructions of the audit library that C has no words for, and kinds of relocations.
 *
 * A system call, a copy that the compiler does not make a call of memcpy, the time-stamp counter, and what a call
 * through a word looks like. Beside this only stub.c, scan.c, layout.h and the two assembler files know the processor.
 * No state.
 */
#ifndef SP_AUDIT_X86_64_INSTRUCTIONS_H
#define SP_AUDIT_X86_64_INSTRUCTIONS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Relocations by their kinds: an address, one that ld.so looks up by name, an offset in static TLS. */
enum { SP_RELOC_WORD = R_X86_64_64, SP_RELOC_GLOB_DAT = R_X86_64_GLOB_DAT, SP_RELOC_TLS = R_X86_64_TPOFF64 };

static inline int64_t sp_sys(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline void sp_copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static inline uint64_t sp_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Whether the call in front of a return address is one through a word: call *WORD(%rip). */
static inline bool sp_is_call_by_word(uint64_t return_address)
{
	const uint8_t *call = (const uint8_t *)return_address - 6;

	return call[0] == 0xff && call[1] == 0x15;
}

#endif
