/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/encode.h"
#include "base/mem.h"
#include "test.h"

#include <limits.h>
#include <locale.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

enum { N_RANDOM = 100000 / SP_FEWER, NAME_MAX_BYTES = 256 };

static void check(enum sp_encoding encoding, const char *text, const char *want)
{
	SP_FREE char *got = sp_encoded(encoding, text);

	assert_non_null(got);
	assert_string_equal(got, want);
}

static void plain_names_stay(void **state)
{
	static const char name[] =
	    "operator()(std::vector<int> const&) [clone .cold] f\xc3\xbc r \xe4\xb8\xad \xf0\x9f\x90\xa7 C:\\x";

	check(SP_ENCODE_TERMINAL, name, name);
	check(SP_ENCODE_FOLDED, name, name);
	check(SP_ENCODE_TERMINAL, "", "");
	check(SP_ENCODE_JSON, "", "");
	check(SP_ENCODE_CSV, "main", "main");
}

static void terminal_shows_no_controls(void **state)
{
	check(SP_ENCODE_TERMINAL, "a\x1b[31mb\n\t\x7f", "a\\x1b[31mb\\x0a\\x09\\x7f");
	check(SP_ENCODE_TERMINAL,
	      "\xc2\x9b"
	      "31m",
	      "\\xc2\\x9b31m");
	check(SP_ENCODE_TERMINAL,
	      "a\xe2\x80\xae"
	      "b",
	      "a\\xe2\\x80\\xaeb");
	check(SP_ENCODE_TERMINAL, "\xff\xc0\x80\xed\xa0\x80\xc3", "\\xff\\xc0\\x80\\xed\\xa0\\x80\\xc3");
	check(SP_ENCODE_TERMINAL, "\\x1b \\x1 \\xGG", "\\x5cx1b \\x1 \\xGG");
}

static void folded_keeps_its_separators(void **state)
{
	check(SP_ENCODE_FOLDED, "a;b", "a\\x3bb");
	check(SP_ENCODE_FOLDED, "thread 12", "thread\\x2012");
	check(SP_ENCODE_FOLDED, "thread 1.5", "thread\\x201.5");
	check(SP_ENCODE_FOLDED, "thread 12 x", "thread 12 x");
	check(SP_ENCODE_FOLDED, "  a b ", "\\x20\\x20a b\\x20");
	check(SP_ENCODE_FOLDED, " ", "\\x20");
	check(SP_ENCODE_FOLDED, "12", "12");
	check(SP_ENCODE_FOLDED,
	      "a\xc2\xa0"
	      "1",
	      "a\\xc2\\xa01");
}

