/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.c: deliveries to commands and to a server of this test: order, repetition, limits, restart; and what
 * Alertmanagers get. This program is also the one that is executed to post.
 */
#include "agent/alert/deliver_priv.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static struct sp_deliver *d;
static struct sp_alert_config config = {.name = "a", .text = "lost > 1%"};
static char file[] = "/tmp/soprof-deliver-XXXXXX", url[64];
static int listener;
static pid_t server;

/* --- a server, in a process of its own --- */
/* Answers with the n-th code of the list, then with the last one; appends each body as a line to the file. */
static void serve(const int *codes)
{
	for (;;) {
		char text[65536], answer[64];
		int fd = accept(listener, NULL, NULL), to = open(file, O_WRONLY | O_APPEND);
		size_t n = 0, wanted = SIZE_MAX;
		while (n < wanted && n + 2 < sizeof(text)) {
			ssize_t some = read(fd, text + n, sizeof(text) - 2 - n);
			if (some <= 0)
				break;
			n += (size_t)some;
			text[n] = '\0';
			const char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length: ");
			if (end && length)
				wanted = (size_t)(end + 4 - text) + strtoul(length + 16, NULL, 10);
		}
		const char *body = strstr(text, "\r\n\r\n");
		dprintf(to, "%d %.*s %s", *codes, (int)strcspn(text + 5, " "), text + 5, body ? body + 4 : "?\n");
		snprintf(answer, sizeof(answer), "HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", *codes);
		codes += codes[1] != 0;
		if (write(fd, answer, strlen(answer)) < 0)
			_exit(1);
		close(to);
		close(fd);
	}
}

static void server_begin(const int *codes)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 16), 0);
	getsockname(listener, (struct sockaddr *)&at, &len);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/x", ntohs(at.sin_port));
	server = fork();
	if (!server)
		serve(codes);
	close(listener);
}

static void server_end(void)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

/* --- deliveries --- */
static void begin(void)
{
	assert_int_equal(truncate(file, 0), 0);
	assert_int_equal(sp_deliver_new(&d), 0);
	d->first_pause_ns = 20 * MS;
	d->repeat_ns = 100 * MS;
}

static struct sp_notification notification(const char *what, bool is_over)
{
	struct sp_notification n;

	assert_int_equal(sp_notification_init(&n, &config), 0);
	assert_int_equal(sp_notification_label(&n, "library", what), 0);
	assert_int_equal(sp_notification_summary(&n, "%s", what), 0);
	n.is_over = is_over;
	n.starts_ns = 1000 * SP_NS_PER_S;
	n.ends_ns = is_over ? 1060 * SP_NS_PER_S : 0;
	return n;
}

static void send_notification(const struct sp_alert_targets *to, const char *what, bool is_over)
{
	struct sp_notification n = notification(what, is_over);

	sp_deliver_send(d, to, &n, false);
	sp_notification_done(&n);
}

/* As the agent's loop does. */
static void run_once(void)
{
	struct pollfd fd = {.fd = sp_deliver_fd(d), .events = POLLIN};
	int ms = sp_deliver_timeout_ms(d);

	poll(&fd, 1, ms < 0 || ms > 50 ? 50 : ms);
	sp_deliver_run(d);
}

static char *said(void)
{
	char *text = NULL;

	assert_int_equal(sp_text_read(file, 1 << 20, &text, NULL), 0);
	return text;
}

static struct sp_deliver_stats stats(void)
{
	struct sp_deliver_stats s;

	sp_deliver_stats(d, &s);
	return s;
}

static void until_delivered(uint64_t n)
{
	for (int i = 0; i < 2000 && stats().n_delivered + stats().n_dropped < n; i++)
		run_once();
	assert_int_equal(stats().n_delivered + stats().n_dropped, n);
}

static void expect(const char *wanted)
{
	char *text = said();

	assert_string_equal(text, wanted);
	free(text);
}

/* --- tests --- */
static void test_command(void **state)
{
	char script[512];
	struct sp_alert_targets to = {.command = {"/bin/sh", "-c", script, "x y"}};

	begin();
	snprintf(
	    script, sizeof(script),
	    "read -r json; echo \"$0 $SOPROF_ALERT_STATUS $SOPROF_ALERT_LABEL_library $SOPROF_ALERT_ENDS_AT\" >>%s; "
	    "case $json in '{\"version\":1,\"status\":\"'*) ;; *) exit 1;; esac",
	    file);
	send_notification(&to, "$(id) \"'", false);
	send_notification(&to, "$(id) \"'", true);
	assert_int_equal(stats().n_waiting, 2);
	until_delivered(2);
	expect("x y firing $(id) \"' \nx y resolved $(id) \"' 1970-01-01T00:17:40.000Z\n");
	assert_int_equal(stats().n_failed, 0);
	assert_int_equal(sp_deliver_timeout_ms(d), -1);
	sp_deliver_free(d);
}

