/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls: calls functions of libcounted.so in every way there is, from threads, forks, signal handlers, plugins and other
 * programs that it starts, counts each call for itself in memory that its children share, and prints NAME COUNT at the
 * end; of calls by an address "address NAME COUNT". Exit code 0 if all that it called did what it should.
 *   calls DIRECTORY        DIRECTORY has the plugins and `still`
 *   calls DIRECTORY child  a few calls, as another program
 *   calls DIRECTORY endless  prints "on", and calls until it is killed
 */
#include "counted.h"

#include <atomic>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define X(name) N_##name,
enum { COUNTED_ALL N_ALL };
#undef X

static std::atomic<uint64_t> *truth; /* shared with children */
static std::string directory;
static std::atomic<int> n_wrong;
static int n_by_word; /* calls of counted_mixed by plugins without a PLT */
extern char **environ;

#define CALL(name, ...) (truth[N_##name].fetch_add(1, std::memory_order_relaxed), name(__VA_ARGS__))
#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			n_wrong++;                                                                                     \
			fprintf(stderr, "calls.cc:%d: %s\n", __LINE__, #condition);                                    \
		}                                                                                                      \
	} while (0)

enum { N_LOOP = 1000000 };

static void *thread_main(void *forks)
{
	long x = 0;

	for (int i = 0; i < N_LOOP; i++)
		x = counted_one(x);
	truth[N_counted_one] += N_LOOP;
	MUST(x == N_LOOP);
	for (int i = 0; i < (forks != nullptr ? 10 : 0); i++) {
		pid_t child = fork();
		int status;
		if (child == 0) {
			for (int k = 0; k < 20000; k++)
				x = counted_two(x);
			truth[N_counted_two] += 20000;
			_exit(3);
		}
		MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
	}
	return nullptr;
}

static void threads()
{
	pthread_t all[5];

	for (int i = 0; i < 5; i++)
		pthread_create(&all[i], nullptr, thread_main, i < 2 ? &all[i] : nullptr);
	for (auto t : all)
		pthread_join(t, nullptr);
}

static void on_signal(int)
{
	CALL(counted_signal);
}

static void signals(bool on)
{
	static char stack[1 << 16];
	stack_t alternative = {};
	struct sigaction action = {};
	itimerval timer = {};

	alternative.ss_sp = stack;
	alternative.ss_size = sizeof(stack);
	sigaltstack(&alternative, nullptr);
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGALRM, &action, nullptr);
	timer.it_interval.tv_usec = timer.it_value.tv_usec = on ? 500 : 0;
	setitimer(ITIMER_REAL, &timer, nullptr);
}

static void thrower(void *data)
{
	throw std::runtime_error(static_cast<const char *>(data));
}

static void deep(void *data)
{
	int *n = static_cast<int *>(data);

	if (--*n > 0)
		CALL(counted_callback, deep, data);
}

static void unwinding()
{
	char word[] = "thrown";
	int n_caught = 0, n_jumps = 0, depth = 200;
	jmp_buf where;

	for (int i = 0; i < 2000; i++)
		try {
			CALL(counted_callback, thrower, word);
		} catch (const std::runtime_error &e) {
			n_caught += strcmp(e.what(), "thrown") == 0;
		}
	volatile int again = 0;
	n_jumps = setjmp(where);
	if (again < 1000) {
		again = again + 1;
		CALL(counted_jump, where, again);
	}
	CALL(counted_callback, deep, &depth);
	MUST(n_caught == 2000 && n_jumps == 1000 && depth == 0);
}

static void look_back(void *data)
{
	void *frames[32];

	*static_cast<int *>(data) = backtrace(frames, 32);
}

static void arguments()
{
	struct large l = CALL(counted_struct, 5, 9);
	int depth = 0;

	MUST(l.words[0] == 5 && l.words[15] == 9 && l.words[7] == 0);
	MUST(CALL(counted_varargs, 5, 0.5, 2, 1.5, 3, 2.0) == 9);
	MUST(CALL(counted_varargs, 0) == 0);
	MUST(CALL(counted_vector, 1, 2, 3, 4, 5, 6, 7, 8) == 204);
	MUST(CALL(counted_ifunc, 4) == 5);
	truth[N_counted_inner]++;
	MUST(CALL(counted_outer, 1) == 3);
	CALL(counted_callback, look_back, &depth);
	MUST(depth >= 5); /* here, library, arguments, main, libc */
}

static __attribute__((noinline)) long tail(long x)
{
	return counted_tail(x + 1);
}

