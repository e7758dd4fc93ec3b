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
	char *page; /* its address */
	struct sp_alerts *alerts;
	struct sp_deliver *deliver;
	bool is_changed;       /* firing alerts have changed */
	bool is_write_failing; /* the last attempt to write the file failed */
	/* while the file is read: the firing alert at hand */
	bool is_reading_firing;
	struct sp_notification reading;
};

/* --- notifications --- */
static void add_event(struct sp_alerting *a, const struct sp_notification *n)
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

static void notify(void *arg, const struct sp_alert_config *c, const struct sp_notification *n, bool is_repeat)
{
	struct sp_alerting *a = arg;

	sp_deliver_send(a->deliver, &c->to, n, is_repeat);
	if (is_repeat)
		return;
	a->is_changed = true;
	sp_log(n->is_over ? SP_LOG_NOTICE : SP_LOG_WARNING, "alert %s: %s: %s", n->is_over ? "resolved" : "firing",
	       n->name, n->summary);
	add_event(a, n);
}

/* --- the file --- */
static int make_path(const struct sp_alerting *a, const char *suffix, char **ret_path)
{
	return asprintf(ret_path, "%s/alerts%s", a->config->store, suffix) < 0 ? -ENOMEM : 0;
}

static int write_state(struct sp_alerting *a, FILE *out)
{
	fputs(HEAD "\n", out);
	sp_alerts_write(a->alerts, out);
	sp_deliver_write(a->deliver, out);
	fputs("end\n", out);
	return fflush(out) || ferror(out) ? -errno : 0;
}

static int replace_file(struct sp_alerting *a)
{
	char *path SP_FREE = NULL, *new SP_FREE = NULL;
	FILE *out SP_FCLOSE = NULL;
	int fd, r = make_path(a, "", &path);

	if (r == 0)
		r = make_path(a, ".new", &new);
	if (r < 0)
		return r;
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return sp_fail(-errno, "write %s", new);
	r = write_state(a, out);
	if (r == 0 && rename(new, path) < 0)
		r = -errno;
	return r < 0 ? sp_fail(r, "write %s", path) : 0;
}

/* A failure is logged once; the next change tries again. */
static void save_changes(struct sp_alerting *a)
{
	int r;

	if (!a->is_changed && !sp_deliver_is_changed(a->deliver))
		return;
	a->is_changed = false;
	r = replace_file(a);
	if (r < 0 && !a->is_write_failing)
		sp_log(SP_LOG_WARNING, "alerts would be forgotten at a restart: %s", sp_error_text(r));
	if (r < 0)
		sp_error_clear();
	a->is_write_failing = r < 0;
}

static int restore_alert(struct sp_alerting *a)
{
	int r = a->reading.name ? sp_alerts_restore(a->alerts, &a->reading) : 0;

	if (r == -ENOENT) {
		sp_log(SP_LOG_NOTICE, "alert %s is over: there is no such rule any more", a->reading.name);
		r = 0;
	}
	sp_notification_done(&a->reading);
	return r;
}

/* Records are lines from "firing" or "waiting" to "ready"; deliver.h has the latter. */
static int parse_line(struct sp_alerting *a, char *text)
{
	struct sp_line l;
	int r = sp_line_parse(text, true, &l);

	if (r < 0)
		return r;
	if (a->is_reading_firing && !strcmp(l.first, "ready")) {
		a->is_reading_firing = false;
		return restore_alert(a);
	}
	if (a->is_reading_firing)
		r = sp_notification_read_line(&a->reading, &l);
	else if (!strcmp(l.first, "firing"))
		r = a->is_reading_firing = true;
	else
		r = !strcmp(l.first, "end") ? 1 : sp_deliver_read_line(a->deliver, &l);
	return r > 0 ? 0 : r < 0 ? r : -EBADMSG;
}

static int parse_lines(struct sp_alerting *a, char *text)
{
	char *line = strsep(&text, "\n");
	int r = line && !strcmp(line, HEAD) ? 0 : -EBADMSG;

	while (r == 0 && (line = strsep(&text, "\n")))
		r = *line ? parse_line(a, line) : 0;
	return r;
}

/* The last line must be "end": a file that was cut off is ignored. */
static int read_file(struct sp_alerting *a)
{
	char *path SP_FREE = NULL, *text SP_FREE = NULL;
	size_t n = 0;
	int r = make_path(a, "", &path);

	if (r < 0 || access(path, F_OK) != 0)
		return r;
	r = sp_text_read(path, MAX_FILE, &text, &n);
	if (r == 0 && (n < 5 || strcmp(text + n - 5, "\nend\n") != 0))
		r = -EBADMSG;
	if (r == 0)
		r = parse_lines(a, text);
	sp_notification_done(&a->reading);
	if (r < 0)
		sp_log(SP_LOG_WARNING, "what fired before is not known: %s: %s", path, sp_error_text(r));
	sp_error_clear();
	return r == -ENOMEM ? r : 0;
}

