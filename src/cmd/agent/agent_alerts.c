/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_alerts.c: the keys `alerts` and `alert-to` of the configuration file. */
#include "cmd/agent/agent_alerts.h"
#include "agent/exec/post.h"
#include "agent/rules.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 128, MAX_ARGUMENT = 1000, MAX_LABEL_NAME = 64, MAX_LABEL_VALUE = 250 };

struct taking {
	struct sp_agent_config *c;
	struct sp_alert_config *alert; /* NULL: of alert-to */
	struct sp_alert_targets *to;
	bool has_targets[3]; /* of this alert: command, webhook, alertmanager */
};

/* --- places --- */
static int take_argument(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	struct sp_alert_targets *to = t->to;
	size_t n = 0;
	int r;

	while (to->command[n])
		n++;
	r = sp_agent_file_keep(y, t->c, "the program, or an argument", MAX_ARGUMENT, &to->command[n]);
	if (r == 0 && n == 0 && to->command[0][0] != '/')
		return SP_YAML_FAIL(y, y->event.start_mark, "command: '%s' does not begin with a /; no shell is used",
				    to->command[0]);
	return r;
}

static int take_command(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	yaml_mark_t mark = y->event.start_mark;
	int r;

	t->has_targets[0] = true;
	if (y->event.type == YAML_SCALAR_EVENT)
		return take_argument(y, t);
	r = sp_yaml_items(y, "command", SP_ALERT_ARGS, take_argument, t);
	return r == 0 && !t->to->command[0] ? SP_YAML_FAIL(y, mark, "command: the list is empty") : r;
}

static int take_url(struct sp_yaml *y, const struct taking *t, const char *what, const char **ret_url)
{
	yaml_mark_t mark = y->event.start_mark;
	int r = sp_agent_file_keep(y, t->c, "an address", SP_POST_URL_MAX, ret_url);

	if (r < 0)
		return r;
	r = sp_post_url_check(*ret_url);
	return r < 0 ? SP_YAML_FAIL(y, mark, "%s: %s", what, sp_error_text(r)) : 0;
}

static int take_webhook(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	t->has_targets[1] = true;
	return take_url(y, t, "webhook", &t->to->webhook);
}

static int take_manager(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	int r = take_url(y, t, "alertmanager", &t->to->managers[t->to->n_managers]);

	t->to->n_managers += r == 0;
	return r;
}

static int take_managers(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	t->has_targets[2] = true;
	if (y->event.type == YAML_SCALAR_EVENT)
		return take_manager(y, t);
	return sp_yaml_items(y, "alertmanager", SP_ALERT_MANAGERS, take_manager, t);
}

static int take_authorization(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep_path(y, t->c, "authorization-file", &t->to->authorization_file);
}

static int take_ca(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep_path(y, t->c, "ca-file", &t->to->ca_file);
}

/* What an alert says of its places counts; what it does not say is as alert-to says. */
static void inherit(struct sp_alert_targets *to, const bool has[3], const struct sp_alert_targets *from)
{
	if (!has[0])
		memcpy(to->command, from->command, sizeof(to->command));
	if (!has[1])
		to->webhook = from->webhook;
	if (!has[2]) {
		memcpy(to->managers, from->managers, sizeof(to->managers));
		to->n_managers = from->n_managers;
	}
	if (!to->authorization_file)
		to->authorization_file = from->authorization_file;
	if (!to->ca_file)
		to->ca_file = from->ca_file;
}

/* --- rules --- */
/* The column in the file, where the text stands there as it is. */
static yaml_mark_t rule_mark(const struct sp_yaml *y, size_t at)
{
	yaml_mark_t mark = y->event.start_mark;
	yaml_scalar_style_t style = y->event.data.scalar.style;
	bool is_quoted = style != YAML_PLAIN_SCALAR_STYLE;
	size_t len = y->event.end_mark.column - mark.column;

	if (mark.line == y->event.end_mark.line && len == y->event.data.scalar.length + (is_quoted ? 2 : 0))
		mark.column += at + is_quoted;
	return mark;
}

static int take_rule(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	size_t at = 0;
	int r = sp_agent_file_keep(y, t->c, "a rule", SP_ALERT_RULE_TEXT_MAX, &t->alert->text);

	if (r < 0)
		return r;
	r = sp_alert_rule_parse(t->alert->text, &t->alert->rule, &at);
	return r < 0 ? SP_YAML_FAIL(y, rule_mark(y, at), "%s", sp_error_text(r)) : 0;
}

