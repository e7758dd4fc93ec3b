/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote_write.c: messages to a target that answers as the test says, by a made-up clock: nothing is lost within the
 * limits, all is in order, and retries become rare. tests/full/prometheus.sh has real targets.
 */
#include "agent/export/remote_write.h"
#include "agent/exec/post.h"
#include "agent/exec/self.h"
#include "agent/export/snappy.h"
#include "base/error.h"
#include "base/time.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
#define URL "http://someone:secret@host:9090/api/v1/write?x=y"
#define LABEL "{target=\"http://host:9090/api/v1/write\"}"
enum { MAX_TRIES = 20000 };

static uint64_t now;
static enum how { TAKES, FAILS, REFUSES, NO_PROCESS } how;
static uint64_t tried_s[MAX_TRIES], taken_s[MAX_TRIES], on_its_way_s; /* when it was made, on the wall clock */
static uint64_t tried_at[MAX_TRIES];
static size_t n_tries, n_taken;

uint64_t sp_time_ns(clockid_t clock)
{
	return now;
}

int sp_snappy_pack(const void *bytes, size_t n, void **ret_block, size_t *ret_n)
{
	*ret_block = memcpy(malloc(n), bytes, n);
	*ret_n = n;
	return 0;
}

/* The time of the message's last sample, which is at its end. */
static uint64_t made_s(const uint8_t *block, size_t n)
{
	uint64_t ms = 0;
	size_t at = n - 1;

	while (block[at - 1] & 0x80)
		at--;
	for (size_t i = n; i-- > at;)
		ms = ms << 7 | (block[i] & 0x7f);
	return ms / 1000;
}

int sp_self_open(void)
{
	return open("/dev/null", O_PATH | O_CLOEXEC);
}

int sp_post_start(struct sp_program *c, int self, const struct sp_post *p)
{
	assert_string_equal(p->url, URL);
	assert_string_equal(p->type, "application/x-protobuf");
	assert_string_equal(p->encoding, "snappy");
	assert_string_equal(p->header, "X-Prometheus-Remote-Write-Version: 0.1.0");
	assert_true(n_tries < MAX_TRIES);
	on_its_way_s = tried_s[n_tries] = made_s(p->body, p->n_body);
	tried_at[n_tries++] = now;
	if (how == NO_PROCESS)
		return sp_fail(-EAGAIN, "start a process");
	*c = (struct sp_program){.pid = 1, .text = "why"};
	return 0;
}

bool sp_program_check(struct sp_program *c, int *ret_status)
{
	if (!c->pid)
		return false;
	c->pid = 0;
	*ret_status = 0;
	return true;
}

enum sp_post_result sp_post_result(int status)
{
	if (how == TAKES)
		taken_s[n_taken++] = on_its_way_s;
	return how == TAKES ? SP_POST_TAKEN : how == REFUSES ? SP_POST_REFUSED : SP_POST_AGAIN;
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

struct made {
	struct sp_agent_config c;
	struct sp_metrics *m;
	struct sp_remotes *r;
};

static struct made *made_new(void)
{
	struct made *m = calloc(1, sizeof(*m));

