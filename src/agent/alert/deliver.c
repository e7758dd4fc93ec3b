/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/alert/deliver_priv.h"
#include "agent/exec/self.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

enum { POLL_MS = 1000 }; /* while a process runs: its pidfd may be missing */

/* --- start and stop --- */
int sp_deliver_new(struct sp_deliver **ret_deliver)
{
	struct sp_deliver *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->first_pause_ns = SP_DELIVER_FIRST_PAUSE_S * SP_NS_PER_S;
	d->repeat_ns = SP_DELIVER_REPEAT_S * SP_NS_PER_S;
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	d->self = sp_self_open();
	if (d->epoll < 0 || d->self < 0) {
		int r = d->self < 0 ? d->self : sp_fail(-errno, "deliver alerts");
		sp_deliver_free(d);
		return r;
	}
	*ret_deliver = d;
	return 0;
}

static void free_delivery(struct sp_delivery *w)
{
	sp_alert_target_done(&w->target);
	sp_notification_done(&w->notification);
}

void sp_deliver_free(struct sp_deliver *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < SP_DELIVER_CHILDREN; i++)
		sp_program_kill(&d->children[i]);
	for (size_t i = 0; i < d->n_waiting; i++)
		free_delivery(&d->waiting[i]);
	free(d->waiting);
	free_delivery(&d->reading);
	sp_managers_done(d);
	sp_cleanup_close(&d->epoll);
	sp_cleanup_close(&d->self);
	free(d);
}

/* --- the queue --- */
static void remove_delivery(struct sp_deliver *d, size_t i)
{
	free_delivery(&d->waiting[i]);
	d->n_waiting--;
	memmove(&d->waiting[i], &d->waiting[i + 1], (d->n_waiting - i) * sizeof(*d->waiting));
	d->is_changed = true;
}

static void drop_delivery(struct sp_deliver *d, size_t i, const char *why)
{
	const struct sp_delivery *w = &d->waiting[i];

	d->stats.n_dropped++;
	sp_log(SP_LOG_ERROR, "alert %s (%s) was not delivered to %s: %s", w->notification.name,
	       w->notification.is_over ? "resolved" : "firing", sp_alert_target_name(&w->target), why);
	remove_delivery(d, i);
}

/* For one more; drops the oldest that is not being delivered. */
static int make_room(struct sp_deliver *d)
{
	size_t i = 0;

	while (d->n_waiting == SP_DELIVER_MAX && i < d->n_waiting && d->waiting[i].child >= 0)
		i++;
	if (d->n_waiting == SP_DELIVER_MAX)
		drop_delivery(d, i, "too many wait");
	return sp_grow(&d->waiting, &d->waiting_capacity, d->n_waiting + 1, sizeof(*d->waiting));
}

static void queue_delivery(struct sp_deliver *d, const char *const *command, const char *url,
			   const struct sp_alert_targets *to, const struct sp_notification *n)
{
	struct sp_delivery w = {.queued_ns = sp_time_ns(CLOCK_REALTIME), .child = -1};
	int r = make_room(d);

	if (r == 0)
		r = sp_alert_target_init(&w.target, command, url, to);
	if (r == 0)
		r = sp_notification_copy(n, &w.notification);
	if (r == 0) {
		d->waiting[d->n_waiting++] = w;
		d->is_changed = true;
		return;
	}
	free_delivery(&w);
	d->stats.n_dropped++;
	sp_log(SP_LOG_ERROR, "alert %s: %s", n->name, sp_error_text(r));
	sp_error_clear();
}

void sp_deliver_send(struct sp_deliver *d, const struct sp_alert_targets *to, const struct sp_notification *n,
		     bool is_repeat)
{
	if (!is_repeat && to->command[0])
		queue_delivery(d, to->command, NULL, to, n);
	if (!is_repeat && to->webhook)
		queue_delivery(d, NULL, to->webhook, to, n);
	sp_managers_update(d, to, n);
}

/* --- processes --- */
int sp_deliver_find_child(const struct sp_deliver *d)
{
	for (int i = 0; i < SP_DELIVER_CHILDREN; i++)
		if (!d->children[i].pid)
			return i;
	return -1;
}

