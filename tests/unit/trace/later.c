/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is mapped after a function's files were looked for, and before anything is loaded or attached, is found:
 * it takes the place of the one that was looked at, and this process maps it. Needs root.
 */
#include "trace/later.h"

#include "base/error.h"
#include "base/mem.h"
#include "recipe/probe.h"
#include "recipe/types.h"
#include "test.h"
#include "worker/worker.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "/lib/x86_64-linux-gnu/libz.so.1"
enum { MAX_WAITS = 600 }; /* of 100 ms */

static char directory[] = "/tmp/soprof-later-XXXXXX";
static char path[sizeof(directory) + 16], next[sizeof(directory) + 16];

static void copy_to(const char *to)
{
	SP_CLOSE int from = open(LIBRARY, O_RDONLY | O_CLOEXEC), fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	struct stat st;
	ssize_t n = 1;

	assert_int_equal(fstat(from, &st), 0);
	for (off_t left = st.st_size; left && n > 0; left -= n)
		n = copy_file_range(from, NULL, fd, NULL, (size_t)left, 0);
	assert_true(n > 0);
}

static void *mapped(size_t *ret_size)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;

	assert_int_equal(fstat(fd, &st), 0);
	*ret_size = (size_t)st.st_size;
	at = mmap(NULL, *ret_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static size_t n_later(const struct sp_trace_spec *spec)
{
	struct sp_recipe_probe *probes[SP_TRACE_PROBES];
	struct sp_recipe_probe_stats s;

	sp_recipe_probe_stats(probes, sp_trace_probes(spec, 1, probes), &s);
	assert_null(s.failure);
	return s.n_later;
}

static size_t n_found(struct sp_trace_later *l, const struct sp_trace_spec *spec)
{
	struct sp_workers *workers;

	assert_int_equal(sp_workers_new(&(struct sp_workers_options){0}, &workers), 0);
	for (unsigned i = 0; i < MAX_WAITS; i++) {
		struct pollfd fd = {.fd = sp_workers_fd(workers), .events = POLLIN};

		assert_int_equal(sp_trace_later_turn(l, true, workers), 0);
		if (n_later(spec) || !sp_workers_outstanding(workers))
			break;
		poll(&fd, 1, 100);
	}
	sp_workers_free(workers);
	return n_later(spec);
}

static void test_between_look_and_start(void **state)
{
	struct sp_trace_asked asked = {.by = "comm"};
	struct sp_types types = {0};
	struct sp_trace_spec spec;
	SP_FREE char *event = NULL;
	size_t size;
	void *at;

	if (geteuid() || access(LIBRARY, R_OK)) {
		print_message("skip: needs root and libz\n");
		skip();
	}
	assert_int_equal(sp_trace_later_new(&asked.later), 0);
	assert_true(asprintf(&event, "%s:deflate.. %s:deflate[retval >= 0]", path, path) > 0);
	copy_to(path);
	assert_int_equal(sp_trace_spec_make(event, &asked, &types, &spec), 0);
	copy_to(next);
	assert_int_equal(rename(next, path), 0);
	at = mapped(&size);
	assert_int_equal(sp_trace_later_add(asked.later, &spec, 1), 0);
	assert_int_equal(n_found(asked.later, &spec), 1); /* once, though both ends of the pair are in it */
	munmap(at, size);
	sp_trace_later_free(asked.later);
	sp_trace_spec_done(&spec);
	sp_types_done(&types);
}

/* Where no function is traced, nothing is watched. */
static void test_tracepoints_are_not_watched(void **state)
{
	struct sp_trace_later *l;
	uint64_t again_ns;

	assert_int_equal(sp_trace_later_new(&l), 0);
	assert_int_equal(sp_trace_later_fd(l, &again_ns), -1);
	assert_int_equal(sp_trace_later_turn(l, false, NULL), 0);
	sp_trace_later_free(l);
}

static int directory_make(void **state)
{
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/libz.so.1", directory);
	snprintf(next, sizeof(next), "%s/next", directory);
	return 0;
}

static int directory_remove(void **state)
{
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_between_look_and_start),
	    cmocka_unit_test(test_tracepoints_are_not_watched),
	};

	return cmocka_run_group_tests(tests, directory_make, directory_remove);
}
