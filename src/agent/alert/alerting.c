/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/alert/alerting.h"
#include "agent/export/exposition.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 16 << 20 };
#define HEAD "soprof alerts 1"

struct sp_alerting {
	const struct sp_agent_config *config;
	struct sp_agent *agent;
	struct sp_alerts *alerts;
	struct sp_deliver *deliver;
	bool is_changed;           /* what fires */
	const char *why_unwritten; /* "" = the file was written the last time */
	/* while it is read */
	bool is_firing;
	struct sp_notification note;
};

/* --- telling --- */
static void event_make(struct sp_alerting *a, const struct sp_notification *n)
{
	uint64_t at = n->is_over ? n->ends_ns : n->starts_ns;
	char text[SP_NOTIFICATION_SUMMARY + 16];
	struct sp_store_event e = {.from_ns = at,
				   .to_ns = at,
				   .kind = "alert",
				   .subject = n->name,
				   .text = text,
				   .data = n->is_over ? "status=resolved" : "status=firing"};

	snprintf(text, sizeof(text), "%s: %s", n->is_over ? "resolved" : "firing", n->summary);
	if (a->agent)
		sp_agent_event(a->agent, &e);
}

static void tell(void *arg, const struct sp_alert_config *c, const struct sp_notification *n, bool is_repeat)
{
	struct sp_alerting *a = arg;

	sp_deliver_tell(a->deliver, &c->to, n, is_repeat);
	if (is_repeat)
		return;
	a->is_changed = true;
	sp_log(n->is_over ? SP_LOG_NOTICE : SP_LOG_WARNING, "alert %s: %s: %s", n->is_over ? "resolved" : "firing",
	       n->name, n->summary);
	event_make(a, n);
}

/* --- the file --- */
static int path_of(const struct sp_alerting *a, const char *suffix, char **ret_path)
{
	return asprintf(ret_path, "%s/alerts%s", a->config->store, suffix) < 0 ? -ENOMEM : 0;
}

static int file_write(struct sp_alerting *a, FILE *out)
{
	fputs(HEAD "\n", out);
	sp_alerts_write(a->alerts, out);
	sp_deliver_write(a->deliver, out);
	fputs("end\n", out);
	return fflush(out) || ferror(out) ? -errno : 0;
}

static int file_replace(struct sp_alerting *a)
{
	char *path SP_FREE = NULL, *new SP_FREE = NULL;
	FILE *out SP_FCLOSE = NULL;
	int fd, r = path_of(a, "", &path);

	if (r == 0)
		r = path_of(a, ".new", &new);
	if (r < 0)
		return r;
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return sp_fail(-errno, "write %s", new);
	r = file_write(a, out);
	if (r == 0 && rename(new, path) < 0)
		r = -errno;
	return r < 0 ? sp_fail(r, "write %s", path) : 0;
}

/* What cannot be written is told once; it is tried again with the next change. */
static void save(struct sp_alerting *a)
{
	int r;

	if (!a->is_changed && !sp_deliver_is_changed(a->deliver))
		return;
	a->is_changed = false;
	r = file_replace(a);
	if (r < 0 && !*a->why_unwritten)
		sp_log(SP_LOG_WARNING, "alerts would be forgotten at a restart: %s", sp_error_text(r));
	if (r < 0)
		sp_error_clear();
	a->why_unwritten = r < 0 ? "?" : "";
}

static int restore(struct sp_alerting *a)
{
	int r = a->note.name ? sp_alerts_restore(a->alerts, &a->note) : 0;

	if (r == -ENOENT) {
		sp_log(SP_LOG_NOTICE, "alert %s is over: there is no such rule any more", a->note.name);
		r = 0;
	}
	sp_notification_done(&a->note);
	return r;
}

/* Records from "firing" or "waiting" to "ready"; the latter are of deliver.h. */
static int line_take(struct sp_alerting *a, char *text)
{
	struct sp_line l;
	int r = sp_line_parse(text, true, &l);

	if (r < 0)
		return r;
	if (a->is_firing && !strcmp(l.first, "ready")) {
		a->is_firing = false;
		return restore(a);
	}
	if (a->is_firing)
		r = sp_notification_take(&a->note, &l);
	else if (!strcmp(l.first, "firing"))
		r = a->is_firing = true;
	else
		r = !strcmp(l.first, "end") ? 1 : sp_deliver_take(a->deliver, &l);
	return r > 0 ? 0 : r < 0 ? r : -EBADMSG;
}

static int lines_take(struct sp_alerting *a, char *text)
{
	char *line = strsep(&text, "\n");
	int r = line && !strcmp(line, HEAD) ? 0 : -EBADMSG;

	while (r == 0 && (line = strsep(&text, "\n")))
		r = *line ? line_take(a, line) : 0;
	return r;
}

