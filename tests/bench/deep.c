/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep.c: `deep N`: a stack that is N calls of one function deep and stays so, with all the time in a leaf above it.
 * Built without frame pointers, as libraries are; `deep-fp` is the same with them, for the tools that need them.
 */
#include <stdlib.h>

volatile unsigned long sink;
volatile int done; /* never */

__attribute__((noinline)) static unsigned long leaf(unsigned long x)
{
	for (int i = 0; i < 2000; i++)
		sink = x = x * 6364136223846793005UL + 1442695040888963407UL;
	return x;
}

__attribute__((noinline)) static unsigned long descend(unsigned long n, unsigned long x)
{
	unsigned long kept[4] = {x, x, x, x};

	__asm__ volatile("" ::"r"(kept) : "memory");
	if (n)
		x = descend(n - 1, x + kept[n & 3]);
	while (!n && !done)
		x = leaf(x);
	__asm__ volatile("" ::"r"(kept) : "memory");
	return x + 1;
}

int main(int argc, char **argv)
{
	return (int)descend(argc > 1 ? strtoul(argv[1], NULL, 10) : 20, 3);
}
