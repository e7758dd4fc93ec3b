/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_file.c: the agent's configuration file: YAML, one mapping of options to values or lists of values.
 *
 * libyaml's events are handled as they come, so nothing is built in memory and every message has a line and a column.
 * Unknown keys, keys given twice, mappings in mappings, aliases and a second document are refused.
 */
#include "cmd/agent/agent_file.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "cmd/agent/agent_alerts.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST_BYTES = 16384 };

#define SAY SP_AGENT_FILE_SAY

int sp_agent_file_next(struct sp_agent_file *f)
{
	if (f->has_event)
		yaml_event_delete(&f->event);
	f->has_event = yaml_parser_parse(&f->yaml, &f->event) != 0;
	if (f->has_event)
		return 0;
	if (f->yaml.error == YAML_MEMORY_ERROR)
		return sp_fail(-ENOMEM, "%s", f->name);
	if (f->yaml.error == YAML_READER_ERROR)
		return sp_fail_said(-EINVAL, "%s: byte %zu: %s", f->name, f->yaml.problem_offset, f->yaml.problem);
	return SAY(f, f->yaml.problem_mark, "%s%s%s", f->yaml.problem, f->yaml.context ? " " : "",
		   f->yaml.context ? f->yaml.context : "");
}

const char *sp_agent_file_scalar(const struct sp_agent_file *f)
{
	return (const char *)f->event.data.scalar.value;
}

int sp_agent_file_check_scalar(struct sp_agent_file *f, const char *wanted)
{
	if (f->event.type == YAML_ALIAS_EVENT || (f->event.type == YAML_SCALAR_EVENT && f->event.data.scalar.anchor))
		return SAY(f, f->event.start_mark, "anchors and aliases are not for this file");
	if (f->event.type != YAML_SCALAR_EVENT)
		return SAY(f, f->event.start_mark, "expected %s", wanted);
	if (strlen(sp_agent_file_scalar(f)) != f->event.data.scalar.length)
		return SAY(f, f->event.start_mark, "a NUL byte in a value");
	return 0;
}

int sp_agent_file_keep(struct sp_agent_file *f, const char *wanted, size_t max, const char **ret_text)
{
	int r = sp_agent_file_check_scalar(f, wanted);
	char *kept;

	if (r < 0)
		return r;
	if (!f->event.data.scalar.length || f->event.data.scalar.length > max)
		return SAY(f, f->event.start_mark, "expected %s, of 1 to %zu bytes", wanted, max);
	kept = sp_agent_config_keep(&f->args->config, sp_agent_file_scalar(f));
	if (!kept)
		return sp_fail(-ENOMEM, "%s", f->name);
	*ret_text = kept;
	return 0;
}

/* --- values of more than a word --- */
static int key_find(struct sp_agent_file *f, const char *wanted, const struct sp_agent_file_key *keys, uint64_t *given,
		    const struct sp_agent_file_key **ret_key)
{
	struct sp_suggest near = {.word = sp_agent_file_scalar(f)};
	size_t i;

	for (i = 0; keys[i].name && strcmp(keys[i].name, near.word) != 0; i++)
		sp_suggest_offer(&near, keys[i].name);
	if (!keys[i].name && near.best)
		return SAY(f, f->event.start_mark, "%s has no '%s'; did you mean %s?", wanted, near.word, near.best);
	if (!keys[i].name)
		return SAY(f, f->event.start_mark, "%s has no '%s'", wanted, near.word);
	if (*given & 1ULL << i)
		return SAY(f, f->event.start_mark, "%s is there twice", keys[i].name);
	*given |= 1ULL << i;
	*ret_key = &keys[i];
	return 0;
}

int sp_agent_file_mapping(struct sp_agent_file *f, const char *wanted, const struct sp_agent_file_key *keys, void *arg)
{
	const struct sp_agent_file_key *key = NULL;
	uint64_t given = 0;
	int r;

	if (f->event.type != YAML_MAPPING_START_EVENT || f->event.data.mapping_start.anchor)
		return SAY(f, f->event.start_mark, "expected %s: lines of NAME: VALUE", wanted);
	while ((r = sp_agent_file_next(f)) == 0 && f->event.type != YAML_MAPPING_END_EVENT) {
		r = sp_agent_file_check_scalar(f, "a name");
		if (r == 0)
			r = key_find(f, wanted, keys, &given, &key);
		if (r == 0)
			r = sp_agent_file_next(f);
		if (r == 0)
			r = key->take(f, arg);
		if (r < 0)
			return r;
	}
	return r;
}

