/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * senders.c: when a sender, a fleet's, starts a process, by a made-up clock: each minute, less often where one
 * computes for long, after failures less and less often; each trouble is told once. tests/cmd/fleet.sh has a real
 * server.
 */
#include "agent/export/senders.h"
#include "agent/exec/self.h"
#include "agent/export/send_child.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/time.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
enum { FAILED = SP_SEND_FAILED << 8 };

static uint64_t now;
static struct {
	uint64_t cpu_ns;
	unsigned n_windows;
	int status;
	unsigned later_s;
	bool is_slow, is_waiting; /* is_waiting: it does not end */
} next;
static unsigned n_started, n_told[SP_N_LOG_LEVELS];
static char last_told[200];

uint64_t sp_time_ns(clockid_t clock)
{
	return now;
}

void sp_log(int level, const char *format, ...)
{
	va_list args;

	n_told[level]++;
	va_start(args, format);
	vsnprintf(last_told, sizeof(last_told), format, args);
	va_end(args);
}

int sp_self_open(void)
{
	return open("/dev/null", O_PATH | O_CLOEXEC);
}

int sp_self_start(struct sp_program *c, int self, const char *argument, int input, unsigned timeout_ms)
{
	assert_string_equal(argument, SP_SEND_ARGUMENT);
	assert_true(timeout_ms > 0);
	*c = (struct sp_program){.pid = 1};
	n_started++;
	return 0;
}

int sp_self_put_secret(const char *file, size_t most, FILE *out)
{
	assert_null(file);
	assert_true(most > 0);
	fputc('\n', out);
	return 0;
}

int sp_program_input_write(const char *name, int (*write)(void *arg, FILE *out), void *arg, int *ret_fd)
{
	char text[4096] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_int_equal(write(arg, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "resolution=60"));
	assert_non_null(strstr(text, "\nsource=cpu\n"));
	*ret_fd = sp_self_open();
	return 0;
}

/* Of remote write, which is not tried here. */
int sp_program_input(const void *bytes, size_t n, int *ret_fd)
{
	*ret_fd = -1;
	fail();
	return 0;
}

bool sp_program_check(struct sp_program *c, int *ret_status)
{
	if (!c->pid)
		return false;
	snprintf(c->text, sizeof(c->text), "%s", next.is_slow ? SP_SEND_SLOW : "");
	if (next.is_waiting)
		return false;
	c->pid = 0;
	c->cpu_ns = next.cpu_ns;
	snprintf(c->text, sizeof(c->text), "%swindows=%u rows=7 samples=9 bytes=99 left_out=0 later=%u to=5\n%s",
		 next.is_slow ? SP_SEND_SLOW : "", next.n_windows, next.later_s, next.status ? "the reason" : "");
	*ret_status = next.status;
	return true;
}

void sp_program_watch(const struct sp_program *c, int epoll)
{
}

int sp_program_timeout_ms(const struct sp_program *c)
{
	return c->pid ? 1 : -1;
}

void sp_program_kill(struct sp_program *c)
{
	c->pid = 0;
}

/* --- the tests --- */
static struct sp_agent_config config = {
    .store = "/store",
    .sources = {{.name = "cpu"}},
    .n_sources = 1,
    .receivers = {[SP_RECEIVER_FLEET] = {.url = "http://me@host:8123/base", .host = "here", .resolution_s = 60}},
};

static struct sp_senders *sender_new(void)
{
	struct sp_senders *s;

	now = 1000 * S;
	n_started = 0;
	memset(n_told, 0, sizeof(n_told));
	assert_int_equal(sp_senders_new(&config, &s), 0);
	return s;
}

/* Until a process is started, whose end `next` tells; in ms since the call. */
static uint64_t until_start(struct sp_senders *s)
{
	uint64_t began = now;
	unsigned before = n_started;

	while (n_started == before) {
		int ms = sp_senders_timeout_ms(s);
		assert_true(ms >= 0);
		now += ms * MS;
		sp_senders_dispatch(s);
	}
	return (now - began) / MS;
}

