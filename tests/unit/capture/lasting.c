/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session that goes on, over windows and profiles: what is sampled before, between and after changes of the profile
 * is all there and whole; numbers of forgotten files are given again, and mean the new file; nothing grows. By root
 * only.
 */
#include "capture/lasting.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/priv.h"
#include "capture/recipe_ops.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "recipe/recipe.h"
#include "test.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HZ = 199 };

struct session {
	struct sp_capture *c;
	struct sp_profile *p;
	struct sp_workers *w;
	unsigned cpus[512];
	struct sp_capture_options o;
};

static unsigned n_changed;

static void changed(void *arg, unsigned cpu, bool is_online)
{
	n_changed++;
}

/* Only this thread is sampled: what others do is no matter. */
static void options_make(struct session *s)
{
	static uint32_t own;
	long n = sysconf(_SC_NPROCESSORS_CONF), i;

	own = (uint32_t)getpid();
	for (i = 0; i < n && i < (long)SP_COUNT(s->cpus); i++)
		s->cpus[i] = (unsigned)i;
	s->o = (struct sp_capture_options){.recipes = {&sp_recipe_cpu},
					   .filter = SP_TARGETS_TGID,
					   .targets = &own,
					   .n_targets = 1,
					   .follow = true,
					   .cpus = s->cpus,
					   .n_cpus = (size_t)i,
					   .user = true,
					   .kernel = true,
					   .forgets = true,
					   .no_seek = true,
					   .time_own = true,
					   .drain_ns = 10 * SP_NS_PER_S,
					   .cpu_changed = changed,
					   .cache = "",
					   .frequency_hz = HZ};
}

/* False: not allowed. */
static bool session_open(struct session *s)
{
	int r;

	assert_int_equal(sp_profile_new(&s->p), 0);
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){0}, &s->w), 0);
	r = sp_capture_new(&s->o, s->p, s->w, &s->c);
	if (r < 0) {
		print_message("skip: %s\n", sp_error_text(r));
		sp_workers_free(s->w);
		sp_profile_free(s->p);
		return false;
	}
	assert_int_equal(sp_capture_start(s->c), 0);
	return true;
}

static bool session_begin(struct session *s)
{
	options_make(s);
	return session_open(s);
}

static void session_end(struct session *s)
{
	sp_workers_free(s->w);
	sp_capture_free(s->c);
	sp_profile_free(s->p);
}

static volatile unsigned sink;

__attribute__((noipa)) static void burn(unsigned ms)
{
	uint64_t end = sp_time_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ULL;

	while (sp_time_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (unsigned i = 0; i < 1000; i++)
			sink += i;
}

/* As an event loop would, for so long, or until nothing waits. */
static void go_on(struct session *s, unsigned ms)
{
	int fds[SP_CAPTURE_MAX_FDS];
	size_t n = sp_capture_fds(s->c, fds), i;
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + ms * 1000000ULL;
	struct pollfd polled[SP_CAPTURE_MAX_FDS];

	assert_true(n >= 3);
	for (i = 0; i < n; i++)
		polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	do {
		uint64_t now = sp_time_ns(CLOCK_MONOTONIC), next = SP_MIN(sp_capture_next_ns(s->c), end);

		poll(polled, n, next > now ? (int)((next - now) / 1000000) + 1 : 0);
		assert_int_equal(sp_capture_step(s->c), 0);
	} while (sp_time_ns(CLOCK_MONOTONIC) < end);
}

static void settle(struct session *s)
{
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + 20 * SP_NS_PER_S;

	go_on(s, 0);
	while ((sp_capture_is_waiting(s->c) || sp_workers_outstanding(s->w)) && sp_time_ns(CLOCK_MONOTONIC) < end)
		go_on(s, 20);
	assert_false(sp_capture_is_waiting(s->c));
}

struct seen {
	int64_t n, complete, cut, unknown;
};

static struct seen look(const struct sp_profile *p)
{
	struct seen seen = {0};

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack stack = sp_profile_stack(p, row->user);

		seen.n += row->values[0];
		seen.complete += stack.stack_class == SP_CLASS_COMPLETE ? row->values[0] : 0;
		seen.cut += stack.stack_class == SP_CLASS_CUT ? row->values[0] : 0;
		seen.unknown += sp_profile_key(p, row->key)->process ? 0 : row->values[0];
		for (uint32_t k = 0; k < stack.n_frames; k++)
			assert_int_not_equal(sp_profile_frame(p, stack.frames[k])->file, 0);
	}
	return seen;
}