/* The first fails twice: the second waits behind it; that of another target does not wait. */
static void test_order(void **state)
{
	char script[512], other[512];
	struct sp_alert_targets to = {.command = {"/bin/sh", "-c", script}},
				elsewhere = {.command = {"/bin/sh", "-c", other}};

	begin();
	d->first_pause_ns = 300 * MS;
	snprintf(script, sizeof(script),
		 "echo $SOPROF_ALERT_LABEL_library >>%s; [ $(grep -c one %s) -gt 2 ] || { echo why; exit 7; }", file,
		 file);
	snprintf(other, sizeof(other), "echo other >>%s", file);
	send_notification(&to, "one", false);
	send_notification(&to, "two", false);
	send_notification(&elsewhere, "three", false);
	until_delivered(3);
	char *text = said();
	assert_non_null(strstr(text, "other"));
	assert_true(strstr(text, "other") < strstr(text, "two"));
	assert_non_null(strstr(text, "one\ntwo\n")); /* at the end */
	assert_int_equal(stats().n_failed, 2);
	assert_int_equal(stats().n_dropped, 0);
	free(text);
	sp_deliver_free(d);
	/* no such program */
	begin();
	to = (struct sp_alert_targets){.command = {"/nonexistent/x"}};
	send_notification(&to, "one", false);
	run_once();
	assert_int_equal(stats().n_failed, 1);
	assert_int_equal(stats().n_waiting, 1);
	sp_deliver_free(d);
}

static void test_webhook(void **state)
{
	static const int codes[] = {503, 200, 400, 200, 0};
	struct sp_alert_targets to = {.webhook = url};

	begin();
	server_begin(codes);
	send_notification(&to, "one", false);
	send_notification(&to, "two", false); /* 4xx: refused for good */
	send_notification(&to, "three", false);
	until_delivered(3);
	char *text = said(), *at = text, *line;
	static const char *const wanted[] = {"503 /x", "200 /x", "400 /x", "200 /x"}, *const of[] = {"one", "one",
												     "two", "three"};
	for (size_t i = 0; i < 4; i++) {
		char label[32];
		line = strsep(&at, "\n");
		snprintf(label, sizeof(label), "\"library\":\"%s\"", of[i]);
		assert_memory_equal(line, wanted[i], 6);
		assert_non_null(strstr(line, label));
	}
	assert_string_equal(at, "");
	assert_int_equal(stats().n_failed, 2);
	assert_int_equal(stats().n_dropped, 1);
	free(text);
	server_end();
	sp_deliver_free(d);
}

static void test_bounds(void **state)
{
	struct sp_alert_targets to = {.webhook = "http://127.0.0.1:1/"};
	char name[16];

	begin();
	d->first_pause_ns = 3600 * SP_NS_PER_S;
	for (int i = 0; i < SP_DELIVER_MAX + 5; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		send_notification(&to, name, false);
	}
	assert_int_equal(stats().n_waiting, SP_DELIVER_MAX);
	assert_int_equal(stats().n_dropped, 5);
	assert_string_equal(d->waiting[0].notification.summary, "n5");
	/* dropped after an hour */
	while (!stats().n_failed)
		run_once();
	d->waiting[0].queued_ns -= (SP_DELIVER_KEEP_S + 1) * SP_NS_PER_S;
	sp_deliver_run(d);
	assert_int_equal(stats().n_waiting, SP_DELIVER_MAX - 1);
	assert_int_equal(stats().n_dropped, 6);
	sp_deliver_free(d);
}