void sp_deliver_watch(struct sp_deliver *d, int child)
{
	sp_program_watch(&d->children[child], d->epoll);
}

uint64_t sp_deliver_pause_ns(const struct sp_deliver *d, unsigned n_tries, uint64_t last_s)
{
	return SP_MIN(d->first_pause_ns << SP_MIN(n_tries, 16U), last_s * SP_NS_PER_S);
}

static int start_command(struct sp_program *c, const struct sp_delivery *w, const void *body, size_t n)
{
	char **environment = sp_notification_environment(&w->notification);
	struct sp_program_spec spec = {.path = w->target.command[0],
				       .argv = w->target.command,
				       .env = environment,
				       .timeout_ms = SP_DELIVER_COMMAND_MS,
				       .is_foreign = true};
	SP_CLOSE int input = -1;
	int r = environment ? sp_program_input(body, n, &input) : -ENOMEM;

	spec.input = input;
	if (r == 0)
		r = sp_program_start(c, &spec);
	sp_notification_environment_free(environment);
	return r;
}

static int start_delivery(struct sp_deliver *d, struct sp_delivery *w, int child)
{
	char *body SP_FREE = NULL;
	struct sp_post p = {.url = w->target.url,
			    .type = "application/json",
			    .authorization_file = w->target.authorization_file,
			    .ca_file = w->target.ca_file,
			    .timeout_ms = SP_DELIVER_POST_MS};
	FILE *out = open_memstream(&body, &p.n_body);
	int r;

	if (!out)
		return -ENOMEM;
	sp_notification_json(&w->notification, out);
	if (fclose(out))
		return -ENOMEM;
	p.body = body;
	r = w->target.url ? sp_post_start(&d->children[child], d->self, &p)
			  : start_command(&d->children[child], w, body, p.n_body);
	if (r < 0)
		return r;
	w->child = child;
	sp_deliver_watch(d, child);
	return 0;
}

/* A target gets its notifications in order, so others wait behind one that is to be tried again. */
static bool is_first_for_target(const struct sp_deliver *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (sp_alert_target_equals(&d->waiting[k].target, &d->waiting[i].target))
			return false;
	return true;
}

/* Logged at the first failure, and when it is given up. */
static void retry_later(struct sp_deliver *d, struct sp_delivery *w, const char *why)
{
	d->stats.n_failed++;
	w->next_ns = sp_time_ns(CLOCK_MONOTONIC) + sp_deliver_pause_ns(d, w->n_tries, SP_DELIVER_LAST_PAUSE_S);
	if (!w->n_tries++)
		sp_log(SP_LOG_WARNING, "alert %s: %s: %s; it is tried again", w->notification.name,
		       sp_alert_target_name(&w->target), why);
}

static void start_deliveries(struct sp_deliver *d, uint64_t now_ns)
{
	uint64_t wall_ns = sp_time_ns(CLOCK_REALTIME);
	size_t i = 0;

	while (i < d->n_waiting) {
		struct sp_delivery *w = &d->waiting[i];
		int child = sp_deliver_find_child(d), r;
		bool is_old = wall_ns > w->queued_ns + SP_DELIVER_KEEP_S * SP_NS_PER_S;

		if (w->child < 0 && w->n_tries && is_old) {
			drop_delivery(d, i, "it was not taken for an hour");
			continue;
		}
		i++;
		if (w->child >= 0 || w->next_ns > now_ns || child < 0 || !is_first_for_target(d, i - 1))
			continue;
		r = start_delivery(d, w, child);
		if (r < 0)
			retry_later(d, w, sp_error_text(r));
		sp_error_clear();
	}
}

static const char *describe_failure(int status, const struct sp_program *c, char *ret_text, size_t size)
{
	int n;

	if (c->is_late)
		n = snprintf(ret_text, size, "took longer than %d s", SP_DELIVER_COMMAND_MS / 1000);
	else if (WIFSIGNALED(status))
		n = snprintf(ret_text, size, "was killed by signal %d", WTERMSIG(status));
	else
		n = snprintf(ret_text, size, "exit code %d", WEXITSTATUS(status));
	if (c->n_text)
		snprintf(ret_text + n, size - (size_t)n, ": %.*s", (int)strcspn(c->text, "\n"), c->text);
	return ret_text;
}