/* Of one busy thread's time, a sample each 1/HZ s; what the session itself takes, a sanitizer beside it, comes on top.
 */
static void check_window(const struct session *s, unsigned ms, bool has_session)
{
	struct seen seen = look(s->p);

	print_message("%ld samples in %u ms, %ld complete, %ld cut\n", (long)seen.n, ms, (long)seen.complete,
		      (long)seen.cut);
	assert_in_range(seen.n, ms * HZ / 1000 / 2, ms * HZ / 1000 * 10);
	assert_int_equal(seen.unknown, 0);
	/* A sanitizer's own code is not always whole. */
	assert_true(seen.complete >= (has_session ? seen.n / 4 : seen.n * 9 / 10));
}

static const struct sp_capture_keep keep_all = {.max_files = 1000, .n_drains = 1000};
static const struct sp_capture_keep keep_none = {0};

static void renew(struct session *s, const struct sp_capture_keep *keep)
{
	struct sp_profile *fresh, *old = s->p;

	assert_int_equal(sp_capture_close(s->c, keep), 0);
	assert_int_equal(sp_profile_new(&fresh), 0);
	assert_int_equal(sp_capture_renew(s->c, fresh), 0);
	sp_profile_free(old);
	s->p = fresh;
}

/* The same profile without its stacks: what it names stays. */
static void renew_in_place(struct session *s)
{
	assert_int_equal(sp_capture_close(s->c, &keep_all), 0);
	uint32_t n_files = sp_profile_n_files(s->p), n_frames = sp_profile_n_frames(s->p);
	assert_int_equal(sp_profile_renew(s->p), 0);
	assert_int_equal(sp_capture_renew(s->c, s->p), 0);
	assert_int_equal(sp_profile_n_files(s->p), n_files);
	assert_int_equal(sp_profile_n_frames(s->p), n_frames);
	assert_int_equal(sp_profile_n_stacks(s->p), 1);
	assert_int_equal(sp_profile_n_processes(s->p), 1);
}

static void test_windows(void **state)
{
	struct session s = {0};
	uint32_t n_files, i;

	if (!session_begin(&s))
		skip();
	burn(300);
	settle(&s);
	assert_int_equal(sp_capture_drain(s.c), 0);
	check_window(&s, 300, true);
	n_files = sp_profile_n_files(s.p);
	for (i = 0; i < 3; i++) {
		sp_profile_clear_rows(s.p);
		assert_int_equal(sp_profile_n_rows(s.p), 0);
		burn(300);
		assert_int_equal(sp_capture_drain(s.c), 0);
		check_window(&s, 300, false);
	}
	assert_int_equal(sp_profile_n_files(s.p), n_files);
	session_end(&s);
}

/* The files stay open and keep their tables: not one sample of the new profile is cut. */
static void test_renewal(void **state)
{
	struct session s = {0};
	struct sp_capture_size before, after;
	uint32_t file;
	int known = 0;

	if (!session_begin(&s))
		skip();
	burn(300);
	settle(&s);
	for (int i = 0; i < 5; i++) {
		sp_capture_size(s.c, &before);
		burn(200);
		if (i % 2)
			renew_in_place(&s);
		else
			renew(&s, &keep_all);
		assert_int_equal(sp_profile_n_rows(s.p), 0);
		burn(300);
		assert_int_equal(sp_capture_drain(s.c), 0);
		check_window(&s, 300, false);
		assert_int_equal(look(s.p).cut, 0);
		sp_capture_size(s.c, &after);
		assert_int_equal(after.n_ids, before.n_ids);
		assert_int_equal(after.n_files, before.n_files);
		sp_profile_clear_rows(s.p);
	}
	assert_int_equal(after.n_renewals, 5);
	assert_true(after.paused_ns < SP_NS_PER_S);
	for (file = 1; file < sp_profile_n_files(s.p); file++)
		known += sp_capture_file_fd(s.c, file) >= 0 && sp_profile_file(s.p, file)->build_id_len > 0;
	assert_true(known >= 2); /* this program, and the C library */
	session_end(&s);
}

