/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/remote_write.h"
#include "agent/exec/again.h"
#include "agent/exec/post.h"
#include "agent/exec/self.h"
#include "agent/export/snappy.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
	NAME = 256,
	POST_MS = 20000,
	FIRST_PAUSE_MS = 1000,
	MAX_PAUSE_MS = 60000,
	MAX_WAITING = 4096,
	NS_A_MS = 1000000
};

struct message {
	void *block;
	size_t n_bytes, n_samples;
};
struct target {
	const struct sp_agent_remote *config;
	char name[NAME];
	struct message *waiting; /* oldest first */
	size_t n, capacity, bytes;
	struct message sending; /* before the queue: being sent, or to be tried again; block NULL = none */
	struct sp_program post;
	uint64_t due_ns; /* CLOCK_MONOTONIC: when the next message is made */
	struct sp_again again;
	uint64_t n_sent, n_dropped, n_refused; /* samples */
	uint64_t n_failed;                     /* posts */
	uint64_t success_ns;                   /* CLOCK_REALTIME */
};
struct sp_remotes {
	struct sp_metrics *metrics;
	struct target targets[SP_AGENT_MAX_REMOTES];
	size_t n_targets;
	int epoll, self;
};

void sp_remote_name(const char *url, char *ret_name, size_t size)
{
	const char *host = strstr(url, "://");
	size_t scheme = host ? (size_t)(host - url) + 3 : 0, n;
	const char *at;

	host = url + scheme;
	n = strcspn(host, "/?#");
	at = memrchr(host, '@', n);
	host = at ? at + 1 : host;
	n = strcspn(host, "?#");
	snprintf(ret_name, size, "%.*s%.*s", (int)scheme, url, (int)n, host);
}

/* --- the queue --- */
static void free_message(struct message *m)
{
	free(m->block);
	*m = (struct message){0};
}

static void drop_message(struct target *t, struct message *m)
{
	t->n_dropped += m->n_samples;
	free_message(m);
}

static struct message take_first(struct target *t)
{
	struct message first = t->waiting[0];

	t->bytes -= first.n_bytes;
	t->n--;
	memmove(t->waiting, t->waiting + 1, t->n * sizeof(*t->waiting));
	return first;
}

/* A message that is being sent stays. */
static void make_room(struct target *t)
{
	while (t->n > 1 && (t->bytes > SP_REMOTE_BYTES || t->n > MAX_WAITING)) {
		struct message first;

		if (t->sending.block && !t->post.pid)
			drop_message(t, &t->sending);
		first = take_first(t);
		drop_message(t, &first);
	}
}

static int queue_message(struct sp_remotes *r, struct target *t)
{
	struct sp_expo x = {.form = SP_EXPO_REMOTE,
			    .at_ms = (int64_t)(sp_time_ns(CLOCK_REALTIME) / NS_A_MS),
			    .external = t->config->labels};
	struct message m = {0};
	int e = sp_metrics_write(r->metrics, &x);

	if (e >= 0)
		e = sp_snappy_pack(x.text, x.n, &m.block, &m.n_bytes);
	m.n_samples = x.n_samples;
	if (e >= 0)
		e = sp_grow(&t->waiting, &t->capacity, t->n + 1, sizeof(*t->waiting));
	sp_expo_done(&x);
	if (e < 0) {
		drop_message(t, &m);
		return e;
	}
	t->waiting[t->n++] = m;
	t->bytes += m.n_bytes;
	make_room(t);
	return 0;
}

/* --- sending --- */
static void retry_later(struct target *t, const char *why)
{
	if (sp_again_failed(&t->again, FIRST_PAUSE_MS, MAX_PAUSE_MS))
		sp_log(SP_LOG_WARNING, "remote write to %s: %s; tried again", t->name, why);
	t->n_failed++;
}

/* 4xx: trying again does not help. */
static void drop_refused(struct target *t)
{
	if (!t->n_refused)
		sp_log(SP_LOG_WARNING, "remote write to %s: refused: %s", t->name, t->post.text);
	t->n_failed++;
	t->n_refused += t->sending.n_samples;
	free_message(&t->sending);
}

static void finish_sent(struct target *t)
{
	if (t->again.pause_ms || !t->n_sent)
		sp_log(SP_LOG_NOTICE, "remote write to %s: taken", t->name);
	t->again.pause_ms = 0;
	t->n_sent += t->sending.n_samples;
	t->success_ns = sp_time_ns(CLOCK_REALTIME);
	free_message(&t->sending);
}

static void finish_post(struct target *t, int status)
{
	switch (sp_post_result(status)) {
	case SP_POST_TAKEN:
		finish_sent(t);
		break;
	case SP_POST_AGAIN:
		retry_later(t, t->post.is_late ? "it took too long"
			       : *t->post.text ? t->post.text
					       : "the process failed");
		break;
	case SP_POST_REFUSED:
		drop_refused(t);
		break;
	}
}

static void send_next(struct sp_remotes *r, struct target *t)
{
	struct sp_post p = {.url = t->config->url,
			    .type = "application/x-protobuf",
			    .encoding = "snappy",
			    .header = "X-Prometheus-Remote-Write-Version: 0.1.0",
			    .authorization_file = t->config->authorization_file,
			    .ca_file = t->config->ca_file,
			    .timeout_ms = POST_MS};
	int e;

	if (!t->sending.block)
		t->sending = take_first(t);
	p.body = t->sending.block;
	p.n_body = t->sending.n_bytes;
	e = sp_post_start(&t->post, r->self, &p);
	if (e >= 0)
		sp_program_watch(&t->post, r->epoll);
	else if (!t->post.pid)
		retry_later(t, sp_error_text(e));
	sp_error_clear();
}

