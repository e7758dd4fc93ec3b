/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File systems that may never answer are refused before anybody asks them anything: FUSE by the type of its mount, an
 * overlay over FUSE by the device in the kernel's key, also when the mount below it can no longer be seen. The server
 * is silent all the time, so the test would time out if anybody did ask.
 */
#include "base/error.h"
#include "base/mem.h"
#include "tool.h"
#include "trap.h"
#include <sys/stat.h>
#include <sys/sysmacros.h>

static char error[200];
static int r;

static void opened(void *arg, struct sp_open_result *result)
{
	r = result->r;
	snprintf(error, sizeof(error), "%s", r < 0 ? sp_error_text(r) : "");
	sp_cleanup_close(&result->fd);
	free(result->path);
}

static void ask(const struct sp_open_request *q)
{
	struct sp_workers *w;
	struct sp_workers_stats s;
	assert_int_equal(sp_workers_new(NULL, &w), 0);
	assert_int_equal(sp_workers_open(w, q, opened, NULL), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	sp_workers_stats(w, &s);
	assert_int_equal(s.n_late, 0);
	sp_workers_free(w);
}

static void check_refused(const struct sp_open_request *q, const char *why)
{
	char expected[200];
	ask(q);
	snprintf(expected, sizeof(expected), "file system not trusted (%s)", why);
	assert_string_equal(error, expected);
	assert_int_equal(r, -EACCES);
}

static bool silent_trap(enum trap_kind kind, struct trap *t)
{
	bool set = set_trap(kind, t);
	if (set)
		go_silent(t);
	else
		release(t);
	return set;
}

static void test_fuse(void **state)
{
	struct trap t = {0};
	if (!silent_trap(TRAP_PLAIN, &t))
		skip();
	check_refused(&t.q, "fuse");
	memset(&t.q.key, 0, sizeof(t.q.key));
	check_refused(&t.q, "fuse");
	release(&t);
}

static void test_overlay(void **state)
{
	struct trap t = {0};
	if (!silent_trap(TRAP_OVERLAY, &t))
		skip();
	t.q.key.dev = t.inner_dev; /* as the kernel half tells it: of the file below */
	check_refused(&t.q, "fuse");
	t.q.key.dev = 0xfff; /* a mount that nobody sees */
	check_refused(&t.q, "overlay over a hidden one");
	memset(&t.q.key, 0, sizeof(t.q.key));
	check_refused(&t.q, "fuse"); /* by the mount's options */
	release(&t);
}

/* Its process has had another file at the same address, from a file system that may be trusted: the key is that one's.
 */
static void test_overlay_of_user(void **state)
{
	struct stat shm;
	struct trap t = {0};
	if (stat("/dev/shm", &shm) < 0 || !silent_trap(TRAP_OF_USER, &t))
		skip();
	t.q.key.dev = major(shm.st_dev) << 20 | minor(shm.st_dev);
	check_refused(&t.q, "overlay of another user namespace");
	release(&t);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	if (geteuid() != 0) {
		printf("mounting needs root\n");
		return 77;
	}
	const struct CMUnitTest tests[] = {CLEAN_TEST(test_fuse), CLEAN_TEST(test_overlay),
					   CLEAN_TEST(test_overlay_of_user)};
	return cmocka_run_group_tests(tests, make_directories, remove_directories);
}
