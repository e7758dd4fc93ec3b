/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values.c: parses the values of options. */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/search.h"
#include "base/suggest.h"
#include "cmd/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void sp_u32_list_done(struct sp_u32_list *list)
{
	free(list->values);
	*list = (struct sp_u32_list){0};
}

static int number(const char *text, size_t len, uint64_t *ret_number)
{
	const char *end = text;
	int r = sp_parse_digits(&end, ret_number);

	return end == text + len ? r : -EINVAL;
}

static int bad_number(const char *shown, const char *text, size_t len, const char *whole)
{
	if (len == strlen(whole))
		return sp_fail_said(-EINVAL, "%s: '%s' is not a whole number", shown, whole);
	return sp_fail_said(-EINVAL, "%s: '%.*s' in '%s' is not a whole number", shown, (int)len, text, whole);
}

static int check_range(const struct sp_option *o, const char *shown, int r, uint64_t n, const char *text, size_t len)
{
	if (r == 0 && n >= o->min && n <= o->max)
		return 0;
	if (o->max == UINT64_MAX && r == 0)
		return sp_fail_said(-EINVAL, "%s must be at least %" PRIu64 ", not %.*s", shown, o->min, (int)len,
				    text);
	return sp_fail_said(-EINVAL, "%s must be %" PRIu64 " to %" PRIu64 ", not %.*s", shown, o->min, o->max, (int)len,
			    text);
}

/* A number in range from the first len bytes of text, which stands in `whole`. */
static int ranged(const struct sp_option *o, const char *shown, const char *text, size_t len, const char *whole,
		  uint64_t *ret_number)
{
	uint64_t n = 0;
	int r = number(text, len, &n);

	if (r == -EINVAL)
		return bad_number(shown, text, len, whole);
	r = check_range(o, shown, r, n, text, len);
	if (r == 0)
		*ret_number = n;
	return r;
}

static unsigned shift_of(char suffix)
{
	switch (suffix) {
	case 'K':
	case 'k':
		return 10;
	case 'M':
	case 'm':
		return 20;
	case 'G':
	case 'g':
		return 30;
	default:
		return 0;
	}
}

/* As it could be typed. */
static void write_bytes(uint64_t bytes, char *ret_text, size_t size)
{
	static const char suffixes[] = {'G', 'M', 'K'};

	for (unsigned i = 0; i < sizeof(suffixes); i++) {
		unsigned shift = shift_of(suffixes[i]);
		if (bytes >> shift && !(bytes & ((UINT64_C(1) << shift) - 1))) {
			snprintf(ret_text, size, "%" PRIu64 "%c", bytes >> shift, suffixes[i]);
			return;
		}
	}
	snprintf(ret_text, size, "%" PRIu64, bytes);
}

static int store_bytes(const struct sp_option *o, const char *shown, const char *text, uint64_t *ret_bytes)
{
	size_t len = strlen(text);
	unsigned shift = len ? shift_of(text[len - 1]) : 0;
	uint64_t n = 0;
	char least[24], most[24];
	int r = number(text, shift ? len - 1 : len, &n);

	if (r == -EINVAL)
		return sp_fail_said(r, "%s: '%s' is not a size such as 512K, 24M or 1G", shown, text);
	if (r < 0 || n > UINT64_MAX >> shift || n << shift < o->min || n << shift > o->max) {
		write_bytes(o->min, least, sizeof(least));
		write_bytes(o->max, most, sizeof(most));
		return sp_fail_said(-EINVAL, "%s must be %s to %s, not %s", shown, least, most, text);
	}
	*ret_bytes = n << shift;
	return 0;
}

static void sort_unique(struct sp_u32_list *list)
{
	size_t n = 0;

	qsort(list->values, list->n, sizeof(*list->values), sp_compare_u32);
	for (size_t i = 0; i < list->n; i++) {
		if (n == 0 || list->values[n - 1] != list->values[i])
			list->values[n++] = list->values[i];
	}
	list->n = n;
}

static int list_add(struct sp_u32_list *list, size_t *capacity, const char *shown, uint64_t first, uint64_t last)
{
	for (uint64_t v = first; v <= last; v++) {
		int r = list->n < SP_LIST_MAX ? sp_grow(&list->values, capacity, list->n + 1, sizeof(*list->values))
					      : -E2BIG;
		if (r == -E2BIG)
			return sp_fail_said(-EINVAL, "%s takes at most %d numbers", shown, SP_LIST_MAX);
		if (r < 0)
			return sp_fail(r, "%s", shown);
		list->values[list->n++] = (uint32_t)v;
	}
	return 0;
}

