/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inlined.c: `inlined SECONDS`: two functions inlined into a third; tests/cmd/inline.sh compiles it with DWARF. */
#include <stdlib.h>
#include <time.h>
static inline __attribute__((always_inline)) unsigned innermost(unsigned x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 31 + (unsigned)i;
	return x;
}
static inline __attribute__((always_inline)) unsigned middle(unsigned x)
{
	return innermost(x) + 1;
}
__attribute__((noinline)) unsigned outer(unsigned x)
{
	unsigned r = middle(x);
	__asm__ volatile("" : "+r"(r));
	return r + 2;
}
int main(int argc, char **argv)
{
	struct timespec now;
	volatile unsigned t = 0;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + strtod(argv[1], NULL);
	while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end) {
		t += outer(t);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return argc == 9;
}
