/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recursion.c: `recursion SECONDS DEPTH`: even() and odd() call each other DEPTH deep (100), with unequal frames. With
 * a `w` before DEPTH it is wide() that calls itself, whose frames are large and nearly all of them never touched. `u`:
 * once untouched(), whatever SECONDS says, which works before it has touched its frame, below all that the stack has
 * yet been mapped for.
 */
#include "victim.h"

static unsigned int work; /* at the deepest place: enough to be sampled beside the way down and up */

VICTIM static unsigned int odd(unsigned int left, unsigned int a, unsigned int b);

VICTIM static unsigned int even(unsigned int left, unsigned int a, unsigned int b)
{
	volatile char space[72];
	unsigned int r;

	space[left % sizeof(space)] = 1;
	if (left == 0) {
		burn(work);
		return space[0];
	}
	r = odd(left - 1, b, a);
	return r + a + space[b % sizeof(space)];
}

VICTIM static unsigned int odd(unsigned int left, unsigned int a, unsigned int b)
{
	unsigned int r;

	if (left == 0) {
		burn(work);
		return a;
	}
	r = even(left - 1, b, a);
	return r + a;
}

VICTIM static unsigned int wide(unsigned int left)
{
	volatile char space[200000];
	unsigned int r;

	space[0] = (char)left;
	if (left == 0) {
		burn(work);
		return space[0];
	}
	r = wide(left - 1);
	return r + space[0];
}

VICTIM static unsigned int untouched(unsigned int n)
{
	volatile char space[1000000];

	for (unsigned int i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
	space[0] = (char)n;
	return space[0];
}

int main(int argc, char **argv)
{
	unsigned int depth, r = 0;

	victim_start(argc, argv);
	if (victim_argument && *victim_argument == 'w') {
		depth = (unsigned int)strtoul(victim_argument + 1, NULL, 10);
		work = 20000 + 10 * depth;
		while (going_on())
			r += wide(depth - 1);
		return r == 1;
	}
	if (victim_argument && *victim_argument == 'u')
		return untouched(1000000000) == 1;
	depth = victim_argument ? (unsigned int)strtoul(victim_argument, NULL, 10) : 100;
	work = 20000 + 10 * depth;
	while (going_on())
		r += even(depth - 1, r, depth);
	return r == 1;
}
