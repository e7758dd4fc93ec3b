/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/exposition.h"
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 20, NS_DIGITS = 9, EXEMPLAR_MAX = 128 };
#define NS_PER_SECOND UINT64_C(1000000000)

/* --- labels --- */
/* Cuts between characters of UTF-8. */
static void cut_value(char *text)
{
	char hash[16];
	size_t len = strlen(text), n = SP_LABEL_MAX - sizeof(hash);

	if (len <= SP_LABEL_MAX)
		return;
	snprintf(hash, sizeof(hash), "~%012" PRIx64, sp_hash_bytes(text, len, 0) & UINT64_C(0xffffffffffff));
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(text + n, hash, strlen(hash) + 1);
}

char *sp_label_value(const char *value)
{
	char *text = sp_encoded(SP_ENCODE_TERMINAL, value);

	if (text)
		cut_value(text);
	return text;
}

static size_t escape_value(const char *value, char *to)
{
	char *at = to;

	for (; *value; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			*at++ = '\\';
		*at++ = *value == '\n' ? 'n' : *value;
	}
	return (size_t)(at - to);
}

int sp_label_add(struct sp_labels *l, const char *name, const char *value)
{
	SP_FREE char *text = sp_label_value(value);
	size_t name_n = strlen(name);

	if (!text)
		return -ENOMEM;
	if (l->n + name_n + 2 * strlen(text) + sizeof(",=\"\"") > sizeof(l->text))
		return -E2BIG;
	if (l->n)
		l->text[l->n++] = ',';
	memcpy(l->text + l->n, name, name_n);
	l->n += name_n;
	l->text[l->n++] = '=';
	l->text[l->n++] = '"';
	l->n += escape_value(text, l->text + l->n);
	l->text[l->n++] = '"';
	l->text[l->n] = 0;
	return 0;
}

/* --- the buffer --- */
static char *reserve(struct sp_expo *x, size_t n)
{
	if (x->failed || sp_grow(&x->text, &x->capacity, x->n + n + 1, 1) < 0) {
		x->failed = true;
		return NULL;
	}
	return x->text + x->n;
}

static void put(struct sp_expo *x, const char *bytes, size_t n)
{
	char *at = reserve(x, n);

	if (!at)
		return;
	memcpy(at, bytes, n);
	x->n += n;
}

static void put_text(struct sp_expo *x, const char *text)
{
	put(x, text, strlen(text));
}

static size_t format_decimal(uint64_t value, char ret_digits[DIGITS + 1])
{
	char digits[DIGITS];
	size_t n = 0, i;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	for (i = 0; i < n; i++)
		ret_digits[i] = digits[n - 1 - i];
	return n;
}

static void put_number(struct sp_expo *x, uint64_t value)
{
	char digits[DIGITS + 1];

	put(x, digits, format_decimal(value, digits));
}

static void put_seconds(struct sp_expo *x, uint64_t ns)
{
	char fraction[NS_DIGITS + 1] = ".000000000";
	uint64_t rest = ns % NS_PER_SECOND;
	size_t n = NS_DIGITS;

	put_number(x, ns / NS_PER_SECOND);
	if (!rest)
		return;
	for (; n; n--, rest /= 10)
		fraction[n] = (char)('0' + rest % 10);
	for (n = NS_DIGITS; fraction[n] == '0';)
		n--;
	put(x, fraction, n + 1);
}

/* --- families --- */
static void put_comment(struct sp_expo *x, const char *what, const char *name, const char *suffix, const char *text)
{
	put_text(x, "# ");
	put_text(x, what);
	put_text(x, " ");
	put_text(x, name);
	put_text(x, suffix);
	put_text(x, " ");
	put_text(x, text);
	put_text(x, "\n");
}

static const char *type_suffix(enum sp_expo_type type)
{
	return type == SP_EXPO_COUNTER ? "_total" : type == SP_EXPO_INFO ? "_info" : "";
}

static const char *type_name(const struct sp_expo *x, enum sp_expo_type type)
{
	if (type == SP_EXPO_COUNTER)
		return "counter";
	return type == SP_EXPO_INFO && x->form == SP_EXPO_OPENMETRICS ? "info" : "gauge";
}