	m->c = (struct sp_agent_config){.metrics_series = 2000,
					.remotes = {{.url = URL, .interval_ns = 10 * S, .labels = "job=\"x\""}},
					.n_remotes = 1};
	now = 1000 * S;
	n_tries = n_taken = 0;
	assert_int_equal(sp_metrics_new(&m->c, &m->m), 0);
	assert_int_equal(sp_remotes_new(&m->c, m->m, &m->r), 0);
	assert_int_equal(sp_metrics_add(m->m, sp_remotes_write, m->r), 0);
	return m;
}

static void made_free(struct made *m)
{
	sp_remotes_free(m->r);
	sp_metrics_free(m->m);
	free(m);
}

/* Dispatches when it asks for it, until so many seconds have passed. */
static void pass(struct made *m, uint64_t seconds, enum how now_how)
{
	uint64_t end = now + seconds * S;

	how = now_how;
	while (now < end) {
		int ms = sp_remotes_timeout_ms(m->r);

		assert_true(ms >= 0);
		now += ms ? (uint64_t)ms * 1000000 : 100000;
		if (now > end)
			break;
		sp_remotes_dispatch(m->r);
	}
	now = end;
}

static uint64_t value(struct made *m, const char *family)
{
	struct sp_expo x = {.form = SP_EXPO_TEXT};
	char line[200];
	const char *at;
	uint64_t n;

	assert_int_equal(sp_metrics_write(m->m, &x), 0);
	snprintf(line, sizeof(line), "\n%s" LABEL " ", family);
	at = strstr(x.text, line);
	assert_non_null(at);
	n = strtoull(at + strlen(line), NULL, 10);
	sp_expo_done(&x);
	return n;
}

static void check_each_once(uint64_t first_s, uint64_t last_s)
{
	assert_int_equal(n_taken, (last_s - first_s) / 10 + 1);
	for (size_t i = 0; i < n_taken; i++)
		assert_int_equal(taken_s[i], first_s + 10 * i);
}

static void test_well(void **state)
{
	struct made *m = made_new();

	pass(m, 605, TAKES);
	check_each_once(1010, 1600);
	assert_int_equal(n_tries, 60);
	assert_true(value(m, "soprof_remote_write_samples_total") > 60 * 20);
	assert_int_equal(value(m, "soprof_remote_write_dropped_samples_total"), 0);
	assert_int_equal(value(m, "soprof_remote_write_failures_total"), 0);
	assert_int_equal(value(m, "soprof_remote_write_waiting_bytes"), 0);
	made_free(m);
}

/* The target is away: retries after 1, 2, 4 ... seconds, at most a minute; then all messages arrive, in order. */
static void away(enum how this_how)
{
	struct made *m = made_new();
	uint64_t gap, before = 0;

	pass(m, 105, TAKES);
	n_tries = 0;
	pass(m, 400, this_how);
	assert_true(n_tries >= 10 && n_tries <= 13);
	for (size_t i = 1; i < n_tries; i++) {
		gap = (tried_at[i] - tried_at[i - 1]) / 1000000;
		assert_true(gap + 1 >= before && gap >= 1000 && gap <= 60010);
		assert_int_equal(tried_s[i], tried_s[0]);
		before = gap;
	}
	assert_true(before >= 60000);
	assert_true(value(m, "soprof_remote_write_waiting_bytes") > 1000);
	assert_int_equal(value(m, "soprof_remote_write_failures_total"), n_tries);
	pass(m, 100, TAKES);
	check_each_once(1010, 1600);
	assert_int_equal(value(m, "soprof_remote_write_waiting_bytes"), 0);
	assert_int_equal(value(m, "soprof_remote_write_dropped_samples_total"), 0);
	made_free(m);
}

static void test_away(void **state)
{
	away(FAILS);
	away(NO_PROCESS);
}

/* Away for longer than the queue holds: the newest remain. */
static void test_bounds(void **state)
{
	struct made *m = made_new();

	pass(m, 60000, FAILS);
	assert_true(value(m, "soprof_remote_write_waiting_bytes") <= SP_REMOTE_BYTES + 65536);
	assert_true(value(m, "soprof_remote_write_dropped_samples_total") > 1000);
	pass(m, 200, TAKES);
	assert_true(n_taken > 50 && n_taken < 5000);
	for (size_t i = 1; i < n_taken; i++)
		assert_int_equal(taken_s[i], taken_s[i - 1] + 10);
	assert_int_equal(taken_s[n_taken - 1], 1000 + 60190);
	made_free(m);
}

/* Refused messages are not repeated, and delay nothing. */
static void test_refused(void **state)
{
	struct made *m = made_new();

	pass(m, 105, REFUSES);
	assert_int_equal(n_tries, 10);
	assert_true(value(m, "soprof_remote_write_refused_samples_total") > 200);
	pass(m, 100, TAKES);
	check_each_once(1110, 1200);
	made_free(m);
}

/* A reload: targets that remain keep their queue. */
static void test_reload(void **state)
{
	struct made *m = made_new();
	struct sp_agent_config other = m->c;

	pass(m, 105, FAILS);
	sp_remotes_configure(m->r, &other);
	pass(m, 100, TAKES);
	check_each_once(1010, 1200);
	other.n_remotes = 0;
	sp_remotes_configure(m->r, &other);
	assert_int_equal(sp_remotes_timeout_ms(m->r), -1);
	made_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_well),    cmocka_unit_test(test_away),   cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_refused), cmocka_unit_test(test_reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
