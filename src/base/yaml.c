/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/yaml.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 512 };

static int next_event(struct sp_yaml *y)
{
	const yaml_parser_t *p = &y->parser;

	if (y->has_event)
		yaml_event_delete(&y->event);
	y->has_event = yaml_parser_parse(&y->parser, &y->event) != 0;
	if (y->has_event)
		return 0;
	if (p->error == YAML_MEMORY_ERROR)
		return sp_fail(-ENOMEM, "%s", y->name);
	if (p->error == YAML_READER_ERROR)
		return sp_fail_said(-EINVAL, "%s: byte %zu: %s", y->name, p->problem_offset, p->problem);
	return SP_YAML_FAIL(y, p->problem_mark, "%s%s%s", p->problem, p->context ? " " : "",
			    p->context ? p->context : "");
}

/* --- single values --- */
const char *sp_yaml_text(const struct sp_yaml *y)
{
	return (const char *)y->event.data.scalar.value;
}

bool sp_yaml_is_null(const struct sp_yaml *y)
{
	return y->event.type == YAML_SCALAR_EVENT && y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!y->event.data.scalar.length || !strcmp(sp_yaml_text(y), "null"));
}

static int check_anchor(struct sp_yaml *y)
{
	const yaml_event_t *e = &y->event;
	const yaml_char_t *anchor = e->type == YAML_SCALAR_EVENT           ? e->data.scalar.anchor
				    : e->type == YAML_MAPPING_START_EVENT  ? e->data.mapping_start.anchor
				    : e->type == YAML_SEQUENCE_START_EVENT ? e->data.sequence_start.anchor
									   : NULL;

	if (e->type == YAML_ALIAS_EVENT || anchor)
		return SP_YAML_FAIL(y, e->start_mark, "anchors and aliases are not for this file");
	return 0;
}

int sp_yaml_check_text(struct sp_yaml *y, const char *wanted)
{
	int r = check_anchor(y);

	if (r < 0)
		return r;
	if (y->event.type != YAML_SCALAR_EVENT)
		return SP_YAML_FAIL(y, y->event.start_mark, "expected %s", wanted);
	if (strlen(sp_yaml_text(y)) != y->event.data.scalar.length)
		return SP_YAML_FAIL(y, y->event.start_mark, "a NUL byte in a value");
	return 0;
}

int sp_yaml_choice(struct sp_yaml *y, const char *const *words, const char *wanted, int *ret_number)
{
	int r = sp_yaml_check_text(y, "a value");

	for (int i = 0; r == 0 && words[i]; i++)
		if (!strcmp(words[i], sp_yaml_text(y))) {
			*ret_number = i;
			return 0;
		}
	return r < 0 ? r : SP_YAML_FAIL(y, y->event.start_mark, "'%s' is none of %s", sp_yaml_text(y), wanted);
}

/* --- mappings --- */
/* The event is a key: its value comes next. */
static int take_pair(struct sp_yaml *y, struct sp_intern *names,
		     int (*take)(struct sp_yaml *y, const char *key, void *arg), void *arg)
{
	int r = sp_yaml_check_text(y, "a name");
	uint32_t n = sp_intern_count(names);
	yaml_mark_t at = y->event.start_mark;
	int64_t number;

	if (r < 0)
		return r;
	number = sp_intern_add(names, sp_yaml_text(y), y->event.data.scalar.length);
	if (number < 0)
		return sp_fail(-ENOMEM, "%s", y->name);
	if (number != n)
		return SP_YAML_FAIL(y, at, "%s is there twice", sp_yaml_text(y));
	r = next_event(y);
	y->key_at = at;
	return r < 0 ? r : take(y, sp_intern_get(names, n, NULL), arg);
}

int sp_yaml_pairs(struct sp_yaml *y, const char *what, int (*take)(struct sp_yaml *y, const char *key, void *arg),
		  void *arg)
{
	struct sp_intern *names = NULL;
	int r = check_anchor(y);

	if (r < 0 || sp_yaml_is_null(y))
		return r;
	if (y->event.type != YAML_MAPPING_START_EVENT)
		return SP_YAML_FAIL(y, y->event.start_mark, "%s: expected lines of NAME: VALUE", what);
	if (sp_intern_new(&names) < 0)
		return sp_fail(-ENOMEM, "%s", y->name);
	while (r == 0 && (r = next_event(y)) == 0 && y->event.type != YAML_MAPPING_END_EVENT)
		r = take_pair(y, names, take, arg);
	sp_intern_free(names);
	return r;
}

struct table {
	const char *what;
	const struct sp_yaml_key *keys;
	void *arg;
};

static int fail_unknown(const struct sp_yaml *y, const struct table *t, const char *name)
{
	struct sp_suggest near = {.word = name};
	char all[NAMES_MAX] = "";
	size_t n = 0;

	for (const struct sp_yaml_key *key = t->keys; key->name; key++) {
		sp_suggest_offer(&near, key->name);
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n ? ", " : "", key->name);
		n = SP_MIN(n, sizeof(all) - 1);
	}
	if (near.best)
		return SP_YAML_FAIL(y, y->key_at, "%s has no '%s'; did you mean %s?", t->what, name, near.best);
	return SP_YAML_FAIL(y, y->key_at, "%s has no '%s'; there are %s", t->what, name, all);
}

static int take_key(struct sp_yaml *y, const char *name, void *arg)
{
	const struct table *t = arg;
	const struct sp_yaml_key *key = t->keys;

	while (key->name && strcmp(key->name, name) != 0)
		key++;
	return key->name ? key->take(y, t->arg) : fail_unknown(y, t, name);
}

int sp_yaml_keys(struct sp_yaml *y, const char *what, const struct sp_yaml_key *keys, void *arg)
{
	return sp_yaml_pairs(y, what, take_key, &(struct table){what, keys, arg});
}

/* --- lists --- */
int sp_yaml_items(struct sp_yaml *y, const char *what, size_t max, sp_yaml_take *take, void *arg)
{
	size_t n = 0;
	int r = check_anchor(y);

	if (r < 0)
		return r;
	if (y->event.type != YAML_SEQUENCE_START_EVENT)
		return SP_YAML_FAIL(y, y->event.start_mark, "%s: expected a list", what);
	while (r == 0 && (r = next_event(y)) == 0 && y->event.type != YAML_SEQUENCE_END_EVENT)
		r = n++ < max ? take(y, arg) : SP_YAML_FAIL(y, y->event.start_mark, "%s: more than %zu", what, max);
	return r;
}

/* --- the file --- */
static int take_stream(struct sp_yaml *y, sp_yaml_take *take, void *arg)
{
	int r = 0, n = 0;

	while (r == 0 && (r = next_event(y)) == 0 && y->event.type != YAML_STREAM_END_EVENT) {
		if (y->event.type != YAML_DOCUMENT_START_EVENT)
			continue;
		if (n++)
			return SP_YAML_FAIL(y, y->event.start_mark, "a second document");
		r = next_event(y);
		if (r == 0 && !sp_yaml_is_null(y))
			r = take(y, arg);
	}
	return r;
}

int sp_yaml_read(const char *name, const char *text, size_t len, sp_yaml_take *take, void *arg)
{
	struct sp_yaml y = {.name = name};
	int r;

	if (!yaml_parser_initialize(&y.parser))
		return sp_fail(-ENOMEM, "%s", name);
	yaml_parser_set_input_string(&y.parser, (const unsigned char *)text, len);
	r = take_stream(&y, take, arg);
	if (y.has_event)
		yaml_event_delete(&y.event);
	yaml_parser_delete(&y.parser);
	return r;
}
