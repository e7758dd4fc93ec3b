/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exposition.c: the forms of metrics, and which one a client gets. */
#include "agent/export/exposition.h"
#include "base/mem.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)

static void write_some(struct sp_expo *x)
{
	const struct sp_exemplar e = {1699999999 * S + 4000000, 1700000010 * S + 4000000, 1500000000}, none = {0};

	sp_expo_family(x, SP_EXPO_COUNTER, "a_seconds", "seconds", "Time.");
	sp_expo_seconds_of(x, "l=\"x\"", 12 * S + 340000000, &e);
	sp_expo_seconds_of(x, "l=\"y\"", 1, &none);
	sp_expo_seconds_of(x, "", 0, NULL);
	sp_expo_family(x, SP_EXPO_INFO, "b", NULL, "What.");
	sp_expo_number(x, "v=\"1\"", 1);
	sp_expo_family(x, SP_EXPO_GAUGE, "c", NULL, "Now.");
	sp_expo_number(x, "", UINT64_MAX);
	assert_int_equal(sp_expo_end(x), 0);
	assert_int_equal(x->n_samples, 5);
}

static void test_text(void **state)
{
	struct sp_expo x = {.form = SP_EXPO_TEXT};

	write_some(&x);
	assert_string_equal(x.text, "# HELP a_seconds_total Time.\n# TYPE a_seconds_total counter\n"
				    "a_seconds_total{l=\"x\"} 12.34\na_seconds_total{l=\"y\"} 0.000000001\n"
				    "a_seconds_total 0\n# HELP b_info What.\n# TYPE b_info gauge\nb_info{v=\"1\"} 1\n"
				    "# HELP c Now.\n# TYPE c gauge\nc 18446744073709551615\n");
	assert_int_equal(x.n, strlen(x.text));
	sp_expo_done(&x);
}

static void test_openmetrics(void **state)
{
	struct sp_expo x = {.form = SP_EXPO_OPENMETRICS, .page = "http://h:9877/"};

	write_some(&x);
	assert_string_equal(x.text,
			    "# HELP a_seconds Time.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n"
			    "a_seconds_total{l=\"x\"} 12.34"
			    " # {page=\"http://h:9877/#to=1700000010&at=1699999999-1700000010\"} 1.5 1700000010.004\n"
			    "a_seconds_total{l=\"y\"} 0.000000001\na_seconds_total 0\n"
			    "# HELP b What.\n# TYPE b info\nb_info{v=\"1\"} 1\n"
			    "# HELP c Now.\n# TYPE c gauge\nc 18446744073709551615\n# EOF\n");
	sp_expo_done(&x);
}

/* Bytes as protoc --decode_raw reads them; tests/cmd/metrics.sh has real readers. */
static void test_remote(void **state)
{
	static const uint8_t wanted[] = "\x0a\x33"
					"\x0a\x0d\x0a\x08__name__\x12\x01n"
					"\x0a\x08\x0a\x01"
					"a\x12\x03\x22\\\n"
					"\x0a\x06\x0a\x01m\x12\x01z"
					"\x12\x10\x09\0\0\0\0\0\0\xf8\x3f\x10\x88\xd0\x95\xff\xbc\x31";
	struct sp_expo x = {.form = SP_EXPO_REMOTE, .at_ms = 1700000000008, .external = "a=\"not\",m=\"z\",e=\"\""};

	sp_expo_family(&x, SP_EXPO_GAUGE, "n", NULL, "");
	sp_expo_seconds(&x, "a=\"\\\"\\\\\\n\"", 1500000000);
	assert_int_equal(sp_expo_end(&x), 0);
	assert_int_equal(x.n, sizeof(wanted) - 1);
	assert_memory_equal(x.text, wanted, sizeof(wanted) - 1);
	sp_expo_done(&x);
}

static void check_label(const char *value, const char *wanted)
{
	struct sp_labels l = {.n = 0};

	assert_int_equal(sp_label_add(&l, "l", value), 0);
	assert_string_equal(l.text, wanted);
}