static void assert_about(uint64_t ms, uint64_t expected)
{
	if (ms + 1100 < expected || ms > expected + 1100)
		fail_msg("after %llu ms, not %llu", (unsigned long long)ms, (unsigned long long)expected);
}

static void test_pace(void **unused)
{
	static const struct {
		uint64_t cpu_ns;
		unsigned n_windows;
		uint64_t pause_ms;
	} cases[] = {
	    {10 * MS, 1, 60000},   {20 * MS, 1, 60000},    {50 * MS, 1, 100000},  {40 * MS, 1, 80000},
	    {100 * MS, 2, 200000}, {2000 * MS, 9, 600000}, {2000 * MS, 0, 60000},
	};
	struct sp_senders *s = sender_new();

	assert_true(until_start(s) <= 60000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		next.cpu_ns = cases[i].cpu_ns;
		next.n_windows = cases[i].n_windows;
		next.status = 0;
		assert_about(until_start(s), cases[i].pause_ms);
	}
	assert_int_equal(n_told[SP_LOG_NOTICE], 1);
	assert_int_equal(n_told[SP_LOG_WARNING], 0);
	sp_senders_free(s);
}

static void test_failures(void **unused)
{
	static const uint64_t pauses_s[] = {10, 20, 40, 80, 160, 300, 300};
	struct sp_senders *s = sender_new();

	next.cpu_ns = 10 * MS;
	until_start(s);
	for (int round = 1; round <= 2; round++) {
		next.status = FAILED;
		next.n_windows = 0;
		for (size_t i = 0; i < sizeof(pauses_s) / sizeof(*pauses_s); i++)
			assert_about(until_start(s), pauses_s[i] * 1000);
		assert_int_equal(n_told[SP_LOG_WARNING], round);
		assert_string_equal(last_told, "fleet at http://host:8123/base: the reason; tried again");
		next.status = 0;
		next.n_windows = 1;
		assert_about(until_start(s), 60000);
		assert_int_equal(n_told[SP_LOG_NOTICE], round);
	}
	next.status = FAILED;
	next.later_s = 120; /* as its server wishes */
	assert_about(until_start(s), 120000);
	next.later_s = 100000;
	assert_about(until_start(s), 3600000);
	next.later_s = 0;
	sp_senders_free(s);
}

static bool status_has(struct sp_senders *s, const char *words)
{
	char text[4096] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	sp_senders_status(s, out);
	fclose(out);
	return strstr(text, words) != NULL;
}

/* Told in the midst of the first that is slow, and when one is not. */
static void test_slow(void **unused)
{
	struct sp_senders *s = sender_new();

	(void)unused;
	next.n_windows = 1;
	next.status = 0;
	until_start(s);
	until_start(s);
	next.is_slow = next.is_waiting = true;
	for (int i = 0; i < 3; i++)
		sp_senders_dispatch(s);
	assert_int_equal(n_told[SP_LOG_WARNING], 1);
	assert_string_equal(last_told, "fleet at http://host:8123/base: slow: no answer for 10 s; waited for");
	assert_true(status_has(s, "\nfleet_slow=1\nfleet_slow_now=1\n"));
	next.is_waiting = false;
	next.status = FAILED;
	until_start(s);
	next.status = 0;
	until_start(s);
	assert_true(status_has(s, "\nfleet_windows=3\n") && status_has(s, "\nfleet_slow=2\nfleet_slow_now=1\n"));
	assert_int_equal(n_told[SP_LOG_WARNING], 2); /* and the failure */
	next.is_slow = false;
	until_start(s);
	assert_string_equal(last_told, "fleet at http://host:8123/base: no longer slow");
	assert_true(status_has(s, "\nfleet_slow=2\nfleet_slow_now=0\n"));
	sp_senders_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pace),
	    cmocka_unit_test(test_failures),
	    cmocka_unit_test(test_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
