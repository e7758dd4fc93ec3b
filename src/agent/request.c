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

/* --- requests --- */
static const char *const kinds[SP_N_ASKS] = {
    [SP_ASK_STATUS] = "status",     [SP_ASK_QUERY] = "query",       [SP_ASK_EVENTS] = "events",
    [SP_ASK_TOTALS] = "totals",     [SP_ASK_UPGRADES] = "upgrades", [SP_ASK_API] = "api",
    [SP_ASK_PASSWORD] = "password",
};

/* A word of a request: in requests of which kinds, and where it is kept. What is `absent` is not written. */
struct field {
	const char *name;
	unsigned kinds;
	size_t offset, size; /* size 0: a text; else a number of so many bytes */
	uint64_t max, absent;
};
enum {
	QUERY = 1 << SP_ASK_QUERY,
	TOTALS = 1 << SP_ASK_TOTALS,
	UPGRADES = 1 << SP_ASK_UPGRADES,
	RANGED = QUERY | TOTALS | UPGRADES | 1 << SP_ASK_EVENTS,
	API = 1 << SP_ASK_API,
	PASSWORD = 1 << SP_ASK_PASSWORD,
};
#define ALWAYS UINT64_MAX
/* clang-format off */
#define AT(member) offsetof(struct sp_request, member)
#define NUMBER(member) AT(member), sizeof(((struct sp_request *)0)->member)
static const struct field fields[] = {
	{"from", RANGED, NUMBER(query.from_ns), INT64_MAX, 0},
	{"to", RANGED, NUMBER(query.to_ns), INT64_MAX, INT64_MAX},
	{"source", QUERY | TOTALS | UPGRADES, AT(query.source), 0, 0, 0},
	{"library", QUERY, AT(query.library), 0, 0, 0},
	{"function", QUERY, AT(query.function), 0, 0, 0},
	{"process", QUERY, AT(query.process), 0, 0, 0},
	{"cgroup", QUERY, AT(query.cgroup), 0, 0, 0},
	{"uid", QUERY, NUMBER(query.uid), UINT32_MAX, ALWAYS},
	{"resolution", QUERY, NUMBER(query.resolution), SP_N_RESOLUTIONS - 1, (uint32_t)-1},
	{"slices", QUERY, NUMBER(query.n_slices), 1000, 0},
	{"exact", QUERY, NUMBER(query.exact), 1, 0},
	{"who", QUERY, NUMBER(query.who), SP_WHO_NOTHING, SP_WHO_WHOLE},
	{"rough", QUERY, NUMBER(query.rough), 1, 0},
	{"ends", QUERY, NUMBER(query.ends_stay), 1, 0},
	{"by", TOTALS, NUMBER(by_function), 1, 0},
	{"span", UPGRADES, NUMBER(span_ns), INT64_MAX, 0},
	{"path", API, AT(path), 0, 0, 0},
	{"params", API, AT(params), 0, 0, 0},
	{"coding", API, AT(coding), 0, 0, 0},
	{"current", API, NUMBER(wants_current), 1, 0},
	{"hash", PASSWORD, AT(hash), 0, 0, 0},
	{"password", PASSWORD, AT(password), 0, 0, 0},
};
/* clang-format on */

static bool is_of(const struct field *f, enum sp_request_kind what)
{
	return f->kinds >> what & 1;
}

/* Of another kind of request a word is unknown. */
static int line_has_only(const struct sp_line *l, enum sp_request_kind what)
{
	for (size_t i = 0; i < l->n; i++) {
		size_t k = 0;
		while (k < SP_COUNT(fields) && (!is_of(&fields[k], what) || strcmp(fields[k].name, l->words[i].name)))
			k++;
		if (k == SP_COUNT(fields))
			return sp_fail_said(-EBADMSG, "unknown word %s", l->words[i].name);
	}
	return 0;
}

static int parse_field(const struct sp_line *l, const struct field *f, struct sp_request *q)
{
	const char *text = sp_line_word(l, f->name);
	uint64_t number = f->absent;
	int r = f->size ? parse_number(l, f->name, f->max, &number) : 0;

	memcpy((char *)q + f->offset, f->size ? (const void *)&number : &text, f->size ? f->size : sizeof(text));
	return r;
}

static int parse_what(const char *word, struct sp_request *q)
{
	for (size_t i = 0; word && i < SP_N_ASKS; i++) {
		q->what = (enum sp_request_kind)i;
		if (!strcmp(kinds[i], word))
			return 0;
	}
	return sp_fail_said(-EBADMSG, "unknown request; there are status, query, events, totals, upgrades, api");
}

static int request_check(const struct sp_request *q)
{
	if (q->query.to_ns < q->query.from_ns)
		return sp_fail_said(-EBADMSG, "the time ends before it begins");
	if (q->what == SP_ASK_PASSWORD && (!q->hash || !q->password))
		return sp_fail_said(-EBADMSG, "a request without hash or password");
	if (q->what == SP_ASK_API && (!q->path || !q->params))
		return sp_fail_said(-EBADMSG, "a request without path or params");
	return 0;
}

int sp_request_parse(char *text, struct sp_request *ret_request)
{
	struct sp_request q = {0};
	struct sp_line l;
	char *rest = text;
	int r;

	if (strcmp(strsep(&rest, " "), PROTOCOL) != 0 || !rest)
		return sp_fail_said(-EBADMSG, "a request begins with %s", PROTOCOL);
	r = sp_line_parse(rest, true, &l);
	if (r == 0)
		r = parse_what(l.first, &q);
	if (r == 0)
		r = line_has_only(&l, q.what);
	for (size_t i = 0; i < SP_COUNT(fields) && r == 0; i++)
		r = parse_field(&l, &fields[i], &q);
	q.query.all_users = !sp_line_word(&l, "uid");
	if (r == 0)
		r = request_check(&q);
	if (r == 0)
		*ret_request = q;
	return r;
}

static void write_field(const struct field *f, const struct sp_request *q, FILE *out)
{
	const char *at = (const char *)q + f->offset, *text;
	uint64_t number = 0;

	memcpy(f->size ? (void *)&number : &text, at, f->size ? f->size : sizeof(text));
	if (!f->size)
		sp_line_put(out, f->name, text);
	else if (number != f->absent && !(f->offset == AT(query.uid) && q->query.all_users))
		sp_line_put_number(out, f->name, number);
}

void sp_request_write(const struct sp_request *q, FILE *out)
{
	fprintf(out, PROTOCOL " %s", kinds[q->what]);
	for (size_t i = 0; i < SP_COUNT(fields); i++)
		if (is_of(&fields[i], q->what))
			write_field(&fields[i], q, out);
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