static void finish_delivery(struct sp_deliver *d, int child, int status)
{
	const struct sp_program *c = &d->children[child];
	size_t i = 0;
	char text[512];

	while (i < d->n_waiting && d->waiting[i].child != child)
		i++;
	if (i == d->n_waiting) {
		sp_managers_finish(d, child, status);
		return;
	}
	struct sp_delivery *w = &d->waiting[i];
	enum sp_post_result result = w->target.url ? sp_post_result(status) : status ? SP_POST_AGAIN : SP_POST_TAKEN;
	w->child = -1;
	if (result == SP_POST_TAKEN) {
		d->stats.n_delivered++;
		remove_delivery(d, i);
	} else if (result == SP_POST_REFUSED) {
		d->stats.n_failed++;
		drop_delivery(d, i, c->text);
	} else {
		retry_later(d, w, w->target.url ? c->text : describe_failure(status, c, text, sizeof(text)));
	}
}

void sp_deliver_run(struct sp_deliver *d)
{
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	int status = 0;

	for (int i = 0; i < SP_DELIVER_CHILDREN; i++)
		if (sp_program_check(&d->children[i], &status))
			finish_delivery(d, i, status);
	start_deliveries(d, now_ns);
	sp_managers_run(d, now_ns);
}

int sp_deliver_fd(const struct sp_deliver *d)
{
	return d->epoll;
}

/* Without a free process only the end of one helps. */
int sp_deliver_timeout_ms(const struct sp_deliver *d)
{
	uint64_t next = sp_managers_next_ns(d);
	int ms;

	for (size_t i = 0; i < d->n_waiting; i++)
		if (d->waiting[i].child < 0 && is_first_for_target(d, i))
			next = SP_MIN(next, d->waiting[i].next_ns);
	ms = sp_deliver_find_child(d) >= 0 ? sp_ms_until(next) : -1;
	for (int i = 0; i < SP_DELIVER_CHILDREN; i++)
		if (d->children[i].pid)
			ms = sp_ms_sooner(ms, POLL_MS);
	return ms;
}

/* --- lines --- */
bool sp_deliver_is_changed(const struct sp_deliver *d)
{
	return d->is_changed;
}

void sp_deliver_write(struct sp_deliver *d, FILE *out)
{
	for (size_t i = 0; i < d->n_waiting; i++) {
		fputs("waiting", out);
		sp_line_put_number(out, "queued", d->waiting[i].queued_ns);
		fputc('\n', out);
		sp_alert_target_write(&d->waiting[i].target, out);
		sp_notification_write(&d->waiting[i].notification, out);
		fputs("ready\n", out);
	}
	d->is_changed = false;
}

static int finish_reading(struct sp_deliver *d)
{
	struct sp_delivery *w = &d->reading;
	int r;

	if (!d->is_reading || !w->notification.name || (!w->target.url && !w->target.command[0]))
		return -EBADMSG;
	r = make_room(d);
	if (r < 0)
		return r;
	w->child = -1;
	d->waiting[d->n_waiting++] = *w;
	*w = (struct sp_delivery){0};
	d->is_reading = false;
	return 1;
}

int sp_deliver_read_line(struct sp_deliver *d, const struct sp_line *l)
{
	int r;

	if (!strcmp(l->first, "ready"))
		return finish_reading(d);
	if (!strcmp(l->first, "waiting")) {
		if (d->is_reading)
			return -EBADMSG;
		d->is_reading = true;
		r = sp_line_number(l, "queued", &d->reading.queued_ns);
		return r < 0 ? r : 1;
	}
	if (!d->is_reading)
		return 0;
	r = sp_alert_target_read_line(&d->reading.target, l);
	return r ? r : sp_notification_read_line(&d->reading.notification, l);
}

void sp_deliver_stats(const struct sp_deliver *d, struct sp_deliver_stats *ret_stats)
{
	*ret_stats = d->stats;
	ret_stats->n_waiting = d->n_waiting;
}
