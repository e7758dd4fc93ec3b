/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sleepers [stuck | many]: threads that wait for good, each in its own way and below functions of its own. Says "ready"
 * when all of them wait. stuck: one thread's stack has a page that nobody will ever provide (userfaultfd): who reads it
 * from outside hangs. many: MANY more threads, each with a stack of its own.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

enum { DEEP = 700, LARGE = 300 << 10, STACK = 4 << 20, PAGE = 4096, MANY = 1500 };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static volatile int n_ready;

static void ready(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
	__sync_fetch_and_add(&n_ready, 1);
}

static KEEP void wait_in_sleep(void)
{
	nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
	__asm__("");
}

static KEEP void wait_in_lock(void)
{
	pthread_mutex_lock(&held);
	__asm__("");
}

static KEEP void wait_in_read(void)
{
	int fds[2];
	char c;

	if (pipe(fds) || read(fds[0], &c, 1) < 0)
		abort();
	__asm__("");
}

static KEEP int wait_deep(int n)
{
	if (!n)
		wait_in_sleep();
	return n ? wait_deep(n - 1) + 1 : 0;
}

static KEEP void wait_above(void)
{
	char large[LARGE]; /* the root is further away than a sample's copy reaches */

	__asm__ volatile("" : : "r"(large) : "memory");
	wait_in_sleep();
	__asm__ volatile("" : : "r"(large) : "memory");
}

static void *sleeper(void *arg)
{
	(void)arg;
	ready("in-sleep");
	wait_in_sleep();
	return NULL;
}
static void *locker(void *arg)
{
	(void)arg;
	ready("in-lock");
	wait_in_lock();
	return NULL;
}
static void *reader(void *arg)
{
	(void)arg;
	ready("in-read");
	wait_in_read();
	return NULL;
}
static void *diver(void *arg)
{
	(void)arg;
	ready("deep");
	wait_deep(DEEP);
	return NULL;
}
/* Below code that has no file: push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static void *coder(void *arg)
{
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	void *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		abort();
	memcpy(m, code, sizeof(code));
	ready("in-code");
	((void (*)(void (*)(void)))m)(wait_in_sleep);
	return arg;
}
static void *spreader(void *arg)
{
	(void)arg;
	ready("large");
	wait_above();
	return NULL;
}

/* The stack, from arg on, has a page at its upper end that was never touched: who reads that waits for good. */
static void *stuck(void *arg)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register r = {.range = {(uintptr_t)arg, STACK + PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char used[16 * PAGE]; /* what this thread will need of it */

	memset(used, 1, sizeof(used));
	__asm__ volatile("" : : "r"(used) : "memory");

	prctl(PR_SET_NAME, "stuck", 0, 0, 0);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r))
		exit(77);
	__sync_fetch_and_add(&n_ready, 1);
	wait_in_sleep();
	return NULL;
}

static void begin(void *(*run)(void *), void *stack, void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || (stack && pthread_attr_setstack(&attr, stack, STACK)) ||
	    pthread_create(&thread, &attr, run, arg))
		abort();
}

/* A stack with a page above it, in the same mapping, that was never touched. */
static void begin_stuck(void)
{
	char *m = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		abort();
	begin(stuck, m, m);
}

int main(int argc, char **argv)
{
	int n = 6;

	pthread_mutex_lock(&held);
	begin(sleeper, NULL, NULL);
	begin(locker, NULL, NULL);
	begin(reader, NULL, NULL);
	begin(diver, NULL, NULL);
	begin(spreader, NULL, NULL);
	begin(coder, NULL, NULL);
	if (argc > 1 && !strcmp(argv[1], "stuck")) {
		begin_stuck();
		n++;
	}
	for (int i = 0; argc > 1 && !strcmp(argv[1], "many") && i < MANY; i++, n++)
		begin(sleeper, NULL, NULL);
	while (n_ready < n)
		usleep(1000);
	usleep(200000);
	puts("ready");
	fflush(stdout);
	poll(NULL, 0, -1);
	return 0;
}
