/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http.c: routes, checks, immediate and later answers, users. */
#include "client.h"
#include "http/web_config.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

static struct sp_http_request *late; /* the last deferred request */
static int n_late, n_gone, n_handled;
static const char *asked_hash, *asked_password;

static void say_path(void *arg, struct sp_http_request *q)
{
	n_handled++;
	sp_http_say(q, 200, "%s path=%s query=%s", (const char *)arg, sp_http_path(q), sp_http_query(q));
}

static void gone(void *arg)
{
	n_gone++;
	if (arg == late)
		late = NULL;
}

static void defer(void *arg, struct sp_http_request *q)
{
	late = q;
	n_late++;
	sp_http_defer(q, gone, q);
}

/* Defers and answers within the handler. */
static void defer_and_answer(void *arg, struct sp_http_request *q)
{
	defer(arg, q);
	sp_http_say(q, 200, "not deferred");
	late = NULL;
}

static void page(void *arg, struct sp_http_request *q)
{
	static const char html[] = "<p>page";
	struct sp_http_answer a = {.status = 200,
				   .type = "text/html",
				   .policy = "default-src 'self'",
				   .etag = "abc-1",
				   .bytes = html,
				   .n = sizeof(html) - 1};

	if (sp_http_accepts(q, "gzip"))
		a.coding = "gzip";
	sp_http_answer(q, &a);
}

/* The file's first bytes are not part of the answer. */
static void file(void *arg, struct sp_http_request *q)
{
	struct sp_http_answer a = {
	    .status = 200, .type = "x/y", .filename = "f", .has_fd = true, .offset = 4, .n = 300000};
	char *text = malloc(300004);

	memset(text, 'b', 300004);
	memset(text, 'a', 4);
	a.fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(a.fd, text, 300004), 300004);
	free(text);
	sp_http_answer(q, &a);
}

static int verify(void *arg, const char *hash, const char *password)
{
	asked_hash = hash;
	asked_password = strdup(password);
	return 0;
}

static const struct sp_http_route routes[] = {
    {"/", SP_HTTP_OPEN, true, page},
    {"/open", SP_HTTP_OPEN, false, say_path},
    {"/below/", SP_HTTP_OPEN, false, say_path},
    {"/secret", SP_HTTP_TOKEN, false, say_path},
    {"/late", SP_HTTP_OPEN, false, defer},
    {"/not-late", SP_HTTP_OPEN, false, defer_and_answer},
    {"/file", SP_HTTP_OPEN, false, file},
    {0},
};
static struct sp_http_config config(void)
{
	n_late = n_gone = n_handled = 0;
	late = NULL;
	return (struct sp_http_config){.routes = routes, .token = "sesame", .arg = (void *)(uintptr_t) "arg"};
}

static int code(const char *path, const char *headers)
{
	return status_of(get(path, headers));
}

static void test_routes(void **state)
{
	struct sp_http_config c = config();

	server_begin(&c);
	assert_non_null(strstr(get("/open?a=%20b&c", ""), "arg path=/open query=a=%20b&c"));
	assert_non_null(strstr(get("/below/it/", ""), "arg path=/below/it/ query="));
	assert_int_equal(code("/", ""), 200);
	assert_int_equal(code("/open/", ""), 404);
	assert_int_equal(code("/below", ""), 404);
	assert_int_equal(code("/nothing", ""), 404);
	/* paths are not normalized */
	assert_int_equal(code("//open", ""), 404);
	assert_int_equal(code("/%6fpen", ""), 404);
	assert_int_equal(code("/x/../open", ""), 404);
	assert_int_equal(code("/..%2f..%2fetc/passwd", ""), 404);
	assert_int_equal(code("/OPEN", ""), 404);
	assert_int_equal(code("*", ""), 404);
	assert_int_equal(code("http://localhost/open", ""), 404);
	server_end();
}

