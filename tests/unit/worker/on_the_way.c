/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel sends no descriptor for who has a lower limit of open files than there are descriptors that any process of
 * his user's has sent and that nobody has received yet: parsers that get no CPU leave some dozens of files. An opener
 * and a broker hand theirs over all the same, if need be a little later; else they say why. All is run by a user of
 * whom there are no other processes.
 */
#include "answer.h"
#include "base/mem.h"
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { NOBODY_ELSE = 54321, A_FEW = 300, TOO_MANY = 1200, PER_MESSAGE = 50 };

static char path[] = "/tmp/soprof-on-the-way-XXXXXX";

/* Descriptors that nobody receives, until both ends are closed. */
static void send_and_leave(int pair[2], unsigned n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(PER_MESSAGE * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = "", .iov_len = 1};
	struct msghdr h = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	int fds[PER_MESSAGE], fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (unsigned i = 0; i < PER_MESSAGE; i++)
		fds[i] = fd;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (unsigned i = 0; i < n; i += PER_MESSAGE)
		assert_int_equal(sendmsg(pair[0], &h, MSG_DONTWAIT), 1);
	close(fd);
}

static void forget(const int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

static void *forget_soon(void *pair)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	forget(pair);
	return NULL;
}

/* No process is lost, whatever it answers. */
static void check_open(int r, const char *error)
{
	struct sp_workers *w;
	struct sp_workers_stats stats;
	struct answer a = {0};
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.open_deadline_ms = 20000}, &w), 0);
	assert_int_equal(sp_workers_open_path(w, &(struct sp_open_path){.path = path}, opened, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.error, error);
	assert_int_equal(a.result.r, r);
	sp_workers_stats(w, &stats);
	assert_int_equal(stats.n_crashed + stats.n_late, 0);
	answer_done(&a);
	sp_workers_free(w);
}

static void test_a_few(void **state)
{
	int pair[2];
	send_and_leave(pair, A_FEW);
	check_open(0, "");
	forget(pair);
}

static void test_too_many_for_a_while(void **state)
{
	int pair[2];
	pthread_t thread;
	send_and_leave(pair, TOO_MANY);
	assert_int_equal(pthread_create(&thread, NULL, forget_soon, pair), 0);
	check_open(0, "");
	pthread_join(thread, NULL);
}

static void test_too_many(void **state)
{
	int pair[2];
	send_and_leave(pair, TOO_MANY);
	check_open(-ETOOMANYREFS, "too many descriptors of this user are on their way between processes");
	forget(pair);
}

static void test_broker(void **state)
{
	const unsigned numbers[] = {A_FEW, TOO_MANY};
	int pair[2];
	struct sp_broker *b;
	assert_int_equal(sp_broker_new(&b), 0);
	assert_int_equal(sp_broker_keep_file(b, "/etc/passwd"), 0);
	assert_int_equal(sp_privileges_drop(b), 0);
	for (size_t i = 0; i < SP_COUNT(numbers); i++) {
		send_and_leave(pair, numbers[i]);
		int fd = sp_broker_file(b, "/etc/passwd");
		forget(pair);
		assert_int_equal(SP_MIN(fd, 0), numbers[i] == A_FEW ? 0 : -ETOOMANYREFS);
		sp_cleanup_close(&fd);
	}
	sp_broker_free(b);
}

/* And may look at himself in /proc. */
static bool become_nobody_else(void)
{
	return setgroups(0, NULL) == 0 && setresgid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE) == 0 &&
	       setresuid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

int main(void)
{
	struct rlimit files;
	const struct CMUnitTest tests[] = {CLEAN_TEST(test_a_few), CLEAN_TEST(test_too_many_for_a_while),
					   CLEAN_TEST(test_too_many), CLEAN_TEST(test_broker)};
	if (geteuid() != 0 || getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max < 2 * TOO_MANY) {
		printf("needs root, and %d open files\n", 2 * TOO_MANY);
		return 77;
	}
	files.rlim_cur = files.rlim_max;
	static const char elf[4096] = ELFMAG;
	int fd;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0 || !become_nobody_else() || (fd = mkstemp(path)) < 0)
		return 1;
	int r = write(fd, elf, sizeof(elf)) != sizeof(elf);
	close(fd);
	r = r ? r : cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return r;
}
