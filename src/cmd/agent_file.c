/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_file.c: the agent's configuration file: YAML, one mapping of options to values or to lists of values.
 *
 * libyaml's events are taken as they come, so that nothing of the file is built up in memory and every message has a
 * line and a column. What the file may not have is refused, not passed over: unknown keys, keys given twice, mappings
 * in mappings, aliases, a second document.
 */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/agent_options.h"
#include "cmd/suggest.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_LIST_BYTES = 16384 };

struct file {
	const char *name;
	yaml_parser_t yaml;
	yaml_event_t event; /* the last that came */
	bool has_event;
	struct sp_agent_args *args;
	uint64_t given; /* a bit for each option */
};

/* Where and what; then what is in the chain already. */
#define SAY(f, mark, format, ...)                                                                                      \
	sp_fail_said(-EINVAL, "%s:%zu:%zu: " format, (f)->name, (mark).line + 1, (mark).column + 1, ##__VA_ARGS__)

static int next(struct file *f)
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

static const char *scalar(const struct file *f)
{
	return (const char *)f->event.data.scalar.value;
}

static int check_scalar(struct file *f, const char *wanted)
{
	if (f->event.type == YAML_ALIAS_EVENT || (f->event.type == YAML_SCALAR_EVENT && f->event.data.scalar.anchor))
		return SAY(f, f->event.start_mark, "anchors and aliases are not for this file");
	if (f->event.type != YAML_SCALAR_EVENT)
		return SAY(f, f->event.start_mark, "expected %s", wanted);
	if (strlen(scalar(f)) != f->event.data.scalar.length)
		return SAY(f, f->event.start_mark, "a NUL byte in a value");
	return 0;
}

static int unknown(struct file *f)
{
	struct sp_suggest near = {.word = scalar(f)};

	for (const struct sp_option *o = sp_agent_options; o->type != SP_OPT_END; o++)
		if (!sp_agent_option_is_action(o))
			sp_suggest_offer(&near, o->name);
	if (near.best)
		return SAY(f, f->event.start_mark, "unknown option '%s'; did you mean %s?", scalar(f), near.best);
	return SAY(f, f->event.start_mark, "unknown option '%s'; soprof agent --help lists them", scalar(f));
}

static int find(struct file *f, const struct sp_option **ret_option)
{
	for (size_t i = 0; sp_agent_options[i].type != SP_OPT_END; i++) {
		const struct sp_option *o = &sp_agent_options[i];
		if (sp_agent_option_is_action(o) || strcmp(o->name, scalar(f)) != 0)
			continue;
		if (f->given & 1ULL << i)
			return SAY(f, f->event.start_mark, "%s is there twice", o->name);
		f->given |= 1ULL << i;
		*ret_option = o;
		return 0;
	}
	return unknown(f);
}

static int store_flag(struct file *f, const struct sp_option *o)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};

	for (size_t i = 0; i < SP_COUNT(words); i++) {
		if (strcasecmp(scalar(f), words[i]) != 0)
			continue;
		*(bool *)((char *)f->args + o->offset) = i % 2;
		return 0;
	}
	return SAY(f, f->event.start_mark, "%s: '%s' is neither yes nor no", o->name, scalar(f));
}

static int store(struct file *f, const struct sp_option *o, const char *value, yaml_mark_t mark)
{
	char *kept = sp_agent_config_keep(&f->args->config, value);
	int r = kept ? sp_option_store(o, o->name, kept, f->args) : sp_fail(-ENOMEM, "%s", f->name);

	return r == -EINVAL ? SAY(f, mark, "%s", sp_error_text(r)) : r;
}

/* [a, b] is what a,b is on the command line. */
static int store_list(struct file *f, const struct sp_option *o)
{
	char all[MAX_LIST_BYTES] = "";
	yaml_mark_t mark = f->event.start_mark;
	size_t n = 0;
	int r;

	if (!o->separator)
		return SAY(f, mark, "%s has one value, not a list", o->name);
	if (f->event.data.sequence_start.anchor)
		return SAY(f, mark, "anchors and aliases are not for this file");
	while ((r = next(f)) == 0 && f->event.type != YAML_SEQUENCE_END_EVENT) {
		r = check_scalar(f, "a value of the list");
		if (r < 0)
			return r;
		if (strchr(scalar(f), o->separator))
			return SAY(f, f->event.start_mark, "%s: '%s' has a '%c' in it", o->name, scalar(f),
				   o->separator);
		if (f->event.data.scalar.length + 2 > sizeof(all) - n)
			return SAY(f, f->event.start_mark, "%s: the list is too long", o->name);
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%.1s%s", n ? &o->separator : "", scalar(f));
	}
	return r < 0 ? r : store(f, o, all, mark);
}

/* One key, which is the event at hand, and its value. */
static int pair(struct file *f)
{
	const struct sp_option *o = NULL;
	int r = check_scalar(f, "the name of an option");

	if (r == 0)
		r = find(f, &o);
	if (r == 0)
		r = next(f);
	if (r < 0)
		return r;
	if (f->event.type == YAML_SEQUENCE_START_EVENT)
		return store_list(f, o);
	r = check_scalar(f, "a value, or a list of them");
	if (r < 0)
		return r;
	return o->type == SP_OPT_FLAG ? store_flag(f, o) : store(f, o, scalar(f), f->event.start_mark);
}

static int mapping(struct file *f)
{
	int r;

	while ((r = next(f)) == 0 && f->event.type != YAML_MAPPING_END_EVENT) {
		r = pair(f);
		if (r < 0)
			return r;
	}
	return r;
}

/* Nothing but comments is a null scalar, if there is a document at all. */
static bool is_nothing(const struct file *f)
{
	return f->event.type == YAML_SCALAR_EVENT && f->event.data.scalar.plain_implicit &&
	       !f->event.data.scalar.length;
}

static int document(struct file *f)
{
	int r = next(f);

	if (r < 0)
		return r;
	if (f->event.type == YAML_MAPPING_START_EVENT)
		r = mapping(f);
	else if (!is_nothing(f))
		return SAY(f, f->event.start_mark, "expected lines of OPTION: VALUE");
	return r < 0 ? r : next(f); /* the document's end */
}

static int stream(struct file *f)
{
	int r = next(f), n = 0;

	while (r == 0 && f->event.type != YAML_STREAM_END_EVENT) {
		if (f->event.type == YAML_DOCUMENT_START_EVENT && n++)
			return SAY(f, f->event.start_mark, "a second document");
		if (f->event.type == YAML_DOCUMENT_START_EVENT)
			r = document(f);
		if (r == 0)
			r = next(f);
	}
	return r;
}

int sp_agent_file_parse(const char *name, const char *text, size_t len, struct sp_agent_args *args)
{
	struct file f = {.name = name, .args = args};
	int r;

	if (!yaml_parser_initialize(&f.yaml))
		return sp_fail(-ENOMEM, "%s", name);
	yaml_parser_set_input_string(&f.yaml, (const unsigned char *)text, len);
	r = stream(&f);
	if (f.has_event)
		yaml_event_delete(&f.event);
	yaml_parser_delete(&f.yaml);
	return r;
}