static void test_token(void **state)
{
	struct sp_http_config c = config();

	server_begin(&c);
	assert_int_equal(code("/secret", ""), 401);
	assert_non_null(strstr(get("/secret", ""), "\r\nWWW-Authenticate: Bearer realm=\"soprof\"\r\n"));
	assert_int_equal(code("/secret", "Authorization: Bearer sesam\r\n"), 401);
	assert_int_equal(code("/secret", "Authorization: Bearer sesame2\r\n"), 401);
	assert_int_equal(code("/secret", "Authorization: sesame\r\n"), 401);
	assert_int_equal(code("/secret", "Cookie: token=sesame\r\n"), 401);
	assert_int_equal(code("/secret?token=sesame", ""), 401);
	assert_int_equal(n_handled, 0);
	assert_int_equal(code("/secret", "Authorization: Bearer sesame\r\n"), 200);
	assert_int_equal(code("/secret", "Authorization: Basic dTpzZXNhbWU=\r\n"), 200); /* u:sesame */
	server_end();
	/* without a token such routes refuse everybody */
	c.token = NULL;
	server_begin(&c);
	assert_int_equal(code("/secret", "Authorization: Bearer \r\n"), 401);
	server_end();
}

static const char *send_raw(const char *text)
{
	int fd = client_new();
	const char *answer;

	client_send(fd, "%s", text);
	answer = client_read(fd, NULL);
	close(fd);
	return answer;
}

