/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marked.c N MICROSECONDS: a server of N requests, which has marks for probes where each begins and ends, as sdt.h
 * makes them (USDT), with the request's number and kind; each takes so long, or longer.
 * marked values: comes by marks whose arguments are in all kinds of places, and prints what they are.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The note of a mark whose arguments are where this text says; the operands behind it are the assembler's. */
#define NOTE(name, arguments, ...)                                                                                     \
	__asm__ volatile("1: nop\n"                                                                                    \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                \
			 ".balign 4\n"                                                                                 \
			 ".long 8, 3f - 2f, 3\n"                                                                       \
			 ".asciz \"stapsdt\"\n"                                                                        \
			 ".balign 4\n"                                                                                 \
			 "2: .quad 1b, _.stapsdt.base, 0\n"                                                            \
			 ".asciz \"marked\"\n"                                                                         \
			 ".asciz \"" name "\"\n"                                                                       \
			 ".asciz \"" arguments "\"\n"                                                                  \
			 "3: .balign 4\n"                                                                              \
			 ".popsection\n" ::__VA_ARGS__                                                                 \
			 : "memory")

/* As sdt.h has it: the size, below 0 with a sign (%n turns it), and wherever the compiler has the argument. */
#define SIZE(x) ((__typeof__(x))-1 < (__typeof__(x))1 ? (int)sizeof(x) : -(int)sizeof(x))
#define ARGUMENT(i) "%n[s" #i "]@%[a" #i "]"
#define OF(i, where, x) [s##i] "n"(SIZE(x)), [a##i] where(x)
#define ANY "nor"
#define STACK "m"

#define MARK2(name, where, a, b) NOTE(name, ARGUMENT(0) " " ARGUMENT(1), OF(0, where, a), OF(1, where, b))
#define MARK4(name, where, a, b, c, d)                                                                                 \
	NOTE(name, ARGUMENT(0) " " ARGUMENT(1) " " ARGUMENT(2) " " ARGUMENT(3), OF(0, where, a), OF(1, where, b),      \
	     OF(2, where, c), OF(3, where, d))

__asm__(".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".popsection\n");

__attribute__((noinline)) static void serve(int number, uint64_t kind, useconds_t us)
{
	MARK2("request_start", ANY, number, kind);
	usleep(us);
	MARK2("request_end", ANY, number, kind);
}

/* --- values --- */
__attribute__((noinline)) static void tell(int a, unsigned char b, int64_t c, const char *d)
{
	printf("arg0=%d arg1=%u arg2=%lld text=\"%s\"\n", a, b, (long long)c, d);
}

/* One mark, four places: in registers, on the stack, as constants, and where an index says. */
__attribute__((noinline)) static void in_registers(int a, unsigned char b, int64_t c, uint64_t d)
{
	MARK4("values", "r", a, b, c, d);
	tell(a, b, c, (const char *)d);
}

__attribute__((noinline)) static void on_the_stack(volatile int a, volatile unsigned char b, volatile int64_t c,
						   volatile uint64_t d)
{
	MARK4("values", STACK, a, b, c, d);
	tell(a, b, c, (const char *)d);
}

__attribute__((noinline)) static void as_constants(uint64_t d)
{
	NOTE("values", "-4@$-2147483648 1@$255 -8@$-1099511627776 8@%[d]", [d] "r"(d));
	tell(INT32_MIN, 255, -1099511627776, (const char *)d);
}

__attribute__((noinline)) static void by_an_index(const int *list, int64_t index, const int64_t *longs, uint64_t d)
{
	register const int *base __asm__("r8") = list;
	register int64_t by __asm__("r9") = index;
	register const int64_t *wide __asm__("r12") = longs;
	register uint64_t low __asm__("rbx") = 0x7fa5;

	NOTE("values", "-4@-4(%%r8,%%r9,4) 1@%%bl -8@(%%r12) 8@%[d]", "r"(base), "r"(by), "r"(wide),
	     "r"(low), [d] "r"(d));
	tell(list[index - 1], 0xa5, longs[0], (const char *)d);
}

__attribute__((used)) static int listed[] = {1, -42};

/* The upper half of 16 bits, which bpftrace does not know, and what a symbol leads to. */
__attribute__((noinline)) static void in_a_half(uint64_t x)
{
	register uint64_t a __asm__("rax") = x, b __asm__("rbx") = x;

	NOTE("half", "-1@%%ah 1@%%bh -4@4+listed(%%rip) -4@listed+4(%%rip) -4@listed(%%rip)", "r"(a), "r"(b));
	printf("%d %u %d %d %d\n", (int8_t)(x >> 8), (uint8_t)(x >> 8), listed[1], listed[1], listed[0]);
}

/* Of eight sizes; what is above them in their registers is none of theirs. */
__attribute__((noinline)) static void of_all_sizes(uint64_t x)
{
	register uint64_t a __asm__("rsi") = x, b __asm__("r10") = x;

	NOTE("sizes", "-1@%%sil 1@%%r10b -2@%%si 2@%%r10w -4@%%esi 4@%%r10d -8@%%rsi 8@%%r10", "r"(a), "r"(b));
	printf("%d %u %d %u %d %u %lld %llu\n", (int8_t)x, (uint8_t)x, (int16_t)x, (uint16_t)x, (int32_t)x, (uint32_t)x,
	       (long long)x, (unsigned long long)x);
}

/* What makes no sense, or cannot be read. They are never come by. */
__attribute__((noinline, used)) static void never(void)
{
	NOTE("no_register", "4@%%qax", "n"(0));
	NOTE("no_scale", "4@8(%%rax,%%rbx,1000000)", "n"(0));
	NOTE("no_size", "3@%%eax", "n"(0));
	NOTE("no_end", "8@-24(%%rbp", "n"(0));
	NOTE("no_number", "8@$99999999999999999999", "n"(0));
	NOTE("no_sense", "\\033[31m;rm", "n"(0));
	NOTE("too_wide", "8@%%eax", "n"(0));
	NOTE("too_many", "4@$1 4@$1 4@$1 4@$1 4@$1 4@$1 4@$1 4@$1 4@$1 4@$1 4@$1 4@$1 4@$1", "n"(0));
	NOTE("fraction", "8f@%%xmm0 4@$7", "n"(0));
	NOTE("symbol", "4@counter(%%rip) 4@$7", "n"(0));
}

static void values(void)
{
	static const int list[] = {-5, 70000, -70000};
	static const int64_t longs[] = {INT64_MIN + 1};

	char texts[4][8] = {"first", "second", "third", "fourth"}; /* which are in memory when the marks are come by */

	in_registers(-7, 200, 1LL << 40, (uintptr_t)texts[0]);
	on_the_stack(INT32_MAX, 128, -1, (uintptr_t)texts[1]);
	as_constants((uintptr_t)texts[2]);
	by_an_index(list, 3, longs, (uintptr_t)texts[3]);
	of_all_sizes(0xfedcba9896a4f5f7);
	of_all_sizes(0x0123456701234567);
	in_a_half(0xa5c3);
}

int main(int argc, char **argv)
{
	char kinds[2][8] = {"even", "odd"};

	if (argc == 2 && !strcmp(argv[1], "values")) {
		values();
		return 0;
	}
	for (int i = 0, n = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0; i < n; i++)
		serve(i, (uintptr_t)kinds[i % 2], (useconds_t)strtoul(argv[2], NULL, 10));
	return argc != 3;
}