/* Whole only with its last line: one that was cut off is as good as none. */
static int file_read(struct sp_alerting *a)
{
	char *path SP_FREE = NULL, *text SP_FREE = NULL;
	size_t n = 0;
	int r = path_of(a, "", &path);

	if (r < 0 || access(path, F_OK) != 0)
		return r;
	r = sp_text_read(path, MAX_FILE, &text, &n);
	if (r == 0 && (n < 5 || strcmp(text + n - 5, "\nend\n") != 0))
		r = -EBADMSG;
	if (r == 0)
		r = lines_take(a, text);
	sp_notification_done(&a->note);
	if (r < 0)
		sp_log(SP_LOG_WARNING, "what fired before is not known: %s: %s", path, sp_error_text(r));
	sp_error_clear();
	return r == -ENOMEM ? r : 0;
}

/* --- the whole --- */
int sp_alerting_new(const struct sp_agent_config *c, struct sp_agent *agent, struct sp_alerting **ret_alerting)
{
	struct sp_alerting *a = calloc(1, sizeof(*a));
	struct sp_alerts_owner owner = {.arg = a, .tell = tell};
	int r;

	if (!a)
		return -ENOMEM;
	a->config = c;
	a->agent = agent;
	a->why_unwritten = "";
	r = sp_deliver_new(&a->deliver);
	if (r == 0)
		r = sp_alerts_new(c, &owner, &a->alerts);
	if (r == 0)
		r = file_read(a);
	if (r < 0) {
		sp_alerts_free(a->alerts);
		sp_deliver_free(a->deliver);
		free(a);
		return r;
	}
	*ret_alerting = a;
	return 0;
}

void sp_alerting_free(struct sp_alerting *a)
{
	if (!a)
		return;
	save(a);
	sp_alerts_free(a->alerts);
	sp_deliver_free(a->deliver);
	free(a);
}

int sp_alerting_configure(struct sp_alerting *a, const struct sp_agent_config *c)
{
	int r = sp_alerts_configure(a->alerts, c);

	if (r < 0)
		return r;
	a->config = c;
	sp_alerts_announce(a->alerts); /* where it is told may have changed */
	save(a);
	return 0;
}

static void window(void *arg, const struct sp_profile *p, const struct sp_store_window *w)
{
	struct sp_alerting *a = arg;

	sp_alerts_window(a->alerts, p, w);
	save(a);
}

static void event(void *arg, const struct sp_store_event *e)
{
	struct sp_alerting *a = arg;

	if (strcmp(e->kind, "change") != 0)
		return; /* our own among them */
	sp_alerts_event(a->alerts, e, sp_time_ns(CLOCK_REALTIME));
	save(a);
}

struct sp_agent_listener sp_alerting_listener(struct sp_alerting *a)
{
	return (struct sp_agent_listener){.arg = a, .window = window, .event = event};
}

static void ready(void *arg)
{
	struct sp_alerting *a = arg;

	sp_deliver_turn(a->deliver);
	save(a);
}

static int timeout_ms(void *arg)
{
	return sp_deliver_timeout_ms(((struct sp_alerting *)arg)->deliver);
}

struct sp_agent_watch sp_alerting_watch(struct sp_alerting *a)
{
	return (struct sp_agent_watch){
	    .fd = sp_deliver_fd(a->deliver), .timeout_ms = timeout_ms, .ready = ready, .arg = a};
}

void sp_alerting_stats(const struct sp_alerting *a, struct sp_alerting_stats *ret_stats)
{
	sp_alerts_stats(a->alerts, &ret_stats->alerts);
	sp_deliver_stats(a->deliver, &ret_stats->deliver);
}

/* --- metrics --- */
static void put(struct sp_expo *x, enum sp_expo_type type, const char *name, const char *help, uint64_t value)
{
	sp_expo_family(x, type, name, NULL, help);
	sp_expo_number(x, "", value);
}

void sp_alerting_write(void *alerting, struct sp_expo *x)
{
	const struct sp_alerting *a = alerting;
	struct sp_alerting_stats s;
	struct sp_labels l;

	sp_alerting_stats(a, &s);
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_alerts_firing", NULL,
		       "Alerts of the agent's own rules that fire now, by the rule's name.");
	for (size_t i = 0; i < a->config->n_alerts; i++)
		sp_expo_number(x, sp_labels_of(x, &l, "alert", a->config->alerts[i].name, NULL, NULL),
			       sp_alerts_firing(a->alerts, i));
	put(x, SP_EXPO_COUNTER, "soprof_alerts_fired", "Alerts that began to fire.", s.alerts.n_fired);
	put(x, SP_EXPO_COUNTER, "soprof_alerts_resolved", "Alerts that are over.", s.alerts.n_resolved);
	put(x, SP_EXPO_COUNTER, "soprof_alerts_unwatched_windows",
	    "Windows in which not all that the rules mean could be watched.", s.alerts.n_unwatched);
	put(x, SP_EXPO_COUNTER, "soprof_alert_notifications",
	    "Notes of alerts that a command, webhook or Alertmanager took.", s.deliver.n_delivered);
	put(x, SP_EXPO_COUNTER, "soprof_alert_notification_failures", "Attempts to tell of an alert that failed.",
	    s.deliver.n_failed);
	put(x, SP_EXPO_COUNTER, "soprof_alert_notifications_dropped", "Notes of alerts that were given up.",
	    s.deliver.n_dropped);
	put(x, SP_EXPO_GAUGE, "soprof_alert_notifications_waiting", "Notes of alerts that wait to be taken.",
	    s.deliver.n_waiting);
}
