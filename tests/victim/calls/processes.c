/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that come about in every way and call a library; each says "PID calls", and how many. What runs in a
 * sandbox cannot, so its parent says it. A child without a pid of libc's own (clone) says 0.
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

long counted_one(long x);
long counted_two(long x);

static atomic_long n_calls; /* of this process */
static char *self;

static void call(long n)
{
	for (long i = 0; i < n; i++) {
		counted_one(i);
		if (i % 3 == 0)
			n_calls++, counted_two(i);
	}
	n_calls += n;
}

static void tell(long pid)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%ld calls %ld\n", pid, (long)n_calls);

	if (write(1, text, (size_t)len) != len)
		_exit(9);
}

static void wait_for(pid_t pid, int code)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != code) {
		fprintf(stderr, "child %d: %x\n", (int)pid, (unsigned)status);
		exit(8);
	}
}

static void *call_in_thread(void *n)
{
	call((long)n);
	return NULL;
}

static void in_thread(void *(*run)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, arg) != 0 || pthread_join(t, NULL) != 0)
		exit(7);
}

static void child(long n, int depth)
{
	pid_t pid = fork();

	if (pid != 0) {
		wait_for(pid, 0);
		return;
	}
	n_calls = 0;
	call(n);
	if (depth > 0) {
		child(n + 1, depth - 1);
		in_thread(call_in_thread, (void *)(n + 2));
	}
	call(n);
	tell(getpid());
	_exit(0);
}

static void *fork_in_thread(void *n)
{
	child((long)n, 1);
	return NULL;
}

/* Its first counted calls are made where all but read, write and exit kill. */
static void sandboxed(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			_exit(6);
		for (long i = 0; i < 11; i++)
			counted_one(i);
		syscall(SYS_exit, 3);
	}
	wait_for(pid, 3);
	printf("%d calls 11\n", (int)pid);
	fflush(stdout);
}

static void cloned(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		n_calls = 0;
		call(77);
		tell(0);
		_exit(0);
	}
	wait_for(pid, 0);
}

/*
 * Out of signal handlers that come in the midst of calls, also in that of a trampoline: the child goes on where its
 * parent was. It says what it has called; the call that was under way is of both.
 */
static atomic_long n_forks;

static void fork_in_handler(int signal)
{
	(void)signal;
	pid_t pid = fork();

	if (pid == 0) {
		n_calls = -1;
		n_forks = -1;
		if (getpid() % 2 == 0)
			call(3);
	} else {
		n_forks += pid > 0;
	}
}

static void interrupted(void)
{
	struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
	int status;
	long n = 0;
	pid_t pid = fork();

	if (pid != 0) {
		wait_for(pid, 0);
		return;
	}
	signal(SIGALRM, fork_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	while (n_forks >= 0 && n_forks < 200)
		n = counted_two(counted_one(n));
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < 1000 && n_forks < 0; i++)
		n = counted_two(counted_one(n));
	if (n_forks < 0)
		_exit(0);
	while (wait(&status) > 0)
		if (status != 0)
			_exit(2);
	_exit(0);
}

/* The child's calls are its parent's until it is another program. */
static void vforked(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		call(5);
		execl(self, self, "other", (char *)NULL);
		_exit(5);
	}
	wait_for(pid, 0);
}

static void *busy(void *stop)
{
	while (!*(atomic_bool *)stop)
		call(1);
	return NULL;
}

int main(int argc, char **argv)
{
	atomic_bool stop = false;
	pthread_t t;

	self = argv[0];
	if (argc > 1 && argv[1][0] == 'i') {
		interrupted();
		return 0;
	}
	if (argc > 1) {
		call(9);
		tell(getpid());
		return 0;
	}
	child(100, 2); /* before its parent has called */
	call(1000);
	child(30, 0);
	if (pthread_create(&t, NULL, busy, &stop) != 0)
		return 7;
	child(2000, 2); /* while another thread calls */
	in_thread(fork_in_thread, (void *)50L);
	sandboxed();
	cloned();
	stop = true;
	pthread_join(t, NULL);
	vforked();
	if (system("exit 4") >> 8 != 4)
		return 4;
	call(1000);
	tell(getpid());
	return 0;
}
