/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks.c: N small blocks are allocated, written and freed, a thousand at a time; one in LEAK is not. Prints the
 * seconds that took. With "wait" behind that it says "ready" and waits for a line first; with "each" N blocks are there
 * by then, and what is done is to free them, and to allocate so many: it prints the ns of one free and of one malloc.
 * With "threads" four threads at once do a quarter of it each.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_HELD = 1000, MAX_BYTES = 600, N_THREADS = 4 };

static _Thread_local void *held[N_HELD];
static unsigned long leak = 1000;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ready(void)
{
	char line[8];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

static int each(unsigned long n)
{
	void **blocks = malloc(n * sizeof(*blocks));
	double begin, middle;

	if (!blocks)
		return 1;
	for (unsigned long i = 0; i < n; i++)
		blocks[i] = malloc(64);
	ready();
	begin = now();
	for (unsigned long i = 0; i < n; i++)
		free(blocks[i]);
	middle = now();
	for (unsigned long i = 0; i < n; i++)
		blocks[i] = malloc(64);
	printf("%.1f %.1f\n", (middle - begin) * 1e9 / (double)n, (now() - middle) * 1e9 / (double)n);
	return 0;
}

static void *work(void *arg)
{
	unsigned long n = *(unsigned long *)arg;
	uint32_t x = 1;

	for (unsigned long i = 0; i < n; i++) {
		size_t size = 1 + (x = x * 1103515245 + 12345) / 65536 % MAX_BYTES;

		if (i % leak)
			free(held[i % N_HELD]);
		held[i % N_HELD] = malloc(size);
		if (!held[i % N_HELD])
			abort();
		memset(held[i % N_HELD], 1, size);
		for (int turn = 0; turn < 40; turn++) /* what a program does with it */
			x ^= x << 13 ^ x >> 17;
		__asm__ volatile("" : : "r"(held[i % N_HELD]) : "memory");
	}
	return NULL;
}

static void work_in_threads(unsigned long n)
{
	pthread_t threads[N_THREADS];

	n /= N_THREADS;
	for (int i = 0; i < N_THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, &n))
			abort();
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	const char *how = argc > 3 ? argv[3] : "";
	double begin;

	if (argc > 2)
		leak = strtoul(argv[2], NULL, 10);
	if (!strcmp(how, "each"))
		return each(n);
	if (!strcmp(how, "wait"))
		ready();
	begin = now();
	if (!strcmp(how, "threads"))
		work_in_threads(n);
	else
		work(&n);
	printf("%.6f\n", now() - begin);
	return 0;
}