/* One item of a list: N, or A-B where ranges are allowed. */
static int item(const struct sp_option *o, const char *shown, const char *text, size_t len, const char *whole,
		uint64_t *ret_first, uint64_t *ret_last)
{
	const char *dash = o->type == SP_OPT_RANGES ? memchr(text, '-', len) : NULL;
	size_t n_first = dash ? (size_t)(dash - text) : len;
	int r = ranged(o, shown, text, n_first, whole, ret_first);

	*ret_last = *ret_first;
	if (r == 0 && dash)
		r = ranged(o, shown, dash + 1, len - n_first - 1, whole, ret_last);
	if (r == 0 && *ret_last < *ret_first)
		return sp_fail_said(-EINVAL, "%s: '%.*s' ends before it begins", shown, (int)len, text);
	return r;
}

static int store_list(const struct sp_option *o, const char *shown, const char *text, struct sp_u32_list *ret_list)
{
	struct sp_u32_list list = {0};
	size_t capacity = 0;

	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");
		uint64_t first = 0, last = 0;
		int r = item(o, shown, at, len, text, &first, &last);
		if (r == 0)
			r = list_add(&list, &capacity, shown, first, last);
		if (r < 0) {
			sp_u32_list_done(&list);
			return r;
		}
		at += len;
		if (!*at)
			break;
	}
	sort_unique(&list);
	sp_u32_list_done(ret_list);
	*ret_list = list;
	return 0;
}

int sp_choice_number(const char *(*choice)(size_t i), const char *name)
{
	for (int i = 0; choice((size_t)i); i++)
		if (!strcmp(choice((size_t)i), name))
			return i;
	return -1;
}

static int store_choice(const struct sp_option *o, const char *shown, const char *text, int *ret_choice)
{
	struct sp_suggest near = {.word = text};
	char all[256] = "";
	size_t len = 0;
	const char *choice;

	for (size_t i = 0; (choice = o->choice(i)); i++) {
		if (!strcmp(choice, text)) {
			*ret_choice = (int)i;
			return 0;
		}
		sp_suggest_offer(&near, choice);
		if (len < sizeof(all))
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "", choice);
	}
	if (near.best)
		return sp_fail_said(-EINVAL, "%s: '%s' is none of %s; did you mean %s?", shown, text, all, near.best);
	return sp_fail_said(-EINVAL, "%s: '%s' is none of %s", shown, text, all);
}

static int store_word(const struct sp_option *o, const char *text, struct sp_words *to)
{
	size_t capacity = to->n; /* few: room is made for one at a time */

	if (to->n == SP_LIST_MAX)
		return sp_fail_said(-EINVAL, "%s: more than %d of them", o->arg, SP_LIST_MAX);
	return SP_APPEND(to->words, to->n, capacity, text);
}

void sp_words_done(struct sp_words *words)
{
	free(words->words);
	*words = (struct sp_words){0};
}

bool sp_option_is_named(const struct sp_option *o)
{
	return o->type != SP_OPT_OPERAND && o->type != SP_OPT_OPERANDS && o->type != SP_OPT_COMMAND;
}

int sp_option_store(const struct sp_option *o, const char *shown, const char *value, void *ret_args)
{
	void *at = (char *)ret_args + o->offset;

	switch (o->type) {
	case SP_OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case SP_OPT_STRING:
		if (!*value && !o->without)
			return sp_fail_said(-EINVAL, "%s: the value is empty", shown);
		*(const char **)at = value;
		return 0;
	case SP_OPT_NUMBER:
	case SP_OPT_OPERAND:
		return ranged(o, shown, value, strlen(value), value, at);
	case SP_OPT_WORDS:
		if (!*value)
			return sp_fail_said(-EINVAL, "%s: the value is empty", shown);
		return store_word(o, value, at);
	case SP_OPT_OPERANDS:
		return store_word(o, value, at);
	case SP_OPT_BYTES:
		return store_bytes(o, shown, value, at);
	case SP_OPT_LIST:
	case SP_OPT_RANGES:
		return store_list(o, shown, value, at);
	case SP_OPT_CHOICE:
		return store_choice(o, shown, value, at);
	case SP_OPT_OTHER:
		return o->parse(o, shown, value, ret_args);
	default:
		return sp_fail(-EINVAL, "%s", shown);
	}
}

int sp_words_take_seconds(struct sp_words *words, size_t least, uint64_t *ret_seconds)
{
	const struct sp_option seconds = {.type = SP_OPT_NUMBER, .min = 1, .max = SP_MAX_SECONDS};
	const char *last = words->n > least ? words->words[words->n - 1] : "";

	if (!*last || last[strspn(last, "0123456789")])
		return 0;
	words->n--;
	return sp_option_store(&seconds, "SECONDS", last, ret_seconds);
}
