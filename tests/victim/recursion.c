/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recursion.c: `recursion SECONDS DEPTH`: even() and odd() call each other DEPTH deep (100), with unequal frames. */
#include "victim.h"

VICTIM static unsigned int odd(unsigned int left, unsigned int a, unsigned int b);

VICTIM static unsigned int even(unsigned int left, unsigned int a, unsigned int b)
{
	volatile char space[72];
	unsigned int r;

	space[left % sizeof(space)] = 1;
	if (left == 0) {
		burn(20000);
		return space[0];
	}
	r = odd(left - 1, b, a);
	return r + a + space[b % sizeof(space)];
}

VICTIM static unsigned int odd(unsigned int left, unsigned int a, unsigned int b)
{
	unsigned int r;

	if (left == 0) {
		burn(20000);
		return a;
	}
	r = even(left - 1, b, a);
	return r + a;
}

int main(int argc, char **argv)
{
	unsigned int depth, r = 0;

	victim_start(argc, argv);
	depth = victim_argument ? (unsigned int)strtoul(victim_argument, NULL, 10) : 100;
	while (going_on())
		r += even(depth - 1, r, depth);
	return r == 1;
}