/* The queue is written and read back; damaged lines are errors. */
static void test_restart(void **state)
{
	struct sp_alert_targets to = {.command = {"/bin/echo", "a b", "c\n%"},
				      .webhook = "http://h/?x=1 2",
				      .ca_file = "/ca",
				      .authorization_file = "/s"};
	char *text = NULL, *again = NULL, *at, *line;
	size_t n = 0;
	FILE *out;

	begin();
	send_notification(&to, "one\n", false);
	send_notification(&to, "one\n", true);
	assert_true(sp_deliver_is_changed(d));
	out = open_memstream(&text, &n);
	sp_deliver_write(d, out);
	fclose(out);
	assert_false(sp_deliver_is_changed(d));
	sp_deliver_free(d);
	begin();
	char *copy = strdup(text);
	for (at = copy; (line = strsep(&at, "\n")) && *line;) {
		struct sp_line l;
		assert_int_equal(sp_line_parse(line, true, &l), 0);
		assert_int_equal(sp_deliver_read_line(d, &l), 1);
	}
	free(copy);
	out = open_memstream(&again, &n);
	sp_deliver_write(d, out);
	fclose(out);
	assert_string_equal(again, text);
	assert_int_equal(stats().n_waiting, 4);
	free(again);
	free(text);
	static const char *const bad[] = {"ready", "waiting queued=1\nready", "waiting queued=x",
					  "waiting queued=1\nplace url=a\nready", "waiting queued=1\nwaiting queued=2"};
	for (size_t i = 0; i < SP_COUNT(bad); i++) {
		char some[128];
		int r = 1;
		sp_deliver_free(d);
		begin();
		snprintf(some, sizeof(some), "%s", bad[i]);
		for (at = some; r > 0 && (line = strsep(&at, "\n"));) {
			struct sp_line l;
			assert_int_equal(sp_line_parse(line, true, &l), 0);
			r = sp_deliver_read_line(d, &l);
		}
		assert_true(r < 0);
		sp_error_clear();
	}
	sp_deliver_free(d);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		n++;
		text++;
	}
	return n;
}

/* All that fires is repeated; what is resolved is sent until it is accepted. */
static void test_manager(void **state)
{
	static const int codes[] = {503, 200, 0};
	struct sp_alert_targets to = {.managers = {url}, .n_managers = 1};

	begin();
	server_begin(codes);
	send_notification(&to, "one", false);
	send_notification(&to, "two", false);
	assert_int_equal(stats().n_waiting, 0);
	until_delivered(3); /* the first fails; two and three are repeats of both */
	char *text = said();
	assert_true(count(text, "503 /x/api/v2/alerts [{\"labels\":{\"alertname\":\"a\"") == 1);
	assert_true(count(text, "\"library\":\"one\"") >= 3 && count(text, "\"library\":\"two\"") >= 3);
	assert_true(count(text, "\"startsAt\":\"1970-01-01T00:16:40.000Z\",\"endsAt\":\"20") >= 6);
	free(text);
	send_notification(&to, "one", true);
	for (int i = 0; i < 2000 && d->n_manager_alerts > 1; i++)
		run_once();
	assert_int_equal(d->n_manager_alerts, 1);
	text = said();
	assert_int_equal(count(text, "\"endsAt\":\"1970-01-01T00:17:40.000Z\""), 1);
	free(text);
	send_notification(&to, "two", true);
	for (int i = 0; i < 2000 && d->n_managers; i++)
		run_once();
	assert_int_equal(d->n_managers, 0);
	assert_int_equal(sp_deliver_timeout_ms(d), -1);
	assert_int_equal(stats().n_failed, 1);
	assert_int_equal(stats().n_dropped, 0);
	server_end();
	/* a server that never answers: resolved alerts are dropped when Alertmanager must have forgotten them */
	url[0] = '\0';
	to.managers[0] = "http://127.0.0.1:1";
	send_notification(&to, "three", true);
	while (stats().n_failed < 2)
		run_once();
	assert_int_equal(d->n_manager_alerts, 1);
	d->manager_alerts[0].ended_ns -= SP_MIN(d->manager_alerts[0].ended_ns, (SP_DELIVER_UNTIL_S + 1) * SP_NS_PER_S);
	sp_managers_run(d, sp_time_ns(CLOCK_MONOTONIC) + 2 * SP_DELIVER_UNTIL_S * SP_NS_PER_S);
	assert_int_equal(d->n_manager_alerts, 0);
	assert_int_equal(stats().n_dropped, 1);
	sp_deliver_free(d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_command), cmocka_unit_test(test_order),
					   cmocka_unit_test(test_webhook), cmocka_unit_test(test_bounds),
					   cmocka_unit_test(test_restart), cmocka_unit_test(test_manager)};
	int r;

	sp_post_main(argc, argv);
	setenv("no_proxy", "*", 1);
	sp_log_open(SP_LOG_ERROR - 1);
	close(mkstemp(file));
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return r;
}
