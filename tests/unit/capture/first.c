/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first sample of a session tells of all files that its process has mapped, as any other does: also of many more
 * than the kernel has elements of maps ready for, and each by one number. What there is no room for, at one time, is
 * counted. By root only.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/backend.h"
#include "capture/lasting.h"
#include "capture/priv.h"
#include "capture/users.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "test.h"
#include "worker/worker.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_FILES = 250, N_MOST = 480, PAGE = 4096 };

static size_t n_mapped, n_lost;

static void map_one(void)
{
	char name[] = "/tmp/soprof-first.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_ptr_not_equal(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), MAP_FAILED);
	close(fd);
	n_mapped++;
}

static volatile unsigned sink;

static void burn_ms(void)
{
	uint64_t end = sp_time_ns(CLOCK_THREAD_CPUTIME_ID) + 1000000;

	while (sp_time_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (unsigned i = 0; i < 1000; i++)
			sink += i;
}

static size_t n_ids(const struct sp_capture *c)
{
	size_t n = 0;

	for (size_t i = 1; i < c->n_seen; i++)
		n += c->seen[i].number != 0;
	return n;
}

/* The ring is read every millisecond, so that it is one sample's files that are met, or two's. */
static void check(struct sp_capture *c)
{
	assert_int_equal(sp_capture_start(c), 0);
	for (unsigned i = 0; i < 10000 && !n_ids(c); i++) {
		burn_ms();
		assert_int_equal(c->backend->read(c), 0);
	}
	sp_capture_look(c, false);
	n_lost = (size_t)c->stats.counter[SP_N_LOST_FILES];
	print_message("%zu files, %zu without room\n", n_ids(c), n_lost);
	assert_in_range(n_ids(c) + n_lost, n_mapped, SP_MAX_FILES);
	assert_in_range(n_ids(c), SP_MIN(n_mapped, N_FILES), SP_MAX_FILES);
	for (unsigned i = 0; i < 20; i++) {
		burn_ms();
		assert_int_equal(c->backend->read(c), 0);
	}
	assert_int_equal(n_ids(c), c->stats.n_files);
}

static bool any_table(void *arg, uint32_t uid, unsigned n_drains, uint64_t bytes)
{
	return n_drains > 0;
}

static void all_files(const struct sp_capture_users *users)
{
	unsigned cpus[512];
	uint32_t own = (uint32_t)getpid();
	size_t n = SP_MIN((size_t)sysconf(_SC_NPROCESSORS_CONF), SP_COUNT(cpus));
	struct sp_capture_options o = {.recipes = {&sp_recipe_cpu},
				       .filter = SP_TARGETS_TGID,
				       .targets = &own,
				       .n_targets = 1,
				       .follow = true,
				       .cpus = cpus,
				       .n_cpus = n,
				       .user = true,
				       .no_seek = true,
				       .cache = "",
				       .users = users,
				       .frequency_hz = 199};
	struct sp_profile *p;
	struct sp_workers *w;
	struct sp_capture *c = NULL;
	int r;

	for (unsigned i = 0; i < n; i++)
		cpus[i] = i;
	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	r = sp_capture_new(&o, p, w, &c);
	if (r < 0)
		print_message("skip: %s\n", sp_error_text(r));
	else
		check(c);
	sp_workers_free(w);
	sp_capture_free(c);
	sp_profile_free(p);
	if (r < 0)
		skip();
}

static void test_all_files(void **state)
{
	all_files(NULL);
}

static bool any_look(void *arg, uint32_t uid)
{
	return uid == getuid();
}

static bool is_over(void *arg, uint32_t uid)
{
	return false;
}

static void taken_back(void *arg, uint32_t uid)
{
}

static void looked(void *arg, uint32_t uid, uint64_t cpu_ns)
{
}

/* For such sessions nothing is made ready. */
static void test_all_files_lasting(void **state)
{
	const struct sp_capture_users users = {.may_look = any_look,
					       .looked = looked,
					       .taken_back = taken_back,
					       .is_over = is_over,
					       .may_build = any_table,
					       .parsed = looked};

	all_files(&users);
}

/* Of more files than there are places some are lost to the first sample, and not silently. */
static void test_more_files(void **state)
{
	while (n_mapped < N_MOST)
		map_one();
	test_all_files(state);
	if (sysconf(_SC_NPROCESSORS_CONF) <= 2)
		assert_true(n_lost > 0);
}

static int many_files(void **state)
{
	for (unsigned i = 0; i < N_FILES; i++)
		map_one();
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_files), cmocka_unit_test(test_all_files_lasting),
					   cmocka_unit_test(test_more_files)};

	sp_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, many_files, NULL);
}