static unsigned n_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Code in a file of its own, which no other time had: a loop that ends when *p does. */
static void run_copy(unsigned number, unsigned ms)
{
	/* 48 83 ef 01: sub $1,%rdi; 75 fa: jne back; c3: ret */
	static const unsigned char code[] = {0x48, 0x83, 0xef, 0x01, 0x75, 0xfa, 0xc3};
	char path[] = "/tmp/soprof-lasting-XXXXXX";
	int fd = mkstemp(path);
	uint64_t end = sp_time_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ULL;
	void *at;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096 + number), 0);
	assert_int_equal(pwrite(fd, code, sizeof(code), 0), sizeof(code));
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	while (sp_time_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		((void (*)(uint64_t))(uintptr_t)at)(1000000);
	munmap(at, 4096);
	close(fd);
	unlink(path);
}

/* Files without end: numbers and descriptors are those of the files in use. */
static void test_numbers_are_given_again(void **state)
{
	struct session s = {0};
	struct sp_capture_size first = {0}, size;
	unsigned n_first = 0;

	if (!session_begin(&s))
		skip();
	for (unsigned i = 0; i < 12; i++) {
		for (unsigned k = 0; k < 4; k++)
			run_copy(4 * i + k + 1, 40);
		settle(&s);
		renew(&s, &keep_none);
		sp_capture_size(s.c, &size);
		if (i == 3) {
			first = size;
			n_first = n_open();
		}
	}
	print_message("%zu numbers, then %zu; %u descriptors, then %u\n", first.n_ids, size.n_ids, n_first, n_open());
	assert_true(size.n_forgotten >= 40);
	assert_true(size.n_ids <= first.n_ids + 4);
	assert_true(n_open() <= n_first + 4);
	/* And the numbers mean what they now are: the stacks of the program itself are whole again. */
	sp_profile_clear_rows(s.p);
	burn(100);
	settle(&s);
	burn(300);
	settle(&s);
	assert_int_equal(sp_capture_drain(s.c), 0);
	check_window(&s, 400, true);
	session_end(&s);
}

static void test_rate(void **state)
{
	struct session s = {0};
	struct sp_capture_stats stats;
	struct seen seen;

	if (!session_begin(&s))
		skip();
	burn(100);
	settle(&s);
	assert_int_equal(sp_capture_rate(s.c, HZ * 1000 / 4), 0);
	assert_int_equal(sp_capture_drain(s.c), 0);
	sp_profile_clear_rows(s.p);
	burn(1000);
	assert_int_equal(sp_capture_drain(s.c), 0);
	seen = look(s.p);
	print_message("%ld samples in a second at a quarter of %d Hz\n", (long)seen.n, HZ);
	assert_in_range(seen.n, HZ / 8, HZ / 2);
	sp_capture_look(s.c, true);
	sp_capture_stats(s.c, &stats);
	assert_true(stats.counter[SP_N_OWN_NS] > 0 && stats.bpf_ns == stats.counter[SP_N_OWN_NS]);
	assert_true(stats.bpf_bytes > 1 << 20);
	assert_int_not_equal(sp_capture_rate(s.c, 0), 0);
	sp_error_clear();
	session_end(&s);
}

/* --- the time that is told, over changes of the rate --- */
enum { CHANGES = SP_FEWER > 1 ? 24 : 48, CHANGE_MS = 60, TRIES = 3 };

/*
 * A process for each CPU that keeps it busy: while a CPU is idle Linux may leave out ticks whose timer was set anew, as
 * a change of the rate does. They end with this process.
 */
