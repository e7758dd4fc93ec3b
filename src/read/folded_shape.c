/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folded_shape.c: see folded.h. */
#include "read/folded.h"

#include "base/mem.h"
#include "read/input.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMM = 15, MAX_COUNT_BYTES = 64 };

/* --- counts --- */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Most counts are a few digits: no rounding, no copy. */
static int whole_count(const char *text, size_t len, int64_t *ret_count)
{
	bool minus = *text == '-';
	int64_t count = 0;

	if (len == minus)
		return -EINVAL;
	for (size_t i = minus; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(count, 10, &count) || __builtin_sub_overflow(count, text[i] - '0', &count))
			return -ERANGE;
	}
	if (!minus && count == INT64_MIN)
		return -ERANGE;
	*ret_count = minus ? count : -count;
	return 0;
}

static int broken_count(const char *text, size_t len, unsigned int decimals, int64_t *ret_count,
			unsigned int *ret_decimals)
{
	char copy[MAX_COUNT_BYTES], *end;
	const char *point = memchr(text, '.', len);
	double value;

	if (len >= sizeof(copy) || !(isdigit((unsigned char)text[len - 1]) || text[len - 1] == '.'))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = 0;
	if (strspn(copy, "0123456789.eE+-") != len || !strpbrk(copy, "0123456789"))
		return -EINVAL;
	value = strtod(copy, &end);
	if (*end)
		return -EINVAL;
	*ret_decimals = point ? (unsigned int)strspn(point + 1, "0123456789") : 0;
	if (strpbrk(copy, "eE"))
		*ret_decimals = value == round(value) ? 0 : 9;
	value = round(value * pow(10, decimals));
	if (!(fabs(value) < 9e18))
		return -ERANGE;
	*ret_count = (int64_t)value;
	return 0;
}

int sp_folded_count(const char *line, size_t *len, unsigned int decimals, int64_t *ret_count,
		    unsigned int *ret_decimals)
{
	static const int64_t scale[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
	size_t end = *len, start;
	int r;

	while (end && is_blank(line[end - 1]))
		end--;
	for (start = end; start && !is_blank(line[start - 1]);)
		start--;
	if (start == end || !start)
		return -EINVAL;
	*ret_decimals = 0;
	r = whole_count(line + start, end - start, ret_count);
	if (r == -EINVAL)
		r = broken_count(line + start, end - start, decimals, ret_count, ret_decimals);
	else if (!r && __builtin_mul_overflow(*ret_count, scale[decimals], ret_count))
		r = -ERANGE;
	if (r < 0)
		return r;
	while (start && is_blank(line[start - 1]))
		start--;
	*len = start;
	return 0;
}

/* --- the first words --- */
static size_t without_pid(const char *word, size_t len)
{
	size_t n = len;

	while (n && (isdigit((unsigned char)word[n - 1]) || word[n - 1] == '/' || word[n - 1] == '?'))
		n--;
	return n > 1 && n < len && word[n - 1] == '-' ? n - 1 : len;
}

/* \xNN is one byte. */
static size_t decoded_length(const char *word, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; n++)
		i += word[i] == '\\' && i + 3 < len && word[i + 1] == 'x' ? 4 : 1;
	return n;
}

static bool is_root(const char *word, size_t len)
{
	static const char *const roots[] = {
	    "all",       "root",     "main",         "_start",         "start_thread", "clone",
	    "clone3",    "__clone",  "__clone3",     "__GI___clone",   "_dl_start",    "ret_from_fork",
	    "[unknown]", "<module>", "runtime.main", "runtime.goexit", "threading.py", "do_syscall_64",
	};

	for (size_t i = 0; i < SP_COUNT(roots); i++)
		if (strlen(roots[i]) == len && !memcmp(roots[i], word, len))
			return true;
	return false;
}

static bool may_be_thread(const char *word, size_t len)
{
	size_t n = without_pid(word, len);

	return n && decoded_length(word, n) <= MAX_COMM && !memchr(word, '(', n) && !memchr(word, '<', n) &&
	       !memmem(word, n, "::", 2) && !is_root(word, len);
}

/* --- lines --- */
struct look {
	struct sp_folded_shape shape;
	size_t n_two;
	bool no_thread;
	unsigned int decimals;
};

/*
 * Whether another count may precede the last one. It has no sign or exponent: ` -2` may belong to a function's name
 * (our own view encodes ` 2` there).
 */
static bool ends_in_digits(const char *line, size_t len)
{
	size_t n = len;

	while (n && (isdigit((unsigned char)line[n - 1]) || line[n - 1] == '.'))
		n--;
	return n < len && n && is_blank(line[n - 1]);
}

static void look_at_line(struct look *l, const char *line, size_t len)
{
	const char *frames = memchr(line, ';', len);
	size_t stack = len, shorter;
	unsigned int decimals = 0;
	int64_t count;

	l->shape.n_lines++;
	if (sp_folded_count(line, &stack, 0, &count, &decimals) < 0)
		return;
	l->shape.n_counted++;
	l->shape.has_frames |= frames != NULL;
	l->decimals = SP_MAX(l->decimals, decimals);
	shorter = stack;
	if (ends_in_digits(line, stack) && !sp_folded_count(line, &shorter, 0, &count, &decimals)) {
		l->n_two++;
		l->decimals = SP_MAX(l->decimals, decimals);
	}
	l->no_thread |= !may_be_thread(line, frames ? (size_t)(frames - line) : stack);
}

static bool is_text(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (head[i] < 0x20 && head[i] != '\t' && head[i] != '\n' && head[i] != '\r' && head[i] != 0x1b)
			return false;
	return true;
}

bool sp_folded_is_comment(const char *line, size_t len)
{
	unsigned int decimals;
	int64_t count;

	return *line == '#' && !memchr(line, ';', len) && sp_folded_count(line, &len, 0, &count, &decimals) == -EINVAL;
}

struct sp_folded_shape sp_folded_detect(const uint8_t *head, size_t n)
{
	struct look l = {.shape.is_text = is_text(head, n)};

	for (size_t at = 0; at < n;) {
		const char *line = (const char *)head + at, *newline = memchr(line, '\n', n - at);
		size_t len = newline ? (size_t)(newline - line) : n - at;

		at += len + 1;
		if (!newline && n >= SP_INPUT_HEAD) /* cut by the end of the head */
			break;
		while (len && is_blank(line[len - 1]))
			len--;
		if (len && !sp_folded_is_comment(line, len))
			look_at_line(&l, line, len);
	}
	l.shape.n_counts = l.n_two && l.n_two == l.shape.n_counted ? 2 : 1;
	l.shape.decimals = SP_MIN((l.decimals + 2) / 3 * 3, 9U);
	l.shape.thread_first = l.shape.has_frames && !l.no_thread;
	return l.shape;
}
