/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * told.c: `told THREADS RATE CALLS`: each of THREADS makes CALLS system calls that nobody else makes (getpgid), all of
 * them together RATE a second, or as fast as they can with RATE 0. Prints how many were made, and the nanoseconds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, BURST = 16 };
static long n_calls, n_threads, rate;
static pthread_barrier_t begin;

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Sleeps until the next calls are due: some at once, since a sleep takes longer than several. */
static void *calls_make(void *arg)
{
	long since, due;

	(void)arg;
	pthread_barrier_wait(&begin);
	since = now_ns();
	for (long i = 0; i < n_calls; i++) {
		if (rate && i % BURST == 0) {
			due = since + (long)((double)i * (double)n_threads * 1e9 / (double)rate);
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
					&(struct timespec){due / 1000000000, due % 1000000000}, NULL);
		}
		syscall(SYS_getpgid, 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	long since;

	if (argc != 4)
		return 2;
	n_threads = strtol(argv[1], NULL, 10);
	rate = strtol(argv[2], NULL, 10);
	n_calls = strtol(argv[3], NULL, 10);
	if (n_threads < 1 || n_threads > MAX_THREADS)
		return 2;
	pthread_barrier_init(&begin, NULL, (unsigned)n_threads + 1);
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, calls_make, NULL))
			return 1;
	pthread_barrier_wait(&begin);
	since = now_ns();
	for (long i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld\n", n_threads * n_calls, now_ns() - since);
	return 0;
}