int sp_agent_file_list(struct sp_agent_file *f, const char *wanted, size_t max,
		       int (*take)(struct sp_agent_file *f, void *arg), void *arg)
{
	size_t n = 0;
	int r;

	if (f->event.type != YAML_SEQUENCE_START_EVENT || f->event.data.sequence_start.anchor)
		return SAY(f, f->event.start_mark, "expected %s: a list", wanted);
	while ((r = sp_agent_file_next(f)) == 0 && f->event.type != YAML_SEQUENCE_END_EVENT) {
		if (n++ == max)
			return SAY(f, f->event.start_mark, "%s: more than %zu", wanted, max);
		r = take(f, arg);
		if (r < 0)
			return r;
	}
	return r;
}

/* --- options --- */
static int unknown(struct sp_agent_file *f)
{
	struct sp_suggest near = {.word = sp_agent_file_scalar(f)};

	for (const struct sp_option *o = sp_agent_options; o->type != SP_OPT_END; o++)
		if (!sp_agent_option_is_action(o))
			sp_suggest_offer(&near, o->name);
	for (const struct sp_agent_file_key *key = sp_agent_file_values; key->name; key++)
		sp_suggest_offer(&near, key->name);
	if (near.best)
		return SAY(f, f->event.start_mark, "unknown option '%s'; did you mean %s?", sp_agent_file_scalar(f),
			   near.best);
	return SAY(f, f->event.start_mark, "unknown option '%s'; soprof agent --help lists them",
		   sp_agent_file_scalar(f));
}

static int find(struct sp_agent_file *f, const struct sp_option **ret_option)
{
	for (size_t i = 0; sp_agent_options[i].type != SP_OPT_END; i++) {
		const struct sp_option *o = &sp_agent_options[i];
		if (sp_agent_option_is_action(o) || strcmp(o->name, sp_agent_file_scalar(f)) != 0)
			continue;
		if (f->given & 1ULL << i)
			return SAY(f, f->event.start_mark, "%s is there twice", o->name);
		f->given |= 1ULL << i;
		*ret_option = o;
		return 0;
	}
	return unknown(f);
}

static int store_flag(struct sp_agent_file *f, const struct sp_option *o)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};

	for (size_t i = 0; i < SP_COUNT(words); i++) {
		if (strcasecmp(sp_agent_file_scalar(f), words[i]) != 0)
			continue;
		*(bool *)((char *)f->args + o->offset) = i % 2;
		return 0;
	}
	return SAY(f, f->event.start_mark, "%s: '%s' is neither yes nor no", o->name, sp_agent_file_scalar(f));
}

static int store(struct sp_agent_file *f, const struct sp_option *o, const char *value, yaml_mark_t mark)
{
	char *kept = sp_agent_config_keep(&f->args->config, value);
	int r = kept ? sp_option_store(o, o->name, kept, f->args) : sp_fail(-ENOMEM, "%s", f->name);

	return r == -EINVAL ? SAY(f, mark, "%s", sp_error_text(r)) : r;
}

/* [a, b] is what a,b is on the command line. */
static int store_list(struct sp_agent_file *f, const struct sp_option *o)
{
	char all[MAX_LIST_BYTES] = "";
	yaml_mark_t mark = f->event.start_mark;
	size_t n = 0;
	int r;

	if (!o->separator)
		return SAY(f, mark, "%s has one value, not a list", o->name);
	if (f->event.data.sequence_start.anchor)
		return SAY(f, mark, "anchors and aliases are not for this file");
	while ((r = sp_agent_file_next(f)) == 0 && f->event.type != YAML_SEQUENCE_END_EVENT) {
		r = sp_agent_file_check_scalar(f, "a value of the list");
		if (r < 0)
			return r;
		if (strchr(sp_agent_file_scalar(f), o->separator))
			return SAY(f, f->event.start_mark, "%s: '%s' has a '%c' in it", o->name,
				   sp_agent_file_scalar(f), o->separator);
		if (f->event.data.scalar.length + 2 > sizeof(all) - n)
			return SAY(f, f->event.start_mark, "%s: the list is too long", o->name);
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%.1s%s", n ? &o->separator : "",
				      sp_agent_file_scalar(f));
	}
	return r < 0 ? r : store(f, o, all, mark);
}

