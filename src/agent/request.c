/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PROTOCOL "soprof1"

/* --- words --- */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._/:*?[]@+,~!^", c));
}

void sp_line_put(FILE *out, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(out, " %s=", name);
	for (; *value; value++) {
		if (is_plain(*value))
			fputc(*value, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*value);
	}
}

void sp_line_put_number(FILE *out, const char *name, uint64_t number)
{
	fprintf(out, " %s=%" PRIu64, name, number);
}

static int add_word(struct sp_line *l, char *word)
{
	char *value = strchr(word, '=');

	if (!value || value == word)
		return sp_fail_said(-EBADMSG, "a word is not NAME=VALUE");
	*value++ = '\0';
	if (l->n == SP_LINE_MAX_WORDS)
		return sp_fail_said(-EBADMSG, "more than %d words", SP_LINE_MAX_WORDS);
	for (const char *c = word; *c; c++)
		if ((*c < 'a' || *c > 'z') && *c != '_')
			return sp_fail_said(-EBADMSG, "a word's name has other letters than a to z");
	if (sp_line_word(l, word))
		return sp_fail_said(-EBADMSG, "%s is there twice", word);
	if (sp_percent_decode(value, false) < 0)
		return sp_fail_said(-EBADMSG, "%s: a %% without two digits behind it", word);
	l->words[l->n].name = word;
	l->words[l->n++].value = value;
	return 0;
}

int sp_line_parse(char *text, bool with_first, struct sp_line *ret_line)
{
	char *word, *rest = text;
	int r = 0;

	*ret_line = (struct sp_line){.first = ""};
	if (strlen(text) >= SP_LINE_MAX)
		return sp_fail_said(-EBADMSG, "a line of %d bytes or more", SP_LINE_MAX);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			return sp_fail_said(-EBADMSG, "a character that is not to be in a line");
	if (with_first)
		ret_line->first = strsep(&rest, " ");
	while (r == 0 && (word = strsep(&rest, " ")))
		r = *word ? add_word(ret_line, word) : 0;
	return r;
}

const char *sp_line_word(const struct sp_line *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->words[i].name, name))
			return l->words[i].value;
	return NULL;
}

/* *ret_number is unchanged if there is no such word. */
static int parse_number(const struct sp_line *l, const char *name, uint64_t max, uint64_t *ret_number)
{
	const char *value = sp_line_word(l, name);

	if (value && sp_parse_number(value, 0, max, ret_number) < 0)
		return sp_fail_said(-EBADMSG, "%s is not a number up to %" PRIu64, name, max);
	return 0;
}

int sp_line_number(const struct sp_line *l, const char *name, uint64_t *ret_number)
{
	return parse_number(l, name, UINT64_MAX, ret_number);
}

/* -EBADMSG if there is a word of another name; NULL ends the names. */
static int line_has_only(const struct sp_line *l, const char *const *names)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *const *name = names;
		while (*name && strcmp(*name, l->words[i].name) != 0)
			name++;
		if (!*name)
			return sp_fail_said(-EBADMSG, "unknown word %s", l->words[i].name);
	}
	return 0;
}

/* --- requests --- */
static const struct {
	const char *name;
	const char *words[16];
} kinds[SP_N_ASKS] = {
    [SP_ASK_STATUS] = {"status", {NULL}},
    [SP_ASK_QUERY] = {"query",
		      {"from", "to", "source", "library", "function", "process", "cgroup", "uid", "resolution",
		       "slices", "exact", "who", "rough", "ends", NULL}},
    [SP_ASK_EVENTS] = {"events", {"from", "to", NULL}},
    [SP_ASK_TOTALS] = {"totals", {"from", "to", "source", "by", NULL}},
    [SP_ASK_UPGRADES] = {"upgrades", {"from", "to", "source", "span", NULL}},
    [SP_ASK_API] = {"api", {"path", "params", "coding", "current", NULL}},
    [SP_ASK_PASSWORD] = {"password", {"hash", "password", NULL}},
};