static void by_address()
{
	long (*volatile mixed)(long) = counted_mixed, (*volatile taken)(long) = counted_taken;

	for (int i = 0; i < 1000; i++) {
		truth[N_counted_mixed]++;
		MUST(counted_mixed(i) == i + 1 && mixed(i) == i + 1 && taken(i) == i + 1);
		truth[N_counted_tail]++;
		MUST(tail(i) == i + 2);
	}
	auto found = reinterpret_cast<long (*)(long)>(dlsym(RTLD_DEFAULT, "counted_dlsym"));
	MUST(found != nullptr && found == dlsym(RTLD_DEFAULT, "counted_dlsym"));
	MUST(dlsym(RTLD_DEFAULT, "counted_mixed") == reinterpret_cast<void *>(counted_mixed));
	for (int i = 0; found != nullptr && i < 1000; i++)
		MUST(found(i) == i + 1);
	puts("address counted_mixed 1000\naddress counted_taken 1000\naddress counted_dlsym 1000");
	fflush(stdout); /* before forks */
	Dl_info info = {};
	MUST(dladdr(reinterpret_cast<void *>(found), &info) != 0 && strstr(info.dli_fname, "libcounted.so") != nullptr);
}

/* constructor: how many calls it makes. Without a PLT, the one word by which it calls a function is its address, too. */
static void plugin(const char *name, int constructor, bool has_plt, bool other_namespace)
{
	std::string path = directory + "/" + name;
	void *handle = other_namespace ? dlmopen(LM_ID_NEWLM, path.c_str(), RTLD_NOW) : dlopen(path.c_str(), RTLD_LAZY);

	MUST(handle != nullptr);
	if (handle == nullptr)
		return;
	truth[N_counted_constructor] += constructor;
	auto run = reinterpret_cast<long (*)(long)>(dlsym(handle, "plugin_run"));
	auto address = reinterpret_cast<void *(*)()>(dlsym(handle, "plugin_mixed"));
	MUST(run(50) == 50);
	truth[N_counted_two] += 50;
	truth[N_counted_mixed] += has_plt;
	n_by_word += !has_plt;
	MUST(other_namespace || address() == reinterpret_cast<void *>(counted_mixed));
	dlclose(handle);
}

static void plugins()
{
	for (int i = 0; i < 200; i++) {
		plugin("libcallsplugin.so", 100, true, false);
		plugin("libcallsplugin-raw.so", 100, false, false);
		plugin("libcallsplugin-none.so", 0, false, false);
	}
	for (int i = 0; i < 4; i++)
		plugin("libcallsplugin.so", 100, true, true);
}

/* Starts a program by posix_spawn, or by vfork, and tells its exit code. */
static int run(const char *name, const char *mode, bool by_vfork)
{
	std::string path = directory + "/" + name;
	char *argv[] = {path.data(), directory.data(), const_cast<char *>(mode), nullptr};
	pid_t child = 0;
	int status = 0;

	fflush(stdout);
	if (!by_vfork) {
		MUST(posix_spawn(&child, path.c_str(), nullptr, nullptr, argv, environ) == 0);
	} else if ((child = vfork()) == 0) {
		CALL(counted_one, 1);
		execv(path.c_str(), argv);
		_exit(99);
	}
	MUST(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void programs()
{
	for (int i = 0; i < 5; i++) {
		MUST(run("still", nullptr, i % 2 != 0) == 7);
		MUST(run("calls", "child", i % 2 != 0) == 0);
	}
}

static ucontext_t here, there;

static void coroutine()
{
	for (int i = 0; i < 100; i++) {
		CALL(counted_one, 1);
		swapcontext(&there, &here);
	}
}

static void coroutines()
{
	static char stack[1 << 16];

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	for (int i = 0; i < 100; i++)
		swapcontext(&here, &there);
}

static int finish()
{
	printf("address counted_mixed %d\n", n_by_word);
#define X(name) printf("%s %llu\n", #name, static_cast<unsigned long long>(truth[N_##name]));
	COUNTED_ALL
#undef X
	return n_wrong > 0;
}

int main(int argc, char **argv)
{
	directory = argc > 1 ? argv[1] : ".";
	truth = static_cast<std::atomic<uint64_t> *>(
		mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	if (argc > 2 && strcmp(argv[2], "endless") == 0) {
		puts("on");
		fflush(stdout);
		for (long x = 0;; x = counted_one(x))
			;
	}
	if (argc > 2) {
		for (int i = 0; i < 1000; i++)
			CALL(counted_one, i);
		return finish();
	}
	signals(true);
	threads();
	unwinding();
	coroutines();
	signals(false);
	arguments();
	by_address();
	plugins();
	programs();
	return finish();
}