static const struct sp_agent_file_key *find_value(const struct sp_agent_file *f)
{
	const struct sp_agent_file_key *key = sp_agent_file_values;

	while (key->name && strcmp(key->name, sp_agent_file_scalar(f)) != 0)
		key++;
	return key->name ? key : NULL;
}

static int take_value(struct sp_agent_file *f, const struct sp_agent_file_key *key)
{
	uint64_t bit = 1ULL << (key - sp_agent_file_values);
	int r;

	if (f->given_values & bit)
		return SAY(f, f->event.start_mark, "%s is there twice", key->name);
	f->given_values |= bit;
	r = sp_agent_file_next(f);
	return r < 0 ? r : key->take(f, &f->args->config);
}

/* One key, which is the current event, and its value. */
static int pair(struct sp_agent_file *f)
{
	const struct sp_option *o = NULL;
	int r = sp_agent_file_check_scalar(f, "the name of an option");

	if (r == 0 && find_value(f))
		return take_value(f, find_value(f));
	if (r == 0)
		r = find(f, &o);
	if (r == 0)
		r = sp_agent_file_next(f);
	if (r < 0)
		return r;
	if (f->event.type == YAML_SEQUENCE_START_EVENT)
		return store_list(f, o);
	r = sp_agent_file_check_scalar(f, "a value, or a list of them");
	if (r < 0)
		return r;
	return o->type == SP_OPT_FLAG ? store_flag(f, o) : store(f, o, sp_agent_file_scalar(f), f->event.start_mark);
}

static int mapping(struct sp_agent_file *f)
{
	int r;

	while ((r = sp_agent_file_next(f)) == 0 && f->event.type != YAML_MAPPING_END_EVENT) {
		r = pair(f);
		if (r < 0)
			return r;
	}
	return r;
}

/* Nothing but comments is a null scalar, if there is a document at all. */
static bool is_nothing(const struct sp_agent_file *f)
{
	return f->event.type == YAML_SCALAR_EVENT && f->event.data.scalar.plain_implicit &&
	       !f->event.data.scalar.length;
}

static int document(struct sp_agent_file *f)
{
	int r = sp_agent_file_next(f);

	if (r < 0)
		return r;
	if (f->event.type == YAML_MAPPING_START_EVENT)
		r = mapping(f);
	else if (!is_nothing(f))
		return SAY(f, f->event.start_mark, "expected lines of OPTION: VALUE");
	return r < 0 ? r : sp_agent_file_next(f); /* the document's end */
}

static int stream(struct sp_agent_file *f)
{
	int r = sp_agent_file_next(f), n = 0;

	while (r == 0 && f->event.type != YAML_STREAM_END_EVENT) {
		if (f->event.type == YAML_DOCUMENT_START_EVENT && n++)
			return SAY(f, f->event.start_mark, "a second document");
		if (f->event.type == YAML_DOCUMENT_START_EVENT)
			r = document(f);
		if (r == 0)
			r = sp_agent_file_next(f);
	}
	return r;
}

int sp_agent_file_parse(const char *name, const char *text, size_t len, struct sp_agent_args *args)
{
	struct sp_agent_file f = {.name = name, .args = args};
	int r;

	if (!yaml_parser_initialize(&f.yaml))
		return sp_fail(-ENOMEM, "%s", name);
	yaml_parser_set_input_string(&f.yaml, (const unsigned char *)text, len);
	r = stream(&f);
	if (f.has_event)
		yaml_event_delete(&f.event);
	yaml_parser_delete(&f.yaml);
	if (r == 0)
		sp_agent_alerts_end(&args->config);
	return r;
}
