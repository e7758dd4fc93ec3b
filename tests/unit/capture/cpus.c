/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CPU that comes, or goes, is seen by who may not listen to the kernel's messages of it, too, as in the packaged
 * service; and it is sampled. Which CPUs are there a file of this test says. By root only.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/lasting.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "test.h"
#include "worker/worker.h"
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/online"
enum { MOST_TURNS = 20000 };

static char path[] = "/tmp/soprof-cpus-XXXXXX";
static int n_changes;
static unsigned changed;
static bool is_online;

static void say_online(const char *list)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(list, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void cpu_changed(void *arg, unsigned cpu, bool is)
{
	n_changes++;
	changed = cpu;
	is_online = is;
}

static volatile unsigned sink;

static void burn_ms(void)
{
	uint64_t end = sp_time_ns(CLOCK_THREAD_CPUTIME_ID) + 1000000;

	while (sp_time_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (unsigned i = 0; i < 1000; i++)
			sink += i;
}

static int64_t n_samples(const struct sp_profile *p)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		n += sp_profile_row(p, i)->values[0];
	return n;
}

/* Runs until so much was told. */
static void run_until(struct sp_capture *c, int n)
{
	for (int i = 0; i < MOST_TURNS && n_changes < n; i++) {
		burn_ms();
		assert_int_equal(sp_capture_step(c), 0);
	}
	assert_int_equal(n_changes, n);
}

/* As those of all CPUs but one are after a suspension: they stay open, and count nothing. */
static void kill_events(void)
{
	char name[40], link[40];

	for (int fd = 3; fd < 1024; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, name, sizeof(name) - 1);
		name[SP_MAX(n, 0)] = 0;
		if (strstr(name, "[perf_event]"))
			assert_int_equal(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	}
}

static void burn_and_drain(struct sp_capture *c)
{
	for (int i = 0; i < 200; i++) {
		burn_ms();
		assert_int_equal(sp_capture_step(c), 0);
	}
	assert_int_equal(sp_capture_drain(c), 0);
}

static void check_suspended(struct sp_capture *c, const struct sp_profile *p)
{
	int64_t n;

	kill_events();
	burn_and_drain(c); /* what was on its way */
	n = n_samples(p);
	burn_and_drain(c);
	assert_int_equal(n_samples(p), n);
	c->online.suspended_ns -= SP_NS_PER_S; /* as if the machine had slept since */
	for (int i = 0; i < MOST_TURNS && n_samples(p) == n; i++) {
		burn_ms();
		assert_int_equal(sp_capture_step(c), 0);
	}
	assert_true(n_samples(p) > n);
	assert_int_equal(n_changes, 1); /* no CPU has come or gone */
}

static void check(struct sp_capture *c, const struct sp_profile *p)
{
	cpu_set_t second;

	CPU_ZERO(&second);
	CPU_SET(1, &second);
	assert_int_equal(sched_setaffinity(0, sizeof(second), &second), 0);
	assert_int_equal(sp_capture_start(c), 0);
	close(c->uevents); /* as if it had been refused */
	c->uevents = -1;
	burn_and_drain(c);
	assert_int_equal(n_samples(p), 0); /* CPU 1 is not sampled */
	say_online("0-1\n");
	run_until(c, 1);
	assert_true(changed == 1 && is_online);
	for (int i = 0; i < MOST_TURNS && !n_samples(p); i++) {
		burn_ms();
		assert_int_equal(sp_capture_step(c), 0);
	}
	assert_true(n_samples(p) > 0);
	check_suspended(c, p);
	say_online("0\n");
	run_until(c, 2);
	assert_true(changed == 1 && !is_online);
}

static void test_looks(void **state)
{
	unsigned first = 0;
	uint32_t own = (uint32_t)getpid();
	struct sp_capture_options o = {.recipes = {&sp_recipe_cpu},
				       .filter = SP_TARGETS_TGID,
				       .targets = &own,
				       .n_targets = 1,
				       .cpus = &first,
				       .n_cpus = 1,
				       .all_cpus = true,
				       .user = true,
				       .no_seek = true,
				       .cache = "",
				       .cpu_changed = cpu_changed,
				       .frequency_hz = 199};
	struct sp_profile *p;
	struct sp_workers *w;
	struct sp_capture *c = NULL;
	int r;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkstemp(path) < 0 ||
	    mount(path, ONLINE, NULL, MS_BIND, NULL)) {
		print_message("skip: needs root, and two CPUs\n");
		skip();
	}
	say_online("0\n");
	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	r = sp_capture_new(&o, p, w, &c);
	if (r < 0)
		print_message("skip: %s\n", sp_error_text(r));
	else
		check(c, p);
	sp_workers_free(w);
	sp_capture_free(c);
	sp_profile_free(p);
	umount(ONLINE);
	unlink(path);
	if (r < 0)
		skip();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_looks)};

	sp_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
