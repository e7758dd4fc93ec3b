/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_file.c: the agent's configuration file: YAML, one mapping of options to values or lists of values. */
#include "cmd/agent/agent_file.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "cmd/agent/agent_alerts.h"
#include <string.h>

enum { MAX_LIST_BYTES = 16384, MAX_PATH = 3000 };

int sp_agent_file_keep(struct sp_yaml *y, struct sp_agent_config *c, const char *wanted, size_t max,
		       const char **ret_text)
{
	int r = sp_yaml_check_text(y, wanted);
	char *kept;

	if (r < 0)
		return r;
	if (!y->event.data.scalar.length || y->event.data.scalar.length > max)
		return SP_YAML_FAIL(y, y->event.start_mark, "expected %s, of 1 to %zu bytes", wanted, max);
	kept = sp_agent_config_keep(c, sp_yaml_text(y));
	if (!kept)
		return sp_fail(-ENOMEM, "%s", y->name);
	*ret_text = kept;
	return 0;
}

int sp_agent_file_keep_path(struct sp_yaml *y, struct sp_agent_config *c, const char *what, const char **ret_path)
{
	int r = sp_agent_file_keep(y, c, "a file's path", MAX_PATH, ret_path);

	if (r == 0 && **ret_path != '/')
		return SP_YAML_FAIL(y, y->event.start_mark, "%s: '%s' does not begin with a /", what, *ret_path);
	return r;
}

bool sp_agent_file_is_label(const char *name)
{
	const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name && (*name < '0' || *name > '9') && strncmp(name, "__", 2) != 0 && !name[strspn(name, letters)];
}

/* --- options --- */
static int fail_unknown(const struct sp_yaml *y, const char *name)
{
	struct sp_suggest near = {.word = name};

	for (const struct sp_option *o = sp_agent_options; o->type != SP_OPT_END; o++)
		if (!sp_agent_option_is_action(o))
			sp_suggest_offer(&near, o->name);
	for (const struct sp_yaml_key *key = sp_agent_file_values; key->name; key++)
		sp_suggest_offer(&near, key->name);
	if (near.best)
		return SP_YAML_FAIL(y, y->key_at, "unknown option '%s'; did you mean %s?", name, near.best);
	return SP_YAML_FAIL(y, y->key_at, "unknown option '%s'; soprof agent --help lists them", name);
}

static int store_flag(const struct sp_yaml *y, const struct sp_option *o, struct sp_agent_args *args)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};

	for (size_t i = 0; i < SP_COUNT(words); i++) {
		if (strcasecmp(sp_yaml_text(y), words[i]) != 0)
			continue;
		*(bool *)((char *)args + o->offset) = i % 2;
		return 0;
	}
	return SP_YAML_FAIL(y, y->event.start_mark, "%s: '%s' is neither yes nor no", o->name, sp_yaml_text(y));
}

static int store_text(const struct sp_yaml *y, const struct sp_option *o, const char *value, yaml_mark_t mark,
		      struct sp_agent_args *args)
{
	char *kept = sp_agent_config_keep(&args->config, value);
	int r = kept ? sp_option_store(o, o->name, kept, args) : sp_fail(-ENOMEM, "%s", y->name);

	return r == -EINVAL ? SP_YAML_FAIL(y, mark, "%s", sp_error_text(r)) : r;
}

struct joined {
	const struct sp_option *o;
	char text[MAX_LIST_BYTES];
	size_t n;
};

static int join_item(struct sp_yaml *y, void *arg)
{
	struct joined *l = arg;
	int r = sp_yaml_check_text(y, "a value of the list");

	if (r < 0)
		return r;
	if (strchr(sp_yaml_text(y), l->o->separator))
		return SP_YAML_FAIL(y, y->event.start_mark, "%s: '%s' has a '%c' in it", l->o->name, sp_yaml_text(y),
				    l->o->separator);
	if (y->event.data.scalar.length + 2 > sizeof(l->text) - l->n)
		return SP_YAML_FAIL(y, y->event.start_mark, "%s: the list is too long", l->o->name);
	l->n += (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%.1s%s", l->n ? &l->o->separator : "",
				 sp_yaml_text(y));
	return 0;
}

/* [a, b] is what a,b is on the command line. */
static int store_list(struct sp_yaml *y, const struct sp_option *o, struct sp_agent_args *args)
{
	struct joined all = {.o = o};
	yaml_mark_t mark = y->event.start_mark;
	int r;

	if (!o->separator)
		return SP_YAML_FAIL(y, mark, "%s has one value, not a list", o->name);
	r = sp_yaml_items(y, o->name, MAX_LIST_BYTES, join_item, &all);
	return r < 0 ? r : store_text(y, o, all.text, mark, args);
}

static int take_option(struct sp_yaml *y, const struct sp_option *o, struct sp_agent_args *args)
{
	int r;

	if (y->event.type == YAML_SEQUENCE_START_EVENT)
		return store_list(y, o, args);
	r = sp_yaml_check_text(y, "a value, or a list of them");
	if (r < 0)
		return r;
	return o->type == SP_OPT_FLAG ? store_flag(y, o, args)
				      : store_text(y, o, sp_yaml_text(y), y->event.start_mark, args);
}

static int take_pair(struct sp_yaml *y, const char *name, void *arg)
{
	struct sp_agent_args *args = arg;

	for (const struct sp_yaml_key *key = sp_agent_file_values; key->name; key++)
		if (!strcmp(key->name, name))
			return key->take(y, &args->config);
	for (const struct sp_option *o = sp_agent_options; o->type != SP_OPT_END; o++)
		if (!sp_agent_option_is_action(o) && !strcmp(o->name, name))
			return take_option(y, o, args);
	return fail_unknown(y, name);
}

static int take_file(struct sp_yaml *y, void *arg)
{
	return sp_yaml_pairs(y, "the file", take_pair, arg);
}

int sp_agent_file_parse(const char *name, const char *text, size_t len, struct sp_agent_args *args)
{
	int r = sp_yaml_read(name, text, len, take_file, args);

	if (r == 0)
		sp_agent_alerts_end(&args->config);
	return r;
}