static void test_gate(void **state)
{
	struct sp_http_config c = config();

	c.hosts[c.n_hosts++] = "Profiles.example";
	server_begin(&c);
	assert_int_equal(status_of(send_raw("POST /open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")),
			 405);
	assert_non_null(
	    strstr(send_raw("DELETE /open HTTP/1.1\r\nHost: localhost\r\n\r\n"), "\r\nAllow: GET, HEAD\r\n"));
	assert_int_equal(status_of(send_raw("GET /open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")),
			 413);
	assert_int_equal(
	    status_of(send_raw("GET /open HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
	    413);
	assert_int_equal(status_of(send_raw("GET /open HTTP/1.1\r\nConnection: close\r\n\r\n")), 400);
	assert_int_equal(status_of(send_raw("GET /open HTTP/1.0\r\n\r\n")), 400);
	assert_int_equal(status_of(send_raw("GET /open HTTP/1.1\r\nConnection: close\r\nHost: evil.example\r\n\r\n")),
			 421);
	assert_int_equal(
	    status_of(send_raw("GET /open HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1.evil.example\r\n\r\n")),
	    421);
	assert_int_equal(status_of(send_raw("GET /open HTTP/1.1\r\nConnection: close\r\nHost: 10.0.0.1\r\n\r\n")), 421);
	assert_int_equal(
	    status_of(send_raw("GET /open HTTP/1.1\r\nConnection: close\r\nHost: profiles.EXAMPLE:1\r\n\r\n")), 200);
	assert_int_equal(status_of(send_raw("GET /open HTTP/1.1\r\nConnection: close\r\nHost: [::1]:8080\r\n\r\n")),
			 200);
	assert_int_equal(status_of(send_raw("GET /open HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1\r\n\r\n")),
			 200);
	assert_int_equal(n_handled, 3);
	assert_int_equal(code("/open", "Origin: http://evil.example\r\n"), 403);
	assert_int_equal(code("/open", "Origin: http://localhost\r\n"), 200);
	assert_int_equal(code("/open", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), 403);
	assert_int_equal(code("/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), 200);
	assert_int_equal(code("/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"), 403);
	server_end();
}

static void test_headers(void **state)
{
	static const char *const wanted[] = {
	    "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
	    "X-Frame-Options: DENY",           "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
	    "Cache-Control: no-store",         "Cross-Origin-Resource-Policy: same-origin"};
	struct sp_http_config c = config();
	const char *text;

	server_begin(&c);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		for (int k = 0; k < 2; k++) /* refusals, too */
			assert_non_null(strstr(get(k ? "/open" : "/nothing", ""), wanted[i]));
	text = get("/", "Accept-Encoding: gzip\r\n");
	assert_non_null(strstr(text, "\r\nContent-Security-Policy: default-src 'self'\r\n"));
	assert_non_null(strstr(text, "\r\nETag: \"abc-1\"\r\n"));
	assert_non_null(strstr(text, "\r\nContent-Encoding: gzip\r\n"));
	assert_non_null(strstr(text, "\r\nCache-Control: no-cache\r\n"));
	assert_int_equal(code("/", "If-None-Match: \"abc-1\"\r\n"), 304);
	assert_int_equal(code("/", "If-None-Match: \"abc-2\"\r\n"), 200);
	text = send_raw("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	assert_non_null(strstr(text, "\r\nContent-Length: 7\r\n"));
	assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
	server_end();
}

/* Many requests over one connection, sent together. */
static void test_kept(void **state)
{
	struct sp_http_config c = config();
	struct sp_http_stats s;
	int fd;

	server_begin(&c);
	fd = client_new();
	for (int i = 0; i < 20; i++)
		client_send(fd, "GET /open?%d HTTP/1.1\r\nHost: localhost\r\n\r\n", i);
	client_read(fd, "query=19");
	client_send(fd, "GET /not-late HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_non_null(strstr(client_read(fd, "not deferred"), "200 OK"));
	sp_http_stats(http, &s);
	assert_int_equal(s.n_connections, 1);
	assert_int_equal(s.n_requests, 21);
	close(fd);
	server_end();
}

static void test_file(void **state)
{
	struct sp_http_config c = config();
	const char *text, *body;

	server_begin(&c);
	text = get("/file", "");
	assert_non_null(strstr(text, "Content-Disposition: attachment; filename=\"f\"\r\n"));
	body = strstr(text, "\r\n\r\n") + 4;
	assert_int_equal(strlen(body), 300000);
	assert_int_equal(strspn(body, "b"), 300000);
	server_end();
}

static void wait_for(const int *n, int wanted)
{
	for (int i = 0; *n < wanted && i < 500; i++)
		server_run_once(20);
	assert_int_equal(*n, wanted);
}

static void test_late(void **state)
{
	struct sp_http_config c = config();
	struct sp_http_request *first;
	int a, b;

	server_begin(&c);
	a = client_new();
	client_send(a, "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n");
	wait_for(&n_late, 1);
	first = late;
	b = client_new();
	client_send(b, "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n");
	wait_for(&n_late, 2);
	/* others are served meanwhile, and the later request may be answered first */
	assert_int_equal(code("/open", ""), 200);
	assert_int_equal(sp_http_timeout_ms(http) != 0, 1);
	sp_http_say(late, 200, "second");
	assert_non_null(strstr(client_read(b, "second"), "200 OK"));
	sp_http_say(first, 503, "first");
	assert_non_null(strstr(client_read(a, "first"), "\r\nRetry-After: 5\r\n"));
	/* the connection goes on */
	client_send(a, "GET /open?again HTTP/1.1\r\nHost: localhost\r\n\r\n");
	client_read(a, "query=again");
	assert_int_equal(n_gone, 0);
	close(a);
	close(b);
	server_end();
}

/* The handler hears once of a client that hangs up, and of the server's end. */
static void test_gone(void **state)
{
	struct sp_http_config c = config();
	struct sp_http_stats s;
	int a, b;

	server_begin(&c);
	a = client_new();
	client_send(a, "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n");
	wait_for(&n_late, 1);
	close(a);
	wait_for(&n_gone, 1);
	b = client_new();
	client_send(b, "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n");
	wait_for(&n_late, 2);
	for (int i = 0; i < 10; i++)
		server_run_once(1);
	sp_http_stats(http, &s);
	assert_int_equal(s.n_connections, 1);
	assert_int_equal(s.n_gone, 1);
	server_end();
	assert_int_equal(n_gone, 2);
	close(b);
}

/* --- users --- */
#define ALICE "Authorization: Basic YWxpY2U6cmlnaHQ=\r\n" /* alice:right */
#define BOB "Authorization: Basic Ym9iOng=\r\n"           /* bob:x */

static int begin_user(const char *path, const char *who)
{
	int fd = client_new();

	client_send(fd, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, who);
	return fd;
}

static void wait_asked(void)
{
	for (int i = 0; !asked_password && i < 500; i++)
		server_run_once(20);
	assert_non_null(asked_password);
}

static void take_asked(const char *hash, const char *password)
{
	wait_asked();
	assert_string_equal(asked_hash, hash);
	assert_string_equal(asked_password, password);
	free((void *)(uintptr_t)asked_password);
	asked_password = NULL;
}

static void test_users(void **state)
{
	struct sp_web_config web = {.users = {{"alice", "hash"}}, .n_users = 1};
	struct sp_http_config c = config();
	int a, b, d;

	c.web = &web;
	c.verify = verify;
	server_begin(&c);
	assert_non_null(strstr(get("/", ""), "\r\nWWW-Authenticate: Basic realm=\"soprof\"\r\n"));
	assert_int_equal(code("/nothing", ""), 401);
	assert_int_equal(code("/secret", "Authorization: Bearer sesame\r\n"), 200);
	/* two requests with the same password share a comparison; another password is refused meanwhile */
	a = begin_user("/secret?1", ALICE);
	wait_asked();
	b = begin_user("/late", ALICE);
	d = begin_user("/secret?3", BOB);
	assert_non_null(strstr(client_read(d, "being looked at"), "429 "));
	take_asked("hash", "right");
	for (int i = 0; i < 5; i++)
		server_run_once(5);
	assert_null(asked_password);
	sp_http_verified(http, true);
	client_read(a, "query=1");
	wait_for(&n_late, 1); /* the handler deferred it in turn */
	sp_http_say(late, 200, "late");
	client_read(b, "late");
	assert_int_equal(code("/secret", ALICE), 200); /* its digest is kept */
	assert_null(asked_password);
	close(a);
	close(b);
	close(d);
	server_end();
}

static void test_wrong_user(void **state)
{
	struct sp_web_config web = {.users = {{"alice", "hash"}}, .n_users = 1};
	struct sp_http_config c = config();
	int a;

	c.web = &web;
	c.verify = verify;
	server_begin(&c);
	a = begin_user("/open", BOB);
	wait_asked();
	take_asked(asked_hash, "x");
	sp_http_verified(http, false);
	assert_non_null(strstr(client_read(a, "password is another"), "401 "));
	close(a);
	assert_int_equal(n_handled, 0);
	/* after half a second the next comparison may start; its client hangs up before the result */
	usleep(510000);
	a = begin_user("/open", ALICE);
	take_asked("hash", "right");
	close(a);
	for (int i = 0; i < 20; i++)
		server_run_once(5);
	sp_http_verified(http, true);
	server_run_once(0);
	assert_int_equal(n_handled, 0);
	server_end();
}

/* Takes other names and users without a restart; a bad configuration changes nothing. */
static void test_configure(void **state)
{
	struct sp_web_config web = {.users = {{"alice", "hash"}}, .n_users = 1};
	struct sp_web_config bad = {
	    .has_tls = true, .cert = (char[]){"no"}, .key = (char[]){"no"}, .max_version = SP_WEB_TLS13};
	struct sp_http_config c = config(), other;
	int a;

	server_begin(&c);
	other = c;
	other.hosts[other.n_hosts++] = "new.example";
	a = client_new();
	client_send(a, "GET /open HTTP/1.1\r\nHost: new.example\r\n\r\n");
	assert_non_null(strstr(client_read(a, "hosts"), "421 "));
	assert_int_equal(sp_http_configure(http, &other), 0);
	client_send(a, "GET /open HTTP/1.1\r\nHost: new.example\r\n\r\n"); /* connections stay */
	client_read(a, "path=/open");
	other.web = &bad;
	assert_true(sp_http_configure(http, &other) < 0);
	assert_int_equal(code("/open", ""), 200);
	assert_string_equal(sp_http_scheme(http), "http");
	other.web = &web;
	assert_int_equal(sp_http_configure(http, &other), 0);
	client_read(a, NULL); /* its connection was closed */
	assert_int_equal(code("/open", ""), 401);
	close(a);
	server_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_routes),     cmocka_unit_test(test_token),     cmocka_unit_test(test_gate),
	    cmocka_unit_test(test_headers),    cmocka_unit_test(test_kept),      cmocka_unit_test(test_file),
	    cmocka_unit_test(test_late),       cmocka_unit_test(test_gone),      cmocka_unit_test(test_users),
	    cmocka_unit_test(test_wrong_user), cmocka_unit_test(test_configure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
