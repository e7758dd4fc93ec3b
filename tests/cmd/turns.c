/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns ROUNDS: waits in each round once by way of each of four functions, whose frames are alike: two differ by
 * nothing but a return address above the one that waits, the other two by how deep they are.
 */
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline, noclone, used))

static volatile int n_waits;

APART static void waits(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	n_waits++;
}

APART static void by_left(void)
{
	waits();
	n_waits++;
}

APART static void by_right(void)
{
	waits();
	n_waits++;
}

APART static void down(int n)
{
	if (n)
		down(n - 1);
	else
		waits();
	n_waits++;
}

APART static void shallow(void)
{
	down(2);
	n_waits++;
}

APART static void deep(void)
{
	down(40);
	n_waits++;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;

	for (int i = 0; i < rounds; i++) {
		by_left();
		by_right();
		shallow();
		deep();
	}
	return 0;
}
