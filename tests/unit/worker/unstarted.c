/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker that cannot be started: its job fails and says why, it is counted, and the next job is done. */
#include "base/error.h"
#include "tool.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct answer {
	int r;
	char error[200];
};

static void identified(void *arg, struct sp_identify_result *id)
{
	struct answer *a = arg;
	a->r = id->r;
	snprintf(a->error, sizeof(a->error), "%s", id->r < 0 ? sp_error_text(id->r) : "");
	free(id->soname);
}

static void ask(struct sp_workers *w, int fd, struct answer *a)
{
	assert_int_equal(sp_workers_identify(w, fd, identified, a), 0);
	assert_int_equal(sp_workers_wait(w, 5000), 0);
}

/* A descriptor is left for the file, but none for the socket that a worker is talked to by. */
static void descriptors_leave(int fd, struct rlimit *ret_before)
{
	int next = dup(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
	struct rlimit few = {.rlim_cur = (rlim_t)next + 1, .rlim_max = ret_before->rlim_max};
	close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void test_unstarted(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct sp_workers *w;
	struct sp_workers_stats s;
	struct rlimit before;
	struct answer a = {.r = 1};
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	descriptors_leave(fd, &before);
	ask(w, fd, &a);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(a.r, -EMFILE);
	assert_string_equal(a.error, "start a parser: make a socket pair: Too many open files");
	ask(w, fd, &a);
	assert_int_equal(a.r, 0);
	sp_workers_stats(w, &s);
	assert_int_equal(s.n_unstarted, 1);
	assert_int_equal(s.unstarted, -EMFILE);
	assert_int_equal(s.n_crashed + s.n_late, 0);
	sp_workers_free(w);
	close(fd);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {CLEAN_TEST(test_unstarted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
