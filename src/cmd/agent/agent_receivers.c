/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_receivers.c: the keys fleet, pyroscope and otlp of the configuration file: who is sent what the store has.
 *
 * A host of a fleet is known by its name and its machine id. Labels are a mapping, kept as NAME=VALUE. Also which files
 * all have to which something is sent.
 */
#include "agent/export/push.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/agent/agent_file.h"
#include "cmd/agent/agent_options.h"
#include "fleet/client.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAME = 63, MAX_USER = 255, MAX_MACHINE = 128, MAX_LABEL_VALUE = 255, MAX_FILE = 4 << 20 };

struct taking {
	struct sp_agent_config *c;
	struct sp_agent_receiver *to;
	enum sp_receiver kind;
};

static int take_url(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	bool is_fleet = t->kind == SP_RECEIVER_FLEET;
	int r = sp_agent_file_keep(y, t->c, "a URL", is_fleet ? SP_FLEET_URL_MAX : SP_PUSH_URL_MAX, &t->to->url);

	if (r == 0 && (is_fleet ? sp_fleet_url_check(t->to->url) : sp_push_url_check(t->to->url)) < 0)
		return SP_YAML_FAIL(y, y->event.start_mark, "url: %s", sp_error_text(-EINVAL));
	return r;
}

static int take_database(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	int r = sp_agent_file_keep(y, t->c, "a database's name", MAX_NAME, &t->to->database);

	if (r == 0 && sp_fleet_database_check(t->to->database) < 0)
		return SP_YAML_FAIL(y, y->event.start_mark, "database: %s", sp_error_text(-EINVAL));
	return r;
}

static int take_user(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep(y, t->c, "a user's name", MAX_USER, &t->to->user);
}

static int take_host(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep(y, t->c, "a host's name", HOST_NAME_MAX, &t->to->host);
}

static int take_secret(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	const char *key = t->kind == SP_RECEIVER_FLEET ? "password-file" : "headers-file";

	return sp_agent_file_keep_path(y, t->c, key, &t->to->secret_file);
}

static int take_ca(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep_path(y, t->c, "ca-file", &t->to->ca_file);
}

static int take_resolution(struct sp_yaml *y, void *arg)
{
	static const char *const words[] = {"10s", "1m", "1h", NULL};
	static const uint32_t lengths[] = {10, 60, 3600};
	int i = 0, r = sp_yaml_choice(y, words, "10s, 1m or 1h", &i);

	if (r == 0)
		((struct taking *)arg)->to->resolution_s = lengths[i];
	return r;
}

static int take_label(struct sp_yaml *y, const char *name, void *arg)
{
	struct taking *t = arg;
	struct sp_agent_receiver *to = t->to;
	SP_FREE char *text = NULL;
	const char *value = NULL;
	int r = sp_agent_file_keep(y, t->c, "a value", MAX_LABEL_VALUE, &value);

	if (r < 0)
		return r;
	if (!sp_agent_file_is_label(name) || strlen(name) > MAX_NAME || strpbrk(value, "\r\n"))
		return SP_YAML_FAIL(y, y->key_at, "'%s: %s' is not a label such as service: web", name, value);
	if (to->n_labels == SP_AGENT_MAX_LABELS)
		return SP_YAML_FAIL(y, y->key_at, "labels: more than %d", SP_AGENT_MAX_LABELS);
	if (asprintf(&text, "%s=%s", name, value) < 0)
		return sp_fail(-ENOMEM, "%s", y->name);
	to->labels[to->n_labels] = sp_agent_config_keep(t->c, text);
	return to->labels[to->n_labels++] ? 0 : sp_fail(-ENOMEM, "%s", y->name);
}

static int take_labels(struct sp_yaml *y, void *arg)
{
	return sp_yaml_pairs(y, "labels", take_label, arg);
}

