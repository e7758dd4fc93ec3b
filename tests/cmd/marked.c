/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marked.c N MICROSECONDS: a server of N requests, which has marks for probes where each begins and ends, as sdt.h
 * makes them (USDT); each takes so long, or longer.
 */
#include <stdlib.h>
#include <unistd.h>

#define MARK(name)                                                                                                     \
	__asm__ volatile("1: nop\n"                                                                                    \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                \
			 ".balign 4\n"                                                                                 \
			 ".long 8, 3f - 2f, 3\n"                                                                       \
			 ".asciz \"stapsdt\"\n"                                                                        \
			 ".balign 4\n"                                                                                 \
			 "2: .quad 1b, _.stapsdt.base, 0\n"                                                            \
			 ".asciz \"marked\"\n"                                                                         \
			 ".asciz \"" name "\"\n"                                                                       \
			 ".asciz \"\"\n"                                                                               \
			 "3: .balign 4\n"                                                                              \
			 ".popsection\n" ::                                                                            \
			     : "memory")

__asm__(".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".popsection\n");

__attribute__((noinline)) static void serve(useconds_t us)
{
	MARK("request_start");
	usleep(us);
	MARK("request_end");
}

int main(int argc, char **argv)
{
	for (long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0; n > 0; n--)
		serve((useconds_t)strtoul(argv[2], NULL, 10));
	return argc != 3;
}