/* --- start and stop --- */
int sp_alerting_new(const struct sp_agent_config *c, struct sp_agent *agent, const char *page,
		    struct sp_alerting **ret_alerting)
{
	struct sp_alerting *a = calloc(1, sizeof(*a));
	struct sp_alerts_owner owner = {.arg = a, .notify = notify};
	char *address = strdup(page);
	int r;

	if (!a || !address) {
		free(a);
		free(address);
		return -ENOMEM;
	}
	a->config = c;
	a->agent = agent;
	owner.page = a->page = address;
	r = sp_deliver_new(&a->deliver);
	if (r == 0)
		r = sp_alerts_new(c, &owner, &a->alerts);
	if (r == 0)
		r = read_file(a);
	if (r < 0) {
		sp_alerts_free(a->alerts);
		sp_deliver_free(a->deliver);
		free(a->page);
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
	save_changes(a);
	sp_alerts_free(a->alerts);
	sp_deliver_free(a->deliver);
	free(a->page);
	free(a);
}

int sp_alerting_configure(struct sp_alerting *a, const struct sp_agent_config *c)
{
	int r = sp_alerts_configure(a->alerts, c);

	if (r < 0)
		return r;
	a->config = c;
	sp_alerts_announce(a->alerts); /* targets may have changed */
	save_changes(a);
	return 0;
}

static void handle_window(void *arg, const struct sp_profile *p, const struct sp_store_window *w)
{
	struct sp_alerting *a = arg;

	sp_alerts_window(a->alerts, p, w);
	save_changes(a);
}

static void handle_event(void *arg, const struct sp_store_event *e)
{
	struct sp_alerting *a = arg;

	if (strcmp(e->kind, "change") != 0)
		return; /* also events "alert", which are made here */
	sp_alerts_event(a->alerts, e, sp_time_ns(CLOCK_REALTIME));
	save_changes(a);
}

struct sp_agent_listener sp_alerting_listener(struct sp_alerting *a)
{
	return (struct sp_agent_listener){.arg = a, .window = handle_window, .event = handle_event};
}

static void handle_ready(void *arg)
{
	struct sp_alerting *a = arg;

	sp_deliver_run(a->deliver);
	save_changes(a);
}

static int timeout_ms(void *arg)
{
	return sp_deliver_timeout_ms(((struct sp_alerting *)arg)->deliver);
}

struct sp_agent_watch sp_alerting_watch(struct sp_alerting *a)
{
	return (struct sp_agent_watch){
	    .fd = sp_deliver_fd(a->deliver), .timeout_ms = timeout_ms, .ready = handle_ready, .arg = a};
}

/* --- metrics --- */
static void put_metric(struct sp_expo *x, enum sp_expo_type type, const char *name, const char *help, uint64_t value)
{
	sp_expo_family(x, type, name, NULL, help);
	sp_expo_number(x, "", value);
}

void sp_alerting_write(void *alerting, struct sp_expo *x)
{
	const struct sp_alerting *a = alerting;
	struct sp_alerts_stats alerts;
	struct sp_deliver_stats deliver;
	struct sp_labels l;

	sp_alerts_stats(a->alerts, &alerts);
	sp_deliver_stats(a->deliver, &deliver);
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_alerts_firing", NULL,
		       "Alerts of the agent's own rules that fire now, by the rule's name.");
	for (size_t i = 0; i < a->config->n_alerts; i++)
		sp_expo_number(x, sp_labels_of(x, &l, "alert", a->config->alerts[i].name, NULL, NULL),
			       sp_alerts_firing(a->alerts, i));
	put_metric(x, SP_EXPO_COUNTER, "soprof_alerts_fired", "Alerts that began to fire.", alerts.n_fired);
	put_metric(x, SP_EXPO_COUNTER, "soprof_alerts_resolved", "Alerts that are over.", alerts.n_resolved);
	put_metric(x, SP_EXPO_COUNTER, "soprof_alerts_unwatched_windows",
		   "Windows in which not all that the rules mean could be watched.", alerts.n_unwatched);
	put_metric(x, SP_EXPO_COUNTER, "soprof_alert_notifications",
		   "Notifications that a command, webhook or Alertmanager took.", deliver.n_delivered);
	put_metric(x, SP_EXPO_COUNTER, "soprof_alert_notification_failures",
		   "Attempts to deliver a notification that failed.", deliver.n_failed);
	put_metric(x, SP_EXPO_COUNTER, "soprof_alert_notifications_dropped", "Notifications that were given up.",
		   deliver.n_dropped);
	put_metric(x, SP_EXPO_GAUGE, "soprof_alert_notifications_waiting", "Notifications that wait for delivery.",
		   deliver.n_waiting);
}
