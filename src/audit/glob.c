/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which functions are counted: matches globs against names of symbols. */
#include "audit/audit.h"

/* "[a-z]", "[!_]" from behind the bracket: where it ends; NULL: it has no end, so the bracket means itself. */
static const char *set_end(const char *at, const char *end)
{
	const char *first = at < end && (*at == '!' || *at == '^') ? at + 1 : at;

	for (at = first; at < end; at++)
		if (*at == '\\' && at + 1 < end)
			at++;
		else if (*at == ']' && at > first)
			return at;
	return NULL;
}

static uint8_t set_char(const char **at)
{
	*at += **at == '\\';
	return (uint8_t) * (*at)++;
}

static bool is_in_set(const char *at, const char *end, uint8_t c)
{
	bool inverted = *at == '!' || *at == '^', found = false;

	for (at += inverted; at < end;) {
		uint8_t low = set_char(&at), high = low;
		if (at + 1 < end && *at == '-') {
			at++;
			high = set_char(&at);
		}
		found = found || (c >= low && c <= high);
	}
	return found != inverted;
}

/* What stands for one character, if it is this one: behind it; else NULL. */
static const char *match_one(const char *glob, const char *end, char c)
{
	const char *close;

	if (glob == end)
		return NULL;
	switch (*glob) {
	case '?':
		return glob + 1;
	case '[':
		close = set_end(glob + 1, end);
		if (!close)
			break;
		return is_in_set(glob + 1, close, (uint8_t)c) ? close + 1 : NULL;
	case '\\':
		if (++glob == end)
			return NULL;
		break;
	default:
		break;
	}
	return *glob == c ? glob + 1 : NULL;
}

bool sp_audit_glob_matches(const char *glob, size_t len, const char *name)
{
	const char *end = glob + len, *star = NULL, *from = NULL;

	while (*name != '\0') {
		if (glob < end && *glob == '*') {
			star = ++glob;
			from = name;
			continue;
		}
		const char *next = match_one(glob, end, *name);
		if (!next && !star)
			return false;
		glob = next ? next : star;
		name = next ? name + 1 : ++from;
	}
	while (glob < end && *glob == '*')
		glob++;
	return glob == end;
}

bool sp_globs_match(const char *list, const char *name)
{
	size_t len = sp_len(name);

	if (*list == '\0')
		return true;
	for (size_t n; *list != '\0'; list += list[n] == ',' ? n + 1 : n) {
		for (n = 0; list[n] != '\0' && list[n] != ',';)
			n++;
		if ((n == len && sp_equal(list, name, n)) || sp_audit_glob_matches(list, n, name))
			return true;
	}
	return false;
}
