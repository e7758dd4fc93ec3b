/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * returner.c: returner TIMES [GATE]: calls functions that return in every way, and some that do not. Each keeps a
 * ledger of its own: "FUNCTION ENTERED RETURNED" for each at the end. What is called before the file GATE exists has
 * begun before, and returns after it.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { DEEP = 10, DEEPER = 100 };

#define ALL(X)                                                                                                         \
	X(leaf)                                                                                                        \
	X(down)                                                                                                        \
	X(deeper)                                                                                                      \
	X(over)                                                                                                        \
	X(jump)                                                                                                        \
	X(before)                                                                                                      \
	X(last)                                                                                                        \
	X(dead)                                                                                                        \
	X(resume)                                                                                                      \
	X(yield)                                                                                                       \
	X(between)
#define NUMBER(name) N_##name,
enum { ALL(NUMBER) N_ALL, N_tail };
#define TEXT(name) "ret_" #name,
static const char *const names[] = {ALL(TEXT)};
static _Atomic long entered[N_ALL], returned[N_ALL];

#define APART __attribute__((noinline, noipa, used))
long ret_leaf(long n), ret_tail(long n), ret_down(long n), ret_deeper(long n), ret_jump(long n), ret_over(long n);
long ret_last(long n), ret_dead(long n), ret_between(long n), ret_yield(long n), ret_resume(long n);
long ret_before(const char *gate);
#define LEAVE(name, value)                                                                                             \
	do {                                                                                                           \
		returned[N_##name]++;                                                                                  \
		return value;                                                                                          \
	} while (0)

APART long ret_leaf(long n)
{
	entered[N_leaf]++;
	LEAVE(leaf, n + 1);
}

/* Returns as ret_leaf(), with one return address for both. */
__attribute__((naked, used, noinline)) long ret_tail(long n)
{
	(void)n;
	__asm__("push %rdi\n pop %rdi\n jmp ret_leaf");
}

APART long ret_down(long n)
{
	long r;

	entered[N_down]++;
	r = n ? ret_down(n - 1) + 1 : 0;
	LEAVE(down, r);
}

APART long ret_deeper(long n)
{
	long r;

	entered[N_deeper]++;
	r = n ? ret_deeper(n - 1) + 1 : 0;
	LEAVE(deeper, r);
}

/* --- left by longjmp --- */
static jmp_buf back;

APART long ret_jump(long n)
{
	entered[N_jump]++;
	if (n >= 0)
		longjmp(back, 1);
	LEAVE(jump, 1);
}

APART long ret_over(long n)
{
	long r;

	entered[N_over]++;
	r = ret_jump(n) + 1;
	LEAVE(over, r);
}

/* Each at a place of the stack that no other has, deepest first: the kernel tells by that that the one before has gone.
 */
APART static void jump_often(long times)
{
	if (times > 1)
		jump_often(times - 1);
	if (!setjmp(back))
		ret_jump(times);
}

/* So deep that what is called afterwards tells the kernel that the last one has gone, too: it keeps 64 of a thread. */
APART static void jump_from_below(long times)
{
	volatile char room[65536] = {0};

	jump_often(times + room[0]);
}

/* --- ended with their threads --- */
APART long ret_last(long n)
{
	entered[N_last]++;
	if (n >= 0)
		pthread_exit(NULL);
	LEAVE(last, 1);
}

APART long ret_dead(long n)
{
	entered[N_dead]++;
	if (n >= 0)
		syscall(SYS_exit, 0);
	LEAVE(dead, 1);
}

static void *thread_last(void *arg)
{
	return (void *)(ret_last((long)arg) + ret_leaf(1));
}

static void *thread_dead(void *arg)
{
	return (void *)(ret_dead((long)arg) + ret_leaf(1));
}

static void thread_run(void *(*what)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, what, NULL) || pthread_join(thread, NULL))
		exit(1);
}

/* --- on another stack --- */
static _Thread_local ucontext_t home, other;
static _Thread_local long handed;

APART long ret_between(long n)
{
	entered[N_between]++;
	LEAVE(between, n + 1);
}

APART long ret_yield(long n)
{
	entered[N_yield]++;
	handed = n;
	swapcontext(&other, &home);
	LEAVE(yield, handed);
}

APART long ret_resume(long n)
{
	entered[N_resume]++;
	handed = n;
	swapcontext(&home, &other);
	LEAVE(resume, handed + 1);
}

static void coroutine(void)
{
	for (;;)
		handed = ret_yield(ret_between(handed));
}

static void coroutine_begin(void)
{
	enum { BYTES = 1 << 16 };

	getcontext(&other);
	other.uc_stack.ss_sp = malloc(BYTES);
	other.uc_stack.ss_size = BYTES;
	if (!other.uc_stack.ss_sp)
		exit(1);
	makecontext(&other, coroutine, 0);
}

/* The same in a thread of its own, whose stack is memory like that of coroutines. */
static void *thread_switch(void *arg)
{
	long sum = 0;

	coroutine_begin();
	for (long i = 0; i < (long)arg; i++)
		sum += ret_resume(i);
	return (void *)sum;
}

/* Many take turns on few CPUs, between calls on stacks of both kinds. */
static void *thread_turns(void *arg)
{
	long sum = 0;

	coroutine_begin();
	for (long i = 0; i < (long)arg; i++) {
		sum += ret_resume(i) + ret_leaf(i);
		sched_yield();
	}
	return (void *)sum;
}

static void turns(long times)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, thread_turns, (void *)times))
			exit(1);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

/* --- the whole --- */
APART long ret_before(const char *gate)
{
	entered[N_before]++;
	while (access(gate, F_OK))
		usleep(5000);
	LEAVE(before, 1);
}

static long work(long times)
{
	pthread_t thread;
	void *sum;
	volatile long s = 0;

	for (volatile long i = 0; i < times; i++) {
		s += ret_tail(i) + ret_leaf(i) + ret_down(DEEP);
		if (!setjmp(back))
			s += ret_over(i);
	}
	s += ret_deeper(DEEPER);
	for (int i = 0; i < 10; i++) {
		thread_run(thread_last);
		thread_run(thread_dead);
	}
	if (getenv("SWITCH")) {
		s += (long)thread_switch((void *)times);
		if (pthread_create(&thread, NULL, thread_switch, (void *)times) || pthread_join(thread, &sum))
			exit(1);
		s += (long)sum;
	}
	return s;
}

int main(int argc, char **argv)
{
	volatile long sum = 0;

	if (argc > 2)
		sum = ret_before(argv[2]);
	if (getenv("JUMPS"))
		jump_from_below(strtol(getenv("JUMPS"), NULL, 10));
	sum += work(strtol(argv[1], NULL, 10));
	if (getenv("TURNS"))
		turns(strtol(argv[1], NULL, 10));
	printf("ret_tail %s %s\n", argv[1], argv[1]);
	for (int i = 0; i < N_ALL; i++)
		printf("%s %ld %ld\n", names[i], entered[i], returned[i]);
	return 0;
}
