/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls REPEATS [dense]: calls a function of another library, 100,000 times for each repeat, and prints the nanoseconds
 * of a call in the fastest repeat; a repeat is short, so that one was not disturbed. dense: from 100 places, one call
 * behind the other. Exit code 1: the function was not called.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

long counted_one(long x);

#define TEN(x) x x x x x x x x x x

enum { N_CALLS = 100000 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static long call_from_one(long x)
{
	for (long k = 0; k < N_CALLS; k++)
		x = counted_one(x);
	return x;
}

static long call_from_100(long x)
{
	for (long k = 0; k < N_CALLS / 100; k++) {
		TEN(TEN(x = counted_one(x);))
	}
	return x;
}

int main(int argc, char **argv)
{
	long repeats = argc > 1 ? strtol(argv[1], NULL, 10) : 100, x = 0;
	double best_ns = 1e18;

	for (long i = 0; i < repeats; i++) {
		double start_ns = now_ns();
		x = argc > 2 ? call_from_100(x) : call_from_one(x);
		double ns = now_ns() - start_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	printf("%.3f\n", best_ns / N_CALLS);
	return x != repeats * N_CALLS;
}
