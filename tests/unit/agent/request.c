/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/request.h"
#include "base/error.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *line, struct sp_request *ret_request)
{
	static char copy[SP_LINE_MAX + 16];

	snprintf(copy, sizeof(copy), "%s", line);
	sp_error_clear();
	return sp_request_parse(copy, ret_request);
}

static void test_whole(void **state)
{
	static const char line[] = "soprof1 query from=5 to=9 source=cpu library=lib%20a%3Bb* function=f(%25)"
				   " process=nginx cgroup=/x uid=7 resolution=1 slices=20 exact=1 who=2 rough=1";
	struct sp_request q;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_int_equal(parse(line, &q), 0);
	assert_int_equal(q.what, SP_ASK_QUERY);
	assert_int_equal(q.query.from_ns, 5);
	assert_int_equal(q.query.to_ns, 9);
	assert_string_equal(q.query.library, "lib a;b*");
	assert_string_equal(q.query.function, "f(%)");
	assert_string_equal(q.query.process, "nginx");
	assert_string_equal(q.query.cgroup, "/x");
	assert_string_equal(q.query.source, "cpu");
	assert_false(q.query.all_users);
	assert_int_equal(q.query.uid, 7);
	assert_int_equal(q.query.resolution, SP_RES_1M);
	assert_int_equal(q.query.n_slices, 20);
	assert_true(q.query.exact);
	assert_int_equal(q.query.who, SP_WHO_NOTHING);
	assert_true(q.query.rough);
	sp_request_write(&q, out);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	assert_int_equal(parse(text, &q), 0);
	assert_string_equal(q.query.function, "f(%)");
	assert_int_equal(q.query.who, SP_WHO_NOTHING);
	free(text);
}

/* What is parsed is written again as it was. */
static void test_written(void **state)
{
	static const char *const lines[] = {
	    "soprof1 status",
	    "soprof1 query",
	    "soprof1 query from=5 to=9 source=offcpu library=a function=b process=c cgroup=/d uid=0 resolution=0 "
	    "slices=3"
	    " exact=1 who=1 rough=1 ends=1",
	    "soprof1 events from=1 to=2",
	    "soprof1 totals to=2 source=cpu by=1",
	    "soprof1 upgrades from=1 source=cpu span=9",
	    "soprof1 api path=/a params=b%3D1 coding=gzip current=1",
	    "soprof1 password hash=%24 password=%20",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sp_request q;
		char *text = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);
		assert_int_equal(parse(lines[i], &q), 0);
		sp_request_write(&q, out);
		fclose(out);
		text[strcspn(text, "\n")] = '\0';
		assert_string_equal(text, lines[i]);
		free(text);
	}
}

static void test_least(void **state)
{
	struct sp_request q;

	assert_int_equal(parse("soprof1 query", &q), 0);
	assert_true(q.query.all_users && !q.query.library && q.query.resolution == -1);
	assert_int_equal(q.query.from_ns, 0);
	assert_int_equal(q.query.to_ns, INT64_MAX);
	assert_int_equal(parse("soprof1 status", &q), 0);
	assert_int_equal(q.what, SP_ASK_STATUS);
	assert_int_equal(parse("soprof1 totals by=1", &q), 0);
	assert_true(q.by_function && q.query.resolution == -1 && q.query.all_users);
	assert_int_equal(parse("soprof1 totals", &q), 0);
	assert_false(q.by_function);
}

