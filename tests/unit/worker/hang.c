/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The deadlines: files on a file system that has stopped answering cost themselves and nothing else. FUSE would be
 * refused, so this test's opener trusts every file system: it is compiled into the test with that one answer replaced.
 */
#include "base/error.h"
#include "base/mem.h"
#include "tool.h"
#include "trap.h"
#include "worker/mounts.h"
#include "worker/priv.h"

#define sp_type_may_hang(type) ((type)[0] == 0) /* the types have names */
#include <worker/trust.c>                       /* not the library's: this one trusts */
#undef sp_type_may_hang

struct note {
	int n, r;
	double at_ms;
	char error[200];
};

static void note(struct note *a, int r)
{
	a->n++;
	a->r = r;
	a->at_ms = now_ms();
	snprintf(a->error, sizeof(a->error), "%s", r < 0 ? sp_error_text(r) : "");
}

static void opened(void *arg, struct sp_open_result *result)
{
	note(arg, result->r);
	if (result->fd >= 0)
		close(result->fd);
	free(result->path);
}

static void identified(void *arg, struct sp_identify_result *id)
{
	note(arg, id->r);
	free(id->soname);
}

static struct sp_workers *workers(unsigned ms)
{
	struct sp_workers *w;
	struct sp_workers_options o = {.deadline_ms = ms, .open_deadline_ms = ms};
	assert_int_equal(sp_workers_new(&o, &w), 0);
	return w;
}

/* This program's own text, by its mapping: on a file system that answers. */
static struct sp_open_request good_request(void)
{
	struct sp_open_request q = {.pid = getpid()};
	char line[600];
	unsigned long start, end;
	FILE *f = fopen("/proc/self/maps", "re");
	assert_non_null(f);
	while (!q.end && fgets(line, sizeof(line), f))
		if (strstr(line, " r-xp ") && strchr(line, '/') && sscanf(line, "%lx-%lx", &start, &end) == 2) {
			q.start = start;
			q.end = end;
		}
	fclose(f);
	return q;
}

/* Opens on the silent file system until no more are tried, with a good file always in between. */
static void check_openers(struct sp_workers *w, const struct trap *t)
{
	struct sp_open_request good = good_request();
	struct sp_workers_stats s;
	for (unsigned i = 0; i < SP_WORKER_ABANDONED; i++) {
		struct note bad = {0}, fine = {0};
		double start = now_ms();
		assert_int_equal(sp_workers_open(w, &t->q, opened, &bad), 0);
		assert_int_equal(sp_workers_open(w, &good, opened, &fine), 0);
		assert_int_equal(sp_workers_wait(w, 60000), 0);
		assert_string_equal(bad.error, "opener took over 600 ms");
		assert_int_equal(bad.r, -ETIMEDOUT);
		assert_string_equal(fine.error, "");
		assert_true(fine.at_ms < bad.at_ms);
		printf("beside a hanging one: %.1f ms\n", fine.at_ms - start);
	}
	struct note last = {0}, fine = {0};
	assert_int_equal(sp_workers_open(w, &t->q, opened, &last), 0);
	assert_int_equal(sp_workers_open(w, &good, opened, &fine), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_string_equal(last.error, "file system does not answer");
	assert_string_equal(fine.error, "");
	sp_workers_stats(w, &s);
	assert_int_equal(s.n_late, SP_WORKER_ABANDONED); /* it was not waited for */
	usleep(250000);
	assert_int_equal(sp_workers_dispatch(w), 0);
	sp_workers_stats(w, &s);
	assert_int_equal(s.n_abandoned, SP_WORKER_ABANDONED);
}

static void test_opener_hangs(void **state)
{
	struct trap t = {0};
	if (!set_trap(TRAP_PLAIN, &t)) {
		release(&t);
		skip();
	}
	go_silent(&t);
	struct sp_workers *w = workers(600);
	check_openers(w, &t);
	double start = now_ms();
	sp_workers_free(w);
	assert_true(now_ms() - start < 60000); /* half a second, and not until the file system answers */
	release(&t);
}

static void test_parser_hangs(void **state)
{
	struct trap t = {0};
	struct note bad = {0}, fine = {0};
	if (!set_trap(TRAP_PLAIN, &t)) {
		release(&t);
		skip();
	}
	go_silent(&t);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct sp_workers *w = workers(600);
	assert_int_equal(sp_workers_identify(w, t.fd, identified, &bad), 0);
	assert_int_equal(sp_workers_identify(w, fd, identified, &fine), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_string_equal(bad.error, "parser took over 600 ms");
	assert_string_equal(fine.error, "");
	close(fd);
	sp_workers_free(w);
	release(&t);
}

/* An opener that hung counts no longer once its file system has answered after all. */
static void test_recovers(void **state)
{
	struct trap t = {0};
	struct note a[SP_WORKER_ABANDONED] = {0}, after = {0};
	struct sp_open_request good = good_request();
	if (!set_trap(TRAP_PLAIN, &t)) {
		release(&t);
		skip();
	}
	go_silent(&t);
	struct sp_workers *w = workers(600);
	for (unsigned i = 0; i < SP_WORKER_ABANDONED; i++)
		assert_int_equal(sp_workers_open(w, &t.q, opened, &a[i]), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(sp_workers_open(w, &good, opened, &after), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_string_equal(after.error, "file system does not answer"); /* a device never seen to answer */
	kill(t.server, SIGKILL);
	for (double start = now_ms(); after.r < 0 && now_ms() - start < 20000; usleep(50000)) {
		assert_int_equal(sp_workers_dispatch(w), 0);
		assert_int_equal(sp_workers_open(w, &good, opened, &after), 0);
		assert_int_equal(sp_workers_wait(w, 60000), 0);
	}
	assert_string_equal(after.error, "");
	sp_workers_free(w);
	release(&t);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	if (geteuid() != 0) {
		printf("mounting needs root\n");
		return 77;
	}
	const struct CMUnitTest tests[] = {
	    CLEAN_TEST(test_opener_hangs),
	    CLEAN_TEST(test_parser_hangs),
	    CLEAN_TEST(test_recovers),
	};
	return cmocka_run_group_tests(tests, make_directories, remove_directories);
}
