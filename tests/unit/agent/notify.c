/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.c: what is sent to a service manager, which is a datagram socket of this test. */
#include "agent/daemon/notify.h"
#include "base/error.h"
#include "base/time.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/soprof-notify-XXXXXX";

static int manager(bool is_abstract)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char name[120];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int n = snprintf(name, sizeof(name), "%s%s/socket", is_abstract ? "@" : "", directory);

	memcpy(a.sun_path, name, (size_t)n);
	if (is_abstract)
		a.sun_path[0] = '\0';
	else
		unlink(name);
	assert_true(fd >= 0);
	assert_int_equal(
	    bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void hears(int fd, const char *text)
{
	char got[1024];
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, text);
}

static void hears_nothing(int fd)
{
	char got[16];

	assert_int_equal(recv(fd, got, sizeof(got), 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static void test_life(void **state)
{
	for (int is_abstract = 0; is_abstract < 2; is_abstract++) {
		struct sp_notify n;
		char got[128];
		uint64_t us = 0;
		int fd = manager(is_abstract);
		assert_int_equal(sp_notify_open(&n), 0);
		assert_null(getenv("NOTIFY_SOCKET"));
		sp_notify_ready(&n);
		hears(fd, "READY=1");
		sp_notify_status(&n, "%d things\nand more", 7);
		hears(fd, "STATUS=7 things and more");
		sp_notify_reloading(&n);
		assert_true(recv(fd, got, sizeof(got) - 1, 0) > 0);
		assert_int_equal(sscanf(got, "RELOADING=1\nMONOTONIC_USEC=%ju", &us), 1);
		assert_true(us && us <= sp_time_ns(CLOCK_MONOTONIC) / 1000);
		sp_notify_stopping(&n);
		hears(fd, "STOPPING=1");
		hears_nothing(fd);
		sp_notify_close(&n);
		sp_notify_ready(&n);
		hears_nothing(fd);
		close(fd);
	}
}

/* Sent after a third of the watchdog's time, not at every call. */
static void test_watchdog(void **state)
{
	struct sp_notify n;
	char pid[32];
	int fd = manager(false);

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	setenv("WATCHDOG_USEC", "30000000", 1);
	assert_int_equal(sp_notify_open(&n), 0);
	assert_int_equal(n.watchdog_ns, 30 * SP_NS_PER_S);
	assert_null(getenv("WATCHDOG_USEC"));
	sp_notify_alive(&n);
	hears(fd, "WATCHDOG=1");
	sp_notify_alive(&n);
	hears_nothing(fd);
	n.alive_sent_ns -= 10 * SP_NS_PER_S;
	sp_notify_alive(&n);
	hears(fd, "WATCHDOG=1");
	sp_notify_close(&n);
	close(fd);
}

static void test_no_watchdog(void **state)
{
	static const struct {
		const char *usec, *pid;
	} others[] = {{"1000000", "1"}, {"0", NULL}, {"soon", NULL}, {"18446744073709551615", NULL}, {NULL, NULL}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct sp_notify n;
		int fd = manager(false);
		if (others[i].usec)
			setenv("WATCHDOG_USEC", others[i].usec, 1);
		if (others[i].pid)
			setenv("WATCHDOG_PID", others[i].pid, 1);
		assert_int_equal(sp_notify_open(&n), 0);
		assert_int_equal(n.watchdog_ns, 0);
		sp_notify_alive(&n);
		hears_nothing(fd);
		sp_notify_close(&n);
		close(fd);
	}
}

static void test_nobody(void **state)
{
	static const char *const odd[] = {"relative", "", "@", "/"};
	struct sp_notify n;

	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(sp_notify_open(&n), 0);
	assert_int_equal(n.fd, -1);
	sp_notify_ready(&n);
	sp_notify_alive(&n);
	sp_notify_close(&n);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		setenv("NOTIFY_SOCKET", odd[i], 1);
		assert_int_equal(sp_notify_open(&n), -EINVAL);
		assert_int_equal(n.fd, -1);
	}
	setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
	assert_int_equal(sp_notify_open(&n), -ENOENT);
	sp_notify_ready(&n);
	sp_error_clear();
}

/* A manager that does not read must not block the agent. */
static void test_deaf(void **state)
{
	struct sp_notify n;
	int fd = manager(false);

	assert_int_equal(sp_notify_open(&n), 0);
	for (int i = 0; i < 10000; i++)
		sp_notify_status(&n, "%d", i);
	hears(fd, "STATUS=0");
	sp_notify_close(&n);
	close(fd);
}

/* --- sockets that it passes --- */
static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a child, whose descriptors from 3 on are the manager's. */
static int take_sockets(void)
{
	int all[] = {socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG),
		     socket(AF_INET, SOCK_STREAM, 0),
		     socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE),
		     socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG),
		     socket(AF_INET, SOCK_STREAM, 0),
		     socket(AF_INET, SOCK_DGRAM, 0)};
	enum { N = sizeof(all) / sizeof(all[0]) };
	int fds[N], high[N], peers;
	char text[16];

	listen(all[1], 1);
	listen(all[4], 1);
	for (int i = 0; i < N; i++)
		high[i] = fcntl(all[i], F_DUPFD, 100);
	for (int i = 0; i < N; i++)
		dup2(high[i], 3 + i);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("LISTEN_PID", text, 1);
	snprintf(text, sizeof(text), "%d", (int)N);
	setenv("LISTEN_FDS", text, 1);
	if (sp_notify_sockets(fds, 1, &peers) != 1 || fds[0] != 4 || peers != 3)
		return 1;
	if (!is_open(3) || !is_open(4) || is_open(5) || is_open(6) || is_open(7) || is_open(8))
		return 2;
	if (fcntl(3, F_GETFD) != FD_CLOEXEC || !(fcntl(3, F_GETFL) & O_NONBLOCK) || getenv("LISTEN_FDS"))
		return 3;
	return sp_notify_sockets(fds, 1, &peers) == 0 && peers == -1 ? 0 : 4; /* it was told once */
}

static void test_sockets(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(take_sockets());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_life),   cmocka_unit_test(test_watchdog), cmocka_unit_test(test_no_watchdog),
	    cmocka_unit_test(test_nobody), cmocka_unit_test(test_deaf),     cmocka_unit_test(test_sockets),
	};
	char path[64];
	int r;

	if (!mkdtemp(directory))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/socket", directory);
	unlink(path);
	rmdir(directory);
	return r;
}
