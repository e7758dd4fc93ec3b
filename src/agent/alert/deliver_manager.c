/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deliver_manager.c: keeps Alertmanagers informed, with version 2 of their API. */
#include "agent/alert/deliver_priv.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Resolved alerts are sent as long as an Alertmanager could still have them. */
#define SEND_RESOLVED_NS (SP_DELIVER_UNTIL_S * SP_NS_PER_S)
enum { LAST_PAUSE_S = 60 };

/* --- alerts --- */
static void remove_alert(struct sp_deliver *d, size_t i)
{
	struct sp_manager_alert *s = &d->manager_alerts[i];

	sp_notification_done(&s->notification);
	for (size_t k = 0; k < s->n_targets; k++)
		sp_alert_target_done(&s->targets[k]);
	d->n_manager_alerts--;
	memmove(s, s + 1, (d->n_manager_alerts - i) * sizeof(*s));
}

static int set_targets(struct sp_manager_alert *s, const struct sp_alert_targets *to)
{
	int r = 0;

	for (size_t i = 0; i < s->n_targets; i++)
		sp_alert_target_done(&s->targets[i]);
	for (s->n_targets = 0; r == 0 && s->n_targets < to->n_managers; s->n_targets += r == 0)
		r = sp_alert_target_init(&s->targets[s->n_targets], NULL, to->managers[s->n_targets], to);
	return r;
}

static int put_alert(struct sp_deliver *d, const struct sp_alert_targets *to, const struct sp_notification *n,
		     struct sp_manager_alert **ret_alert)
{
	struct sp_notification notification;
	struct sp_manager_alert *s;
	size_t i = 0;
	int r;

	while (i < d->n_manager_alerts && !sp_notification_is_same_alert(&d->manager_alerts[i].notification, n))
		i++;
	r = i == SP_DELIVER_MANAGER_ALERTS
		? -E2BIG
		: sp_grow(&d->manager_alerts, &d->manager_alerts_capacity, i + 1, sizeof(*d->manager_alerts));
	if (r == 0)
		r = sp_notification_copy(n, &notification);
	if (r < 0)
		return r;
	s = &d->manager_alerts[i];
	if (i == d->n_manager_alerts) {
		d->n_manager_alerts++;
		*s = (struct sp_manager_alert){0};
	}
	sp_notification_done(&s->notification);
	s->notification = notification;
	s->unsent = s->in_flight = 0;
	*ret_alert = s;
	return set_targets(s, to);
}

/* --- Alertmanagers --- */
static struct sp_manager *get_manager(struct sp_deliver *d, const struct sp_alert_target *p)
{
	struct sp_manager *m;

	for (size_t i = 0; i < d->n_managers; i++)
		if (sp_alert_target_equals(&d->managers[i].target, p))
			return &d->managers[i];
	if (d->n_managers == SP_DELIVER_MANAGERS)
		return NULL;
	m = &d->managers[d->n_managers];
	*m = (struct sp_manager){.child = -1, .target = {.url = strdup(p->url)}};
	m->target.authorization_file = p->authorization_file ? strdup(p->authorization_file) : NULL;
	m->target.ca_file = p->ca_file ? strdup(p->ca_file) : NULL;
	if (!sp_alert_target_equals(&m->target, p)) { /* out of memory */
		sp_alert_target_done(&m->target);
		return NULL;
	}
	d->n_managers++;
	return m;
}

void sp_managers_update(struct sp_deliver *d, const struct sp_alert_targets *to, const struct sp_notification *n)
{
	struct sp_manager_alert *s = NULL;
	int r = to->n_managers ? put_alert(d, to, n, &s) : 0;

	if (r < 0) {
		d->stats.n_dropped++;
		sp_log(SP_LOG_ERROR, "alert %s: cannot be sent to Alertmanager: %s", n->name, sp_error_text(r));
		sp_error_clear();
	}
	for (size_t i = 0; s && i < s->n_targets; i++) {
		struct sp_manager *m = get_manager(d, &s->targets[i]);
		if (m && m->n_tries == 0) /* at once, unless its last post failed */
			m->next_ns = 0;
		s->unsent |= n->is_over ? 1U << i : 0;
	}
	if (s)
		s->ended_ns = sp_time_ns(CLOCK_MONOTONIC);
}

/* The bit of this alert's target that is m; 0 = the alert does not go to m. */
static unsigned target_bit(const struct sp_manager_alert *s, const struct sp_manager *m)
{
	for (size_t i = 0; i < s->n_targets; i++)
		if (sp_alert_target_equals(&s->targets[i], &m->target))
			return 1U << i;
	return 0;
}

static bool needs_post(const struct sp_manager_alert *s, unsigned bit)
{
	return bit && (!s->notification.is_over || s->unsent & bit);
}

static size_t write_body(struct sp_deliver *d, const struct sp_manager *m, FILE *out)
{
	uint64_t until = sp_time_ns(CLOCK_REALTIME) + SP_DELIVER_UNTIL_S * SP_NS_PER_S;
	struct sp_json j = {.out = out};
	size_t n = 0;

	sp_json_array(&j, NULL);
	sp_json_lines(&j);
	for (size_t i = 0; i < d->n_manager_alerts; i++) {
		struct sp_manager_alert *s = &d->manager_alerts[i];
		unsigned bit = target_bit(s, m);
		if (!needs_post(s, bit))
			continue;
		sp_notification_alertmanager(&s->notification, until, &j);
		s->in_flight |= s->notification.is_over ? bit : 0;
		n++;
	}
	sp_json_done(&j);
	return n;
}

