/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/json/json.h"

#include "base/error.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "base/parse.h"
#include "read/input.h"
#include "read/priv.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 16, NODES_BETWEEN_CHECKS = 1 << 14, NO_NODE = UINT32_MAX };

/* Of a string the text between its quotes. Of an object the members are pairs of nodes, a key and a value. */
struct node {
	uint32_t start, len;
	uint32_t next; /* the node behind it and all that is in it; while it is open: the one it is in */
	uint8_t kind;
};
struct sp_doc {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	char *text; /* with a NUL at its end */
	size_t n_text, text_capacity;
	uint64_t offset; /* of the text in the input */
	struct node *nodes;
	uint32_t n;
	size_t capacity;
	char *string; /* the last one that was asked for */
	size_t string_capacity;
};

/* --- the text --- */
static int text_add(struct sp_doc *d, const uint8_t *bytes, size_t n)
{
	int r = d->n_text + n < UINT32_MAX ? sp_grow(&d->text, &d->text_capacity, d->n_text + n + 1, 1)
					   : sp_fail_said(-EFBIG, "%s: more than 4 GiB of JSON", sp_input_name(d->in));

	if (r < 0)
		return r;
	memcpy(d->text + d->n_text, bytes, n);
	d->n_text += n;
	d->text[d->n_text] = 0;
	return 0;
}

static int text_read(struct sp_doc *d)
{
	const uint8_t *bytes;
	size_t n;
	int r = text_add(d, (const uint8_t *)"", 0);

	while (r >= 0 && (r = sp_input_peek(d->in, CHUNK_BYTES, &bytes, &n)) >= 0 && n) {
		r = text_add(d, bytes, n);
		if (r >= 0)
			r = sp_input_skip(d->in, n);
	}
	return SP_MIN(r, 0);
}

/* Leaves of the text what is behind the mark. */
static int text_find(struct sp_doc *d, const char *mark)
{
	const char *at = memmem(d->text, d->n_text, mark, strlen(mark));

	at = at ? memchr(at + strlen(mark), '{', (size_t)(d->text + d->n_text - at) - strlen(mark)) : NULL;
	if (!at)
		return sp_fail_said(-EBADMSG, "%s: byte 0: nothing behind '%s'", sp_input_name(d->in), mark);
	d->offset = (uint64_t)(at - d->text);
	d->n_text -= (size_t)d->offset;
	memmove(d->text, at, d->n_text + 1);
	return 0;
}

/* --- nodes --- */
struct builder {
	struct sp_doc *d;
	struct sp_json_text t;
	uint32_t open; /* the innermost object or array that is not closed */
	bool one;      /* what follows the first value is not JSON */
};

static int64_t node_add(struct builder *b, const char *at, size_t len, enum sp_doc_type kind)
{
	struct sp_doc *d = b->d;
	int r = sp_grow(&d->nodes, &d->capacity, (size_t)d->n + 1, sizeof(*d->nodes));

	if (r >= 0 && d->n % NODES_BETWEEN_CHECKS == 0)
		r = sp_input_check_memory(d->in);
	if (r < 0)
		return r;
	d->nodes[d->n] = (struct node){(uint32_t)(at - d->text), (uint32_t)len, d->n + 1, (uint8_t)kind};
	return d->n++;
}

static int leaf_add(struct builder *b, const char *at, size_t len, enum sp_doc_type kind)
{
	int64_t node = node_add(b, at, len, kind);

	return (int)SP_MIN(node, 0);
}

static void close_innermost(struct builder *b)
{
	struct node *n = &b->d->nodes[b->open];

	b->open = n->next;
	n->next = b->d->n;
}

static int build_string(struct builder *b)
{
	struct sp_json_word word;

	if (!sp_json_take_string(&b->t, &word))
		return -EBADMSG;
	return leaf_add(b, word.at, word.len, SP_DOC_STRING);
}

/* A member's name and its colon. */
static int build_key(struct builder *b)
{
	int r;

	sp_json_skip_space(&b->t);
	r = build_string(b);
	return r < 0 ? r : sp_json_take_char(&b->t, ':') ? 0 : -EBADMSG;
}

/* 1: a value is to follow, since an object or array has begun that is not empty. */
static int build_begin(struct builder *b, char begin)
{
	bool is_object = begin == '{';
	int64_t node = node_add(b, b->t.at, 0, is_object ? SP_DOC_OBJECT : SP_DOC_ARRAY);
	int r;

	if (node < 0)
		return (int)node;
	b->d->nodes[node].next = b->open;
	b->open = (uint32_t)node;
	b->t.at++;
	sp_json_skip_space(&b->t);
	if (b->t.at < b->t.end && *b->t.at == (is_object ? '}' : ']')) {
		b->t.at++;
		close_innermost(b);
		return 0;
	}
	r = is_object ? build_key(b) : 0;
	return r < 0 ? r : 1;
}

