/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caller.c: caller LIBRARY TIMES TURNS [GATE]: opens the library, waits until the file GATE exists, calls it so often,
 * and prints what the library has counted: "MID LEAF ARGUMENTS RETURNED".
 */
#include "called.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __attribute__((noinline, noipa)) long work(long (*call)(long, long), long times, long turns)
{
	long sum = 0;

	for (long i = 0; i < times; i++)
		sum += call(i, turns);
	return sum;
}

int main(int argc, char **argv)
{
	void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	long (*call)(long, long) = library ? (long (*)(long, long))dlsym(library, "called_work") : NULL;
	const struct called_counts *counts = library ? dlsym(library, "called_counts") : NULL;

	if (!call || !counts)
		return 2;
	while (argc > 4 && access(argv[4], F_OK))
		usleep(5000);
	if (work(call, strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10)) < 0)
		return 1;
	printf("%ld %ld %ld %ld\n", counts->mid, counts->leaf, counts->argument_sum, counts->returned_sum);
	return 0;
}