static void test_hostile_labels(void **state)
{
	char longest[2000], other[2000];
	struct sp_labels l = {.n = 0};

	check_label("plain", "l=\"plain\"");
	check_label("", "l=\"\"");
	check_label("a\"b\\c", "l=\"a\\\"b\\\\c\"");
	check_label("a\nb\r\t\x1b[31m\x7f", "l=\"a\\\\x0ab\\\\x0d\\\\x09\\\\x1b[31m\\\\x7f\"");
	check_label("\xff\xc0\x80\xed\xa0\x80", "l=\"\\\\xff\\\\xc0\\\\x80\\\\xed\\\\xa0\\\\x80\"");
	check_label("}\n# TYPE x counter", "l=\"}\\\\x0a# TYPE x counter\"");
	check_label("\xe2\x80\xaeright", "l=\"\\\\xe2\\\\x80\\\\xaeright\"");
	check_label("\xc3\xa4\xf0\x9f\x98\x80", "l=\"\xc3\xa4\xf0\x9f\x98\x80\"");
	/* long values are cut between characters, and remain different */
	memset(longest, 0, sizeof(longest));
	for (size_t i = 0; i + 4 < sizeof(longest) - 1; i += 2)
		memcpy(longest + i, "\xc3\xa4", 2);
	memcpy(other, longest, sizeof(other));
	other[1990] = 'x';
	other[1991] = 0;
	char *a = sp_label_value(longest), *b = sp_label_value(other);
	assert_in_range(strlen(a), 380, SP_LABEL_MAX);
	assert_string_not_equal(a, b);
	assert_memory_equal(a, b, 380);
	assert_int_equal(strchr(a, '~') - a, 384);
	free(a);
	free(b);
	/* a label that does not fit changes nothing */
	memset(longest, '"', sizeof(longest) - 1);
	while (sp_label_add(&l, "l", longest) >= 0)
		assert_true(l.n < sizeof(l.text));
	assert_int_equal(strlen(l.text), l.n);
	assert_in_range(l.n, 3000, sizeof(l.text) - 1);
}

static void test_accept(void **state)
{
	static const struct {
		const char *accept;
		enum sp_expo_form form;
	} cases[] = {
	    {NULL, SP_EXPO_TEXT},
	    {"", SP_EXPO_TEXT},
	    {"*/*", SP_EXPO_TEXT},
	    {"text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", SP_EXPO_TEXT},
	    {"text/plain", SP_EXPO_TEXT},
	    {"application/openmetrics-text", SP_EXPO_OPENMETRICS},
	    {"application/openmetrics-text; version=1.0.0; charset=utf-8", SP_EXPO_OPENMETRICS},
	    {"APPLICATION/OpenMetrics-Text ; Version=\"1.0.0\"", SP_EXPO_OPENMETRICS},
	    {"application/openmetrics-text;version=0.0.1", SP_EXPO_TEXT},
	    {"application/openmetrics-text;version=2.0.0,text/plain;q=0.1", SP_EXPO_TEXT},
	    /* Prometheus 2.42 */
	    {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
	     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	     SP_EXPO_OPENMETRICS},
	    /* Prometheus 3 */
	    {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
	     "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
	     "text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
	     SP_EXPO_OPENMETRICS},
	    /* VictoriaMetrics */
	    {"text/plain;version=0.0.4;q=1,*/*;q=0.1", SP_EXPO_TEXT},
	    {"application/openmetrics-text;q=0", SP_EXPO_TEXT},
	    {"application/openmetrics-text;q=0.000,*/*", SP_EXPO_TEXT},
	    {"application/openmetrics-text;q=0.3,text/plain;q=0.4", SP_EXPO_TEXT},
	    {"application/openmetrics-text;q=0.4,text/plain;q=0.3", SP_EXPO_OPENMETRICS},
	    {"application/openmetrics-text,text/plain", SP_EXPO_OPENMETRICS},
	    {"text/plain,application/openmetrics-text", SP_EXPO_TEXT},
	    {"application/openmetrics-text,*/*", SP_EXPO_OPENMETRICS},
	    {"*/*,application/openmetrics-text", SP_EXPO_OPENMETRICS},
	    {"application/*,text/plain;q=0.5", SP_EXPO_OPENMETRICS},
	    {"application/*", SP_EXPO_OPENMETRICS},
	    {"text/plain;q=0,*/*", SP_EXPO_TEXT},
	    {"text/plain;q=0,application/*;q=0.2", SP_EXPO_OPENMETRICS},
	    /* the weight of the wildcard does not replace that of a named type */
	    {"*/*;q=0.9,application/openmetrics-text;q=0.1,text/plain;q=0.5", SP_EXPO_TEXT},
	    /* what cannot be parsed is ignored */
	    {",,;;q=,/,application/openmetrics-textual,foo\"bar,baz", SP_EXPO_TEXT},
	    {"x;y=\"a,application/openmetrics-text\"", SP_EXPO_TEXT},
	    {"application/openmetrics-text;q=nonsense", SP_EXPO_OPENMETRICS},
	    {"application/openmetrics-text;;version", SP_EXPO_TEXT},
	    {"\"", SP_EXPO_TEXT},
	    {";", SP_EXPO_TEXT},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++)
		if (sp_expo_accepted(cases[i].accept) != cases[i].form)
			fail_msg("%s", cases[i].accept ? cases[i].accept : "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text),           cmocka_unit_test(test_openmetrics), cmocka_unit_test(test_remote),
	    cmocka_unit_test(test_hostile_labels), cmocka_unit_test(test_accept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
