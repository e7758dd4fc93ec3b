/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aged.c: for a test of memleak's options: aged - [SECONDS]: allocates when it gets a byte, pauses so long, frees some,
 * allocates more and moves one block, says "done", and waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
static void *all[64];

APART static void *first_block(size_t n)
{
	return malloc(n);
}

APART static void *later_block(size_t n)
{
	return malloc(n);
}

APART static void *moved_block(void *p, size_t n)
{
	return realloc(p, n);
}

int main(int argc, char **argv)
{
	char c;

	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	for (int i = 0; i < 30; i++)
		all[i] = first_block(1000);
	sleep(argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0);
	for (int i = 0; i < 5; i++)
		free(all[i]);
	for (int i = 30; i < 50; i++)
		all[i] = later_block(100);
	free(all[30]);
	all[5] = moved_block(all[5], 5000);
	puts("done");
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