void sp_expo_family(struct sp_expo *x, enum sp_expo_type type, const char *name, const char *unit, const char *help)
{
	const char *suffix = x->form == SP_EXPO_TEXT ? type_suffix(type) : "";

	x->name_n = (size_t)snprintf(x->name, sizeof(x->name), "%s%s", name, type_suffix(type));
	x->name_n = SP_MIN(x->name_n, sizeof(x->name) - 1);
	if (x->form == SP_EXPO_REMOTE)
		return;
	put_comment(x, "HELP", name, suffix, help);
	put_comment(x, "TYPE", name, suffix, type_name(x, type));
	if (unit && x->form == SP_EXPO_OPENMETRICS)
		put_comment(x, "UNIT", name, suffix, unit);
}

const char *sp_labels_of(struct sp_expo *x, struct sp_labels *l, const char *name, const char *value, const char *name2,
			 const char *value2)
{
	l->n = 0;
	l->text[0] = 0;
	if (sp_label_add(l, name, value) < 0 || (name2 && sp_label_add(l, name2, value2) < 0)) {
		x->failed = true;
		return "";
	}
	return l->text;
}

/* --- remote write --- */
enum { REQUEST_SERIES = 1, SERIES_LABEL = 1, SERIES_SAMPLE = 2, LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { SAMPLE_VALUE = 1, SAMPLE_TIMESTAMP = 2 };

struct label {
	const char *name, *value; /* the value up to its quote, escaped */
	size_t name_n, value_n;
};

/* The labels are our own, so they are well-formed. */
static size_t split_labels(const char *text, struct label *ret_labels)
{
	size_t n = 0;

	while (*text && n < SP_LABELS_MAX_N) {
		struct label *l = &ret_labels[n++];

		l->name = text;
		l->name_n = strcspn(text, "=");
		l->value = text = text + l->name_n + 2;
		while (*text != '"')
			text += *text == '\\' ? 2 : 1;
		l->value_n = (size_t)(text - l->value);
		text += text[1] ? 2 : 1;
	}
	return n;
}

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int r = memcmp(x->name, y->name, SP_MIN(x->name_n, y->name_n));

	return r ? r : (x->name_n > y->name_n) - (x->name_n < y->name_n);
}

static size_t unescape(const struct label *l, char *to)
{
	size_t n = 0, i;

	for (i = 0; i < l->value_n; i++) {
		if (l->value[i] != '\\')
			to[n++] = l->value[i];
		else
			to[n++] = l->value[++i] == 'n' ? '\n' : l->value[i];
	}
	return n;
}

static void put_remote_label(struct sp_expo *x, const char *name, size_t name_n, const char *value, size_t value_n)
{
	sp_pbuf_bytes(&x->part, LABEL_NAME, name, name_n);
	sp_pbuf_bytes(&x->part, LABEL_VALUE, value, value_n);
	sp_pbuf_message(&x->series, SERIES_LABEL, &x->part);
}

/* A series' own labels replace external ones of the same name. */
static size_t collect_labels(const struct sp_expo *x, const char *text, struct label *ret_labels)
{
	struct label common[SP_LABELS_MAX_N];
	size_t own = split_labels(text, ret_labels), n = own, n_common, i, k;

	n_common = x->external ? split_labels(x->external, common) : 0;
	for (i = 0; i < n_common; i++) {
		for (k = 0; k < own && compare_labels(&ret_labels[k], &common[i]) != 0;)
			k++;
		if (k == own)
			ret_labels[n++] = common[i];
	}
	qsort(ret_labels, n, sizeof(*ret_labels), compare_labels);
	return n;
}

static void put_remote_sample(struct sp_expo *x, const char *text, double value)
{
	struct label labels[2 * SP_LABELS_MAX_N];
	char plain[SP_LABELS_MAX];
	size_t n = collect_labels(x, text, labels), i;

	put_remote_label(x, "__name__", 8, x->name, x->name_n); /* sorts before all letters */
	for (i = 0; i < n; i++)
		if (labels[i].value_n)
			put_remote_label(x, labels[i].name, labels[i].name_n, plain, unescape(&labels[i], plain));
	sp_pbuf_double(&x->part, SAMPLE_VALUE, value);
	sp_pbuf_number(&x->part, SAMPLE_TIMESTAMP, (uint64_t)x->at_ms);
	sp_pbuf_message(&x->series, SERIES_SAMPLE, &x->part);
	sp_pbuf_message(&x->message, REQUEST_SERIES, &x->series);
}

