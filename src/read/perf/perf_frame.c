/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_frame.c: the line of a frame; see perf_line.h. */
#include "read/perf/perf_line.h"

#include "base/mem.h"
#include "base/parse.h"

#include <string.h>

enum { ADDRESS_WIDTH = 16, ADDRESS_SURE = 6 }; /* perf's column; this many digits are an address anywhere */

/* The number of hex digits at the beginning of t, at most 16. */
static size_t hex_number(struct sp_perf_text t, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t n = 0;

	for (; n < t.n && n < 16 && sp_hex_digit(t.s[n]) >= 0; n++)
		number = number << 4 | (uint64_t)sp_hex_digit(t.s[n]);
	*ret_number = number;
	return n;
}

/* Takes +0xHEX from the end. */
static bool take_offset(struct sp_perf_text *t, uint64_t *ret_offset)
{
	size_t digits = 0;

	while (digits < t->n && digits < 17 && sp_hex_digit(t->s[t->n - 1 - digits]) >= 0)
		digits++;
	if (!digits || digits > 16 || t->n < digits + 3 || memcmp(t->s + t->n - digits - 3, "+0x", 3))
		return false;
	hex_number((struct sp_perf_text){t->s + t->n - digits, digits}, ret_offset);
	t->n -= digits + 3;
	return true;
}

/* --- the library in parentheses at the end --- */
static bool is_balanced(struct sp_perf_text t)
{
	size_t depth = 0;

	for (size_t i = 0; i < t.n; i++) {
		depth += t.s[i] == '(';
		if (t.s[i] == ')' && depth-- == 0)
			return false;
	}
	return depth == 0;
}

static bool is_opening(struct sp_perf_text t, size_t i)
{
	return t.s[i] == '(' && (i == 0 || sp_perf_is_space(t.s[i - 1]));
}

/* Where the parenthesis opens that the one at the end closes; t.n = nowhere. */
static size_t matching(struct sp_perf_text t)
{
	size_t depth = 0;

	for (size_t i = t.n; i-- > 0;) {
		depth += t.s[i] == ')';
		depth -= t.s[i] == '(';
		if (depth == 0)
			return is_opening(t, i) ? i : t.n;
	}
	return t.n;
}

static bool looks_like_path(struct sp_perf_text t)
{
	return t.n && (t.s[0] == '/' || t.s[0] == '[');
}

/*
 * Symbols have parentheses, too, and so may paths: `/opt/a (b)/lib.so (deleted)`. So the library is in the last pair,
 * unless that is only a part of a path.
 */
static bool take_library(struct sp_perf_text *t, struct sp_perf_text *ret_library)
{
	size_t last = t->n, whole;
	struct sp_perf_text library;

	if (!t->n || t->s[t->n - 1] != ')')
		return false;
	for (size_t i = t->n; i-- > 0 && last == t->n;)
		if (is_opening(*t, i))
			last = i;
	if (last == t->n)
		return false;
	library = (struct sp_perf_text){t->s + last + 1, t->n - last - 2};
	if (!is_balanced(library) && !looks_like_path(library)) {
		whole = matching(*t);
		if (whole < t->n && looks_like_path((struct sp_perf_text){t->s + whole + 1, t->n - whole - 2}))
			last = whole;
	}
	*ret_library = (struct sp_perf_text){t->s + last + 1, t->n - last - 2};
	t->n = last;
	return true;
}

static bool perf_frame_take_word(struct sp_perf_text *t, const char *word)
{
	size_t n = strlen(word);

	if (t->n < n || memcmp(t->s + t->n - n, word, n) != 0)
		return false;
	t->n -= n;
	return true;
}

bool sp_perf_frame_parse(struct sp_perf_text line, struct sp_perf_frame *ret_frame)
{
	struct sp_perf_text t = sp_perf_trim(line);
	struct sp_perf_frame f = {0};
	size_t digits = hex_number(t, &f.address);

	if (!digits || (digits < t.n && !sp_perf_is_space(t.s[digits])))
		return false;
	t.s += digits;
	t.n -= digits;
	f.is_inlined = perf_frame_take_word(&t, " (inlined)");
	if (!f.is_inlined)
		f.has_library = take_library(&t, &f.library);
	if (f.has_library)
		f.has_library_offset = take_offset(&f.library, &f.library_offset);
	f.symbol = sp_perf_trim(t);
	f.has_symbol_offset = take_offset(&f.symbol, &f.symbol_offset);
	*ret_frame = f;
	return true;
}

/* --- behind a header --- */
/* An address: right-justified in perf's column, or too long to be anything else. */
static bool is_address(struct sp_perf_text all, struct sp_perf_text word)
{
	uint64_t address;
	const char *from = word.s;

	while (from > all.s && from[-1] == ' ')
		from--;
	return word.n && hex_number(word, &address) == word.n &&
	       (word.n >= ADDRESS_SURE || (size_t)(word.s + word.n - from) >= ADDRESS_WIDTH);
}

static struct sp_perf_text first_word(struct sp_perf_text t)
{
	struct sp_perf_text word = {t.s, 0};

	while (word.n < t.n && sp_perf_is_space(*word.s))
		word.s++, t.n--;
	while (word.n < t.n && !sp_perf_is_space(word.s[word.n]))
		word.n++;
	return word;
}

/* `-F insn,insnlen` writes more behind the frame. */
static struct sp_perf_text without_insn(struct sp_perf_text rest)
{
	static const char *const words[] = {" insn:", " ilen:"};

	for (size_t i = 0; i < SP_COUNT(words); i++) {
		const char *at = memmem(rest.s, rest.n, words[i], strlen(words[i]));

		if (at)
			rest.n = (size_t)(at - rest.s);
	}
	return rest;
}

/*
 * Finds the frame in a line where no field ends in a colon: at an address in perf's column, or one column further. A
 * name at the beginning of the line is narrower.
 */
struct sp_perf_text sp_perf_frame_column(struct sp_perf_text line)
{
	const char *from = line.s, *end = line.s + line.n;

	while (from < end) {
		struct sp_perf_text word = first_word((struct sp_perf_text){from, (size_t)(end - from)});
		uint64_t address;

		if (word.n && hex_number(word, &address) == word.n && word.s + word.n - from > ADDRESS_WIDTH)
			return (struct sp_perf_text){word.s, (size_t)(end - word.s)};
		from = word.s + word.n;
		if (!word.n)
			break;
	}
	return (struct sp_perf_text){end, 0};
}

struct sp_perf_text sp_perf_frame_find(struct sp_perf_text rest)
{
	const struct sp_perf_text all = without_insn(rest), none = {rest.s, 0};
	const char *end = all.s + all.n;
	struct sp_perf_text word = first_word(all), library, next;

	if (is_address(all, word)) {
		/* `-F addr,ip` writes two; the frame's is the second */
		next = first_word((struct sp_perf_text){word.s + word.n, (size_t)(end - word.s) - word.n});
		word = is_address(all, next) ? next : word;
		return sp_perf_trim((struct sp_perf_text){word.s, (size_t)(end - word.s)});
	}
	/* behind a tracepoint's arguments: only if a library's path ends the line */
	rest = sp_perf_trim(all);
	if (!take_library(&rest, &library) || !looks_like_path(library))
		return none;
	for (size_t i = 0; i < 64 && rest.n; i++) { /* a symbol may have spaces, though not so many */
		word = sp_perf_last_word(&rest);
		if (word.n >= ADDRESS_SURE * 2 && is_address(all, word))
			return sp_perf_trim((struct sp_perf_text){word.s, (size_t)(end - word.s)});
	}
	return none;
}
