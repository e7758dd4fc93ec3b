/* SPDX-License-Identifier: GPL-2.0-or-later */
/* called.c: see called.h. */
#include "called.h"

struct called_counts called_counts;

long called_leaf(long n, long turns);
long called_mid(long n, long turns);
long called_work(long n, long turns);

#define APART __attribute__((noinline, noipa))
APART long called_leaf(long n, long turns)
{
	volatile long sum = 0;

	called_counts.leaf++;
	for (long i = 0; i < turns; i++)
		sum = sum + i;
	return n * 2 + (sum < 0);
}

APART long called_mid(long n, long turns)
{
	long r;

	called_counts.mid++;
	called_counts.argument_sum += n;
	r = called_leaf(n, turns) + 1;
	called_counts.returned_sum += r;
	return r;
}

APART long called_work(long n, long turns)
{
	return called_mid(n, turns) + 1;
}