static const struct sp_yaml_key fleet_keys[] = {
    {"url", take_url},
    {"database", take_database},
    {"user", take_user},
    {"password-file", take_secret},
    {"ca-file", take_ca},
    {"host", take_host},
    {"labels", take_labels},
    {"resolution", take_resolution},
    {0},
};
static const struct sp_yaml_key push_keys[] = {
    {"url", take_url},
    {"headers-file", take_secret},
    {"ca-file", take_ca},
    {"host", take_host},
    {"labels", take_labels},
    {"resolution", take_resolution},
    {0},
};

/* Unless it is given: this machine's name. */
static int host_keep(struct sp_yaml *y, struct taking *t)
{
	char name[HOST_NAME_MAX + 1] = "";
	SP_FREE char *machine = NULL;

	if (t->to->host)
		return 0;
	if (gethostname(name, sizeof(name) - 1) < 0 || !*name)
		snprintf(name, sizeof(name), "localhost");
	t->to->host = sp_agent_config_keep(t->c, name);
	if (sp_text_read("/etc/machine-id", MAX_MACHINE, &machine, NULL) < 0)
		sp_error_clear();
	if (machine)
		machine[strcspn(machine, "\n")] = '\0';
	t->to->machine = sp_agent_config_keep(t->c, machine ? machine : "");
	return t->to->host && t->to->machine ? 0 : sp_fail(-ENOMEM, "%s", y->name);
}

static int take_receiver(struct sp_yaml *y, struct sp_agent_config *c, enum sp_receiver kind)
{
	struct taking t = {.c = c, .to = &c->receivers[kind], .kind = kind};
	yaml_mark_t mark = y->event.start_mark;
	int r;

	*t.to = (struct sp_agent_receiver){.resolution_s = 60};
	r = sp_yaml_keys(y, sp_receiver_words[kind], kind == SP_RECEIVER_FLEET ? fleet_keys : push_keys, &t);
	if (r < 0)
		return r;
	if (!t.to->url)
		return SP_YAML_FAIL(y, mark, "%s: it has no url", sp_receiver_words[kind]);
	return host_keep(y, &t);
}

int sp_agent_file_fleet(struct sp_yaml *y, void *config)
{
	return take_receiver(y, config, SP_RECEIVER_FLEET);
}

int sp_agent_file_pyroscope(struct sp_yaml *y, void *config)
{
	return take_receiver(y, config, SP_RECEIVER_PYROSCOPE);
}

int sp_agent_file_otlp(struct sp_yaml *y, void *config)
{
	return take_receiver(y, config, SP_RECEIVER_OTLP);
}

/* --- files of all that something is sent to --- */
int sp_agent_each_receiver(const struct sp_agent_config *c,
			   int (*take)(void *arg, const char *secret_file, const char *ca_file), void *arg)
{
	int e = take(arg, c->alert_targets.authorization_file, c->alert_targets.ca_file);

	for (size_t i = 0; e >= 0 && i < c->n_alerts; i++)
		e = take(arg, c->alerts[i].to.authorization_file, c->alerts[i].to.ca_file);
	for (size_t i = 0; e >= 0 && i < c->n_remotes; i++)
		e = take(arg, c->remotes[i].authorization_file, c->remotes[i].ca_file);
	for (size_t i = 0; e >= 0 && i < SP_N_RECEIVERS; i++)
		e = take(arg, c->receivers[i].secret_file, c->receivers[i].ca_file);
	return e;
}

static int files_check(void *arg, const char *secret_file, const char *ca_file)
{
	const char *paths[] = {secret_file, ca_file};
	int r = 0;

	(void)arg;
	for (size_t i = 0; i < SP_COUNT(paths) && r == 0; i++) {
		SP_FREE char *text = NULL;
		r = paths[i] ? sp_text_read(paths[i], MAX_FILE, &text, NULL) : 0;
	}
	return r;
}

int sp_agent_files_check(const struct sp_agent_config *c)
{
	return sp_agent_each_receiver(c, files_check, NULL);
}
