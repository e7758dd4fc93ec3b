/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first sample of a session tells of all files that its process has mapped, as any other does. By root only. */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/backend.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "worker/worker.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { N_FILES = 60, PAGE = 4096 };

static void map_one(void)
{
	char name[] = "/tmp/soprof-first.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_ptr_not_equal(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), MAP_FAILED);
	close(fd);
}

static volatile unsigned sink;

static void burn_ms(void)
{
	uint64_t end = sp_time_ns(CLOCK_THREAD_CPUTIME_ID) + 1000000;

	while (sp_time_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (unsigned i = 0; i < 1000; i++)
			sink += i;
}

/* The ring is read every millisecond, so that it is one sample's files that are met, or two's. */
static void check(struct sp_capture *c)
{
	assert_int_equal(sp_capture_start(c), 0);
	for (unsigned i = 0; i < 10000 && c->n_seen <= 1; i++) {
		burn_ms();
		assert_int_equal(c->backend->read(c), 0);
	}
	assert_in_range(c->n_seen, N_FILES, SP_MAX_FILES);
}

static void all_files(void **state)
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
				       .frequency_hz = 199};
	struct sp_profile *p;
	struct sp_workers *w;
	struct sp_capture *c = NULL;
	int r;

	(void)state;
	for (unsigned i = 0; i < n; i++)
		cpus[i] = i;
	for (unsigned i = 0; i < N_FILES; i++)
		map_one();
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_files)};

	sp_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
