/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/encode.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One text on its way through one encoder. */
struct encoder {
	FILE *out;
	enum sp_encoding encoding;
	const unsigned char *text;
	size_t len, at;
	uint32_t code; /* the code point at `at`; meaningless when its bytes are not UTF-8 */
	/* FOLDED: spaces before and from these are at an end of the text; the last space before a number, len if none
	 */
	size_t lead, trail, before_number;
};

struct range {
	uint32_t first, last;
};

/* Never shown as they are: bidirectional controls, line and paragraph separators, what XML does not allow. */
static const struct range unsafe[] = {{0x061c, 0x061c}, {0x200e, 0x200f}, {0x2028, 0x202e},
				      {0x2066, 0x2069}, {0xfeff, 0xfeff}, {0xfffe, 0xffff}};
/* Readers of folded stacks that split at any white space know these, too. */
static const struct range spaces[] = {{0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
				      {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

static bool in_ranges(const struct range *ranges, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* Table 3-7 of the Unicode standard: the second byte's bounds keep out long forms, surrogates and what is too big. */
static size_t multibyte_at(const unsigned char *s, size_t left, uint32_t *ret_code)
{
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	unsigned int low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
	unsigned int high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;

	if (s[0] < 0xc2 || s[0] > 0xf4 || n > left || s[1] < low || s[1] > high)
		return 0;
	uint32_t code = s[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	*ret_code = code;
	return n;
}

/* How many bytes of text are the next code point; 0: not UTF-8. */
static size_t encode_next_char(struct encoder *e)
{
	const unsigned char *s = e->text + e->at;

	if (s[0] < 0x80) {
		e->code = s[0];
		return 1;
	}
	return multibyte_at(s, e->len - e->at, &e->code);
}

static bool is_hex(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* A backslash that would be read as one of ours; between quotes each is written as two. */
static bool looks_escaped(const struct encoder *e)
{
	const unsigned char *s = e->text + e->at;

	return e->encoding != SP_ENCODE_QUOTED && s[0] == '\\' && e->len - e->at >= 4 && s[1] == 'x' && is_hex(s[2]) &&
	       is_hex(s[3]);
}

static bool folded_separates(const struct encoder *e)
{
	if (e->code == ' ')
		return e->at < e->lead || e->at >= e->trail || e->at == e->before_number;
	return e->code == ';' || (e->code >= 0xa0 && in_ranges(spaces, SP_COUNT(spaces), e->code));
}

/* Must this code point be written as \xNN of its bytes (in JSON: as \uNNNN)? */
static bool must_hide(const struct encoder *e)
{
	return is_control(e->code) || (e->code > 0xff && in_ranges(unsafe, SP_COUNT(unsafe), e->code)) ||
	       (e->encoding == SP_ENCODE_FOLDED && folded_separates(e));
}

static void put_hex(struct encoder *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)fprintf(e->out, e->encoding == SP_ENCODE_JSON ? "\\\\x%02x" : "\\x%02x", e->text[e->at + i]);
}

/* What the format itself writes in another way; NULL = as it is. */
static const char *replaced(enum sp_encoding encoding, uint32_t code)
{
	if (encoding == SP_ENCODE_XML)
		return code == '&'    ? "&amp;"
		       : code == '<'  ? "&lt;"
		       : code == '>'  ? "&gt;"
		       : code == '"'  ? "&quot;"
		       : code == '\'' ? "&#39;"
				      : NULL;
	if (encoding == SP_ENCODE_QUOTED)
		return code == '"' ? "\\\"" : code == '\\' ? "\\\\" : NULL;
	if (encoding == SP_ENCODE_JSON)
		return code == '"'    ? "\\\""
		       : code == '\\' ? "\\\\"
		       : code == '\n' ? "\\n"
		       : code == '<'  ? "\\u003c" /* so that no </script> comes through */
				      : NULL;
	return encoding == SP_ENCODE_CSV && code == '"' ? "\"\"" : NULL;
}

static bool needs_care(const struct encoder *e, size_t n)
{
	return n == 0 || looks_escaped(e) || replaced(e->encoding, e->code) || must_hide(e);
}

/* Writes the code point at `at`, n bytes long (0: a byte that is not UTF-8), which needs care. */
static void put_special(struct encoder *e, size_t n)
{
	const char *other = n == 0 || looks_escaped(e) ? NULL : replaced(e->encoding, e->code);

	if (other)
		(void)fputs(other, e->out);
	else if (e->encoding == SP_ENCODE_JSON && n > 0 && e->code != '\\')
		(void)fprintf(e->out, "\\u%04x", (unsigned int)e->code); /* all of them are below 0x10000 */
	else
		put_hex(e, n == 0 ? 1 : n);
}

static void encode_put_all(struct encoder *e)
{
	size_t plain_from = 0;

	while (e->at < e->len) {
		size_t n = encode_next_char(e), n_plain = e->at - plain_from;
		if (needs_care(e, n)) {
			if (n_plain > 0)
				(void)fwrite(e->text + plain_from, 1, n_plain, e->out);
			put_special(e, n);
			e->at += n == 0 ? 1 : n;
			plain_from = e->at;
		} else {
			e->at += n;
		}
	}
	if (e->at > plain_from)
		(void)fwrite(e->text + plain_from, 1, e->at - plain_from, e->out);
}

/* The space before a run of digits (or a decimal number) that ends the name: readers would take it for the count. */
static size_t space_before_number(const char *text, size_t len)
{
	size_t at = len;

	while (at > 0 && ((text[at - 1] >= '0' && text[at - 1] <= '9') || text[at - 1] == '.'))
		at--;
	return at > 0 && at < len && text[at - 1] == ' ' ? at - 1 : len;
}

/*
 * Spreadsheets run a field that begins so. Apostrophes before it count as part of it, or a guarded name and a name
 * that begins with an apostrophe would be written alike.
 */
static bool csv_needs_guard(const char *text)
{
	text += strspn(text, "'");
	return *text != '\0' && strchr("=+-@", *text);
}

static void find_spaces(struct encoder *e, const char *text)
{
	e->lead = strspn(text, " ");
	for (e->trail = e->len; e->trail > 0 && text[e->trail - 1] == ' ';)
		e->trail--;
	e->before_number = space_before_number(text, e->len);
}

static bool csv_needs_quotes(const char *text, size_t len)
{
	return text[strcspn(text, ",;\"")] != '\0' || (len > 0 && (text[0] == ' ' || text[len - 1] == ' '));
}

void sp_encode(FILE *out, enum sp_encoding encoding, const char *text)
{
	struct encoder e = {.out = out, .encoding = encoding, .text = (const unsigned char *)text, .len = strlen(text)};
	bool csv = encoding == SP_ENCODE_CSV, quotes = csv && csv_needs_quotes(text, e.len);

	if (encoding == SP_ENCODE_FOLDED)
		find_spaces(&e, text);
	if (quotes)
		(void)fputc('"', out);
	if (csv && csv_needs_guard(text))
		(void)fputc('\'', out);
	encode_put_all(&e);
	if (quotes)
		(void)fputc('"', out);
}

/* Whether it is surely as it is; a stream to find that out would take a hundred times as long. */
static bool is_plain(enum sp_encoding encoding, const char *text)
{
	if (encoding != SP_ENCODE_TERMINAL && encoding != SP_ENCODE_FOLDED)
		return false;
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '\\' ||
		    (encoding == SP_ENCODE_FOLDED && (*text == ' ' || *text == ';')))
			return false;
	return true;
}

char *sp_encoded(enum sp_encoding encoding, const char *text)
{
	char *encoded = NULL;
	size_t len = 0;
	FILE *out;

	if (is_plain(encoding, text))
		return strdup(text);
	out = open_memstream(&encoded, &len);
	if (!out)
		return NULL;
	sp_encode(out, encoding, text);
	bool failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed) {
		free(encoded);
		return NULL;
	}
	return encoded;
}

char *sp_encoded_format(enum sp_encoding encoding, const char *format, va_list args)
{
	char *raw = NULL, *encoded;

	if (vasprintf(&raw, format, args) < 0)
		return NULL;
	encoded = sp_encoded(encoding, raw);
	free(raw);
	return encoded;
}

void sp_hex(const uint8_t *bytes, size_t n, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * n] = '\0';
}
