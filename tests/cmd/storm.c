/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * storm waits MS: two threads hand a byte to each other all the time, and others sleep 1 ms again and again
 * ("sleeper"). Then how many ns the sleepers did not run, all together, and how often all threads left a CPU, as the
 * kernel counted it. storm faults ROUNDS: touches 1,000 fresh pages so often. Then its page faults. storm paced MS: the
 * same with 200 pages at each ms of the clock, so that it makes no fewer where each takes longer. storm locks TURNS:
 * two threads take turns so often, each waiting for the other by a condition variable.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { N_SLEEPERS = 20, PAGES = 1000, PACED_PAGES = 200, PAGE = 4096 };

static long long end_ns;
static int there[2], back[2];

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *pong(void *arg)
{
	char c;

	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return arg;
}

static void *ping(void *arg)
{
	char c = 0;

	while (now(CLOCK_MONOTONIC) < end_ns)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			abort();
	close(there[1]);
	return arg;
}

static void *sleeper(void *arg)
{
	long long *off = arg;

	prctl(PR_SET_NAME, "sleeper", 0, 0, 0);
	*off = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID);
	while (now(CLOCK_MONOTONIC) < end_ns)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	*off = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID) - *off;
	return NULL;
}

static int waits(long ms)
{
	long long off[N_SLEEPERS], sum = 0;
	pthread_t threads[N_SLEEPERS + 2];
	struct rusage u;
	int i;

	end_ns = now(CLOCK_MONOTONIC) + ms * 1000000LL;
	if (pipe(there) || pipe(back) || pthread_create(&threads[N_SLEEPERS], NULL, ping, NULL) ||
	    pthread_create(&threads[N_SLEEPERS + 1], NULL, pong, NULL))
		return 1;
	for (i = 0; i < N_SLEEPERS; i++)
		if (pthread_create(&threads[i], NULL, sleeper, &off[i]))
			return 1;
	for (i = 0; i < N_SLEEPERS + 2; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < N_SLEEPERS; i++)
		sum += off[i];
	getrusage(RUSAGE_SELF, &u);
	printf("%lld %ld\n", sum, u.ru_nvcsw + u.ru_nivcsw);
	return 0;
}

static void touch(int n)
{
	volatile char *m = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED || madvise((void *)m, n * PAGE, MADV_NOHUGEPAGE))
		abort();
	for (int i = 0; i < n; i++)
		m[i * PAGE] = 1;
	munmap((void *)m, n * PAGE);
}

static int faults_tell(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("%ld\n", u.ru_minflt + u.ru_majflt);
	return 0;
}

static int faults(long rounds)
{
	while (rounds--)
		touch(PAGES);
	return faults_tell();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int whose;
static long n_turns;

static void *turns(void *me)
{
	for (long i = 0; i < n_turns; i++) {
		pthread_mutex_lock(&lock);
		while (whose != *(int *)me)
			pthread_cond_wait(&changed, &lock);
		whose = !whose;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static int locks(long n)
{
	int first = 0, second = 1;
	pthread_t thread;

	n_turns = n;
	if (pthread_create(&thread, NULL, turns, &second))
		return 1;
	turns(&first);
	return pthread_join(thread, NULL);
}

static int paced(long ms)
{
	long long at = now(CLOCK_MONOTONIC);

	while (ms--) {
		at += 1000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				&(struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000}, NULL);
		touch(PACED_PAGES);
	}
	return faults_tell();
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (argc > 2 && !strcmp(argv[1], "faults"))
		return faults(n);
	if (argc > 2 && !strcmp(argv[1], "locks"))
		return locks(n);
	return argc > 2 && !strcmp(argv[1], "paced") ? paced(n) : waits(n);
}
