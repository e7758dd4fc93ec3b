/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/options.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct parse {
	const struct sp_option *options;
	char **argv;
	int argc, at;
	void *args;
	uint64_t given;                    /* a bit for each option */
	unsigned n_operands;               /* seen so far */
	const char *shown[SP_OPTIONS_MAX]; /* as the user wrote it, for messages */
	char letters[SP_OPTIONS_MAX][3];   /* room for "-F" */
};

static const struct sp_option *by_type(const struct sp_option *o, enum sp_option_type type, unsigned skip)
{
	for (; o->type != SP_OPT_END; o++) {
		if (o->type == type && skip-- == 0)
			return o;
	}
	return NULL;
}

static int check_excluded(struct parse *p, const struct sp_option *o, const char *shown)
{
	for (size_t i = 0; p->options[i].type != SP_OPT_END; i++) {
		const struct sp_option *other = &p->options[i];
		if (other == o || !(p->given & 1ULL << i) || !(other->excludes & o->excludes))
			continue;
		return sp_fail_said(-EINVAL, "%s and %s exclude each other", p->shown[i], shown);
	}
	return 0;
}

/* Notes that the option was given under this name, and stores its value. */
static int take(struct parse *p, const struct sp_option *o, const char *shown, const char *value)
{
	size_t i = (size_t)(o - p->options);
	int r = check_excluded(p, o, shown);

	if (r < 0)
		return r;
	p->given |= 1ULL << i;
	p->shown[i] = shown;
	return sp_option_store(o, shown, value, p->args);
}

/* A dash and a digit begin a value (-15m, a time), as long as no option is called by the digit. */
static bool looks_like_option(const struct parse *p, const char *word)
{
	const struct sp_option *o = p->options;

	if (word[0] != '-' || !word[1])
		return false;
	if (word[1] < '0' || word[1] > '9')
		return true;
	while (o->type != SP_OPT_END && o->letter != word[1])
		o++;
	return o->type != SP_OPT_END;
}

/*
 * The value of an option that has not got it in its own word: the next word, unless it looks like an option (a value
 * that begins with a dash is written --output=-x).
 */
static int next_value(struct parse *p, const struct sp_option *o, const char *shown, const char **ret_value)
{
	if (p->at < p->argc && !looks_like_option(p, p->argv[p->at]))
		*ret_value = p->argv[p->at++];
	else if (o->without)
		*ret_value = o->without;
	else
		return sp_fail_said(-EINVAL, "%s needs a value: %s", shown, o->arg);
	return 0;
}

/* -dF99 */
static int parse_letters(struct parse *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const struct sp_option *o = p->options;
		const char *value = NULL;
		char *shown;
		int r = 0;

		if (*c == 'h')
			return SP_PARSED_HELP;
		while (o->type != SP_OPT_END && o->letter != *c)
			o++;
		if (o->type == SP_OPT_END)
			return sp_fail_said(-EINVAL, "unknown option -%c%s%s", *c, word[2] ? " in " : "",
					    word[2] ? word : "");
		shown = p->letters[o - p->options];
		snprintf(shown, sizeof(p->letters[0]), "-%c", *c);
		if (o->type == SP_OPT_FLAG) {
			r = take(p, o, shown, NULL);
			if (r < 0)
				return r;
			continue;
		}
		if (c[1])
			value = c[1] == '=' ? c + 2 : c + 1;
		else
			r = next_value(p, o, shown, &value);
		return r < 0 ? r : take(p, o, shown, value);
	}
	return 0;
}

static int unknown_long(struct parse *p, const char *name, size_t len)
{
	char word[SP_SUGGEST_MAX + 1];
	struct sp_suggest near = {.word = word};

	snprintf(word, sizeof(word), "%.*s", (int)SP_MIN(len, sizeof(word) - 1), name);
	for (const struct sp_option *o = p->options; o->type != SP_OPT_END; o++) {
		if (sp_option_is_named(o))
			sp_suggest_offer(&near, o->name);
	}
	sp_suggest_offer(&near, "help");
	if (near.best)
		return sp_fail_said(-EINVAL, "unknown option --%.*s; did you mean --%s?", (int)len, name, near.best);
	return sp_fail_said(-EINVAL, "unknown option --%.*s", (int)len, name);
}

