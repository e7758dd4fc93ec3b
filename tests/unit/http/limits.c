/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c: limits of number, size and time. */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "client.h"
#include "http/handshakes.h"
#include "http/listen.h"
#include "http/peer.h"
#include "http/web_config.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CROWD = 900, MOST = 16, LARGE = 16 << 20 }; /* a process may have 1024 descriptors */

static void say(void *arg, struct sp_http_request *q)
{
	sp_http_say(q, 200, "here");
}

static void gone(void *arg)
{
}

static int n_waiting;

static void defer_answer(void *arg, struct sp_http_request *q)
{
	n_waiting++;
	sp_http_defer(q, gone, NULL);
}

static char large[LARGE];

static void say_large(void *arg, struct sp_http_request *q)
{
	struct sp_http_answer a = {.status = 200, .type = "text/plain", .bytes = large, .n = sizeof(large)};

	sp_http_answer(q, &a);
}

static const struct sp_http_route routes[] = {{"/", SP_HTTP_OPEN, true, say},
					      {"/wait", SP_HTTP_OPEN, false, defer_answer},
					      {"/waits", SP_HTTP_TOKEN, false, defer_answer},
					      {"/token", SP_HTTP_TOKEN, false, say},
					      {"/large", SP_HTTP_OPEN, false, say_large},
					      {0}};

static struct sp_http_stats stats(void)
{
	struct sp_http_stats s;

	sp_http_stats(http, &s);
	return s;
}

/* Of hundreds of silent connections as many stay as allowed, and a client that asks is answered. */
static void test_idle(void **state)
{
	struct sp_http_config c = {.routes = routes, .max_connections = MOST};
	int idle[CROWD];

	server_begin(&c);
	for (int i = 0; i < CROWD; i++) {
		idle[i] = client_new();
		if (i % 10 == 0)
			server_run_once(0);
		if (i % 100 == 99)
			assert_int_equal(status_of(get("/", "")), 200);
		assert_true(stats().n_connections <= MOST * 3 / 4);
	}
	for (int i = 0; i < 10; i++)
		server_run_once(1);
	assert_int_equal(stats().n_refused, 0);
	assert_true(stats().n_evicted >= CROWD - MOST);
	assert_true(stats().n_connections >= MOST * 3 / 4 - 1); /* one was closed for the last that was answered */
	assert_true(client_is_closed(idle[0]));
	assert_false(client_is_closed(idle[CROWD - 1]));
	for (int i = 0; i < CROWD; i++)
		close(idle[i]);
	for (int i = 0; stats().n_connections && i < 100; i++)
		server_run_once(5);
	assert_int_equal(stats().n_connections, 0);
	assert_int_equal(sp_http_timeout_ms(http), -1); /* no deadline is left */
	server_end();
}