static int parse_query(const struct sp_line *l, struct sp_store_query *q)
{
	const char *uid = sp_line_word(l, "uid");
	uint64_t user = 0, resolution = UINT64_MAX, slices = 0, exact = 0, who = SP_WHO_WHOLE, rough = 0, ends = 0;
	int r = parse_number(l, "uid", UINT32_MAX, &user);

	if (r == 0)
		r = parse_number(l, "resolution", SP_N_RESOLUTIONS - 1, &resolution);
	if (r == 0)
		r = parse_number(l, "slices", 1000, &slices);
	if (r == 0)
		r = parse_number(l, "exact", 1, &exact);
	if (r == 0)
		r = parse_number(l, "who", SP_WHO_NOTHING, &who);
	if (r == 0)
		r = parse_number(l, "rough", 1, &rough);
	if (r == 0)
		r = parse_number(l, "ends", 1, &ends);
	q->source = sp_line_word(l, "source");
	q->library = sp_line_word(l, "library");
	q->function = sp_line_word(l, "function");
	q->process = sp_line_word(l, "process");
	q->cgroup = sp_line_word(l, "cgroup");
	q->all_users = !uid;
	q->uid = (uint32_t)user;
	q->resolution = resolution == UINT64_MAX ? -1 : (int)resolution;
	q->n_slices = (uint32_t)slices;
	q->exact = exact;
	q->who = (enum sp_store_who)who;
	q->rough = rough;
	q->ends_stay = ends;
	return r;
}

/* All requests but the status may have a range. */
static int parse_range(const struct sp_line *l, struct sp_store_query *q)
{
	int r = parse_number(l, "from", INT64_MAX, &q->from_ns);

	q->to_ns = INT64_MAX;
	if (r == 0)
		r = parse_number(l, "to", INT64_MAX, &q->to_ns);
	if (r == 0 && q->to_ns < q->from_ns)
		return sp_fail_said(-EBADMSG, "the time ends before it begins");
	return r;
}

static int parse_what(const char *word, struct sp_request *q)
{
	for (size_t i = 0; word && i < SP_N_ASKS; i++) {
		q->what = (enum sp_request_kind)i;
		if (!strcmp(kinds[i].name, word))
			return 0;
	}
	return sp_fail_said(-EBADMSG, "unknown request; there are status, query, events, totals, upgrades, api");
}

static int parse_api(const struct sp_line *l, struct sp_request *q)
{
	uint64_t current = 0;
	int r = parse_number(l, "current", 1, &current);

	q->path = sp_line_word(l, "path");
	q->params = sp_line_word(l, "params");
	q->coding = sp_line_word(l, "coding");
	q->wants_current = current;
	q->hash = sp_line_word(l, "hash");
	q->password = sp_line_word(l, "password");
	if (r == 0 && q->what == SP_ASK_PASSWORD && (!q->hash || !q->password))
		return sp_fail_said(-EBADMSG, "a request without hash or password");
	if (r == 0 && q->what == SP_ASK_API && (!q->path || !q->params))
		return sp_fail_said(-EBADMSG, "a request without path or params");
	return r;
}

int sp_request_parse(char *text, struct sp_request *ret_request)
{
	struct sp_request q = {0};
	struct sp_line l;
	uint64_t by_function = 0;
	char *rest = text;
	const char *protocol;
	int r;

	protocol = strsep(&rest, " ");
	if (strcmp(protocol, PROTOCOL) != 0 || !rest)
		return sp_fail_said(-EBADMSG, "a request begins with %s", PROTOCOL);
	r = sp_line_parse(rest, true, &l);
	if (r == 0)
		r = parse_what(l.first, &q);
	if (r == 0)
		r = line_has_only(&l, kinds[q.what].words);
	if (r == 0)
		r = parse_range(&l, &q.query);
	if (r == 0)
		r = parse_query(&l, &q.query);
	if (r == 0)
		r = parse_number(&l, "by", 1, &by_function);
	q.by_function = by_function;
	if (r == 0)
		r = parse_number(&l, "span", INT64_MAX, &q.span_ns);
	if (r == 0)
		r = parse_api(&l, &q);
	if (r == 0)
		*ret_request = q;
	return r;
}

