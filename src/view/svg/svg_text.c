/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/svg/svg_text.h"

#include "base/encode.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sp_svg_put_text(FILE *out, const char *text)
{
	sp_encode(out, SP_ENCODE_XML, text);
}

/* The code point at s and its length; an XML entity counts as one, '&'. */
static uint32_t next_code(const char *s, size_t *ret_len)
{
	const uint8_t *u = (const uint8_t *)s;
	if (*s == '&') {
		*ret_len = strcspn(s, ";") + 1;
		return '&';
	}
	size_t len = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : u[0] >= 0xc0 ? 2 : 1;
	uint32_t code = len == 1 ? u[0] : u[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++)
		code = code << 6 | (u[i] & 0x3f);
	*ret_len = len;
	return code;
}

/* 2 for East Asian Wide and Fullwidth characters, by coarse ranges. */
static uint32_t cells_of(uint32_t code)
{
	return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
		       (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
		       (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
		       (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd)
		   ? 2
		   : 1;
}

/* The number of bytes that fit into n_cells; *ret_cells: the cells they take. */
static size_t fitting(const char *text, uint32_t n_cells, uint32_t *ret_cells)
{
	size_t at = 0;
	uint32_t cells = 0;
	while (text[at]) {
		size_t len;
		uint32_t wide = cells_of(next_code(text + at, &len));
		if (cells + wide > n_cells)
			break;
		cells += wide;
		at += len;
	}
	*ret_cells = cells;
	return at;
}

uint32_t sp_svg_text_cells(const char *text)
{
	SP_FREE char *safe = sp_encoded(SP_ENCODE_XML, text);
	uint32_t cells = 0;
	if (safe)
		fitting(safe, UINT32_MAX - 2, &cells);
	return cells;
}

enum { LEAST_PLACE = 5 }; /* cells */

/* Of a place without a name, "libz.so.1+0x2f10", all but the name: where the offset begins, and NULL of other texts. */
static const char *find_offset(const char *text)
{
	const char *at = strrchr(text, '+');
	return at && at > text && !strncmp(at, "+0x", 3) && at[3] && !at[3 + strspn(at + 3, "0123456789abcdef")] ? at
														 : NULL;
}

int sp_svg_put_label(FILE *out, const char *text, uint32_t n_cells)
{
	SP_FREE char *safe = sp_encoded(SP_ENCODE_XML, text);
	uint32_t cells;
	if (!safe)
		return -ENOMEM;
	size_t len = fitting(safe, n_cells, &cells);
	if (!safe[len]) {
		fputs(safe, out);
		return 0;
	}
	const char *offset = find_offset(safe);
	uint32_t tail = offset && strlen(offset) + 3 <= n_cells ? (uint32_t)strlen(offset) : 0;
	if (offset && !tail && n_cells >= LEAST_PLACE) { /* the end tells places of one library apart */
		fprintf(out, "…%s", offset + strlen(offset) - SP_MIN(strlen(offset), (size_t)n_cells - 1));
		return 0;
	}
	len = n_cells ? fitting(safe, n_cells - 1 - tail, &cells) : 0;
	if (cells < 2 || !len)
		return 0;
	fwrite(safe, 1, len, out);
	fprintf(out, "…%s", tail ? offset : "");
	return 0;
}

char *sp_svg_count(uint64_t n)
{
	char digits[24], text[32];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = 0;
	return strdup(text);
}

char *sp_svg_fixed(double value, int digits)
{
	static const int64_t powers[] = {1, 10, 100};
	int64_t n = llround(value * (double)powers[digits]);
	SP_FREE char *whole = sp_svg_count((uint64_t)(n / powers[digits]));
	SP_FREE char *text = NULL;
	if (!whole || (digits && asprintf(&text, "%s.%0*" PRId64, whole, digits, n % powers[digits]) < 0))
		return NULL;
	return digits ? sp_take_ptr(text) : sp_take_ptr(whole);
}

struct scale {
	double step; /* so many of this unit are one of the next */
	const char *unit;
};

/* Three significant digits, in the largest unit in which it is at least 1. */
static char *scaled(double value, const struct scale *scale, const char *name)
{
	SP_FREE char *text = NULL;
	for (; scale->step > 0 && value >= scale->step; scale++)
		value /= scale->step;
	int digits = value >= 99.95 || value == trunc(value) ? 0 : value >= 9.995 ? 1 : 2;
	SP_FREE char *number = sp_svg_fixed(value, digits);
	if (!number || asprintf(&text, "%s %s%s%s", number, scale->unit, name[0] ? " " : "", name) < 0)
		return NULL;
	return sp_take_ptr(text);
}

char *sp_svg_amount(int64_t value, const char *name, const char *unit)
{
	static const struct scale times[] = {{1000, "ns"}, {1000, "µs"}, {1000, "ms"}, {0, "s"}};
	static const struct scale sizes[] = {{1024, "B"}, {1024, "KiB"}, {1024, "MiB"}, {1024, "GiB"}, {0, "TiB"}};
	static const char *const time_units[] = {"nanoseconds", "microseconds", "milliseconds", "seconds"};
	for (size_t i = 0; i < SP_COUNT(time_units); i++)
		if (!strcmp(unit, time_units[i]))
			return scaled((double)value, times + i, name);
	if (!strcmp(unit, "bytes"))
		return scaled((double)value, sizes, name);
	SP_FREE char *count = sp_svg_count((uint64_t)value);
	SP_FREE char *text = NULL;
	const char *what = strcmp(unit, "count") != 0 && unit[0] ? unit : name;
	size_t len = strlen(what), one = value == 1 && what == name && len && what[len - 1] == 's'; /* 1 sample */
	if (!count || asprintf(&text, "%s %.*s", count, (int)(len - one), what) < 0)
		return NULL;
	return sp_take_ptr(text);
}

void sp_svg_put_px(FILE *out, double px)
{
	long tenths = lround(px * 10);
	if (tenths % 10)
		fprintf(out, "%ld.%ld", tenths / 10, tenths % 10);
	else
		fprintf(out, "%ld", tenths / 10);
}
