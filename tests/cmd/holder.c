/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holder [stuck]: one thread ("waiter") waits for locks that the other holds, TURNS times for each of three. Says of
 * each what it is called, where it is, and how many ns the other waited for it: LIBRARY:NAME, then LIBRARY+0xADDRESS as
 * in its symbol table; or twice [heap:PID]+0xADDRESS. stuck: waits for a library's lock for good, says "ready" when it
 * does.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

enum { TURNS = 25, LOCKS = 3 };

pthread_mutex_t *held_in_data(void);
pthread_mutex_t *held_in_bss(void);

static pthread_mutex_t *locks[LOCKS];
static const char *const names[LOCKS] = {"", "in_bss+0x2dc6c0", "in_data"}; /* as in held.c */
static const long hold_ns[LOCKS] = {20000000, 5000000, 10000000};
static long long waited_ns[LOCKS];
static pthread_barrier_t turn;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static KEEP void wait_for(int i)
{
	long long began = now_ns();

	pthread_mutex_lock(locks[i]);
	waited_ns[i] += now_ns() - began;
	pthread_mutex_unlock(locks[i]);
}

static void *waiter(void *arg)
{
	prctl(PR_SET_NAME, "waiter", 0, 0, 0);
	for (int n = 0; n < TURNS * LOCKS; n++) {
		pthread_barrier_wait(&turn); /* the lock is held now */
		wait_for(n % LOCKS);
		pthread_barrier_wait(&turn);
	}
	return arg;
}

static void *stuck(void *arg)
{
	pthread_mutex_lock(locks[1]);
	return arg;
}

static void tell(int i)
{
	Dl_info info;

	if (dladdr(locks[i], &info) && info.dli_fbase)
		printf("%s:%s %s+0x%zx", strrchr(info.dli_fname, '/') + 1, names[i], strrchr(info.dli_fname, '/') + 1,
		       (size_t)((char *)locks[i] - (char *)info.dli_fbase));
	else
		printf("[heap:%d]+0x%zx [heap:%d]+0x%zx", getpid(), (size_t)locks[i], getpid(), (size_t)locks[i]);
	printf(" %lld\n", waited_ns[i]);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	locks[0] = malloc(sizeof(*locks[0]));
	locks[1] = held_in_bss();
	locks[2] = held_in_data();
	pthread_mutex_init(locks[0], NULL);
	pthread_barrier_init(&turn, NULL, 2);
	pthread_mutex_lock(locks[1]);
	if (argc > 1 && !pthread_create(&thread, NULL, stuck, NULL)) {
		tell(1);
		fflush(stdout);
		pause();
	}
	pthread_mutex_unlock(locks[1]);
	pthread_create(&thread, NULL, waiter, NULL);
	for (int n = 0; n < TURNS * LOCKS; n++) {
		pthread_mutex_lock(locks[n % LOCKS]);
		pthread_barrier_wait(&turn);
		sleep_ns(hold_ns[n % LOCKS]);
		pthread_mutex_unlock(locks[n % LOCKS]);
		pthread_barrier_wait(&turn);
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < LOCKS; i++)
		tell(i);
	return 0;
}