static void write_query(const struct sp_store_query *q, FILE *out)
{
	sp_line_put(out, "library", q->library);
	sp_line_put(out, "function", q->function);
	sp_line_put(out, "process", q->process);
	sp_line_put(out, "cgroup", q->cgroup);
	if (!q->all_users)
		sp_line_put_number(out, "uid", q->uid);
	if (q->resolution >= 0)
		sp_line_put_number(out, "resolution", (uint64_t)q->resolution);
	if (q->n_slices)
		sp_line_put_number(out, "slices", q->n_slices);
	if (q->exact)
		sp_line_put_number(out, "exact", 1);
	if (q->who != SP_WHO_WHOLE)
		sp_line_put_number(out, "who", q->who);
	if (q->rough)
		sp_line_put_number(out, "rough", 1);
	if (q->ends_stay)
		sp_line_put_number(out, "ends", 1);
}

void sp_request_write(const struct sp_request *q, FILE *out)
{
	fprintf(out, PROTOCOL " %s", kinds[q->what].name);
	if (q->what == SP_ASK_API) {
		sp_line_put(out, "path", q->path);
		sp_line_put(out, "params", q->params);
		sp_line_put(out, "coding", q->coding);
		if (q->wants_current)
			sp_line_put_number(out, "current", 1);
	} else if (q->what == SP_ASK_PASSWORD) {
		sp_line_put(out, "hash", q->hash);
		sp_line_put(out, "password", q->password);
	} else if (q->what != SP_ASK_STATUS) {
		sp_line_put_number(out, "from", q->query.from_ns);
		sp_line_put_number(out, "to", q->query.to_ns);
	}
	if (q->what == SP_ASK_QUERY || q->what == SP_ASK_TOTALS || q->what == SP_ASK_UPGRADES)
		sp_line_put(out, "source", q->query.source);
	if (q->what == SP_ASK_QUERY)
		write_query(&q->query, out);
	if (q->what == SP_ASK_TOTALS)
		sp_line_put_number(out, "by", q->by_function);
	if (q->what == SP_ASK_UPGRADES)
		sp_line_put_number(out, "span", q->span_ns);
	fputc('\n', out);
}

/* --- answers --- */
struct answer_field {
	const char *name;
	size_t offset;
};
#define FIELD(word, member)                                                                                            \
	{                                                                                                              \
		word, offsetof(struct sp_store_answer, member)                                                         \
	}
static const struct answer_field answer_fields[] = {
    FIELD("from", from_ns),        FIELD("to", to_ns),          FIELD("covered", covered_ns),
    FIELD("windows", n_windows),   FIELD("damaged", n_damaged), FIELD("incomplete", n_incomplete),
    FIELD("salvaged", n_salvaged), FIELD("lost", n_lost),       FIELD("shortened", n_shortened),
    FIELD("slice", slice_ns),
};

void sp_answer_write(const struct sp_store_answer *a, FILE *out)
{
	for (size_t i = 0; i < SP_COUNT(answer_fields); i++)
		sp_line_put_number(out, answer_fields[i].name,
				   *(const uint64_t *)((const char *)a + answer_fields[i].offset));
	sp_line_put_number(out, "resolution", (uint64_t)SP_MAX(a->resolution, 0));
}

int sp_answer_parse(const struct sp_line *l, struct sp_store_answer *ret_answer)
{
	struct sp_store_answer a = {0};
	uint64_t resolution = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < SP_COUNT(answer_fields); i++)
		r = sp_line_number(l, answer_fields[i].name, (uint64_t *)((char *)&a + answer_fields[i].offset));
	if (r == 0)
		r = parse_number(l, "resolution", SP_N_RESOLUTIONS, &resolution);
	a.resolution = (int)resolution;
	if (r == 0)
		*ret_answer = a;
	return r;
}