static void test_refused(void **state)
{
	static const struct {
		const char *line, *why;
	} bad[] = {
	    {"", "a request begins with soprof1"},
	    {"soprof1", "a request begins with soprof1"},
	    {"soprof2 status", "a request begins with soprof1"},
	    {"GET / HTTP/1.1", "a request begins with soprof1"},
	    {"soprof1 ", "unknown request; there are status, query, events, totals, upgrades, api"},
	    {"soprof1 stat", "unknown request; there are status, query, events, totals, upgrades, api"},
	    {"soprof1 status from=1", "unknown word from"},
	    {"soprof1 events library=x", "unknown word library"},
	    {"soprof1 query colour=red", "unknown word colour"},
	    {"soprof1 query from", "a word is not NAME=VALUE"},
	    {"soprof1 query =1", "a word is not NAME=VALUE"},
	    {"soprof1 query FROM=1", "a word's name has other letters than a to z"},
	    {"soprof1 query from=1 from=1", "from is there twice"},
	    {"soprof1 query library=%", "library: a % without two digits behind it"},
	    {"soprof1 query library=%2", "library: a % without two digits behind it"},
	    {"soprof1 query library=%2x", "library: a % without two digits behind it"},
	    {"soprof1 query library=a%00b", "library: a % without two digits behind it"},
	    {"soprof1 query library=a\tb", "a character that is not to be in a line"},
	    {"soprof1 query library=\xc3\xa4", "a character that is not to be in a line"},
	    {"soprof1 query from=-1", "from is not a number up to 9223372036854775807"},
	    {"soprof1 query from=9223372036854775808", "from is not a number up to 9223372036854775807"},
	    {"soprof1 query from=9 to=8", "the time ends before it begins"},
	    {"soprof1 query uid=4294967296", "uid is not a number up to 4294967295"},
	    {"soprof1 query resolution=3", "resolution is not a number up to 2"},
	    {"soprof1 query exact=2", "exact is not a number up to 1"},
	    {"soprof1 query who=3", "who is not a number up to 2"},
	};
	struct sp_request q;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].line, &q), -EBADMSG);
		assert_string_equal(sp_error_text(-EBADMSG), bad[i].why);
	}
}

/* A value of any bytes is the same after writing and parsing. */
static void test_values(void **state)
{
	char value[256], *text = NULL;
	struct sp_line l;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	for (int i = 0; i < 255; i++)
		value[i] = (char)(i + 1);
	value[255] = '\0';
	sp_line_put(out, "all", value);
	sp_line_put(out, "none", NULL);
	sp_line_put(out, "empty", "");
	fclose(out);
	assert_int_equal(sp_line_parse(text, false, &l), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(sp_line_word(&l, "all"), value);
	assert_string_equal(sp_line_word(&l, "empty"), "");
	free(text);
}

static void test_caps(void **state)
{
	char line[SP_LINE_MAX + 16] = "soprof1 query library=";
	struct sp_request q;
	struct sp_line l;
	size_t n = strlen(line);

	memset(line + n, 'a', sizeof(line) - 1 - n);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(parse(line, &q), -EBADMSG);
	line[0] = '\0';
	for (int i = 0; i <= SP_LINE_MAX_WORDS; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " %c%c=1", 'a' + i / 26, 'a' + i % 26);
	assert_int_equal(sp_line_parse(line, false, &l), -EBADMSG);
}

static void test_answer(void **state)
{
	struct sp_store_answer a = {1, 2, 3, 4, 5, 10, 9, 6, 7, SP_RES_1H, 8}, b;
	char *text = NULL;
	struct sp_line l;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	sp_answer_write(&a, out);
	fclose(out);
	assert_int_equal(sp_line_parse(text, false, &l), 0);
	assert_int_equal(sp_answer_parse(&l, &b), 0);
	assert_int_equal(b.from_ns, 1);
	assert_int_equal(b.to_ns, 2);
	assert_int_equal(b.covered_ns, 3);
	assert_int_equal(b.n_windows, 4);
	assert_int_equal(b.n_damaged, 5);
	assert_int_equal(b.n_incomplete, 10);
	assert_int_equal(b.n_salvaged, 9);
	assert_int_equal(b.n_lost, 6);
	assert_int_equal(b.n_shortened, 7);
	assert_int_equal(b.resolution, SP_RES_1H);
	assert_int_equal(b.slice_ns, 8);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whole),   cmocka_unit_test(test_written), cmocka_unit_test(test_least),
	    cmocka_unit_test(test_refused), cmocka_unit_test(test_values),  cmocka_unit_test(test_caps),
	    cmocka_unit_test(test_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
