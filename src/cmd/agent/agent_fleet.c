/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_fleet.c: the key fleet of the configuration file: the ClickHouse server that gets the agent's windows.
 *
 * A host is known by its name and its machine id. Labels are a mapping, kept as NAME=VALUE.
 */
#include "base/mem.h"
#include "base/text.h"
#include "cmd/agent/agent_file.h"
#include "fleet/client.h"
#include <limits.h>
#include <string.h>

enum { MAX_NAME = 63, MAX_USER = 255, MAX_MACHINE = 128 };

static int take_url(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;
	int r = sp_agent_file_keep(y, c, "a URL", SP_FLEET_URL_MAX, &c->fleet.url);

	if (r == 0 && sp_fleet_url_check(c->fleet.url) < 0)
		return SP_YAML_FAIL(y, y->event.start_mark, "url: %s", sp_error_text(-EINVAL));
	return r;
}

static int take_database(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;
	int r = sp_agent_file_keep(y, c, "a database's name", MAX_NAME, &c->fleet.database);

	if (r == 0 && sp_fleet_database_check(c->fleet.database) < 0)
		return SP_YAML_FAIL(y, y->event.start_mark, "database: %s", sp_error_text(-EINVAL));
	return r;
}

static int take_user(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;

	return sp_agent_file_keep(y, c, "a user's name", MAX_USER, &c->fleet.user);
}

static int take_host(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;

	return sp_agent_file_keep(y, c, "a host's name", HOST_NAME_MAX, &c->fleet.host);
}

static int take_password(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;

	return sp_agent_file_keep_path(y, c, "password-file", &c->fleet.password_file);
}

static int take_ca(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;

	return sp_agent_file_keep_path(y, c, "ca-file", &c->fleet.ca_file);
}

static int take_resolution(struct sp_yaml *y, void *config)
{
	return sp_agent_file_resolution(y, &((struct sp_agent_config *)config)->fleet.resolution_s);
}

static int take_label(struct sp_yaml *y, const char *name, void *config)
{
	struct sp_agent_fleet *fleet = &((struct sp_agent_config *)config)->fleet;

	return sp_agent_file_keep_label(y, config, name, fleet->labels, &fleet->n_labels);
}

static int take_labels(struct sp_yaml *y, void *config)
{
	return sp_yaml_pairs(y, "labels", take_label, config);
}

static const struct sp_yaml_key keys[] = {
    {"url", take_url},
    {"database", take_database},
    {"user", take_user},
    {"password-file", take_password},
    {"ca-file", take_ca},
    {"host", take_host},
    {"labels", take_labels},
    {"resolution", take_resolution},
    {0},
};

/* Unless they are given: this machine's. */
static int host_keep(struct sp_yaml *y, struct sp_agent_config *c)
{
	SP_FREE char *machine = NULL;

	if (c->fleet.host)
		return 0;
	if (sp_text_read("/etc/machine-id", MAX_MACHINE, &machine, NULL) < 0)
		sp_error_clear();
	if (machine)
		machine[strcspn(machine, "\n")] = '\0';
	c->fleet.machine = sp_agent_config_keep(c, machine ? machine : "");
	return c->fleet.machine ? sp_agent_file_keep_host(y, c, &c->fleet.host) : sp_fail(-ENOMEM, "%s", y->name);
}

int sp_agent_file_fleet(struct sp_yaml *y, void *config)
{
	struct sp_agent_config *c = config;
	yaml_mark_t mark = y->event.start_mark;
	int r;

	c->fleet = (struct sp_agent_fleet){.resolution_s = 60};
	r = sp_yaml_keys(y, "fleet", keys, c);
	if (r < 0)
		return r;
	if (!c->fleet.url)
		return SP_YAML_FAIL(y, mark, "fleet: it has no url");
	return host_keep(y, c);
}