static int take_name(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep(y, t->c, "a name", MAX_NAME, &t->alert->name);
}

/* Those that are the alert's own are not for others. */
static bool is_own_label(const char *name)
{
	static const char *const own[] = {"alertname", "library", "function", "process", "cgroup"};

	for (size_t i = 0; i < SP_COUNT(own); i++)
		if (!strcmp(own[i], name))
			return true;
	return false;
}

static int take_label(struct sp_yaml *y, const char *name, void *arg)
{
	struct taking *t = arg;
	struct sp_alert_config *alert = t->alert;
	size_t n = alert->n_labels;
	int r;

	if (n == SP_ALERT_LABELS)
		return SP_YAML_FAIL(y, y->key_at, "labels: more than %d", SP_ALERT_LABELS);
	if (strlen(name) > MAX_LABEL_NAME || !sp_agent_file_is_label(name) || is_own_label(name))
		return SP_YAML_FAIL(y, y->key_at, "labels: '%s' cannot be a label's name here", name);
	alert->labels[n].name = sp_agent_config_keep(t->c, name);
	if (!alert->labels[n].name)
		return sp_fail(-ENOMEM, "%s", y->name);
	r = sp_agent_file_keep(y, t->c, "a label's value", MAX_LABEL_VALUE, &alert->labels[n].value);
	alert->n_labels += r == 0;
	return r;
}

static int take_labels(struct sp_yaml *y, void *arg)
{
	return sp_yaml_pairs(y, "labels", take_label, arg);
}

/* --- the keys --- */
static const struct sp_yaml_key alert_keys[] = {
    {"rule", take_rule},
    {"name", take_name},
    {"labels", take_labels},
    {"command", take_command},
    {"webhook", take_webhook},
    {"alertmanager", take_managers},
    {"authorization-file", take_authorization},
    {"ca-file", take_ca},
    {0},
};
static const struct sp_yaml_key to_keys[] = {
    {"command", take_command},
    {"webhook", take_webhook},
    {"alertmanager", take_managers},
    {"authorization-file", take_authorization},
    {"ca-file", take_ca},
    {0},
};

static int take_alert(struct sp_yaml *y, void *arg)
{
	struct sp_agent_config *c = arg;
	struct sp_alert_config *alert = &c->alerts[c->n_alerts];
	struct taking t = {.c = c, .alert = alert, .to = &alert->to};
	yaml_mark_t mark = y->event.start_mark;
	int r;

	*alert = (struct sp_alert_config){0};
	if (y->event.type == YAML_SCALAR_EVENT) /* nothing but the rule */
		r = take_rule(y, &t);
	else
		r = sp_yaml_keys(y, "an alert", alert_keys, &t);
	if (r == 0 && !alert->text)
		return SP_YAML_FAIL(y, mark, "an alert without a rule");
	if (r < 0)
		return r;
	alert->name = alert->name ? alert->name : alert->text;
	for (size_t i = 0; i < c->n_alerts; i++)
		if (!strcmp(c->alerts[i].name, alert->name))
			return SP_YAML_FAIL(y, mark, "two alerts are called '%s'", alert->name);
	memcpy(alert->has_targets, t.has_targets, sizeof(alert->has_targets));
	c->n_alerts++;
	return 0;
}

int sp_agent_alerts_take(struct sp_yaml *y, void *arg)
{
	struct sp_agent_config *c = arg;

	c->alerts = calloc(SP_AGENT_MAX_ALERTS, sizeof(*c->alerts));
	if (!c->alerts)
		return sp_fail(-ENOMEM, "%s", y->name);
	return sp_yaml_items(y, "alerts", SP_AGENT_MAX_ALERTS, take_alert, c);
}

int sp_agent_alert_to_take(struct sp_yaml *y, void *arg)
{
	struct sp_agent_config *c = arg;
	struct taking t = {.c = c, .to = &c->alert_targets};

	return sp_yaml_keys(y, "alert-to", to_keys, &t);
}

void sp_agent_alerts_end(struct sp_agent_config *c)
{
	for (size_t i = 0; i < c->n_alerts; i++)
		inherit(&c->alerts[i].to, c->alerts[i].has_targets, &c->alert_targets);
}
