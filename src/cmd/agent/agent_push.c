/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_push.c: the keys pyroscope and otlp of the configuration file: servers that get profiles (export/push.h).
 *
 * Both have the same keys. Labels are a mapping, kept as NAME=VALUE.
 */
#include "agent/export/push.h"
#include "base/mem.h"
#include "cmd/agent/agent_file.h"
#include <limits.h>

struct taking {
	struct sp_agent_config *c;
	struct sp_agent_push *push;
};

static int take_url(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;
	int r = sp_agent_file_keep(y, t->c, "a URL", SP_PUSH_URL_MAX, &t->push->url);

	if (r == 0 && sp_push_url_check(t->push->url) < 0)
		return SP_YAML_FAIL(y, y->event.start_mark, "url: %s", sp_error_text(-EINVAL));
	return r;
}

static int take_headers(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep_path(y, t->c, "headers-file", &t->push->headers_file);
}

static int take_ca(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep_path(y, t->c, "ca-file", &t->push->ca_file);
}

static int take_host(struct sp_yaml *y, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep(y, t->c, "a host's name", HOST_NAME_MAX, &t->push->host);
}

static int take_label(struct sp_yaml *y, const char *name, void *arg)
{
	struct taking *t = arg;

	return sp_agent_file_keep_label(y, t->c, name, t->push->labels, &t->push->n_labels);
}

static int take_labels(struct sp_yaml *y, void *arg)
{
	return sp_yaml_pairs(y, "labels", take_label, arg);
}

static int take_resolution(struct sp_yaml *y, void *arg)
{
	return sp_agent_file_resolution(y, &((struct taking *)arg)->push->resolution_s);
}

static const struct sp_yaml_key keys[] = {
    {"url", take_url},
    {"headers-file", take_headers},
    {"ca-file", take_ca},
    {"host", take_host},
    {"labels", take_labels},
    {"resolution", take_resolution},
    {0},
};

static int push_take(struct sp_yaml *y, struct sp_agent_config *c, enum sp_push_kind kind)
{
	struct taking t = {.c = c, .push = &c->pushes[kind]};
	yaml_mark_t mark = y->event.start_mark;
	int r;

	*t.push = (struct sp_agent_push){.resolution_s = 60};
	r = sp_yaml_keys(y, sp_push_words[kind], keys, &t);
	if (r < 0)
		return r;
	if (!t.push->url)
		return SP_YAML_FAIL(y, mark, "%s: it has no url", sp_push_words[kind]);
	return sp_agent_file_keep_host(y, c, &t.push->host);
}

int sp_agent_file_pyroscope(struct sp_yaml *y, void *config)
{
	return push_take(y, config, SP_PUSH_PYROSCOPE);
}

int sp_agent_file_otlp(struct sp_yaml *y, void *config)
{
	return push_take(y, config, SP_PUSH_OTLP);
}
