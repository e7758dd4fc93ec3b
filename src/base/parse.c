/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parse.h"

#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int sp_parse_digits(const char **text, uint64_t *ret_number)
{
	uint64_t v = 0;
	bool too_big = false;

	if (!parse_is_digit(**text))
		return -EINVAL;
	for (; parse_is_digit(**text); (*text)++)
		too_big |= __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(**text - '0'), &v);
	*ret_number = v;
	return too_big ? -ERANGE : 0;
}

int sp_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	uint64_t v;
	int r = sp_parse_digits(&text, &v);

	if (r == -EINVAL || *text != '\0')
		return -EINVAL;
	if (r < 0 || v < min || v > max)
		return -ERANGE;
	*ret_number = v;
	return 0;
}

/* ns of one unit of a duration; 0 = no such unit. */
static uint64_t ns_of(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"", SP_NS_PER_S},
		     {"ns", 1},
		     {"us", 1000},
		     {"ms", 1000000},
		     {"s", SP_NS_PER_S},
		     {"m", 60 * SP_NS_PER_S},
		     {"h", 3600 * SP_NS_PER_S},
		     {"d", 86400 * SP_NS_PER_S}};

	for (size_t i = 0; i < SP_COUNT(units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].ns;
	return 0;
}

/* ".25" as billionths; 0 if there is no point. */
static int billionths(const char **text, uint64_t *ret_number)
{
	*ret_number = 0;
	if (**text != '.')
		return 0;
	const char *from = ++*text;
	int r = sp_parse_digits(text, ret_number);
	if (r < 0 || *text - from > 9)
		return -EINVAL;
	for (long n = *text - from; n < 9; n++)
		*ret_number *= 10;
	return 0;
}

int sp_parse_duration(const char *text, uint64_t *ret_ns)
{
	uint64_t whole, part, ns;
	int r = sp_parse_digits(&text, &whole);

	if (r == -EINVAL || billionths(&text, &part) < 0)
		return -EINVAL;
	uint64_t unit = ns_of(text);
	if (unit == 0)
		return -EINVAL;
	/* part < 1e9 and unit <= 86400e9: in two steps, or the product would not fit */
	uint64_t fraction = unit >= SP_NS_PER_S ? part * (unit / SP_NS_PER_S) : part * unit / SP_NS_PER_S;
	if (r < 0 || __builtin_mul_overflow(whole, unit, &ns) || __builtin_add_overflow(ns, fraction, &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

struct list {
	uint32_t *numbers;
	size_t n, capacity, n_max;
};

static int list_range(struct list *l, uint64_t first, uint64_t last)
{
	if (last < first)
		return -EINVAL;
	if (last - first >= l->n_max - l->n)
		return -ERANGE;
	int r = sp_grow(&l->numbers, &l->capacity, l->n + (last - first) + 1, sizeof(*l->numbers));
	if (r < 0)
		return r;
	for (uint64_t v = first; v <= last; v++)
		l->numbers[l->n++] = (uint32_t)v;
	return 0;
}

/* One number or range of a list; *text is moved behind it. */
static int list_item(struct list *l, uint32_t max, const char **text)
{
	uint64_t first, last;
	int r = sp_parse_digits(text, &first);

	last = first;
	if (r == 0 && **text == '-') {
		(*text)++;
		r = sp_parse_digits(text, &last);
	}
	if (r < 0)
		return r;
	if (first > max || last > max)
		return -ERANGE;
	return list_range(l, first, last);
}

int sp_parse_list(const char *text, uint32_t max, size_t n_max, uint32_t **ret_numbers, size_t *ret_n)
{
	SP_FREE uint32_t *numbers = NULL;
	struct list l = {.n_max = n_max};
	int r = 0;

	while (*text != '\0' && r == 0) {
		r = list_item(&l, max, &text);
		numbers = l.numbers;
		if (r == 0 && *text == ',' && text[1] != '\0')
			text++;
		else if (r == 0 && *text != '\0')
			r = -EINVAL;
	}
	if (r < 0)
		return r;
	*ret_numbers = sp_take_ptr(numbers);
	*ret_n = l.n;
	return 0;
}

int sp_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int any_hex_digit(char c)
{
	return sp_hex_digit(c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c);
}

int sp_percent_decode(char *text, bool as_in_forms)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		int high, low;

		if (*from != '%') {
			*to++ = as_in_forms && *from == '+' ? ' ' : *from;
			continue;
		}
		high = any_hex_digit(from[1]);
		low = high < 0 ? -1 : any_hex_digit(from[2]);
		if (low < 0 || (high == 0 && low == 0))
			return -EINVAL;
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = '\0';
	return 0;
}