static bool has_messages(const struct target *t)
{
	return t->sending.block || t->n;
}

static void run_target(struct sp_remotes *r, struct target *t)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	int status;

	if (sp_program_check(&t->post, &status))
		finish_post(t, status);
	if (now >= t->due_ns) {
		t->due_ns = SP_MAX(t->due_ns + t->config->interval_ns, now + t->config->interval_ns / 2);
		if (queue_message(r, t) < 0)
			sp_error_clear();
	}
	if (!t->post.pid && has_messages(t) && now >= t->again.at_ns)
		send_next(r, t);
}

void sp_remotes_dispatch(void *remotes)
{
	struct sp_remotes *r = remotes;

	for (size_t i = 0; i < r->n_targets; i++)
		run_target(r, &r->targets[i]);
}

int sp_remotes_timeout_ms(void *remotes)
{
	const struct sp_remotes *r = remotes;
	int ms = -1;

	for (size_t i = 0; i < r->n_targets; i++) {
		const struct target *t = &r->targets[i];
		int next = sp_ms_until(t->due_ns);

		if (t->post.pid)
			next = sp_ms_sooner(next, sp_program_timeout_ms(&t->post));
		else if (has_messages(t))
			next = sp_ms_sooner(next, sp_ms_until(t->again.at_ns));
		ms = sp_ms_sooner(ms, next);
	}
	return ms;
}

int sp_remotes_fd(const struct sp_remotes *r)
{
	return r->epoll;
}

/* --- start and stop --- */
static void free_target(struct target *t)
{
	sp_program_kill(&t->post);
	free_message(&t->sending);
	for (size_t i = 0; i < t->n; i++)
		free_message(&t->waiting[i]);
	free(t->waiting);
	*t = (struct target){0};
}

/* Continues an existing target, or makes a new one. */
static struct target make_target(struct sp_remotes *r, const struct sp_agent_remote *c)
{
	struct target t = {.due_ns = sp_time_ns(CLOCK_MONOTONIC) + c->interval_ns};

	sp_remote_name(c->url, t.name, sizeof(t.name));
	for (size_t i = 0; i < r->n_targets; i++) {
		if (!r->targets[i].config || strcmp(r->targets[i].name, t.name) != 0)
			continue;
		t = r->targets[i];
		r->targets[i] = (struct target){0};
		break;
	}
	t.config = c;
	return t;
}

int sp_remotes_configure(struct sp_remotes *r, const struct sp_agent_config *c)
{
	struct target targets[SP_AGENT_MAX_REMOTES] = {0};
	size_t i;

	for (i = 0; i < c->n_remotes; i++)
		targets[i] = make_target(r, &c->remotes[i]);
	for (i = 0; i < r->n_targets; i++)
		free_target(&r->targets[i]);
	memcpy(r->targets, targets, sizeof(targets));
	r->n_targets = c->n_remotes;
	return 0;
}

int sp_remotes_new(const struct sp_agent_config *c, struct sp_metrics *m, struct sp_remotes **ret_remotes)
{
	struct sp_remotes *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->metrics = m;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->self = sp_self_open();
	if (r->epoll < 0 || r->self < 0) {
		int e = r->self < 0 ? r->self : sp_fail(-errno, "make an epoll descriptor");

		sp_remotes_free(r);
		return e;
	}
	sp_remotes_configure(r, c);
	*ret_remotes = r;
	return 0;
}

void sp_remotes_free(struct sp_remotes *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_targets; i++)
		free_target(&r->targets[i]);
	sp_cleanup_close(&r->epoll);
	sp_cleanup_close(&r->self);
	free(r);
}

/* --- metrics --- */
static const char *make_label(const struct sp_remotes *r, size_t i, struct sp_expo *x, struct sp_labels *l)
{
	return sp_labels_of(x, l, "target", r->targets[i].name, NULL, NULL);
}

static void put_numbers(const struct sp_remotes *r, struct sp_expo *x, size_t offset)
{
	struct sp_labels l;

	for (size_t i = 0; i < r->n_targets; i++)
		sp_expo_number(x, make_label(r, i, x, &l),
			       *(const uint64_t *)(const void *)((const char *)&r->targets[i] + offset));
}

void sp_remotes_write(void *remotes, struct sp_expo *x)
{
	const struct sp_remotes *r = remotes;
	struct sp_labels l;
	size_t i;

	if (!r->n_targets)
		return;
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_remote_write_samples", NULL, "Samples that the target took.");
	put_numbers(r, x, offsetof(struct target, n_sent));
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_remote_write_dropped_samples", NULL,
		       "Samples that waited for the target until there was no more room.");
	put_numbers(r, x, offsetof(struct target, n_dropped));
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_remote_write_refused_samples", NULL,
		       "Samples that the target answered to, and did not take.");
	put_numbers(r, x, offsetof(struct target, n_refused));
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_remote_write_failures", NULL, "Messages that were not taken.");
	put_numbers(r, x, offsetof(struct target, n_failed));
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_remote_write_waiting_bytes", "bytes", "Messages that wait.");
	for (i = 0; i < r->n_targets; i++)
		sp_expo_number(x, make_label(r, i, x, &l), r->targets[i].bytes + r->targets[i].sending.n_bytes);
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_remote_write_last_success_timestamp_seconds", "seconds",
		       "When the target took a message last; 0: never.");
	for (i = 0; i < r->n_targets; i++)
		sp_expo_seconds(x, make_label(r, i, x, &l), r->targets[i].success_ns);
}
