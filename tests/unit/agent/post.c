/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * post.c: posts to a server of this test: what it receives; results taken, refused and try again; a server that never
 * answers. Programs: their output, end and deadline. This program is also the one that is executed to post.
 */
#include "agent/exec/post.h"
#include "agent/exec/self.h"
#include "base/error.h"
#include "base/mem.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int listener;
static char url[64];

static void listen_here(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 4), 0);
	getsockname(listener, (struct sockaddr *)&at, &len);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/hook?a=1", ntohs(at.sin_port));
}

/* Answers one request; its length is in its header. */
static void serve(const char *answer, char *ret_request, size_t size)
{
	int fd = accept(listener, NULL, NULL);
	size_t n = 0, wanted = SIZE_MAX;

	while (n < wanted && n + 1 < size) {
		ssize_t some = read(fd, ret_request + n, size - 1 - n);
		const char *end, *length;
		if (some <= 0)
			break;
		n += (size_t)some;
		ret_request[n] = '\0';
		end = strstr(ret_request, "\r\n\r\n");
		length = strcasestr(ret_request, "content-length: ");
		if (end && length)
			wanted = (size_t)(end + 4 - ret_request) + strtoul(length + 16, NULL, 10);
	}
	if (*answer && write(fd, answer, strlen(answer)) < 0)
		fail_msg("write: %s", strerror(errno));
	close(fd);
}

static int wait_for(struct sp_program *c)
{
	int status = 0;

	while (!sp_program_check(c, &status)) {
		int fds[SP_PROGRAM_FDS];
		struct pollfd polled[SP_PROGRAM_FDS];
		size_t n = sp_program_fds(c, fds);
		for (size_t i = 0; i < n; i++)
			polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		poll(polled, n, sp_program_timeout_ms(c));
	}
	return status;
}

static enum sp_post_result post(const struct sp_post *p, const char *answer, char *ret_request, size_t size,
				struct sp_program *c)
{
	int self = sp_self_open();

	assert_true(self >= 0);
	assert_int_equal(sp_post_start(c, self, p), 0);
	close(self);
	serve(answer, ret_request, size);
	return sp_post_result(wait_for(c));
}

