/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accept.c: chooses the form of metrics by a client's Accept (RFC 9110, 12.5.1).
 *
 * For each form the most specific range counts: type/subtype, then type/(star), then (star)/(star). A range with a
 * version that we do not write does not match. If both forms have the same weight it is text, unless OpenMetrics was
 * named, and text was not or not before it. What cannot be parsed is ignored.
 */
#include "agent/export/exposition.h"
#include "base/mem.h"
#include <string.h>
#include <strings.h>

enum { UNNAMED = 0, ANY = 1, TYPE = 2, NAMED = 3, THOUSAND = 1000 };

struct form {
	const char *type, *subtype, *version;
};
struct preference {
	unsigned specificity; /* how specific the range is */
	unsigned q;           /* weight in thousandths */
	const char *at;
};

static const struct form forms[] = {
    [SP_EXPO_TEXT] = {"text", "plain", "0.0.4"},
    [SP_EXPO_OPENMETRICS] = {"application", "openmetrics-text", "1.0.0"},
};

static const char *skip_space(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* `end` if there is none. */
static const char *find_char(const char *at, const char *end, char c)
{
	while (at < end && *at != c)
		at++;
	return at;
}

static bool is_word(const char *at, size_t n, const char *word)
{
	return n == strlen(word) && !strncasecmp(at, word, n);
}

/* "1", "0.75", "0." in thousandths; anything else is 1. */
static unsigned parse_weight(const char *at, size_t n)
{
	unsigned q = 0, digit = THOUSAND / 10;

	if (!n || *at != '0' || (n > 1 && at[1] != '.'))
		return THOUSAND;
	for (size_t i = 2; i < n && at[i] >= '0' && at[i] <= '9'; i++, digit /= 10)
		q += (unsigned)(at[i] - '0') * digit;
	return q;
}

/* Finds the next parameter's name and value, up to `;`; false at the range's end. */
static bool next_parameter(const char **at, const char *end, const char **ret_name, size_t *ret_name_n,
			   const char **ret_value, size_t *ret_value_n)
{
	const char *from = *at, *to, *equals;

	if (from >= end)
		return false;
	from = skip_space(from + 1, end); /* behind the ';' */
	*at = to = find_char(from, end, ';');
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	equals = find_char(from, to, '=');
	*ret_name = from;
	*ret_name_n = (size_t)(equals - from);
	*ret_value = equals < to ? equals + 1 : to;
	if (to - *ret_value >= 2 && **ret_value == '"' && to[-1] == '"') {
		++*ret_value;
		to--;
	}
	*ret_value_n = (size_t)(to - *ret_value);
	return true;
}

static unsigned match_range(const struct form *f, const char *range, size_t n)
{
	const char *slash = find_char(range, range + n, '/');
	size_t type_n = (size_t)(slash - range);

	if (type_n == n)
		return UNNAMED;
	if (is_word(range, n, "*/*"))
		return ANY;
	if (!is_word(range, type_n, f->type))
		return UNNAMED;
	if (is_word(slash, n - type_n, "/*"))
		return TYPE;
	return is_word(slash + 1, n - type_n - 1, f->subtype) ? NAMED : UNNAMED;
}

static void apply_range(const struct form *f, const char *at, const char *end, struct preference *l)
{
	const char *from = skip_space(at, end), *to = find_char(from, end, ';'), *name, *value;
	size_t name_n, value_n, n;
	unsigned specificity, q = THOUSAND;

	at = to;
	for (; to > from && (to[-1] == ' ' || to[-1] == '\t');)
		to--;
	n = (size_t)(to - from);
	specificity = match_range(f, from, n);
	while (next_parameter(&at, end, &name, &name_n, &value, &value_n)) {
		if (is_word(name, name_n, "q"))
			q = parse_weight(value, value_n);
		else if (is_word(name, name_n, "version") && !is_word(value, value_n, f->version))
			specificity = UNNAMED;
	}
	if (specificity > l->specificity || (specificity == l->specificity && specificity && q > l->q))
		*l = (struct preference){.specificity = specificity, .q = q, .at = from};
}

/* A comma within quotes does not end a range. */
static const char *find_range_end(const char *at)
{
	bool quoted = false;

	for (; *at && (quoted || *at != ','); at++)
		quoted ^= *at == '"';
	return at;
}

enum sp_expo_form sp_expo_accepted(const char *accept)
{
	struct preference preferences[SP_COUNT(forms)] = {0}, *text = &preferences[SP_EXPO_TEXT],
			  *open = &preferences[SP_EXPO_OPENMETRICS];

	while (accept && *accept) {
		const char *end = find_range_end(accept);

		for (size_t i = 0; i < SP_COUNT(forms); i++)
			apply_range(&forms[i], accept, end, &preferences[i]);
		accept = *end ? end + 1 : end;
	}
	if (open->specificity < TYPE || !open->q || open->q < text->q)
		return SP_EXPO_TEXT;
	if (open->q > text->q)
		return SP_EXPO_OPENMETRICS;
	return open->specificity == NAMED && (text->specificity < NAMED || open->at < text->at) ? SP_EXPO_OPENMETRICS
												: SP_EXPO_TEXT;
}
