/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_remote.c: the key remote-write of the configuration file: a list of targets.
 *
 * Two targets with one name (remote_write.h) could not be told apart, so they are refused. Labels are kept as the text
 * that is sent with each series, ordered by name.
 */
#include "agent/exec/post.h"
#include "agent/export/exposition.h"
#include "agent/export/remote_write.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "cmd/agent/agent_file.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LABELS = 8, MAX_NAME = 63, MAX_VALUE = 255, NAME = 256 };
#define DEFAULT_INTERVAL_NS (30 * SP_NS_PER_S)
#define MIN_INTERVAL_NS SP_NS_PER_S
#define MAX_INTERVAL_NS (3600 * SP_NS_PER_S)

struct remote {
	struct sp_agent_config *c;
	struct sp_agent_remote *remote;
	struct label {
		char name[MAX_NAME + 1], value[MAX_VALUE + 1];
	} labels[MAX_LABELS + 2];
	size_t n_labels;
};

static int take_url(struct sp_yaml *y, void *arg)
{
	struct remote *t = arg;
	int r = sp_agent_file_keep(y, t->c, "a URL", SP_POST_URL_MAX, &t->remote->url);

	if (r == 0 && sp_post_url_check(t->remote->url) < 0)
		return SP_YAML_FAIL(y, y->event.start_mark, "url: %s", sp_error_text(-EINVAL));
	return r;
}

static int take_interval(struct sp_yaml *y, void *arg)
{
	struct sp_agent_remote *t = ((struct remote *)arg)->remote;
	int r = sp_yaml_check_text(y, "a time");

	if (r < 0)
		return r;
	if (sp_parse_duration(sp_yaml_text(y), &t->interval_ns) < 0 || t->interval_ns < MIN_INTERVAL_NS ||
	    t->interval_ns > MAX_INTERVAL_NS)
		return SP_YAML_FAIL(y, y->event.start_mark, "interval: '%s' is not a time of 1s to 1h",
				    sp_yaml_text(y));
	return 0;
}

static int take_authorization(struct sp_yaml *y, void *arg)
{
	struct remote *t = arg;

	return sp_agent_file_keep_path(y, t->c, "authorization-file", &t->remote->authorization_file);
}

static int take_ca(struct sp_yaml *y, void *arg)
{
	struct remote *t = arg;

	return sp_agent_file_keep_path(y, t->c, "ca-file", &t->remote->ca_file);
}

static bool is_label(const struct label *l, const char *text)
{
	return sp_agent_file_is_label(l->name) && strlen(text) <= strlen(l->name) + 1 + MAX_VALUE && *l->value;
}

static int take_label(struct sp_yaml *y, void *arg)
{
	struct remote *t = arg;
	struct label *l = &t->labels[t->n_labels];
	int r = sp_yaml_check_text(y, "NAME=VALUE");
	const char *text, *equals;

	if (r < 0)
		return r;
	text = sp_yaml_text(y);
	equals = strchrnul(text, '=');
	snprintf(l->name, sizeof(l->name), "%.*s", (int)SP_MIN(equals - text, MAX_NAME + 1), text);
	snprintf(l->value, sizeof(l->value), "%s", *equals ? equals + 1 : "");
	if (equals - text > MAX_NAME || !is_label(l, text))
		return SP_YAML_FAIL(y, y->event.start_mark, "'%s' is not a label such as job=soprof", text);
	for (size_t i = 0; i < t->n_labels; i++)
		if (!strcmp(t->labels[i].name, l->name))
			return SP_YAML_FAIL(y, y->event.start_mark, "label %s is there twice", l->name);
	t->n_labels++;
	return 0;
}

static int take_labels(struct sp_yaml *y, void *arg)
{
	return sp_yaml_items(y, "a list of labels", MAX_LABELS, take_label, arg);
}

static const struct sp_yaml_key keys[] = {
    {"url", take_url},    {"interval", take_interval}, {"authorization-file", take_authorization},
    {"ca-file", take_ca}, {"labels", take_labels},     {0},
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

/* As a scrape would have them, unless they are given. */
static void label_default(struct remote *t, const char *name, const char *value)
{
	struct label *l = &t->labels[t->n_labels];

	for (size_t i = 0; i < t->n_labels; i++)
		if (!strcmp(t->labels[i].name, name))
			return;
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->value, sizeof(l->value), "%s", value);
	t->n_labels++;
}

static int labels_keep(struct sp_yaml *y, struct remote *t)
{
	SP_FREE struct sp_labels *text = calloc(1, sizeof(*text));
	char host[HOST_NAME_MAX + 1] = "";
	int r = text ? 0 : -ENOMEM;

	if (gethostname(host, sizeof(host) - 1) < 0 || !*host)
		snprintf(host, sizeof(host), "localhost");
	label_default(t, "instance", host);
	label_default(t, "job", "soprof");
	qsort(t->labels, t->n_labels, sizeof(*t->labels), by_name);
	for (size_t i = 0; r == 0 && i < t->n_labels; i++)
		r = sp_label_add(text, t->labels[i].name, t->labels[i].value);
	t->remote->labels = r == 0 ? sp_agent_config_keep(t->c, text->text) : NULL;
	return t->remote->labels ? 0 : sp_fail(-ENOMEM, "%s", y->name);
}

static bool is_there(const struct sp_agent_config *c, const char *url)
{
	char name[NAME], other[NAME];

	sp_remote_name(url, name, sizeof(name));
	for (size_t i = 0; i < c->n_remotes; i++) {
		sp_remote_name(c->remotes[i].url, other, sizeof(other));
		if (!strcmp(name, other))
			return true;
	}
	return false;
}

static int take_remote(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;
	struct sp_agent_remote *to = &c->remotes[c->n_remotes];
	SP_FREE struct remote *t = calloc(1, sizeof(*t));
	yaml_mark_t mark = y->event.start_mark;
	int r;

	if (!t)
		return sp_fail(-ENOMEM, "%s", y->name);
	*to = (struct sp_agent_remote){.interval_ns = DEFAULT_INTERVAL_NS};
	t->c = c;
	t->remote = to;
	r = sp_yaml_keys(y, "remote-write", keys, t);
	if (r < 0)
		return r;
	if (!to->url)
		return SP_YAML_FAIL(y, mark, "remote-write: a target has no url");
	if (is_there(c, to->url))
		return SP_YAML_FAIL(y, mark, "remote-write: %s is there twice", to->url);
	r = labels_keep(y, t);
	c->n_remotes += r == 0;
	return r;
}

int sp_agent_file_remotes(struct sp_yaml *y, void *config)
{
	return sp_yaml_items(y, "remote-write", SP_AGENT_MAX_REMOTES, take_remote, config);
}