/* Clients that do not read their answers take no place from others, nor from one that reads, however much is left. */
static void test_slow_readers(void **state)
{
	static const char *const sources[] = {"127.0.0.2", "127.0.0.3"};
	struct sp_http_config c = {.routes = routes, .max_connections = MOST};
	static char bytes[256 << 10];
	int silent[10 * MOST], reader;
	size_t n = 0;
	ssize_t got = 1;

	server_begin(&c);
	reader = client_new();
	/* the kernel reads megabytes ahead for it otherwise */
	assert_int_equal(setsockopt(reader, SOL_SOCKET, SO_RCVBUF, &(int){128 << 10}, sizeof(int)), 0);
	client_send(reader, "GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	for (int i = 0; i < 10 * MOST; i++) {
		silent[i] = client_from(sources[i % 2]);
		client_send(silent[i], "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
		for (int k = 0; k < 5; k++)
			server_run_once(1);
		got = recv(reader, bytes, 100000, MSG_DONTWAIT);
		n += got > 0 ? (size_t)got : 0;
		if (i % MOST == MOST - 1)
			assert_int_equal(status_of(get("/", "")), 200);
	}
	assert_int_equal(stats().n_refused, 0);
	while (got != 0 && (got > 0 || errno == EAGAIN)) {
		server_run_once(1);
		got = recv(reader, bytes, sizeof(bytes), MSG_DONTWAIT);
		n += got > 0 ? (size_t)got : 0;
	}
	assert_true(n > LARGE); /* and the header */
	close(reader);
	for (int i = 0; i < 10 * MOST; i++)
		close(silent[i]);
	server_end();
}

/* Who has no token cannot hold all places by requests that wait; who has it is answered. */
static void test_kept_places(void **state)
{
	struct sp_http_config c = {.routes = routes, .max_connections = MOST, .token = "secret"};
	int waiting[MOST];

	server_begin(&c);
	for (int i = 0; i < MOST; i++) {
		waiting[i] = client_new();
		client_send(waiting[i], "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
		server_run_once(10);
	}
	for (int k = 0; k < 50; k++)
		server_run_once(2);
	assert_int_equal(status_of(get("/token", "Authorization: Bearer secret\r\n")), 200);
	assert_true(stats().n_refused > 0);
	for (int i = 0; i < MOST; i++)
		close(waiting[i]);
	server_end();
}

/* Connections that wait for an answer are not closed for others; then a new one is refused. */
static void test_busy(void **state)
{
	struct sp_http_config c = {.routes = routes, .max_connections = 8, .token = "secret"};
	int busy[6], one_more;

	n_waiting = 0;
	server_begin(&c);
	for (int i = 0; i < 6; i++) {
		busy[i] = client_new();
		client_send(busy[i], "GET /waits HTTP/1.1\r\nHost: localhost\r\n"
				     "Authorization: Bearer secret\r\n\r\n");
		for (int k = 0; n_waiting <= i && k < 500; k++)
			server_run_once(20);
		assert_int_equal(n_waiting, i + 1);
	}
	one_more = client_new();
	client_send(one_more, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_string_equal(client_read(one_more, NULL), "");
	assert_int_equal(stats().n_refused, 1);
	assert_int_equal(stats().n_connections, 6);
	close(busy[0]);
	assert_int_equal(status_of(get("/", "")), 200);
	for (int i = 1; i < 6; i++) {
		assert_false(client_is_closed(busy[i]));
		close(busy[i]);
	}
	close(one_more);
	server_end();
}

static void test_large(void **state)
{
	struct sp_http_config c = {.routes = routes};
	static char text[200000];
	char header[9000];
	int fd, status;

	server_begin(&c);
	memset(text, 'a', sizeof(text) - 1);
	snprintf(header, sizeof(header), "X: %.*s\r\n", 7900, text);
	assert_int_equal(status_of(get("/", header)), 200);
	snprintf(header, sizeof(header), "X: %.*s\r\n", 8300, text);
	assert_int_equal(status_of(get("/", header)), 431);
	/* more than fits, in one header, in the path, and in many headers */
	fd = client_new();
	client_send(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %s", text);
	status = status_of(client_read(fd, NULL));
	assert_true(status == 431 || status == -1);
	close(fd);
	fd = client_new();
	client_send(fd, "GET /%s", text);
	status = status_of(client_read(fd, NULL));
	assert_true(status == 414 || status == -1);
	close(fd);
	fd = client_new();
	client_send(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n");
	for (int i = 0; i < 5000; i++)
		client_send(fd, "A: b\r\n");
	client_send(fd, "\r\n");
	status = status_of(client_read(fd, NULL));
	assert_true(status == 431 || status == -1);
	close(fd);
	assert_int_equal(status_of(get("/", "")), 200);
	server_end();
}

/* Single bytes do not prolong the header's ten seconds. */
static void test_slow(void **state)
{
	static const char request[] =
	    "GET / HTTP/1.1\r\nHost: localhost\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	struct sp_http_config c = {.routes = routes};
	uint64_t began_ns;
	int fd;

	server_begin(&c);
	fd = client_new();
	began_ns = sp_time_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < 40 && !client_is_closed(fd); i++) {
		client_send(fd, "%c", request[i]);
		for (int k = 0; k < 4; k++)
			server_run_once(100);
	}
	assert_true(client_is_closed(fd));
	assert_true(sp_time_ns(CLOCK_MONOTONIC) - began_ns >= 9 * SP_NS_PER_S);
	assert_int_equal(stats().n_timed_out, 1);
	close(fd);
	server_end();
}

/* Requests that no browser sends. */
static void test_nonsense(void **state)
{
	static const char *const texts[] = {
	    "\r\n\r\n\r\n\r\n",
	    "GET\r\n\r\n",
	    "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
	    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: localhost\r\n : x\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
	};

	struct sp_http_config c = {.routes = routes};

	server_begin(&c);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int fd = client_new();
		client_send(fd, "%s", texts[i]);
		for (int k = 0; k < 10; k++)
			server_run_once(10);
		char answer[64] = ""; /* or none: it may still become a request, for ten seconds */
		if (recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT) > 0)
			assert_int_not_equal(status_of(answer), 200);
		close(fd);
		assert_int_equal(status_of(get("/", "")), 200);
	}
	server_end();
}

/* --- users of this machine, who all have one address --- */
enum { HIS_UID = 12345 };

/* His socket, which it is by who makes it. */
static int client_of(uid_t uid)
{
	int fd;

	setfsuid(uid);
	fd = client_new();
	setfsuid(0);
	return fd;
}

static int n_compared;

static int begin_compare(void *arg, const char *hash, const char *password)
{
	(void)arg, (void)hash, (void)password;
	n_compared++;
	return 0;
}

/* The status of the answer; a password that is compared is found to be right or not. */
static int log_in(uid_t uid, const char *basic, bool is_right)
{
	int fd = client_of(uid), n = n_compared, status;
	char byte;

	client_send(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic %s\r\n\r\n", basic);
	for (int i = 0; i < 500 && n_compared == n && recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0; i++)
		server_run_once(20);
	if (n_compared > n)
		sp_http_verified(http, is_right);
	status = status_of(client_read(fd, "\n\r\n"));
	close(fd);
	return status;
}

/* Who gave wrong passwords waits, and not another user's proxy, nor his connections. */
static void test_users(void **state)
{
	static const char wrong[] = "YWxpY2U6eA==", right[] = "YWxpY2U6cmlnaHQ="; /* alice:x, alice:right */
	struct sp_web_config web = {.users = {{"alice", "hash"}}, .n_users = 1};
	struct sp_http_config c = {.routes = routes, .max_connections = MOST, .web = &web, .verify = begin_compare};
	int idle, his[2 * MOST], status = 0;

	if (geteuid())
		skip();
	server_begin(&c);
	idle = client_of(0);
	for (int i = 0; i < 5 && status != 429; i++) /* a slow machine may let a pause pass, which grows */
		status = log_in(HIS_UID, wrong, false);
	assert_int_equal(status, 429);
	assert_int_equal(log_in(0, right, true), 200);
	for (size_t i = 0; i < SP_COUNT(his); i++) {
		his[i] = client_of(HIS_UID);
		server_run_once(0);
	}
	assert_true(client_is_closed(his[0]));
	assert_false(client_is_closed(idle));
	for (size_t i = 0; i < SP_COUNT(his); i++)
		close(his[i]);
	close(idle);
	server_end();
}

/* --- handshakes --- */
/* A ClientHello of TLS 1.2: ECDHE_RSA_WITH_AES_128_GCM_SHA256, secp256r1, rsa_pkcs1_sha256. */
static const char hello[] = "\x16\x03\x01\x00\x4a\x01\x00\x00\x46\x03\x03"
			    "0123456789abcdef0123456789abcdef\x00\x00\x02\xc0\x2f\x01\x00\x00\x1b"
			    "\x00\x0a\x00\x04\x00\x02\x00\x17\x00\x0b\x00\x02\x01\x00"
			    "\x00\x0d\x00\x04\x00\x02\x04\x01\xff\x01\x00\x01\x00";

static int greet(uid_t uid)
{
	int fd = client_of(uid);

	send(fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL);
	return fd;
}

/* By who is not refused. */
static bool is_greeted(int fd)
{
	char byte = 0;
	ssize_t n = -1;

	for (int i = 0; i < 500 && n < 0 && (i == 0 || errno == EAGAIN); i++) {
		server_run_once(20);
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
	}
	close(fd);
	return n == 1 && byte == 0x16;
}

static char *read_pem(const char *name, char *bytes, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/http/%s", SP_TEST_DATA, name);
	f = fopen(path, "re");
	assert_non_null(f);
	bytes[fread(bytes, 1, size - 1, f)] = '\0';
	fclose(f);
	return bytes;
}

/* A user who begins handshakes and looks at no answer takes a burst of CPU and no more; another is served. */
static void test_handshakes(void **state)
{
	static char cert[8192], key[8192];
	struct sp_web_config web = {.has_tls = true,
				    .cert = read_pem("cert.pem", cert, sizeof(cert)),
				    .key = read_pem("key.pem", key, sizeof(key)),
				    .min_version = SP_WEB_TLS12,
				    .max_version = SP_WEB_TLS13};
	struct sp_http_config c = {.routes = routes, .web = &web};
	uint64_t began_ns, used_ns = 0;
	int n;

	if (geteuid())
		skip();
	server_begin(&c);
	assert_true(is_greeted(greet(HIS_UID)));
	for (int i = 0; i < 600 && stats().n_refused < 50; i++) {
		int fd = greet(HIS_UID);
		began_ns = sp_time_ns(CLOCK_THREAD_CPUTIME_ID);
		server_run_once(20);
		used_ns += sp_time_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
		close(fd);
	}
	assert_true(stats().n_refused >= 50);
	assert_int_equal(stats().n_unpaid, stats().n_refused);
	assert_string_equal(stats().unpaid, "user 12345");
	assert_true(used_ns < SP_NS_PER_S);
	for (n = 0; n < 5 && is_greeted(greet(HIS_UID));)
		n++; /* a slow machine may let a debt pass */
	assert_true(n < 5);
	assert_true(is_greeted(greet(0)));
	server_end();
}

/* Strangers have no more together, and who has shown the token has his own still. */
static void test_strangers(void **state)
{
	static struct sp_handshakes s;
	const uint64_t t = SP_NS_PER_S;
	uint64_t client = 1;

	sp_handshakes_init(&s, t);
	for (; sp_handshakes_may(&s, client, t); client++) {
		assert_true(client < 10);
		sp_handshakes_took(&s, &client, 1, t, SP_NS_PER_S / 10 * 4);
	}
	assert_true(client > 2);
	assert_true(sp_handshakes_may(&s, client, t + 200 * SP_NS_PER_S));
	sp_handshakes_know(&s, client);
	assert_true(sp_handshakes_may(&s, client, t));
	sp_handshakes_took(&s, &client, 1, t, SP_NS_PER_S);
	assert_false(sp_handshakes_may(&s, client, t));
	assert_false(sp_handshakes_may(&s, client, t + 200 * SP_NS_PER_S));
	assert_true(sp_handshakes_may(&s, client, t + 300 * SP_NS_PER_S));
}

/* --- addresses --- */
static void test_places(void **state)
{
	static const char *const good[] = {"127.0.0.1:0", "localhost:1", ":9877", "[::1]:65535", "[::]:1", "0.0.0.0:1"};
	static const char *const bad[] = {
	    "",       "9877",          "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:1",
	    "[::1:1", "example.org:1", "127.1:1",   "[]:1",       "[127.0.0.1]:1",   "1.2.3.4:-1"};
	struct sp_http_config c = {.routes = routes}, again = {.routes = routes, .max_connections = 4, .n_listen = 1};
	struct sp_http *second;
	char taken[64];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(sp_http_address_check(good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sp_http_address_check(bad[i]), -EINVAL);
	sp_error_clear();
	/* an address in use, among free ones */
	server_begin(&c);
	assert_true(sp_http_address(http, 0, taken, sizeof(taken)));
	assert_false(sp_http_address(http, 1, taken, sizeof(taken)));
	again.listen[0] = "127.0.0.1:0";
	again.listen[1] = taken;
	again.n_listen = 2;
	assert_int_equal(sp_http_new(&again, &second), -EADDRINUSE);
	assert_non_null(strstr(sp_error_text(-EADDRINUSE), taken));
	server_end();
}

/* What a client is, in words. */
static void test_client_words(void **state)
{
	static const struct {
		int family;
		const char *address, *words;
	} all[] = {{AF_INET, "192.0.2.1", "192.0.2.1"},
		   {AF_INET, "127.3.2.1", "this machine"},
		   {AF_INET6, "::1", "this machine"},
		   {AF_INET6, "::ffff:192.0.2.1", "192.0.2.1"},
		   {AF_INET6, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"}};

	for (size_t i = 0; i < SP_COUNT(all); i++) {
		struct sp_address a = {.at.ss_family = (sa_family_t)all[i].family};
		char words[SP_ADDRESS_TEXT];

		if (all[i].family == AF_INET)
			inet_pton(AF_INET, all[i].address, &((struct sockaddr_in *)&a.at)->sin_addr);
		else
			inet_pton(AF_INET6, all[i].address, &((struct sockaddr_in6 *)&a.at)->sin6_addr);
		sp_peer_text(sp_address_client(&a), words);
		assert_string_equal(words, all[i].words);
	}
}

/* --- sockets that were opened by the caller --- */
/* The user of a connection over loopback that he has begun, as they tell of it. */
static const char *told_user(struct sp_peers *p, uid_t uid)
{
	static char words[SP_ADDRESS_TEXT];
	struct sp_address a = {.len = sizeof(a.at)};
	int listener, his, ours;

	assert_int_equal(sp_listen("127.0.0.1:0", &listener), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a.at, &a.len), 0);
	setfsuid(uid);
	his = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setfsuid(0);
	assert_int_equal(connect(his, (struct sockaddr *)&a.at, a.len), 0);
	poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, -1);
	ours = accept4(listener, (struct sockaddr *)&a.at, &a.len, SOCK_CLOEXEC);
	assert_true(ours >= 0);
	sp_peer_text(sp_peer_client(p, ours, &a), words);
	close(ours);
	close(his);
	close(listener);
	return words;
}

/* In a network namespace of its own it knows users by a socket of theirs, in which who had it before left an answer. */
static void test_passed_peers(void **state)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 of;
	} left = {.head = {.nlmsg_len = sizeof(left), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		  .of = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP}};
	int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct sp_peers own, passed;

	if (geteuid() || unshare(CLONE_NEWNET) < 0)
		skip();
	sp_peers_open(&own, -1);
	assert_int_equal(setns(host, CLONE_NEWNET), 0);
	sp_peers_open(&passed, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	assert_int_equal(send(passed.fd, &left, sizeof(left), 0), sizeof(left));
	assert_string_equal(told_user(&own, HIS_UID), "this machine");
	assert_string_equal(told_user(&passed, HIS_UID), "user 12345");
	assert_string_equal(told_user(&passed, 0), "user 0");
	sp_peers_close(&own);
	sp_peers_close(&passed);
	close(host);
}

static void test_passed(void **state)
{
	struct sp_http_config c = {.routes = routes, .n_sockets = 1};
	int fd;

	assert_int_equal(sp_listen("127.0.0.1:0", &fd), 0);
	c.sockets = &fd;
	c.max_connections = 4;
	server_begin(&c);
	assert_int_equal(status_of(get("/", "")), 200);
	server_end();
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* the server has closed it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_idle),         cmocka_unit_test(test_busy),
	    cmocka_unit_test(test_slow_readers), cmocka_unit_test(test_kept_places),
	    cmocka_unit_test(test_large),        cmocka_unit_test(test_slow),
	    cmocka_unit_test(test_nonsense),     cmocka_unit_test(test_places),
	    cmocka_unit_test(test_passed),       cmocka_unit_test(test_users),
	    cmocka_unit_test(test_handshakes),   cmocka_unit_test(test_strangers),
	    cmocka_unit_test(test_client_words), cmocka_unit_test(test_passed_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
