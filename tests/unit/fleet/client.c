/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that answers wrongly, half, late or not at all: what is said of it, and with which error; nothing half is
 * taken for an answer. What goes to it: user and password in headers alone, rows compressed.
 */
#include "fleet/client.h"
#include "base/error.h"
#include "base/time.h"
#include "fleet/schema.h"
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

enum { MAX_REQUEST = 1 << 16, LATE_MS = 300 };

/* --- a server: a process that gives one answer to all --- */
struct fake {
	pid_t pid;
	int port;
	bool is_silent;
	char *request; /* the last one; shared */
};
struct answer {
	const char *bytes; /* NULL: none, and the connection stays open */
	size_t n;
};

/* To the end of the headers, and of the body that they announce. */
static void request_read(int connection, char *request)
{
	size_t n = 0, all = MAX_REQUEST - 1;
	ssize_t got;

	while (n < all && (got = read(connection, request + n, all - n)) > 0) {
		char *end, *length;
		request[n += (size_t)got] = '\0';
		end = strstr(request, "\r\n\r\n");
		length = strcasestr(request, "\r\nContent-Length:");
		if (end && length)
			all = (size_t)(end - request) + 4 + strtoul(length + 17, NULL, 10);
	}
}

static bool is_endless; /* behind the answer comes more and more */

static void serve(int listener, const struct answer *answer, char *request)
{
	static const char more[1 << 16];

	for (;;) {
		int connection = accept(listener, NULL, NULL);
		if (connection < 0)
			_exit(1);
		request_read(connection, request);
		if (!answer->bytes)
			pause();
		if (write(connection, answer->bytes, answer->n) < 0)
			_exit(1);
		while (is_endless && send(connection, more, sizeof(more), MSG_NOSIGNAL) > 0)
			;
		shutdown(connection, SHUT_WR);
		close(connection);
	}
}

static struct fake fake_start(const char *bytes, size_t n)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	struct answer answer = {bytes, n};
	struct fake f;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	f.request = mmap(NULL, MAX_REQUEST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(listener >= 0 && f.request != MAP_FAILED);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	f.port = ntohs(address.sin_port);
	f.is_silent = !bytes;
	f.pid = fork();
	assert_true(f.pid >= 0);
	if (!f.pid)
		serve(listener, &answer, f.request);
	close(listener);
	return f;
}

static void fake_end(struct fake *f)
{
	kill(f->pid, SIGKILL);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	munmap(f->request, MAX_REQUEST);
}

static struct sp_fleet *fleet_open(const struct fake *f, const char *password)
{
	struct sp_fleet_server s = {.password = password, .timeout_ms = f->is_silent ? LATE_MS : 20000};
	struct sp_fleet *fleet;
	char url[64];

	snprintf(url, sizeof(url), "http://me@127.0.0.1:%d/base", f->port);
	s.url = url;
	assert_int_equal(sp_fleet_open(&s, &fleet), 0);
	return fleet;
}

/* --- failures --- */
#define EXCEPTION(status, text) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" text
static const struct failure {
	const char *answer; /* NULL: none */
	int r;
	const char *said;
} failures[] = {
    {EXCEPTION("500 Internal Server Error", "Code: 243, e.displayText() = DB::Exception: Cannot reserve 1.00 MiB, not "
					    "enough space, e.what() = DB::Exception\n"),
     -ENOSPC, "says: HTTP 500: Cannot reserve 1.00 MiB, not enough space"},
    {EXCEPTION("500 Internal Server Error", "Code: 243. DB::Exception: No space left. (NOT_ENOUGH_SPACE)\nmore\n"),
     -ENOSPC, "says: HTTP 500: No space left. (NOT_ENOUGH_SPACE)"},
    {EXCEPTION("500 Internal Server Error",
	       "Code: 75, e.displayText() = DB::ErrnoException: Cannot write to file /a/b, "
	       "errno: 28, strerror: No space left on device, e.what() = x\n"),
     -ENOSPC, "says: HTTP 500: no space is left on its disk: Cannot write to file /a/b, errno: 28, strerror: No space"},
    {EXCEPTION("500 Internal Server Error",
	       "Code: 279, e.displayText() = DB::NetException: All connection tries failed. Log: \n\nThere is no "
	       "table base.meta_local on server: a:9000\n\n, e.what() = DB::NetException\n"),
     -ENOENT, "says: HTTP 500: There is no table base.meta_local on server: a:9000"},
    {EXCEPTION("404 Not Found", "Code: 60, e.displayText() = DB::Exception: Table base.meta doesn't exist.\n"), -ENOENT,
     "Table base.meta doesn't exist."},
    {EXCEPTION("500 Internal Server Error", "Code: 193, e.displayText() = DB::Exception: Wrong password\n"), -EACCES,
     "Wrong password"},
    {EXCEPTION("403 Forbidden", ""), -EACCES, "says: HTTP 403"},
    {EXCEPTION("500 Internal Server Error", "Code: 241, e.displayText() = DB::Exception: Memory limit\n"), -E2BIG,
     "Memory limit"},
    {EXCEPTION("502 Bad Gateway", "<html>of a proxy"), -EIO, "says: HTTP 502: <html>of a proxy"},
    {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n", -EIO, "says: HTTP 302"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf", -EIO, NULL},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n63\r\nhalf", -EIO, NULL},
    {EXCEPTION("500 Internal Server Error",
	       "Code: 164, e.displayText() = DB::Exception: Cannot insert in readonly mode\n"),
     -EROFS, "says: HTTP 500: the user may only read: Cannot insert in readonly mode"},
    {"", -EIO, "(is it https:// there?)"},
    {NULL, -ETIMEDOUT, NULL},
};

