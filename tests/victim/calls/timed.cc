/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timed: calls functions of libtimed.so and libc in every way in which a watched return could go wrong, and looks
 * whether all came out as it must. Prints "done" at the end, and "NAME CALLS NS": what it has measured itself. Exit
 * code 0 if nothing was wrong.
 *   timed          all of that
 *   timed strict   forbids itself all but read, write and exit, and calls on
 *   timed fault    forbids itself the time-stamp counter, and calls on
 *   timed deep     stays in a callback of a timed function until standard input ends
 */
#include "timed.h"

#include <atomic>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static std::atomic<int> n_wrong;
#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			n_wrong++;                                                                                     \
			fprintf(stderr, "timed.cc:%d: %s\n", __LINE__, #condition);                                    \
		}                                                                                                      \
	} while (0)

/* --- registers and the stack ---------------------------------------------------------------------------------------
 */
__attribute__((target("avx"))) static void vectors()
{
	alignas(32) double in[4] = {1, 2, 3, 4}, out[4];

	_mm256_store_pd(out, timed_vector(_mm256_load_pd(in)));
	MUST(out[0] == 2 && out[1] == 4 && out[2] == 6 && out[3] == 8);
}

static void values()
{
	large_one l = timed_large(7);
	char text[200];

	MUST(timed_long_double(1.25L) == 3.75L);
	_Complex long double c = timed_complex(3);
	MUST(__real__ c == 3 && __imag__ c == 6);
	MUST(timed_words(5).a == 6 && timed_words(5).b == 7);
	MUST(timed_doubles(5).a == 6 && timed_doubles(5).b == 7);
	MUST(timed_both(5).a == 6 && timed_both(5).b == 7);
	MUST(l.words[0] == 7 && l.words[19] == 26);
	MUST(timed_stack(1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, l) == 204 + 36 + 18 + 30 + 26);
	MUST(timed_varargs(12, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.) == 650);
	snprintf(text, sizeof(text), "%g %d %Lg %g %g %g %g %g %g %g %g %g %s", 1., 2, 3.5L, 4., 5., 6., 7., 8., 9.,
		 10., 11., 12., "end");
	MUST(!strcmp(text, "1 2 3.5 4 5 6 7 8 9 10 11 12 end"));
	MUST(strtold("2.5", nullptr) == 2.5L && pow(2, 10) == 1024);
	if (__builtin_cpu_supports("avx"))
		vectors();
}

/* --- ways out of a callback ----------------------------------------------------------------------------------------
 */
static int throwing(const void *, const void *)
{
	throw std::runtime_error("from qsort");
}

static void thrower(void *)
{
	throw 5;
}

static void exceptions()
{
	int numbers[4] = {3, 1, 2, 0}, n_caught = 0;

	for (int i = 0; i < 300; i++) {
		try {
			qsort(numbers, 4, sizeof(int), throwing);
		} catch (const std::runtime_error &) {
			n_caught++;
		}
		try {
			MUST(bsearch(numbers, numbers, 4, sizeof(int), throwing) == nullptr);
		} catch (const std::exception &) {
			n_caught++;
		}
		try {
			timed_call([](void *) { timed_call(thrower, nullptr); }, nullptr);
		} catch (int x) {
			n_caught += x == 5;
		}
	}
	MUST(n_caught == 900);
}

static jmp_buf where;

static void jumper(void *depth)
{
	long n = reinterpret_cast<long>(depth);

	if (n == 0)
		longjmp(where, 1);
	timed_call(jumper, reinterpret_cast<void *>(n - 1));
}

static void jumps()
{
	volatile long i = 0;

	if (setjmp(where))
		i = i + 1;
	if (i < 500)
		timed_call(jumper, reinterpret_cast<void *>(i % 20));
	MUST(i == 500 && timed_one(1) == 2);
}

struct counter {
	std::atomic<int> *n;
	~counter()
	{
		++*n;
	}
};
static std::atomic<int> n_cleaned;
static std::atomic<bool> is_waiting;

static void waits(void *)
{
	counter c{&n_cleaned};

	is_waiting = true;
	timed_wait();
}

static void leaves(void *)
{
	counter c{&n_cleaned};

	pthread_exit(&n_cleaned);
}

template <void (*call)(void *)> static void *in_thread(void *)
{
	counter c{&n_cleaned};

	timed_call(call, nullptr);
	return nullptr;
}

static void threads_end()
{
	pthread_t thread;
	void *result;

	for (int i = 0; i < 20; i++) {
		is_waiting = false;
		pthread_create(&thread, nullptr, in_thread<waits>, nullptr);
		while (!is_waiting)
			sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, &result);
		MUST(result == PTHREAD_CANCELED);
		pthread_create(&thread, nullptr, in_thread<leaves>, nullptr);
		pthread_join(thread, &result);
		MUST(result == &n_cleaned);
	}
	MUST(n_cleaned == 80);
}

/* --- other stacks --------------------------------------------------------------------------------------------------
 */
enum { FIBERS = 8, STACK = 1 << 16 };
static ucontext_t scheduler, fibers[FIBERS];
static char stacks[FIBERS][STACK];
static int current, n_steps;

static void yield_deep(void *depth)
{
	long n = reinterpret_cast<long>(depth);

	n_steps++;
	swapcontext(&fibers[current], &scheduler);
	if (n > 0)
		timed_call(yield_deep, reinterpret_cast<void *>(n - 1));
	swapcontext(&fibers[current], &scheduler);
}

static void fiber()
{
	timed_call(yield_deep, reinterpret_cast<void *>(10L));
	n_steps += 1000;
}

static void fiber_make(int i)
{
	getcontext(&fibers[i]);
	fibers[i].uc_stack.ss_sp = stacks[i];
	fibers[i].uc_stack.ss_size = STACK;
	fibers[i].uc_link = &scheduler;
	makecontext(&fibers[i], fiber, 0);
}

