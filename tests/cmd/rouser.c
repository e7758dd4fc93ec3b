/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rouser: thread "sleeper" waits TURNS times in each of four ways, by functions of its own, and thread "rouser" ends
 * each wait, by functions of its own; then thread "second" ends as many waits for the condition; then the sleeper
 * sleeps, which a timer ends. Says of each how long it has waited, in ns.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

enum { TURNS = 20, WAIT_NS = 8000000 };

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t turn;
static pthread_t sleeper;
static int n_changes;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static KEEP void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
	__asm__("");
}

/* --- the sleeper --- */
static KEEP void wait_in_pipe(int n)
{
	char c;

	(void)n;
	if (read(ends[0], &c, 1) != 1)
		perror("read");
}

static KEEP void wait_in_condition(int n)
{
	pthread_mutex_lock(&mutex);
	while (n_changes <= n)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static KEEP void wait_in_lock(int n)
{
	(void)n;
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
}

static KEEP void wait_in_signal(int n)
{
	sigset_t one;

	(void)n;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	if (sigwaitinfo(&one, NULL) != SIGUSR1)
		perror("sigwaitinfo");
	__asm__("");
}

/* --- the rouser --- */
static KEEP void rouse_by_pipe(void)
{
	sleep_ns(WAIT_NS);
	if (write(ends[1], "", 1) != 1)
		perror("write");
	__asm__("");
}

static KEEP void rouse_by_condition(void)
{
	sleep_ns(WAIT_NS);
	pthread_mutex_lock(&mutex);
	n_changes++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static KEEP void rouse_by_lock(void)
{
	sleep_ns(WAIT_NS);
	pthread_mutex_unlock(&held);
	__asm__("");
}

static KEEP void rouse_by_signal(void)
{
	sleep_ns(WAIT_NS);
	pthread_kill(sleeper, SIGUSR1);
	__asm__("");
}

static KEEP void rouse_all(void (*rouse)(void), int is_lock)
{
	for (int n = 0; n < TURNS; n++) {
		if (is_lock)
			pthread_mutex_lock(&held);
		pthread_barrier_wait(&turn);
		rouse();
		pthread_barrier_wait(&turn);
	}
}

static void *rouser(void *arg)
{
	prctl(PR_SET_NAME, "rouser");
	rouse_all(rouse_by_pipe, 0);
	rouse_all(rouse_by_condition, 0);
	rouse_all(rouse_by_lock, 1);
	rouse_all(rouse_by_signal, 0);
	return arg;
}

static void *second(void *arg)
{
	prctl(PR_SET_NAME, "second");
	rouse_all(rouse_by_condition, 0);
	return arg;
}

static KEEP void wait_all(const char *name, void (*wait)(int n))
{
	long long waited = 0;

	for (int n = 0; n < TURNS; n++) {
		pthread_barrier_wait(&turn);
		waited -= now_ns();
		wait(n);
		waited += now_ns();
		pthread_barrier_wait(&turn);
	}
	printf("%s %lld\n", name, waited);
}

/* How long this thread was ready to run while others did, by the kernel's books. */
static long long queued_ns(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	long long ran, queued = 0;

	if (f && fscanf(f, "%lld %lld", &ran, &queued) != 2)
		queued = 0;
	if (f)
		fclose(f);
	return queued;
}

int main(void)
{
	long long queued = queued_ns();

	sigset_t signals;
	pthread_t thread;
	long long began;

	prctl(PR_SET_NAME, "sleeper");
	sleeper = pthread_self();
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	pthread_barrier_init(&turn, NULL, 2);
	if (pipe(ends) || pthread_create(&thread, NULL, rouser, NULL))
		return 1;
	sleep_ns(900000000); /* until the unwind table is there */
	wait_all("pipe", wait_in_pipe);
	wait_all("condition", wait_in_condition);
	wait_all("lock", wait_in_lock);
	wait_all("signal", wait_in_signal);
	pthread_join(thread, NULL);
	n_changes = 0;
	if (pthread_create(&thread, NULL, second, NULL))
		return 1;
	wait_all("second", wait_in_condition);
	pthread_join(thread, NULL);
	began = now_ns();
	sleep_ns(200000000);
	printf("timer %lld\n", now_ns() - began);
	printf("queue %lld\n", queued_ns() - queued);
	return 0;
}