static void test_failures(void **unused)
{
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		const struct failure *failure = &failures[i];
		struct fake f = fake_start(failure->answer, failure->answer ? strlen(failure->answer) : 0);
		struct sp_fleet *fleet = fleet_open(&f, NULL);
		struct sp_bytes into = {0};
		char here[64];
		int r = failure->r == -EROFS ? sp_fleet_do(fleet, "SELECT 1", false) /* is not tried again */
					     : sp_fleet_ask(fleet, "SELECT 1", false, &into);

		if (r != failure->r)
			fail_msg("failure %zu: %d (%s)", i, r, sp_error_text(r));
		snprintf(here, sizeof(here), "http://127.0.0.1:%d", f.port);
		assert_non_null(strstr(sp_error_text(r), here));
		assert_true(!failure->said || strstr(sp_error_text(r), failure->said));
		assert_null(strpbrk(sp_error_text(r), "\r\n"));
		sp_error_clear();
		sp_bytes_done(&into);
		sp_fleet_close(fleet);
		fake_end(&f);
	}
}

/* Of rows that are taken nothing is said, whatever the status. */
static void test_said_late(void **unused)
{
	static const char said[] =
	    EXCEPTION("200 OK", "Code: 252, e.displayText() = DB::Exception: Too many parts (300)\n");
	struct fake f = fake_start(said, sizeof(said) - 1);
	struct sp_fleet *fleet = fleet_open(&f, NULL);
	struct sp_bytes rows = {0};

	(void)unused;
	sp_bytes_put_u64(&rows, 7);
	assert_int_equal(sp_fleet_insert(fleet, "INSERT INTO t (a) FORMAT RowBinary", &rows), -EIO);
	assert_non_null(strstr(sp_error_text(-EIO), "says: HTTP 200: Too many parts (300)"));
	sp_error_clear();
	sp_bytes_done(&rows);
	sp_fleet_close(fleet);
	fake_end(&f);
}

/* What is sent without end is not read until the time is over, neither where nothing was asked for nor where it failed.
 */
static void test_endless(void **unused)
{
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\n\r\nx", "HTTP/1.1 500 Wrong\r\n\r\nCode: 60, x"};
	static const int expected[] = {-EIO, -ENOENT};

	uint64_t began_ns = sp_time_ns(CLOCK_MONOTONIC);

	is_endless = true;
	for (size_t i = 0; i < 2; i++) {
		struct fake f = fake_start(answers[i], strlen(answers[i]));
		struct sp_fleet_server s = {.timeout_ms = 20000};
		struct sp_fleet *fleet;
		char url[64];

		snprintf(url, sizeof(url), "http://127.0.0.1:%d", f.port);
		s.url = url;
		assert_int_equal(sp_fleet_open(&s, &fleet), 0);
		assert_int_equal(sp_fleet_do(fleet, "SELECT 1", true), expected[i]);
		sp_error_clear();
		sp_fleet_close(fleet);
		fake_end(&f);
	}
	is_endless = false;
	assert_true(sp_time_ns(CLOCK_MONOTONIC) - began_ns < 15 * SP_NS_PER_S);
}

static void test_gone(void **unused)
{
	struct fake f = fake_start("", 0);
	struct sp_fleet *fleet = fleet_open(&f, NULL);

	fake_end(&f);
	assert_int_equal(sp_fleet_do(fleet, "SELECT 1", true), -EIO);
	assert_non_null(strcasestr(sp_error_text(-EIO), "connect"));
	sp_error_clear();
	sp_fleet_close(fleet);
}