/* As build_begin(); 0: the value is whole. */
static int build_value(struct builder *b)
{
	const char *from;
	bool is_number;

	sp_json_skip_space(&b->t);
	from = b->t.at;
	if (from == b->t.end)
		return -EBADMSG;
	if (*from == '{' || *from == '[')
		return build_begin(b, *from);
	if (*from == '"')
		return build_string(b);
	is_number = *from == '-' || (*from >= '0' && *from <= '9');
	if (!(is_number ? sp_json_take_number(&b->t) : sp_json_take_literal(&b->t)))
		return -EBADMSG;
	return leaf_add(b, from, (size_t)(b->t.at - from), is_number ? SP_DOC_NUMBER : SP_DOC_NULL);
}

/* Behind a value: 1: another one follows; 0: the document is whole. */
static int build_on(struct builder *b)
{
	while (b->open != NO_NODE) {
		bool is_object = b->d->nodes[b->open].kind == SP_DOC_OBJECT;

		if (sp_json_take_char(&b->t, ',')) {
			int r = is_object ? build_key(b) : 0;

			return r < 0 ? r : 1;
		}
		if (!sp_json_take_char(&b->t, is_object ? '}' : ']'))
			return -EBADMSG;
		close_innermost(b);
	}
	sp_json_skip_space(&b->t);
	return b->one || b->t.at == b->t.end ? 0 : -EBADMSG;
}

/* A mistake, or the end of the text: what is open is closed, without a member that has no value. */
static int build_end(struct builder *b, int r)
{
	struct sp_doc *d = b->d;
	bool is_list = b->open == SP_DOC_ROOT && d->nodes[SP_DOC_ROOT].kind == SP_DOC_ARRAY && b->t.at == b->t.end;
	uint64_t at = d->offset + (uint64_t)(b->t.at - d->text);

	while (b->open != NO_NODE) {
		uint32_t open = b->open, n = 0, last = 0;

		for (uint32_t i = open + 1; i < d->n; i = d->nodes[i].next, n++)
			last = i;
		if (d->nodes[open].kind == SP_DOC_OBJECT && n % 2)
			d->n = last;
		close_innermost(b);
	}
	if (is_list)
		return 0;
	r = sp_input_bad_at(d->in, d->o, d->result, at,
			    b->t.at == b->t.end ? "the JSON text ends within a value" : "expected JSON");
	if (r >= 0 && d->n == SP_DOC_ROOT) /* of nothing there is an empty object */
		r = leaf_add(b, d->text, 0, SP_DOC_OBJECT);
	return r;
}

static int build(struct sp_doc *d, bool one)
{
	struct builder b = {.d = d, .t = {d->text, d->text + d->n_text}, .open = NO_NODE, .one = one};
	int r = leaf_add(&b, d->text, 0, SP_DOC_NULL); /* none */

	if (r < 0)
		return r;
	do {
		r = build_value(&b);
		if (r == 0)
			r = build_on(&b);
	} while (r > 0);
	return r == -EBADMSG ? build_end(&b, r) : r;
}

static int doc_read(struct sp_input *in, const char *mark, const struct sp_read_options *o,
		    struct sp_read_result *result, struct sp_doc **ret_doc)
{
	struct sp_doc *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	*d = (struct sp_doc){.in = in, .o = o, .result = result};
	r = text_read(d);
	if (r >= 0 && mark)
		r = text_find(d, mark);
	if (r >= 0)
		r = build(d, mark != NULL);
	if (r < 0) {
		sp_doc_free(d);
		return r;
	}
	*ret_doc = d;
	return 0;
}

int sp_doc_read(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		struct sp_doc **ret_doc)
{
	return doc_read(in, NULL, o, result, ret_doc);
}

int sp_doc_read_behind(struct sp_input *in, const char *mark, const struct sp_read_options *o,
		       struct sp_read_result *result, struct sp_doc **ret_doc)
{
	return doc_read(in, mark, o, result, ret_doc);
}

void sp_doc_free(struct sp_doc *d)
{
	if (!d)
		return;
	free(d->text);
	free(d->nodes);
	free(d->string);
	free(d);
}

/* --- values --- */
enum sp_doc_type sp_doc_kind(const struct sp_doc *d, uint32_t value)
{
	return d->nodes[value].kind;
}

/* The value of the member whose name is node `at`, or the element there. */
static uint32_t value_at(const struct sp_doc *d, uint32_t of, uint32_t at)
{
	if (at >= d->nodes[of].next)
		return 0;
	return d->nodes[of].kind == SP_DOC_OBJECT ? at + 1 : at;
}

uint32_t sp_doc_first(const struct sp_doc *d, uint32_t of)
{
	return d->nodes[of].kind >= SP_DOC_ARRAY ? value_at(d, of, of + 1) : 0;
}

uint32_t sp_doc_next(const struct sp_doc *d, uint32_t of, uint32_t value)
{
	return value_at(d, of, d->nodes[value].next);
}

static bool is_text(const struct sp_doc *d, uint32_t value, const char *text, size_t n)
{
	const struct node *node = &d->nodes[value];

	return node->kind == SP_DOC_STRING && node->len == n && !memcmp(d->text + node->start, text, n);
}