static void the_formats_quote_their_own(void **state)
{
	check(SP_ENCODE_XML, "<a href=\"x\">&'\x01", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\\x01");
	check(SP_ENCODE_JSON, "\"\\\n\t</script>\xff", "\\\"\\\\\\n\\u0009\\u003c/script>\\\\xff");
	check(SP_ENCODE_JSON, "\xe2\x80\xae\xf0\x9f\x90\xa7", "\\u202e\xf0\x9f\x90\xa7");
	check(SP_ENCODE_QUOTED, "\"\\\n\\x1b \xff\\", "\\\"\\\\\\x0a\\\\x1b \\xff\\\\");
	check(SP_ENCODE_CSV, "a,\"b\"", "\"a,\"\"b\"\"\"");
	check(SP_ENCODE_CSV, "=1+1", "'=1+1");
	check(SP_ENCODE_CSV, "'=1+1", "''=1+1");
	check(SP_ENCODE_CSV, "'a'", "'a'");
	check(SP_ENCODE_CSV, "@x;y", "\"'@x;y\"");
	check(SP_ENCODE_CSV, "a\r\nb", "a\\x0d\\x0ab");
}

static void writes_to_streams(void **state)
{
	char buffer[16];
	FILE *full = fopen("/dev/full", "we"), *f = fmemopen(buffer, sizeof(buffer), "w");

	assert_non_null(f);
	sp_encode(f, SP_ENCODE_FOLDED, "a;");
	sp_encode(f, SP_ENCODE_FOLDED, "b");
	assert_int_equal(fclose(f), 0);
	assert_string_equal(buffer, "a\\x3bb");
	assert_non_null(full);
	setbuf(full, NULL);
	sp_encode(full, SP_ENCODE_JSON, "text");
	assert_true(ferror(full));
	fclose(full);
}

/* --- any bytes: what was encoded is taken apart by decoders that know the format, not the encoder --- */

static const char *const pieces[] = {
    "a",
    "main",
    "std::",
    " ",
    "  ",
    "7",
    "42",
    ".",
    ";",
    "\n",
    "\r\n",
    "\t",
    "\x1b[0m",
    "\x1b",
    "\x7f",
    "\x01",
    "\"",
    "'",
    "<",
    ">",
    "&",
    "&amp;",
    "&#39;",
    "\\",
    "\\x",
    "\\x1b",
    "\\x5c",
    "\\x5C",
    "\\u0041",
    "\\n",
    "x",
    "5c",
    "=",
    "+",
    "-",
    "@",
    ",",
    "\xff",
    "\xc0\x80",
    "\x80",
    "\xc3",
    "\xc3\xbc",
    "\xe4\xb8",
    "\xe4\xb8\xad",
    "\xed\xa0\x80",
    "\xf0\x9f\x90",
    "\xf4\x90\x80\x80",
    "\xc2\x85",
    "\xc2\x9b",
    "\xc2\xa0",
    "\xd8\x9c",
    "\xe2\x80\x8e",
    "\xe2\x80\xae",
    "\xe2\x81\xa6",
    "\xe2\x80\xa8",
    "\xef\xbb\xbf",
    "\xef\xbf\xbf",
    "\xe3\x80\x80",
    "\xf0\x9f\x90\xa7",
    "</script>",
    "_[k]",
    "[",
    "]",
};

static void random_name(char *name)
{
	size_t n = 0;

	for (long left = random() % 12; left > 0; left--) {
		if (random() % 4 == 0) {
			name[n++] = (char)(random() % 255 + 1);
			continue;
		}
		const char *piece = pieces[(size_t)random() % SP_COUNT(pieces)];
		memcpy(name + n, piece, strlen(piece));
		n += strlen(piece);
	}
	name[n] = '\0';
}

/* The last step of each decoder: \xNN is a byte, and between quotes \" and \\ what is behind; all else is itself. */
static void decode_hex(enum sp_encoding encoding, const char *text, char *ret_name)
{
	while (*text != '\0') {
		char digits[3] = {0};
		if (text[0] == '\\' && text[1] == 'x' && strspn(text + 2, "0123456789abcdef") >= 2) {
			memcpy(digits, text + 2, 2);
			*ret_name++ = (char)strtoul(digits, NULL, 16);
			text += 4;
		} else {
			assert_true(encoding != SP_ENCODE_QUOTED || *text != '"');
			if (encoding == SP_ENCODE_QUOTED && *text == '\\')
				assert_true(*++text == '"' || *text == '\\');
			*ret_name++ = *text++;
		}
	}
	*ret_name = '\0';
}

static void parse_xml(const char *text, char *out)
{
	static const char *const entities[][2] = {
	    {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};

	assert_null(strpbrk(text, "<>\"'"));
	for (; *text != '\0'; out++) {
		size_t i = 0;
		while (*text == '&' && strncmp(text, entities[i][0], strlen(entities[i][0])) != 0)
			assert_true(++i < SP_COUNT(entities));
		*out = *text == '&' ? entities[i][1][0] : *text;
		text += *text == '&' ? strlen(entities[i][0]) : 1;
	}
	*out = '\0';
}

/* The escapes of RFC 8259, section 7. */
static void parse_json(const char *text, char *out)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";

	while (*text != '\0') {
		assert_true(*text != '"' && (unsigned char)*text >= 0x20);
		if (*text != '\\') {
			*out++ = *text++;
			continue;
		}
		if (text[1] == 'u') {
			char digits[5] = {0};
			memcpy(digits, text + 2, 4);
			assert_int_equal(strspn(digits, "0123456789abcdef"), 4);
			out += wctomb(out, (wchar_t)strtoul(digits, NULL, 16));
			text += 6;
			continue;
		}
		assert_true(text[1] != '\0' && strchr(letters, text[1]) != NULL);
		*out++ = bytes[strchr(letters, text[1]) - letters];
		text += 2;
	}
	*out = '\0';
}

/* A field of RFC 4180, and the guard of a formula taken off. */
static void parse_csv(const char *text, char *out)
{
	char *from = out;
	bool quoted = *text == '"';

	assert_true(quoted || strpbrk(text, ",\"") == NULL);
	for (text += quoted; *text != '\0' && !(quoted && strcmp(text, "\"") == 0); text++) {
		if (quoted && *text == '"')
			assert_int_equal(*++text, '"');
		*out++ = *text;
	}
	assert_true(!quoted || *text == '"');
	*out = '\0';
	size_t n = strspn(from, "'");
	assert_false(n == 0 && *from != '\0' && strchr("=+-@", *from) != NULL);
	if (n > 0 && from[n] != '\0' && strchr("=+-@", from[n]) != NULL)
		memmove(from, from + 1, strlen(from));
}

static regex_t count_at_end;

/* As flamegraph.pl takes a line apart: the last number off, a second one too (a differential profile), then at `;`. */
static void parse_folded(const char *text, char *out)
{
	char line[16 * NAME_MAX_BYTES];
	int n = snprintf(line, sizeof(line), "%s;%s;%s 5", text, text, text);

	assert_true(n > 2 && (size_t)n < sizeof(line));
	line[n - 2] = '\0'; /* what is taken off is as short as may be: " 5" */
	assert_int_equal(regexec(&count_at_end, line, 0, NULL, 0), REG_NOMATCH);
	char *second = strchr(line, ';'), *third = second == NULL ? NULL : strchr(second + 1, ';');
	assert_non_null(third);
	assert_null(strchr(third + 1, ';'));
	assert_string_equal(third + 1, text);
	assert_true(text[0] != ' ' && (text[0] == '\0' || text[strlen(text) - 1] != ' '));
	memcpy(out, text, strlen(text) + 1);
}

static void parse(enum sp_encoding encoding, const char *text, char *out)
{
	if (encoding == SP_ENCODE_XML)
		parse_xml(text, out);
	else if (encoding == SP_ENCODE_JSON)
		parse_json(text, out);
	else if (encoding == SP_ENCODE_CSV)
		parse_csv(text, out);
	else if (encoding == SP_ENCODE_FOLDED)
		parse_folded(text, out);
	else
		memcpy(out, text, strlen(text) + 1);
}

/* By the C library's idea of UTF-8 and of control characters. */
static void check_harmless(const char *text)
{
	static const wchar_t never[] = L"\x61c\x200e\x200f\x2028\x2029\x202a\x202b\x202c\x202d\x202e\x2066\x2067\x2068"
				       L"\x2069\xfeff\xfffe\xffff";
	wchar_t wide[16 * NAME_MAX_BYTES];
	size_t n = mbstowcs(wide, text, SP_COUNT(wide));

	assert_true(n < SP_COUNT(wide));
	for (size_t i = 0; i < n; i++) {
		assert_false(iswcntrl((wint_t)wide[i]) || wide[i] < 0x20 || (wide[i] >= 0x7f && wide[i] < 0xa0));
		assert_false(wide[i] >= 0xd800 && wide[i] < 0xe000);
		assert_null(wcschr(never, wide[i]));
	}
}

static void check_random(enum sp_encoding encoding)
{
	char name[NAME_MAX_BYTES], parsed[16 * NAME_MAX_BYTES], decoded[16 * NAME_MAX_BYTES];

	srandom(20240101 + encoding);
	for (int i = 0; i < N_RANDOM; i++) {
		random_name(name);
		SP_FREE char *text = sp_encoded(encoding, name);
		assert_non_null(text);
		check_harmless(text);
		parse(encoding, text, parsed);
		decode_hex(encoding, parsed, decoded);
		assert_string_equal(decoded, name);
	}
}

static void any_bytes_for_a_terminal(void **state)
{
	check_random(SP_ENCODE_TERMINAL);
	check_random(SP_ENCODE_QUOTED);
}

static void any_bytes_folded(void **state)
{
	assert_int_equal(regcomp(&count_at_end, "[[:space:]]+[0-9]+(\\.[0-9]*)?$", REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(regexec(&count_at_end, "a;b 1.5", 0, NULL, 0), 0);
	check_random(SP_ENCODE_FOLDED);
	regfree(&count_at_end);
}

static void any_bytes_in_xml(void **state)
{
	check_random(SP_ENCODE_XML);
}

static void any_bytes_in_json(void **state)
{
	check_random(SP_ENCODE_JSON);
}

static void any_bytes_in_csv(void **state)
{
	check_random(SP_ENCODE_CSV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_names_stay),
	    cmocka_unit_test(terminal_shows_no_controls),
	    cmocka_unit_test(folded_keeps_its_separators),
	    cmocka_unit_test(the_formats_quote_their_own),
	    cmocka_unit_test(writes_to_streams),
	    cmocka_unit_test(any_bytes_for_a_terminal),
	    cmocka_unit_test(any_bytes_folded),
	    cmocka_unit_test(any_bytes_in_xml),
	    cmocka_unit_test(any_bytes_in_json),
	    cmocka_unit_test(any_bytes_in_csv),
	};

	if (setlocale(LC_ALL, "C.UTF-8") == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
