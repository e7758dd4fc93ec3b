/* SPDX-License-Identifier: GPL-2.0-or-later */
/* web_config.c: what is accepted, and what is refused at which line and column. */
#include "http/web_config.h"
#include "base/error.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH "$2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcde"

static struct sp_web_config *good(const char *text)
{
	struct sp_web_config *c = NULL;

	if (sp_web_config_parse("/w.yaml", text, strlen(text), false, &c) < 0)
		fail_msg("refused: %s", sp_error_text(-EINVAL));
	return c;
}

static void bad(const char *text, const char *why)
{
	struct sp_web_config *c = NULL;
	char expected[512];

	snprintf(expected, sizeof(expected), "/w.yaml%s", why);
	assert_int_equal(sp_web_config_parse("/w.yaml", text, strlen(text), false, &c), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), expected);
	assert_null(c);
}

static void test_good(void **state)
{
	struct sp_web_config *c = good("tls_server_config:\n"
				       "  cert_file: a.pem\n"
				       "  key_file: \"b.pem\"\n"
				       "  client_auth_type: RequireAndVerifyClientCert\n"
				       "  client_ca_file: ca.pem\n"
				       "  min_version: TLS13\n"
				       "http_server_config:\n"
				       "  http2: true\n"
				       "  headers:\n"
				       "    Strict-Transport-Security: max-age=1\n"
				       "basic_auth_users:\n"
				       "  alice: " HASH "\n"
				       "  bob: '" HASH "'\n");
	struct sp_web_config *same, *other;

	assert_true(c->has_tls);
	assert_int_equal(c->client_cert, SP_WEB_CERT_REQUIRED);
	assert_int_equal(c->min_version, SP_WEB_TLS13);
	assert_int_equal(c->max_version, SP_WEB_TLS13);
	assert_int_equal(c->n_users, 2);
	assert_string_equal(c->users[1].name, "bob");
	assert_string_equal(c->users[1].value, HASH);
	assert_int_equal(c->n_headers, 1);
	same = good("basic_auth_users: {alice: " HASH "}");
	other = good("{basic_auth_users: {alice: " HASH "}}\n# the same\n");
	assert_true(sp_web_config_equal(same, other));
	assert_false(sp_web_config_equal(same, c));
	assert_false(sp_web_config_equal(same, NULL));
	assert_true(sp_web_config_equal(NULL, NULL));
	sp_web_config_free(c);
	sp_web_config_free(same);
	sp_web_config_free(other);
}

static void test_nothing(void **state)
{
	static const char *const texts[] = {"", "# nothing\n", "---\n", "null",
					    "tls_server_config:\nbasic_auth_users:\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sp_web_config *c = good(texts[i]);
		assert_false(c->has_tls);
		assert_int_equal(c->n_users, 0);
		sp_web_config_free(c);
	}
}

static void test_refused(void **state)
{
	bad("tls: 1\n", ":1:1: the file has no 'tls'; did you mean tls_server_config?");
	bad("x: 1\n", ":1:1: the file has no 'x'; there are tls_server_config, basic_auth_users, http_server_config");
	bad("- a\n", ":1:1: the file: expected lines of NAME: VALUE");
	bad("basic_auth_users: x\n", ":1:19: basic_auth_users: expected lines of NAME: VALUE");
	bad("basic_auth_users:\n  alice: secret\n", ":2:10: alice: not a hash of bcrypt, as htpasswd -nB makes it");
	bad("basic_auth_users:\n  a:\n    b: c\n", ":3:5: expected a value");
	bad("basic_auth_users:\n  a: \"" HASH "\"\n  a: \"" HASH "\"\n", ":3:3: a is there twice");
	bad("basic_auth_users:\n  'a:b': " HASH "\n", ":2:3: 'a:b' cannot be a user's name");
	bad("basic_auth_users:\n  a: $2y$31$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcde\n",
	    ":2:6: a: a cost of more than 14 would take seconds for each try");
	bad("tls_server_config:\n  cert_file: a\n", ":1:1: TLS needs cert_file and key_file");
	bad("tls_server_config:\n  cert_file: [a]\n", ":2:14: expected a value");
	bad("tls_server_config:\n  cert_file: ''\n", ":2:14: a file without a name");
	bad("tls_server_config:\n  cipher_suites: [x]\n",
	    ":2:3: tls_server_config has no 'cipher_suites'; there are cert_file, key_file, "
	    "client_ca_file, client_auth_type, min_version, max_version");
	bad("tls_server_config: {cert_file: a, key_file: b, min_version: TLS14}\n",
	    ":1:61: 'TLS14' is none of TLS10, TLS11, TLS12, TLS13");
	bad("tls_server_config: {cert_file: a, key_file: b, min_version: TLS13, max_version: TLS12}\n",
	    ":1:1: min_version is above max_version");
	bad("tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAnyClientCert}\n",
	    ":1:66: 'RequireAnyClientCert' is none of NoClientCert, VerifyClientCertIfGiven, "
	    "RequireAndVerifyClientCert "
	    "(others believe any certificate)");
	bad("tls_server_config: {cert_file: a, key_file: b, client_auth_type: VerifyClientCertIfGiven}\n",
	    ":1:1: client_auth_type needs client_ca_file");
	bad("tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}\n",
	    ":1:64: client_ca_file without a client_auth_type that asks for certificates");
	bad("http_server_config: {headers: {Content-Security-Policy: x}}\n",
	    ":1:32: Content-Security-Policy cannot be set; there are X-Frame-Options, X-Content-Type-Options, "
	    "X-XSS-Protection, Strict-Transport-Security");
	bad("http_server_config: {headers: {X-Frame-Options: \"a\\r\\nb: c\"}}\n",
	    ":1:49: a character that cannot be in a header");
	bad("http_server_config: {http2: perhaps}\n", ":1:29: 'perhaps' is none of true, false");
	bad("http_server_config: {headers: {X-Frame-Options: deny, x-frame-options: deny}}\n",
	    ":1:55: x-frame-options is there twice");
	bad("http_server_config: {\n", ":2:1: did not find expected node content while parsing a flow node");
	bad("---\n---\nx: y\n", ":2:1: a second document");
	bad("basic_auth_users: *y\n", ":1:19: anchors and aliases are not for this file");
	bad("basic_auth_users: &y {}\n", ":1:19: anchors and aliases are not for this file");
}

/* Files are relative to the configuration; a missing one is an error at its place. */
static void test_files(void **state)
{
	static const char text[] = "tls_server_config:\n  cert_file: cert\n  key_file: key\n";
	char directory[] = "/tmp/soprof-web-XXXXXX", path[64], file[64];
	struct sp_web_config *c = NULL;
	FILE *f;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/web.yaml", directory);
	snprintf(file, sizeof(file), "%s/cert", directory);
	assert_int_equal(sp_web_config_parse(path, text, strlen(text), true, &c), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), ":2:14: "));
	assert_non_null(strstr(sp_error_text(-EINVAL), "No such file"));
	sp_error_clear();
	f = fopen(file, "w");
	fputs("certificate", f);
	fclose(f);
	assert_int_equal(sp_web_config_parse(path, text, strlen(text), true, &c), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), ":3:13: "));
	sp_error_clear();
	assert_int_equal(sp_web_config_read(path, &c), -ENOENT);
	sp_error_clear();
	snprintf(path, sizeof(path), "%s/key", directory);
	assert_int_equal(rename(file, path), 0);
	remove(path);
	remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good),
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