static void test_taken(void **state)
{
	char request[4096], secret[] = "/tmp/soprof-post-XXXXXX";
	struct sp_post p = {.url = url,
			    .type = "application/json",
			    .encoding = "identity",
			    .header = "X-One: 1 %2 = 3",
			    .body = "{\n\0\x01}",
			    .n_body = 5,
			    .timeout_ms = 20000};
	struct sp_program c;
	int fd = mkstemp(secret);

	assert_int_equal(write(fd, "Bearer abc\n", 11), 11);
	close(fd);
	p.authorization_file = secret;
	assert_int_equal(post(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", request, sizeof(request), &c),
			 SP_POST_TAKEN);
	unlink(secret);
	assert_ptr_equal(strstr(request, "POST /hook?a=1 HTTP/1.1\r\n"), request);
	assert_non_null(strstr(request, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(request, "\r\nContent-Encoding: identity\r\n"));
	assert_non_null(strstr(request, "\r\nX-One: 1 %2 = 3\r\n"));
	assert_non_null(strstr(request, "\r\nAuthorization: Bearer abc\r\n"));
	assert_memory_equal(strstr(request, "\r\n\r\n") + 4, "{\n\0\x01}", 5);
	assert_int_equal(c.pid, 0);
}

static void test_not_taken(void **state)
{
	static const struct {
		const char *answer, *text;
		enum sp_post_result result;
	} cases[] = {
	    {"HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\n\r\nno labels", "HTTP 400: no labels", SP_POST_REFUSED},
	    {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "HTTP 302",
	     SP_POST_REFUSED},
	    {"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", "HTTP 503: busy", SP_POST_AGAIN},
	    {"HTTP/1.1 429 Slower\r\nContent-Length: 0\r\n\r\n", "HTTP 429", SP_POST_AGAIN},
	    {"", "Empty reply from server", SP_POST_AGAIN},
	};
	char request[4096];
	struct sp_post p = {.url = url, .body = "x", .n_body = 1, .timeout_ms = 20000};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_program c;
		assert_int_equal(post(&p, cases[i].answer, request, sizeof(request), &c), cases[i].result);
		assert_string_equal(c.text, cases[i].text);
	}
}

/* A server whose answer never ends: its status counts, and the rest is not waited for. */
static void test_endless(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
	static char bytes[1 << 16], request[4096];
	struct sp_post p = {.url = url, .body = "x", .n_body = 1, .timeout_ms = 3000};
	int self = sp_self_open(), fd;
	struct sp_program c;
	size_t n = 0;

	assert_int_equal(sp_post_start(&c, self, &p), 0);
	close(self);
	fd = accept(listener, NULL, NULL);
	assert_true(read(fd, request, sizeof(request)) > 0);
	assert_int_equal(send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL), sizeof(head) - 1);
	while (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
		n += sizeof(bytes);
	close(fd);
	assert_int_equal(sp_post_result(wait_for(&c)), SP_POST_TAKEN);
	assert_true(n < 64 << 20); /* what sockets hold */
}

/* Nobody listens; a listener that never answers. */
static void test_nobody(void **state)
{
	struct sp_post p = {.url = "http://127.0.0.1:1/", .body = "", .timeout_ms = 20000};
	struct sp_program c;
	int self = sp_self_open(), status;

	assert_int_equal(sp_post_start(&c, self, &p), 0);
	assert_int_equal(sp_post_result(wait_for(&c)), SP_POST_AGAIN);
	assert_non_null(strstr(c.text, "connect"));
	p.url = url;
	p.timeout_ms = 200;
	assert_int_equal(sp_post_start(&c, self, &p), 0);
	status = wait_for(&c);
	assert_int_equal(sp_post_result(status), SP_POST_AGAIN);
	assert_non_null(strstr(c.text, "timed out"));
	close(accept(listener, NULL, NULL)); /* for the next case */
	p.url = "ftp://127.0.0.1/";
	assert_int_equal(sp_post_start(&c, self, &p), 0);
	assert_int_equal(sp_post_result(wait_for(&c)), SP_POST_AGAIN);
	close(self);
}

static void test_urls(void **state)
{
	static const char *const bad[] = {"",        "127.0.0.1:9093", "http://", "http:///x",
					  "ftp://a", "http://a b",     "http://?"};

	assert_int_equal(sp_post_url_check("http://127.0.0.1:9093"), 0);
	assert_int_equal(sp_post_url_check("https://user:word@[::1]/x?y"), 0);
	for (size_t i = 0; i < SP_COUNT(bad); i++)
		assert_int_equal(sp_post_url_check(bad[i]), -EINVAL);
	sp_error_clear();
}

/* --- foreign programs --- */
static int run(const char *script, unsigned timeout_ms, const char *input, struct sp_program *c)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL}, *env[] = {"A=b c", NULL};
	struct sp_program_spec spec = {
	    .path = "/bin/sh", .argv = argv, .env = env, .timeout_ms = timeout_ms, .is_foreign = true};

	assert_int_equal(sp_program_input(input, strlen(input), &spec.input), 0);
	assert_int_equal(sp_program_start(c, &spec), 0);
	close(spec.input);
	return wait_for(c);
}

static void test_program(void **state)
{
	struct sp_program c = {0};
	int status, leak = dup(listener); /* without close-on-exec */

	status = run("cat; echo \"$A\"; ls /proc/self/fd | tr '\\n' ,; exit 3", 20000, "in ", &c);
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_string_equal(c.text, "in b c\n0,1,2,3,"); /* 3: ls itself */
	close(leak);
	/* more output than is kept, and than a pipe holds */
	status = run("head -c 300000 /dev/zero | tr '\\0' x", 20000, "", &c);
	assert_int_equal(status, 0);
	assert_int_equal(strlen(c.text), SP_PROGRAM_TEXT);
	assert_string_equal(c.text + SP_PROGRAM_TEXT - 4, "x...");
	/* at its deadline it is killed with its children */
	status = run("sleep 600 & sleep 600", 100, "", &c);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && c.is_late);
	assert_int_equal(sp_program_timeout_ms(&c), -1);
	sp_program_kill(&c);
}

static void test_no_program(void **state)
{
	char *argv[] = {"x", NULL};
	struct sp_program_spec spec = {.path = "/nonexistent/x", .argv = argv, .env = argv + 1, .input = 0};
	struct sp_program c;

	assert_int_equal(sp_program_start(&c, &spec), -ENOENT);
	assert_non_null(strstr(sp_error_text(-ENOENT), "/nonexistent/x: No such file"));
	assert_int_equal(c.pid, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_taken),      cmocka_unit_test(test_not_taken), cmocka_unit_test(test_nobody),
	    cmocka_unit_test(test_endless),    cmocka_unit_test(test_urls),      cmocka_unit_test(test_program),
	    cmocka_unit_test(test_no_program),
	};

	sp_post_main(argc, argv);
	setenv("no_proxy", "*", 1);
	listen_here();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