static void keep_busy(pid_t *pids, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		cpu_set_t cpu;

		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CPU_ZERO(&cpu);
		CPU_SET(i, &cpu);
		sched_setaffinity(0, sizeof(cpu), &cpu);
		for (;;)
			__asm__ volatile("pause");
	}
}

static void keep_busy_no_more(const pid_t *pids, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
}

/* Every tick of every CPU: whoever has the CPUs, their sum is the time. */
static bool everything_begin(struct session *s)
{
	options_make(s);
	s->o.filter = SP_TARGETS_ALL;
	s->o.n_targets = 0;
	s->o.idle = true;
	s->o.follow = s->o.user = s->o.kernel = false;
	return session_open(s);
}

/* What the hypervisor took of all CPUs, as it says. */
static double stolen_ns(void)
{
	unsigned long long steal = 0;
	FILE *f = fopen("/proc/stat", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal), 1);
	fclose(f);
	return (double)steal * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

struct told {
	double cpu_ns, before_ns, after_ns, stolen_ns; /* what ticks stood for, and when they were taken in */
};

static struct told tell(struct session *s)
{
	struct told t = {.before_ns = (double)sp_time_ns(CLOCK_MONOTONIC), .stolen_ns = stolen_ns()};

	assert_int_equal(sp_capture_drain(s->c), 0);
	t.after_ns = (double)sp_time_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < sp_profile_n_rows(s->p); i++)
		t.cpu_ns += (double)sp_profile_row(s->p, i)->values[1];
	sp_profile_clear_rows(s->p);
	return t;
}

/* Up, down, at once again before there was a tick, and with a new profile between; it begins and ends at HZ. */
static void change_often(struct session *s)
{
	static const unsigned rates_hz[] = {49, 97, 19, 149, 29, HZ};

	for (unsigned i = 0; i < CHANGES; i++) {
		if (i % 8 == 4)
			assert_int_equal(sp_capture_rate(s->c, 1000), 0);
		assert_int_equal(sp_capture_rate(s->c, 1000 * rates_hz[i % SP_COUNT(rates_hz)]), 0);
		go_on(s, CHANGE_MS);
	}
}

/* False: ticks stayed away. Where the machine holds them back, what they would have stood for is missing. */
static bool time_holds(struct session *s)
{
	double n = (double)sysconf(_SC_NPROCESSORS_ONLN), period = 1e9 / HZ;
	struct told first = tell(s), last;

	change_often(s);
	last = tell(s);
	double least = n * (last.before_ns - first.after_ns), most = n * (last.after_ns - first.before_ns);
	double stolen = last.stolen_ns - first.stolen_ns;
	print_message("%.3f s of CPUs, %.3f to %.3f s of time, %.3f s stolen\n", last.cpu_ns / 1e9, least / 1e9,
		      most / 1e9, stolen / 1e9);
	assert_true(last.cpu_ns <= 1.005 * most + 2 * n * period);
	return last.cpu_ns >= 0.98 * least - 2 * n * period - 2 * stolen;
}

static void test_time_over_changes_of_the_rate(void **state)
{
	struct session s = {0};
	struct sp_capture_stats stats;
	unsigned n = (unsigned)SP_MIN(sysconf(_SC_NPROCESSORS_CONF), 512);
	pid_t pids[512];
	int tries = 0;

	if (!everything_begin(&s))
		skip();
	keep_busy(pids, n);
	go_on(&s, 2 * CHANGE_MS); /* every CPU has ticked */
	while (!time_holds(&s))
		assert_true(++tries < TRIES);
	keep_busy_no_more(pids, n);
	assert_int_equal(sp_profile_info(s.p)->period, SP_NS_PER_S / HZ);
	sp_capture_stats(s.c, &stats);
	assert_int_equal(stats.counter[SP_N_LOST_COUNTS] + stats.counter[SP_N_LOST_NESTED], 0);
	session_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_windows),
	    cmocka_unit_test(test_renewal),
	    cmocka_unit_test(test_numbers_are_given_again),
	    cmocka_unit_test(test_rate),
	    cmocka_unit_test(test_time_over_changes_of_the_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
