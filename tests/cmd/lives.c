/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lives ROUNDS: three threads that work, sleep and touch memory, each in its own measure. Then each one's line:
 * NAME, the ns from its first own step to its last, those from before it was made to when it was seen to have ended,
 * how often it went to wait, its page faults, the ns that it ran, as the kernel counted them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

enum { N_THREADS = 3, PAGES = 4, PAGE = 4096 };

struct life {
	char name[16];
	long work_us, sleep_us;
	long rounds;
	long long ns, outer_ns, waits, faults, ran;
};

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Takes a sign of everything off, or puts it back. */
static void life_mark(struct life *l, int sign)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	l->ns += sign * now(CLOCK_MONOTONIC);
	l->ran += sign * now(CLOCK_THREAD_CPUTIME_ID);
	l->waits += sign * u.ru_nvcsw;
	l->faults += sign * (u.ru_minflt + u.ru_majflt);
}

static void work(long us)
{
	long long end = now(CLOCK_THREAD_CPUTIME_ID) + us * 1000LL;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void touch(void)
{
	volatile char *m = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		abort();
	for (int i = 0; i < PAGES; i++)
		m[i * PAGE] = 1;
	munmap((void *)m, PAGES * PAGE);
}

static void *life(void *arg)
{
	struct life *l = arg;

	prctl(PR_SET_NAME, l->name, 0, 0, 0);
	life_mark(l, -1);
	for (long i = 0; i < l->rounds; i++) {
		work(l->work_us);
		touch();
		nanosleep(&(struct timespec){.tv_nsec = l->sleep_us * 1000}, NULL);
	}
	life_mark(l, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	/* in the order in which they end */
	struct life lives[N_THREADS] = {{.name = "life-a", .work_us = 500, .sleep_us = 11500},
					{.name = "life-b", .work_us = 3000, .sleep_us = 9000},
					{.name = "life-c", .work_us = 6000, .sleep_us = 6000}};
	pthread_t threads[N_THREADS];

	for (int i = 0; i < N_THREADS; i++) {
		lives[i].rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
		lives[i].outer_ns = -now(CLOCK_MONOTONIC);
		if (pthread_create(&threads[i], NULL, life, &lives[i]))
			return 1;
	}
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		lives[i].outer_ns += now(CLOCK_MONOTONIC);
	}
	for (int i = 0; i < N_THREADS; i++)
		printf("%s %lld %lld %lld %lld %lld\n", lives[i].name, lives[i].ns, lives[i].outer_ns, lives[i].waits,
		       lives[i].faults, lives[i].ran);
	return 0;
}