/* --- requests --- */
static void test_requests(void **unused)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\1\2\0x";
	struct fake f = fake_start(ok, sizeof(ok) - 1);
	struct sp_fleet *fleet = fleet_open(&f, "it's \"so\"");
	struct sp_bytes rows = {0};

	assert_int_equal(sp_fleet_ask(fleet, "SELECT ' '", false, &rows), 0);
	assert_int_equal(rows.n, 4);
	assert_memory_equal(rows.bytes, "\1\2\0x", 4);
	assert_ptr_equal(strstr(f.request, "POST /?wait_end_of_query=1&database=base&read_overflow_mode=throw&"),
			 f.request);
	assert_non_null(strstr(f.request, "\r\nX-ClickHouse-User: me\r\n"));
	assert_non_null(strstr(f.request, "\r\nX-ClickHouse-Key: it's \"so\"\r\n"));
	assert_non_null(strstr(f.request, "\r\n\r\nSELECT ' '"));

	rows.n = 0;
	for (uint32_t i = 0; i < 1000; i++)
		sp_bytes_put_u64(&rows, 7);
	assert_int_equal(sp_fleet_insert(fleet, "INSERT INTO t (a,b) FORMAT RowBinary", &rows), 0);
	assert_non_null(strstr(f.request, "&query=INSERT%20INTO%20t%20%28a%2Cb%29%20FORMAT%20RowBinary HTTP/1.1\r\n"));
	assert_non_null(strstr(f.request, "&decompress=1&"));
	const char *block = strstr(f.request, "\r\n\r\n") + 4 + 16; /* behind a checksum */
	uint64_t again[1000];
	uint32_t n;
	assert_int_equal((uint8_t)block[0], 0x90);
	memcpy(&n, block + 1, sizeof(n));
	assert_int_equal(ZSTD_decompress(again, sizeof(again), block + 9, n - 9), sizeof(again));
	assert_memory_equal(again, rows.bytes, sizeof(again));
	memcpy(&n, block + 5, sizeof(n));
	assert_int_equal(n, sizeof(again));
	assert_true(sp_fleet_sent_bytes(fleet) < 1000);
	sp_bytes_done(&rows);
	sp_fleet_close(fleet);
	fake_end(&f);
}

/* --- what tables say of themselves --- */
static int meta_of(uint64_t n, uint32_t version, size_t n_bytes)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
	struct sp_bytes answer = {0};
	struct sp_fleet *fleet;
	struct fake f;
	uint64_t seed;
	int r;

	sp_bytes_put(&answer, head, sizeof(head) - 1);
	sp_bytes_put_u64(&answer, n);
	sp_bytes_put_u32(&answer, version);
	sp_bytes_put_u64(&answer, 42);
	f = fake_start(answer.bytes, sizeof(head) - 1 + n_bytes);
	fleet = fleet_open(&f, NULL);
	r = sp_fleet_meta(fleet, &seed);
	assert_true(r < 0 || seed == 42);
	sp_fleet_close(fleet);
	fake_end(&f);
	sp_bytes_done(&answer);
	return r;
}

static void test_meta(void **unused)
{
	assert_int_equal(meta_of(1, SP_FLEET_VERSION, 20), 0);
	assert_int_equal(meta_of(2, SP_FLEET_VERSION, 20), 0);
	assert_int_equal(meta_of(1, SP_FLEET_VERSION + 1, 20), -EPROTONOSUPPORT);
	assert_non_null(strstr(sp_error_text(-EPROTONOSUPPORT), "newer than this soprof's"));
	sp_error_clear();
	assert_int_equal(meta_of(1, SP_FLEET_VERSION - 1, 20), -EPROTONOSUPPORT);
	assert_non_null(strstr(sp_error_text(-EPROTONOSUPPORT), "older than this soprof's"));
	sp_error_clear();
	assert_int_equal(meta_of(0, 0, 20), -ENOENT);
	assert_non_null(strstr(sp_error_text(-ENOENT), "soprof fleet init makes them"));
	sp_error_clear();
	assert_int_equal(meta_of(1, SP_FLEET_VERSION, 19), -EIO);
	assert_non_null(strstr(sp_error_text(-EIO), "does not answer as ClickHouse does"));
	sp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_failures), cmocka_unit_test(test_gone),     cmocka_unit_test(test_said_late),
	    cmocka_unit_test(test_endless),  cmocka_unit_test(test_requests), cmocka_unit_test(test_meta),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
