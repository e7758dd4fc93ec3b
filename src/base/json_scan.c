/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_scan.h"

#include "base/mem.h"

#include <string.h>

void sp_json_skip_space(struct sp_json_text *t)
{
	while (t->at < t->end && memchr(" \t\r\n", *t->at, 4))
		t->at++;
}

bool sp_json_take_char(struct sp_json_text *t, char c)
{
	sp_json_skip_space(t);
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	sp_json_skip_space(t);
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool take_escape(struct sp_json_text *t)
{
	if (t->at == t->end)
		return false;
	char c = *t->at++;
	if (c != 'u')
		return memchr("\"\\/bfnrt", c, 8) != NULL;
	for (unsigned i = 0; i < 4; i++)
		if (t->at == t->end || !is_hex(*t->at++))
			return false;
	return true;
}

bool sp_json_take_string(struct sp_json_text *t, struct sp_json_word *ret_word)
{
	if (t->at == t->end || *t->at++ != '"')
		return false;
	ret_word->at = t->at;
	while (t->at < t->end) {
		char c = *t->at++;
		if (c == '"') {
			ret_word->len = (size_t)(t->at - 1 - ret_word->at);
			return true;
		}
		if ((unsigned char)c < ' ' || (c == '\\' && !take_escape(t)))
			return false;
	}
	return false;
}

static bool take_digits(struct sp_json_text *t)
{
	const char *from = t->at;
	while (t->at < t->end && is_digit(*t->at))
		t->at++;
	return t->at > from;
}

static bool take_one_of(struct sp_json_text *t, const char *characters)
{
	if (t->at == t->end || !*t->at || !strchr(characters, *t->at))
		return false;
	t->at++;
	return true;
}

bool sp_json_take_number(struct sp_json_text *t)
{
	take_one_of(t, "-");
	if (!take_one_of(t, "0") && !take_digits(t))
		return false;
	if (take_one_of(t, ".") && !take_digits(t))
		return false;
	if (!take_one_of(t, "eE"))
		return true;
	take_one_of(t, "+-");
	return take_digits(t);
}

bool sp_json_take_literal(struct sp_json_text *t)
{
	static const char *const literals[] = {"true", "false", "null"};
	for (size_t i = 0; i < SP_COUNT(literals); i++) {
		size_t len = strlen(literals[i]);
		if ((size_t)(t->end - t->at) >= len && memcmp(t->at, literals[i], len) == 0) {
			t->at += len;
			return true;
		}
	}
	return false;
}
