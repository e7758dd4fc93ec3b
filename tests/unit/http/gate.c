/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate.c: Host, Origin and Authorization, string by string. */
#include "http/gate.h"
#include "test.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void test_host(void **state)
{
	static const struct {
		const char *host, *name; /* NULL: refused */
	} cases[] = {
	    {"localhost", "localhost"},
	    {"LocalHost:9877", "localhost"},
	    {"localhost.", "localhost"},
	    {"127.0.0.1:1", "127.0.0.1"},
	    {"[::1]:9877", "::1"},
	    {"[::1]", "::1"},
	    {"a-b_c.example:65535", "a-b_c.example"},
	    {"", NULL},
	    {":9877", NULL},
	    {"localhost:", NULL},
	    {"localhost:65536", NULL},
	    {"localhost:99999999999999999999", NULL},
	    {"localhost:80:80", NULL},
	    {"localhost:80a", NULL},
	    {"local host", NULL},
	    {"localhost/", NULL},
	    {"user@localhost", NULL},
	    {"local\xc3\xa9", NULL},
	    {"[::1", NULL},
	    {"[::1]x", NULL},
	    {"[localhost]", NULL},
	    {"[]", NULL},
	    {"a,b", NULL},
	};
	char name[SP_HTTP_NAME_MAX], longest[300];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_name = sp_http_host_name(cases[i].host, name);
		if (is_name != (cases[i].name != NULL) || (is_name && strcmp(name, cases[i].name) != 0))
			fail_msg("'%s' is taken for %s", cases[i].host, is_name ? name : "nothing");
	}
	memset(longest, 'a', sizeof(longest));
	longest[255] = '\0';
	assert_true(sp_http_host_name(longest, name));
	longest[255] = 'a';
	longest[256] = '\0';
	assert_false(sp_http_host_name(longest, name));
}

static bool allowed(const char *origin, const char *site, const char *mode, bool is_page)
{
	struct sp_http_origin o = {.host = "localhost:9877", .origin = origin, .site = site, .mode = mode};

	return sp_http_origin_allowed(&o, is_page);
}

static void test_origin(void **state)
{
	assert_true(allowed(NULL, NULL, NULL, false));
	assert_true(allowed("http://localhost:9877", "same-origin", "cors", false));
	assert_true(allowed("https://LOCALHOST:9877", NULL, NULL, false));
	assert_true(allowed(NULL, "none", "navigate", false));
	assert_false(allowed("http://localhost", NULL, NULL, false));
	assert_false(allowed("http://localhost:9878", NULL, NULL, true));
	assert_false(allowed("http://evil.example", NULL, NULL, true));
	assert_false(allowed("null", NULL, NULL, true));
	assert_false(allowed("", NULL, NULL, true));
	assert_false(allowed("ftp://localhost:9877", NULL, NULL, true));
	assert_false(allowed("localhost:9877", NULL, NULL, true));
	assert_false(allowed("http://http://localhost:9877", NULL, NULL, true));
	/* another site, or another port of this machine */
	assert_false(allowed(NULL, "cross-site", "no-cors", true));
	assert_false(allowed(NULL, "same-site", "cors", true));
	assert_false(allowed(NULL, "cross-site", "navigate", false));
	assert_false(allowed(NULL, "what", NULL, true));
	/* a link to the page */
	assert_true(allowed(NULL, "cross-site", "navigate", true));
}

static void test_credentials(void **state)
{
	struct sp_http_credentials c;
	char longest[2000] = "Bearer ";

	assert_true(sp_http_credentials("Bearer abc", &c));
	assert_string_equal(c.token, "abc");
	assert_null(c.user);
	assert_true(sp_http_credentials("bearer ", &c));
	assert_string_equal(c.token, "");
	assert_true(sp_http_credentials("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", &c)); /* RFC 7617 */
	assert_null(c.token);
	assert_string_equal(c.user, "Aladdin");
	assert_string_equal(c.password, "open sesame");
	assert_true(sp_http_credentials("BASIC dGVzdDoxMjPCow==", &c));
	assert_string_equal(c.password, "123\xc2\xa3");
	assert_true(sp_http_credentials("Basic Og==", &c));
	assert_string_equal(c.user, "");
	assert_string_equal(c.password, "");
	assert_true(sp_http_credentials("Basic YTpiOmM=", &c)); /* the password has a colon */
	assert_string_equal(c.password, "b:c");
	assert_false(sp_http_credentials("Basic", &c));
	assert_false(sp_http_credentials("Basic YWJj", &c)); /* no colon */
	assert_false(sp_http_credentials("Basic YTpi*", &c));
	assert_false(sp_http_credentials("Basic YQA6Yg==", &c)); /* a NUL */
	assert_false(sp_http_credentials("Basic YTpi=YTpi", &c));
	assert_false(sp_http_credentials("Digest a", &c));
	assert_false(sp_http_credentials("", &c));
	memset(longest + 7, 'a', sizeof(longest) - 8);
	assert_false(sp_http_credentials(longest, &c));
	memcpy(longest, "Basic  ", 7);
	longest[6] = 'a';
	assert_false(sp_http_credentials(longest, &c));
}

static void test_secret(void **state)
{
	assert_true(sp_http_secret_equals("abc", "abc"));
	assert_false(sp_http_secret_equals("abd", "abc"));
	assert_false(sp_http_secret_equals("xbc", "abc"));
	assert_false(sp_http_secret_equals("ab", "abc"));
	assert_false(sp_http_secret_equals("", "abc"));
	assert_false(sp_http_secret_equals("abcd", "abc"));
	assert_false(sp_http_secret_equals("", "")); /* an empty secret equals nothing */
}

static void test_codings(void **state)
{
	assert_true(sp_http_coding_accepted("gzip", "gzip"));
	assert_true(sp_http_coding_accepted("deflate, GZip;q=0.5, br", "gzip"));
	assert_true(sp_http_coding_accepted("br,gzip;q=1.0", "gzip"));
	assert_false(sp_http_coding_accepted("", "gzip"));
	assert_false(sp_http_coding_accepted("identity", "gzip"));
	assert_false(sp_http_coding_accepted("gzip;q=0", "gzip"));
	assert_false(sp_http_coding_accepted("gzip; q=0.000", "gzip"));
	assert_true(sp_http_coding_accepted("gzip;q=0.001", "gzip"));
	assert_false(sp_http_coding_accepted("gzipped, x-gzip", "gzip"));
	assert_false(sp_http_coding_accepted(",,, ;;; ,", "gzip"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_host),   cmocka_unit_test(test_origin),  cmocka_unit_test(test_credentials),
	    cmocka_unit_test(test_secret), cmocka_unit_test(test_codings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
