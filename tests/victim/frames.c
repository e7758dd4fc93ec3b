/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frames.c: unusual frames: alloca(), variable-length arrays, realigned stacks (DRAP), frames of 64 KiB. */
#include "victim.h"
#include <alloca.h>
#include <stdint.h>
#include <string.h>

VICTIM static void use(volatile void *p)
{
	*(volatile char *)p = 1;
	burn(20000);
	KEEP_FRAME();
}

VICTIM static void use_alloca(unsigned int n)
{
	char *p = alloca(n % 3000 + 16);

	use(p);
	KEEP_FRAME();
}

VICTIM static void use_vla(unsigned int n)
{
	long array[n % 300 + 2];

	use(array);
	KEEP_FRAME();
}

/* A realigned stack whose CFA is kept in memory: many arguments make the compiler keep the old stack pointer. */
VICTIM static int use_realign(int a, int b, int c, int d, int e, int f, int g, int h)
{
	_Alignas(64) char wide[128];
	char *more = alloca((unsigned int)(a + h) % 500 + 16);

	memset(wide, a, sizeof(wide));
	use(wide + (uintptr_t)b % 64);
	use(more);
	return a + b + c + d + e + f + g + h + wide[c & 63];
}

VICTIM static int use_align(int a)
{
	_Alignas(128) char wide[256];

	use(wide);
	return a + wide[a & 63];
}

VICTIM static void use_huge(void)
{
	volatile char huge[65536];

	huge[0] = 1;
	use(huge);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	unsigned int n = 0;
	int r = 0;

	victim_start(argc, argv);
	while (going_on()) {
		use_alloca(++n);
		use_vla(n);
		r += use_realign((int)n, 2, 3, 4, 5, 6, 7, 8);
		r += use_align((int)n);
		use_huge();
	}
	return r == 1;
}