/* --- samples --- */
static void begin_sample(struct sp_expo *x, const char *labels)
{
	put(x, x->name, x->name_n);
	if (*labels) {
		put(x, "{", 1);
		put_text(x, labels);
		put(x, "}", 1);
	}
	put(x, " ", 1);
}

void sp_expo_number(struct sp_expo *x, const char *labels, uint64_t value)
{
	x->n_samples++;
	if (x->form == SP_EXPO_REMOTE) {
		put_remote_sample(x, labels, (double)value);
		return;
	}
	begin_sample(x, labels);
	put_number(x, value);
	put(x, "\n", 1);
}

/* The page's range is in whole seconds: the window begins in it, the next one does not. */
static void make_link(struct sp_expo *x, const struct sp_exemplar *e)
{
	uint64_t from = e->from_ns / NS_PER_SECOND, to = e->to_ns / NS_PER_SECOND;
	size_t page = x->page ? strlen(x->page) : 0;
	int n;

	if (x->link_n && x->link_from_ns == e->from_ns && x->link_to_ns == e->to_ns)
		return;
	to += from >= to; /* shorter than a second */
	x->link_from_ns = e->from_ns;
	x->link_to_ns = e->to_ns;
	n = snprintf(x->link, sizeof(x->link), " # {page=\"%s#to=%" PRIu64 "&at=%" PRIu64 "-%" PRIu64 "\"} ",
		     page < EXEMPLAR_MAX / 2 && page ? x->page : "/", to, from, to);
	x->link_n = SP_MIN((size_t)n, sizeof(x->link) - 1);
}

static void put_exemplar(struct sp_expo *x, const struct sp_exemplar *e)
{
	make_link(x, e);
	put(x, x->link, x->link_n);
	put_seconds(x, e->value_ns);
	put(x, " ", 1);
	put_seconds(x, e->to_ns / 1000000 * 1000000);
}

void sp_expo_seconds_of(struct sp_expo *x, const char *labels, uint64_t ns, const struct sp_exemplar *exemplar)
{
	x->n_samples++;
	if (x->form == SP_EXPO_REMOTE) {
		put_remote_sample(x, labels, (double)ns / 1e9);
		return;
	}
	begin_sample(x, labels);
	put_seconds(x, ns);
	if (x->form == SP_EXPO_OPENMETRICS && exemplar && exemplar->value_ns)
		put_exemplar(x, exemplar);
	put(x, "\n", 1);
}

void sp_expo_seconds(struct sp_expo *x, const char *labels, uint64_t ns)
{
	sp_expo_seconds_of(x, labels, ns, NULL);
}

int sp_expo_end(struct sp_expo *x)
{
	if (x->form == SP_EXPO_OPENMETRICS)
		put_text(x, "# EOF\n");
	if (x->form == SP_EXPO_REMOTE) {
		x->failed |= x->message.failed;
		x->text = (char *)sp_take_ptr(x->message.data);
		x->n = x->message.n;
		x->capacity = x->message.capacity;
		x->message = (struct sp_pbuf){0};
	} else if (!x->failed) {
		*reserve(x, 0) = 0;
	}
	return x->failed ? -ENOMEM : 0;
}

void sp_expo_done(struct sp_expo *x)
{
	free(sp_take_ptr(x->text));
	free(sp_take_ptr(x->message.data));
	free(sp_take_ptr(x->series.data));
	free(sp_take_ptr(x->part.data));
}

const char *sp_expo_mime(enum sp_expo_form form)
{
	static const char *const mimes[SP_EXPO_N_FORMS] = {
	    [SP_EXPO_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
	    [SP_EXPO_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
	    [SP_EXPO_REMOTE] = "application/x-protobuf",
	};

	return mimes[form];
}