static int post_alerts(struct sp_deliver *d, struct sp_manager *m, int child)
{
	char *body SP_FREE = NULL, url[SP_POST_URL_MAX + 32];
	struct sp_post p = {.url = url,
			    .type = "application/json",
			    .authorization_file = m->target.authorization_file,
			    .ca_file = m->target.ca_file,
			    .timeout_ms = SP_DELIVER_POST_MS};
	size_t n, len = strlen(m->target.url);
	FILE *out = open_memstream(&body, &p.n_body);
	int r;

	if (!out)
		return -ENOMEM;
	n = write_body(d, m, out);
	if (fclose(out))
		return -ENOMEM;
	if (n == 0)
		return 0;
	while (len && m->target.url[len - 1] == '/')
		len--;
	snprintf(url, sizeof(url), "%.*s/api/v2/alerts", (int)len, m->target.url);
	p.body = body;
	r = sp_post_start(&d->children[child], d->self, &p);
	if (r < 0)
		return r;
	m->child = child;
	sp_deliver_watch(d, child);
	return 0;
}

static bool has_work(const struct sp_deliver *d, const struct sp_manager *m)
{
	for (size_t i = 0; i < d->n_manager_alerts; i++)
		if (needs_post(&d->manager_alerts[i], target_bit(&d->manager_alerts[i], m)))
			return true;
	return false;
}

/* A resolved alert is removed when all Alertmanagers have accepted it, or must have forgotten it. */
static void remove_old_alerts(struct sp_deliver *d, uint64_t now_ns)
{
	for (size_t i = d->n_manager_alerts; i > 0; i--) {
		const struct sp_manager_alert *s = &d->manager_alerts[i - 1];
		bool is_late = now_ns > s->ended_ns + SEND_RESOLVED_NS;
		if (!s->notification.is_over || (s->unsent && !is_late))
			continue;
		if (s->unsent)
			d->stats.n_dropped++;
		remove_alert(d, i - 1);
	}
}

static void remove_unused_managers(struct sp_deliver *d)
{
	for (size_t i = d->n_managers; i > 0; i--) {
		struct sp_manager *m = &d->managers[i - 1];
		bool is_used = m->child >= 0;
		for (size_t k = 0; !is_used && k < d->n_manager_alerts; k++)
			is_used = target_bit(&d->manager_alerts[k], m) != 0;
		if (is_used)
			continue;
		sp_alert_target_done(&m->target);
		*m = d->managers[--d->n_managers];
	}
}

void sp_managers_run(struct sp_deliver *d, uint64_t now_ns)
{
	remove_old_alerts(d, now_ns);
	remove_unused_managers(d);
	for (size_t i = 0; i < d->n_managers; i++) {
		struct sp_manager *m = &d->managers[i];
		int child = sp_deliver_find_child(d), r;
		if (m->child >= 0 || m->next_ns > now_ns || child < 0 || !has_work(d, m))
			continue;
		m->next_ns = now_ns + d->repeat_ns;
		r = post_alerts(d, m, child);
		if (r < 0) {
			d->stats.n_failed++;
			sp_log(SP_LOG_ERROR, "Alertmanager %s: %s", sp_alert_target_name(&m->target), sp_error_text(r));
			sp_error_clear();
		}
	}
}

uint64_t sp_managers_next_ns(const struct sp_deliver *d)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < d->n_managers; i++)
		if (d->managers[i].child < 0 && has_work(d, &d->managers[i]))
			next = SP_MIN(next, d->managers[i].next_ns);
	return next;
}

static void mark_posted(struct sp_deliver *d, const struct sp_manager *m, bool is_accepted)
{
	for (size_t i = 0; i < d->n_manager_alerts; i++) {
		struct sp_manager_alert *s = &d->manager_alerts[i];
		unsigned bit = target_bit(s, m);
		if (is_accepted)
			s->unsent &= ~(s->in_flight & bit);
		s->in_flight &= ~bit;
	}
}

void sp_managers_finish(struct sp_deliver *d, int child, int status)
{
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	enum sp_post_result result = sp_post_result(status);

	for (size_t i = 0; i < d->n_managers; i++) {
		struct sp_manager *m = &d->managers[i];
		if (m->child != child)
			continue;
		m->child = -1;
		mark_posted(d, m, result == SP_POST_TAKEN);
		if (result == SP_POST_TAKEN) {
			if (m->n_tries)
				sp_log(SP_LOG_NOTICE, "Alertmanager %s takes alerts again",
				       sp_alert_target_name(&m->target));
			d->stats.n_delivered++;
			m->n_tries = 0;
			/* what was resolved meanwhile is posted at once */
			for (size_t k = 0; k < d->n_manager_alerts; k++)
				if (d->manager_alerts[k].unsent & target_bit(&d->manager_alerts[k], m))
					m->next_ns = 0;
			continue;
		}
		d->stats.n_failed++;
		m->next_ns = now_ns + sp_deliver_pause_ns(d, m->n_tries++, LAST_PAUSE_S);
		if (m->n_tries == 1)
			sp_log(SP_LOG_WARNING, "Alertmanager %s: %s; it is tried again and again",
			       sp_alert_target_name(&m->target), d->children[child].text);
	}
}

void sp_managers_done(struct sp_deliver *d)
{
	while (d->n_manager_alerts)
		remove_alert(d, d->n_manager_alerts - 1);
	free(d->manager_alerts);
	for (size_t i = 0; i < d->n_managers; i++)
		sp_alert_target_done(&d->managers[i].target);
}