static int ambiguous(struct parse *p, const char *name, size_t len)
{
	char all[256] = "";
	size_t n = 0;

	for (const struct sp_option *o = p->options; o->type != SP_OPT_END; o++) {
		if (sp_option_is_named(o) && !strncmp(o->name, name, len) && n < sizeof(all))
			n += (size_t)snprintf(all + n, sizeof(all) - n, " --%s", o->name);
	}
	return sp_fail_said(-EINVAL, "--%.*s is ambiguous:%s", (int)len, name, all);
}

/* The option of this name or of this unambiguous beginning. */
static int find_long(struct parse *p, const char *name, size_t len, const struct sp_option **ret_option)
{
	const struct sp_option *found = NULL;
	unsigned n = 0;

	for (const struct sp_option *o = p->options; o->type != SP_OPT_END; o++) {
		if (!sp_option_is_named(o) || strncmp(o->name, name, len) != 0)
			continue;
		found = o;
		if (strlen(o->name) == len) {
			n = 1;
			break;
		}
		n++;
	}
	if (n == 0 || len == 0)
		return unknown_long(p, name, len);
	if (n > 1)
		return ambiguous(p, name, len);
	*ret_option = found;
	return 0;
}

/* --frequency 99, --frequency=99 */
static int parse_long(struct parse *p, char *word)
{
	const char *name = word + 2, *value;
	size_t len = strcspn(name, "=");
	const struct sp_option *o = NULL;
	int r;

	if (len == 4 && !strncmp(name, "help", len))
		return SP_PARSED_HELP;
	r = find_long(p, name, len, &o);
	if (r < 0)
		return r;
	value = name[len] ? name + len + 1 : NULL;
	word[2 + len] = '\0'; /* from here on the word is the option as it was written */
	if (o->type == SP_OPT_FLAG && value)
		return sp_fail_said(-EINVAL, "%s takes no value", word);
	if (o->type != SP_OPT_FLAG && !value)
		r = next_value(p, o, word, &value);
	return r < 0 ? r : take(p, o, word, value);
}

static int parse_operand(struct parse *p, const char *word)
{
	const struct sp_option *o = by_type(p->options, SP_OPT_OPERAND, p->n_operands);

	if (o) {
		p->n_operands++;
		return take(p, o, o->arg, word);
	}
	o = by_type(p->options, SP_OPT_OPERANDS, 0);
	if (o)
		return take(p, o, o->arg, word);
	if (by_type(p->options, SP_OPT_COMMAND, 0))
		return sp_fail_said(-EINVAL, "unexpected argument '%s' (a command to run comes after --)", word);
	return sp_fail_said(-EINVAL, "unexpected argument '%s'", word);
}

/* What follows `--`: the command, if there can be one; else operands. */
static int parse_rest(struct parse *p)
{
	const struct sp_option *o = by_type(p->options, SP_OPT_COMMAND, 0);
	int r = 0;

	if (!o) {
		while (r == 0 && p->at < p->argc)
			r = parse_operand(p, p->argv[p->at++]);
		return r;
	}
	if (p->at == p->argc)
		return sp_fail_said(-EINVAL, "there is no command after --");
	r = check_excluded(p, o, "-- COMMAND");
	if (r == 0)
		*(char ***)((char *)p->args + o->offset) = p->argv + p->at;
	return r;
}

int sp_options_parse(const struct sp_option *options, int argc, char **argv, void *ret_args)
{
	struct parse p = {.options = options, .argv = argv, .argc = argc, .args = ret_args};
	int r = SP_PARSED;

	while (r == SP_PARSED && p.at < argc) {
		char *word = argv[p.at++];
		if (!strcmp(word, "--"))
			return parse_rest(&p);
		if (!looks_like_option(&p, word))
			r = parse_operand(&p, word);
		else
			r = word[1] == '-' ? parse_long(&p, word) : parse_letters(&p, word);
	}
	return r;
}