static uint32_t member(const struct sp_doc *d, uint32_t object, const char *name, size_t n)
{
	if (d->nodes[object].kind != SP_DOC_OBJECT)
		return 0;
	for (uint32_t value = sp_doc_first(d, object); value; value = sp_doc_next(d, object, value))
		if (is_text(d, value - 1, name, n))
			return value;
	return 0;
}

uint32_t sp_doc_member(const struct sp_doc *d, uint32_t object, const char *name)
{
	return member(d, object, name, strlen(name));
}

uint32_t sp_doc_at(const struct sp_doc *d, uint32_t object, const char *path)
{
	for (;;) {
		size_t n = strcspn(path, ".");

		object = member(d, object, path, n);
		if (!object || !path[n])
			return object;
		path += n + 1;
	}
}

bool sp_doc_is(const struct sp_doc *d, uint32_t value, const char *text)
{
	return is_text(d, value, text, strlen(text));
}

/* What follows a number in the text ends it for strtod(), too. The locale's decimal point is C's. */
double sp_doc_double(const struct sp_doc *d, uint32_t value, double other)
{
	double number;

	if (d->nodes[value].kind != SP_DOC_NUMBER)
		return other;
	number = strtod(d->text + d->nodes[value].start, NULL);
	return isfinite(number) ? number : other;
}

int64_t sp_doc_int(const struct sp_doc *d, uint32_t value, int64_t other)
{
	const char *text = d->text + d->nodes[value].start;
	double number;
	char *end;
	int64_t n;

	if (d->nodes[value].kind != SP_DOC_NUMBER)
		return other;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text + d->nodes[value].len && !errno)
		return n;
	number = sp_doc_double(d, value, (double)other);
	return fabs(number) < 9e18 ? (int64_t)llround(number) : other;
}

/* --- strings --- */
static unsigned four_digits(const char *at)
{
	unsigned n = 0;

	for (int i = 0; i < 4; i++)
		n = n << 4 | (unsigned)sp_hex_digit(at[i]);
	return n;
}

static size_t put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* One escape, which is checked already. Half a pair, and NUL, which would end the name, become U+FFFD. */
static const char *unescape(const char *at, const char *end, char **to)
{
	static const char plain[] = "bfnrt\"\\/", meant[] = "\b\f\n\r\t\"\\/";
	unsigned c;

	if (*at != 'u') {
		*(*to)++ = meant[strchr(plain, *at) - plain];
		return at + 1;
	}
	c = four_digits(at + 1);
	at += 5;
	if (c >= 0xd800 && c < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
		unsigned low = four_digits(at + 2);

		if (low >= 0xdc00 && low < 0xe000) {
			*to += put_utf8(*to, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
			return at + 6;
		}
	}
	*to += put_utf8(*to, !c || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
	return at;
}

const char *sp_doc_string(struct sp_doc *d, uint32_t value)
{
	const struct node *node = &d->nodes[value];
	const char *at = d->text + node->start, *end = at + node->len;
	char *to;

	if (node->kind != SP_DOC_STRING)
		return "";
	if (sp_grow(&d->string, &d->string_capacity, (size_t)node->len + 1, 1) < 0)
		return NULL;
	to = d->string;
	while (at < end) {
		const char *escape = memchr(at, '\\', (size_t)(end - at));
		size_t n = (size_t)((escape ? escape : end) - at);

		memcpy(to, at, n);
		to += n;
		at = escape ? unescape(escape + 1, end, &to) : end;
	}
	*to = 0;
	return d->string;
}

/* --- arrays --- */
static size_t count_of(const struct sp_doc *d, uint32_t array)
{
	size_t n = 0;

	if (d->nodes[array].kind != SP_DOC_ARRAY)
		return 0;
	for (uint32_t value = sp_doc_first(d, array); value; value = sp_doc_next(d, array, value))
		n++;
	return n;
}

int sp_doc_elements(const struct sp_doc *d, uint32_t array, uint32_t **ret_values, size_t *ret_n)
{
	size_t n = count_of(d, array), i = 0;
	uint32_t *values = calloc(n + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (uint32_t value = n ? sp_doc_first(d, array) : 0; value; value = sp_doc_next(d, array, value))
		values[i++] = value;
	*ret_values = values;
	*ret_n = n;
	return 0;
}

int sp_doc_ints(const struct sp_doc *d, uint32_t array, int64_t other, int64_t **ret_numbers, size_t *ret_n)
{
	size_t n = count_of(d, array), i = 0;
	int64_t *numbers = calloc(n + 1, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (uint32_t value = n ? sp_doc_first(d, array) : 0; value; value = sp_doc_next(d, array, value))
		numbers[i++] = sp_doc_int(d, value, other);
	*ret_numbers = numbers;
	*ret_n = n;
	return 0;
}

int sp_doc_bad(const struct sp_doc *d, uint32_t value, const char *format, ...)
{
	char words[256];
	va_list args;

	va_start(args, format);
	if (vsnprintf(words, sizeof(words), format, args) < 0)
		*words = 0;
	va_end(args);
	return sp_input_bad_at(d->in, d->o, d->result, d->offset + d->nodes[value].start, "%s", words);
}