/* In another order each time. */
static void fibers_mixed()
{
	n_steps = 0;
	for (int i = 0; i < FIBERS; i++)
		fiber_make(i);
	for (int round = 0; round < 23; round++)
		for (int i = 0; i < FIBERS; i++) {
			current = (i * 3 + round) % FIBERS;
			swapcontext(&scheduler, &fibers[current]);
		}
	MUST(n_steps == FIBERS * 1011);
}

/* As continuations do: a stack that is copied away, and put back when all of its calls have returned. */
static void returns_twice()
{
	static char copy[STACK];
	ucontext_t saved;

	n_steps = 0;
	fiber_make(0);
	current = 0;
	for (int i = 0; i < 6; i++)
		swapcontext(&scheduler, &fibers[0]);
	memcpy(copy, stacks[0], STACK);
	saved = fibers[0];
	for (int again = 0; again < 3; again++) {
		memcpy(stacks[0], copy, STACK);
		fibers[0] = saved;
		/* The floating-point state is where the context that was saved says. */
		fibers[0].uc_mcontext.fpregs = &fibers[0].__fpregs_mem;
		for (int i = 6; i < 23; i++)
			swapcontext(&scheduler, &fibers[0]);
	}
	MUST(n_steps == 6 + 3 * (5 + 1000));
}

/* --- signals, threads, processes ------------------------------------------------------------------------------------
 */
static std::atomic<int> n_signals;

static void on_signal(int)
{
	long x = 0;

	for (int i = 0; i < 20; i++)
		x = timed_one(x);
	timed_call([](void *data) { *static_cast<long *>(data) += timed_one(1); }, &x);
	if (x == 22)
		n_signals++;
}

static void *recursion(void *own)
{
	long mine = reinterpret_cast<long>(own), n = 0;

	struct step {
		long depth, *n, mine, wrong;
		static void run(void *data)
		{
			auto s = *static_cast<step *>(data);
			if (s.depth-- > 0)
				timed_call(run, &s);
			static_cast<step *>(data)->wrong = s.wrong + (timed_one(s.mine) != s.mine + 1);
			++*s.n;
		}
	};
	for (int i = 0; i < 200; i++) {
		step s{100, &n, mine, 0};
		timed_call(step::run, &s);
		MUST(s.wrong == 0);
	}
	MUST(n == 200 * 101);
	return own;
}

static void many_threads()
{
	pthread_t threads[32];
	struct sigaction action = {};
	itimerval timer = {};
	void *result;

	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, nullptr);
	timer.it_interval.tv_usec = timer.it_value.tv_usec = 300;
	setitimer(ITIMER_REAL, &timer, nullptr);
	for (long i = 0; i < 32; i++)
		pthread_create(&threads[i], nullptr, recursion, reinterpret_cast<void *>(i));
	for (long i = 0; i < 32; i++) {
		pthread_join(threads[i], &result);
		MUST(result == reinterpret_cast<void *>(i));
	}
	while (n_signals < 10)
		timed_one(1);
	timer = {};
	setitimer(ITIMER_REAL, &timer, nullptr);
}

static void forks(void *child)
{
	*static_cast<pid_t *>(child) = fork();
}

static void processes()
{
	for (int i = 0; i < 20; i++) {
		pid_t child = -1;
		int status = -1;

		timed_call([](void *data) { timed_call(forks, data); }, &child);
		if (child == 0)
			_exit(timed_one(6) == 7 ? 9 : 1);
		MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
	}
}

/* --- looking back ---------------------------------------------------------------------------------------------------
 */
static __attribute__((noinline)) void look_back(void *found)
{
	void *frames[64], *here = __builtin_extract_return_addr(*static_cast<void **>(found));
	int n = backtrace(frames, 64);

	*static_cast<void **>(found) = nullptr;
	for (int i = 0; i < n; i++)
		if (frames[i] == here)
			*static_cast<void **>(found) = here;
}

/* The place in main() to which this returns must be in a backtrace through two timed calls. */
static __attribute__((noinline)) void backtraces()
{
	void *to = __builtin_return_address(0), *found = to;

	timed_call([](void *data) { timed_call(look_back, data); }, &found);
	MUST(found == to);
}

/* --- times ----------------------------------------------------------------------------------------------------------
 */
static uint64_t now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

template <void (*function)(uint64_t)> static void measured(const char *name, int n, uint64_t ns)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		uint64_t start = now_ns();
		function(ns);
		sum += now_ns() - start;
	}
	printf("%s %d %llu\n", name, n, static_cast<unsigned long long>(sum));
}

/* --- what else ------------------------------------------------------------------------------------------------------
 */
static int forbidden(bool strict)
{
	static const char on[] = "on\n";
	bool still = timed_one(1) == 2;

	if (strict ? prctl(PR_SET_SECCOMP, 1) : prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		return 77;
	for (int i = 0; i < 100; i++)
		still = still && timed_one(i) == i + 1;
	if (write(1, on, still ? 3 : 0))
		syscall(SYS_exit, 0);
	return 1;
}

static void stay(void *)
{
	char byte;

	puts("deep");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "deep"))
		timed_call([](void *) { timed_call(stay, nullptr); }, nullptr);
	else if (argc > 1)
		return forbidden(!strcmp(argv[1], "strict"));
	if (argc > 1)
		return 0;
	values();
	exceptions();
	jumps();
	threads_end();
	fibers_mixed();
	returns_twice();
	many_threads();
	processes();
	backtraces();
	measured<timed_spin>("timed_spin", 200, 20000);
	measured<timed_last>("timed_last", 100, 20000);
	puts("done");
	return n_wrong > 0;
}
