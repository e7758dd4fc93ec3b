/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is sent of a store, and what that costs, to a server that answers as it likes: here that the last it has of the
 * host is of 1970.
 */
#include "fleet/send.h"
#include "base/error.h"
#include "base/time.h"
#include "fleet/schema.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "store/store.h"
#include "test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEGIN_S = 1795815000, MAX_REQUEST = 1 << 16 };

/* --- a store of one window --- */
static char place[] = "/tmp/soprof-send-XXXXXX";

/* The rows of the source "bad" cannot be read, but their window's head can. */
static void rows_damage(void)
{
	static const char sql[] =
	    "UPDATE window SET record = x'00' WHERE source = (SELECT id FROM source WHERE name = 'bad')";
	DIR *d = opendir(place);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		char path[sizeof(place) + sizeof(e->d_name)];
		sqlite3 *db = NULL;
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", place, e->d_name);
		if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
		    sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
			n += sqlite3_changes(db);
		sqlite3_close(db);
	}
	closedir(d);
	assert_true(n > 0);
}

static int store_fill(void **unused)
{
	struct sp_store_window w = {.wall_ns = BEGIN_S * SP_NS_PER_S,
				    .boot_ns = SP_NS_PER_S,
				    .duration_ns = 10 * SP_NS_PER_S,
				    .rate_millihertz = 19000,
				    .n_cpus = 1,
				    .source = "cpu"};
	const int64_t values[2] = {3, 157894737};
	struct sp_store *s = NULL;
	struct sp_profile *p = NULL;

	assert_non_null(mkdtemp(place));
	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "cpu", "nanoseconds"), 0);
	struct sp_file file = {.kind = SP_FILE_ELF, .name = (uint32_t)sp_profile_add_string(p, "liba.so")};
	struct sp_frame frame = {.file = (uint32_t)sp_profile_add_file(p, &file), .offset = 64};
	uint32_t number = (uint32_t)sp_profile_add_frame(p, &frame);
	struct sp_stack stack = {.n_frames = 1, .frames = &number};
	struct sp_key key = {.recipe = (uint32_t)sp_profile_add_string(p, "cpu")};
	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key),
					(uint32_t)sp_profile_add_stack(p, &stack), 0, values),
			 0);
	assert_int_equal(sp_store_open(place, &(struct sp_store_options){0}, &s), 0);
	assert_int_equal(sp_store_add(s, &w, p), 0);
	w.source = "bad";
	assert_int_equal(sp_store_add(s, &w, p), 0);
	sp_profile_clear_rows(p);
	w.source = "idle";
	assert_int_equal(sp_store_add(s, &w, p), 0);
	sp_store_close(s);
	sp_profile_free(p);
	rows_damage();
	return 0;
}

static int store_remove(void **unused)
{
	DIR *d = opendir(place);

	for (struct dirent *e; d && (e = readdir(d)) != NULL;)
		if (*e->d_name != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	return rmdir(place);
}

/* --- a server: a process that gives one answer to all --- */
static void request_read(int connection)
{
	static char request[MAX_REQUEST];
	size_t n = 0, all = sizeof(request) - 1;
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

static void serve(int listener, const struct sp_bytes *answer)
{
	for (;;) {
		int connection = accept(listener, NULL, NULL);
		if (connection < 0)
			_exit(1);
		request_read(connection);
		if (write(connection, answer->bytes, answer->n) < 0)
			_exit(1);
		shutdown(connection, SHUT_WR);
		close(connection);
	}
}

static pid_t server_start(const struct sp_bytes *answer, char *ret_url, size_t size)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	snprintf(ret_url, size, "http://127.0.0.1:%d", ntohs(address.sin_port));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		serve(listener, answer);
	close(listener);
	return pid;
}

/* The number of rows of `meta`, which comes first, is also the end of what it has of the host, in seconds. */
static struct sp_bytes answer_of(uint64_t number)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
	struct sp_bytes answer = {0};

	sp_bytes_put(&answer, head, sizeof(head) - 1);
	sp_bytes_put_u64(&answer, number);
	sp_bytes_put_u32(&answer, SP_FLEET_VERSION);
	sp_bytes_put_u64(&answer, 42);
	return answer;
}

static uint64_t n_left_out;
static uint64_t n_sent(const char *source, uint64_t number)
{
	const char *const sources[] = {source};
	struct sp_fleet_send job = {.store = place,
				    .host = "web1",
				    .machine = "",
				    .sources = sources,
				    .n_sources = 1,
				    .resolution_s = 10,
				    .is_whole = true};
	struct sp_bytes answer = answer_of(number);
	struct sp_fleet_server server = {.timeout_ms = 20000};
	struct sp_fleet_sent sent = {0};
	struct sp_fleet *f;
	char url[64];
	pid_t pid = server_start(&answer, url, sizeof(url));
	int r;

	server.url = url;
	assert_int_equal(sp_fleet_open(&server, &f), 0);
	r = sp_fleet_send(f, &job, &sent);
	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	sp_fleet_close(f);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	sp_bytes_done(&answer);
	n_left_out = sent.n_left_out;
	return sent.n_windows;
}

/* Of the 180 million intervals since then one is in the store. */
static void test_long_ago(void **unused)
{
	uint64_t began_ns = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID);

	assert_int_equal(n_sent("cpu", 1), 1);
	assert_true(sp_time_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns < SP_NS_PER_S);
}

static void test_has_all(void **unused)
{
	assert_int_equal(n_sent("cpu", BEGIN_S + 10), 0);
	assert_int_equal(n_sent("cpu", UINT64_MAX), 0);
}

/* It says that nothing happened, which is not the same as that nobody looked. */
static void test_without_rows(void **unused)
{
	assert_int_equal(n_sent("idle", 1), 1);
	assert_int_equal(n_left_out, 0);
}

/* It says that what there was is lost, and stops nothing. */
static void test_damaged(void **unused)
{
	assert_int_equal(n_sent("bad", 1), 1);
	assert_int_equal(n_left_out, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_long_ago),
	    cmocka_unit_test(test_has_all),
	    cmocka_unit_test(test_without_rows),
	    cmocka_unit_test(test_damaged),
	};

	signal(SIGPIPE, SIG_IGN);
	setenv("no_proxy", "*", 1);
	return cmocka_run_group_tests(tests, store_fill, store_remove);
}
