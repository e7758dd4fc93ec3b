/* SPDX-License-Identifier: GPL-2.0-or-later */
/* yaml.c: lists and names, their ends, and what is refused at which line and column. */
#include "base/yaml.h"
#include "base/mem.h"
#include "test.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char taken[256];

static void note(const char *text)
{
	size_t n = strlen(taken);

	snprintf(taken + n, sizeof(taken) - n, "%s%s", n ? " " : "", text);
}

static int take_text(struct sp_yaml *y, void *arg)
{
	int r = sp_yaml_check_text(y, "a word");

	if (r == 0)
		note(sp_yaml_text(y));
	return r;
}

static int take_list(struct sp_yaml *y, void *arg)
{
	return sp_yaml_items(y, "list", 2, take_text, arg);
}

static int take_pair(struct sp_yaml *y, const char *key, void *arg)
{
	note(key);
	return take_text(y, arg);
}

static int take_names(struct sp_yaml *y, void *arg)
{
	return sp_yaml_pairs(y, "names", take_pair, arg);
}

static int take_colour(struct sp_yaml *y, void *arg)
{
	static const char *const words[] = {"red", "blue", NULL};
	int number = -1, r = sp_yaml_choice(y, words, "red, blue", &number);

	if (r == 0)
		note(number == 1 ? "1" : "0");
	return r;
}

static int take_file(struct sp_yaml *y, void *arg)
{
	static const struct sp_yaml_key keys[] = {
	    {"list", take_list}, {"names", take_names}, {"colour", take_colour}, {0}};

	return sp_yaml_keys(y, "the file", keys, arg);
}

static int read_text(const char *text, size_t n)
{
	*taken = 0;
	return sp_yaml_read("F", text, n, take_file, NULL);
}

static void good(const char *text, const char *expected)
{
	if (read_text(text, strlen(text)) < 0)
		fail_msg("refused: %s", sp_error_text(-EINVAL));
	assert_string_equal(taken, expected);
}

static void bad(const char *text, size_t n, const char *why)
{
	assert_int_equal(read_text(text, n), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), why);
	sp_error_clear();
}

static void test_taken(void **state)
{
	good("", "");
	good("# nothing\n", "");
	good("---\n...\n", "");
	good("null\n", "");
	good("names:\nlist: []\n", "");
	good("list: [a, 'b c']\ncolour: blue\n", "a b c 1");
	good("names:\n  x: 1\n  y: \"2\\t3\"\ncolour: red\nlist:\n- z\n", "x 1 y 2\t3 0 z");
}

static void test_refused(void **state)
{
#define BAD(text, why) bad(text, sizeof(text) - 1, why)
	BAD("list: [a, b, c]\n", "F:1:14: list: more than 2");
	BAD("list: {a: b}\n", "F:1:7: list: expected a list");
	BAD("list: [[a]]\n", "F:1:8: expected a word");
	BAD("list: [&a b]\n", "F:1:8: anchors and aliases are not for this file");
	BAD("list: &a [b]\n", "F:1:7: anchors and aliases are not for this file");
	BAD("names: {x: 1, x: 2}\n", "F:1:15: x is there twice");
	BAD("names: {[x]: 1}\n", "F:1:9: expected a name");
	BAD("names: {x: \"a\\0b\"}\n", "F:1:12: a NUL byte in a value");
	BAD("names: {\"a\\0b\": x}\n", "F:1:9: a NUL byte in a value");
	BAD("names: [x]\n", "F:1:8: names: expected lines of NAME: VALUE");
	BAD("colour: [red]\n", "F:1:9: expected a value");
	BAD("colour: green\n", "F:1:9: 'green' is none of red, blue");
	BAD("color: red\n", "F:1:1: the file has no 'color'; did you mean colour?");
	BAD("x: 1\n", "F:1:1: the file has no 'x'; there are list, names, colour");
	BAD("list: []\n---\nlist: []\n", "F:2:1: a second document");
	BAD("list: [a\n", "F:2:1: did not find expected ',' or ']' while parsing a flow sequence");
	BAD("a: \xff\n", "F: byte 3: invalid leading UTF-8 octet");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken), cmocka_unit_test(test_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
